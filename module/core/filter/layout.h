/* Layouts: how a layer spreads an item's bits over its array. layer.h draws them. What differs
 * between them stands in rows, one for each layout, in the layout's own file; code asks the row.
 *
 *   CLASSIC   classic.c    bits over the whole array
 *   BLOCKED   blocked.c    bits inside one block of 32 bytes
 *   COUNTING  counting.c   as CLASSIC, with a 4-bit counter in the place of each bit
 *
 * What layer.c does with single items compares the layout itself, for speed. */

#ifndef BLOOMPORT_LAYOUT_H
#define BLOOMPORT_LAYOUT_H

#include "module/core/hash/scheme.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every layout and the word that names it, in the order of their numbers. The numbers are part of
 * the file format: they never change. */
#define LAYOUTS(LAYOUT)                                                                            \
    LAYOUT(CLASSIC, "classic")                                                                     \
    LAYOUT(BLOCKED, "blocked")                                                                     \
    LAYOUT(COUNTING, "counting")

#define LAYOUTS_ENUMERATOR(NAME, word) LAYOUT_##NAME,
enum layout { LAYOUTS(LAYOUTS_ENUMERATOR) LAYOUT_COUNT };

/* What a filter has if nobody names a layout. */
#define LAYOUT_DEFAULT LAYOUT_CLASSIC

/* Layout and scheme decide the false-positive rate that a given number of bits gives. */
struct geometry {
    enum layout layout;
    enum scheme scheme;
};

struct sizing {
    uint64_t nbits;
    uint32_t nhashes;
};

struct layer;

struct layout_row {
    /* The array. A *position* is a bit or a counter, and m is their number. */
    const char *unit;    // what the array has m of, in words
    uint8_t byte_shift;  // position p is in byte p >> this
    bool has_counters;   // a position is a counter, and "set" if it is over 0
    bool has_blocks;     // an item's bits are in one block (blocked.h); else anywhere, by its walk
    uint32_t multiple;   // m is a multiple of this
    uint64_t max_bits;   // m is this at most, or less by the scheme
    uint32_t nhashes;    // k of every layer; 0: it depends on the size
    uint32_t max_hashes; // k is this at most, or less by the scheme

    /* What goes with it. */
    bool is_one_word;    // an item needs one word of hash: the only scheme is XXH64
    bool takes_imported; // schemes of imported filters too
    bool grows;          // a filter can have more than one layer
    bool takes_window;   // a filter can be a window
    bool removes;        // items can be removed, so that an add of a present item counts too
    bool is_in_v1;       // version 1 of our bytes has it (rdb/codec.c)
    enum layout flat;    // the layout of its set bits alone, for formats that know nothing else

    /* A batch adds the items of a probe as many probes after it has prefetched their lines: 1, or 2
     * where a probe has few lines. */
    uint8_t probes_ahead;

    /* Runs of bytes of arrays, as in bits.h and counting.h. */
    uint64_t (*ones)(const uint8_t *bytes, size_t len);
    uint64_t (*unite)(uint8_t *into, const uint8_t *from, size_t len);
    uint64_t (*intersect)(uint8_t *into, const uint8_t *from, size_t len);

    /* Sets in `bits` each bit whose position of m is set. NULL: the array is its set bits. */
    void (*to_bits)(const uint8_t *array, uint64_t nbits, uint8_t *bits);

    /* sizing_error_rate and layer_error_rate_at of the layout. */
    double (*rate_when_full)(uint64_t items, struct sizing size, enum scheme scheme);
    double (*rate_at)(const struct layer *layer, double ones);
};

#define LAYOUTS_DECLARATION(NAME, word) extern const struct layout_row NAME##_LAYOUT;
LAYOUTS(LAYOUTS_DECLARATION)

extern const struct layout_row *const LAYOUT_ROWS[LAYOUT_COUNT];

static inline bool layout_exists(uint64_t number) {
    return number < LAYOUT_COUNT;
}

/* Any number: a layout that does not exist has the row of CLASSIC. */
static inline const struct layout_row *layout_row(enum layout layout) {
    return LAYOUT_ROWS[layout_exists(layout) ? layout : LAYOUT_CLASSIC];
}

/* The bits of memory that a position takes. */
static inline unsigned layout_position_bits(enum layout layout) {
    return 8U >> layout_row(layout)->byte_shift;
}

/* The bytes of an array of m positions, by the row's byte_shift or by the layout. */
static inline uint64_t layout_bytes_by(unsigned byte_shift, uint64_t nbits) {
    return (nbits >> byte_shift) + ((nbits & ((1U << byte_shift) - 1)) != 0);
}

static inline uint64_t layout_bytes(enum layout layout, uint64_t nbits) {
    return layout_bytes_by(layout_row(layout)->byte_shift, nbits);
}

const char *layout_name(enum layout layout); // as commands show it, "CLASSIC"
const char *layout_word(enum layout layout); // as the tool prints it, "classic"

/* The layout that a word of `len` bytes names, in any case. False: there is none. */
bool layout_find(const char *word, size_t len, enum layout *out);

/* Whether layout and scheme exist and go together. */
bool layout_takes(enum layout layout, enum scheme scheme);

#endif
