/* One fixed-size Bloom filter: an array of m bits and its counts (Bloom 1970).
 *
 * Bit p lives in byte p>>3 under the mask 1<<(p&7). The layout says where an item's bits are:
 *
 *   CLASSIC  | . . 1 . . . . . 1 . . . . . . . . 1 . . . |   k bits anywhere in the array
 *   BLOCKED  | . . . . . . . |1 . 1 . 1 . 1| . . . . . . |   8 bits in one block of 32 bytes
 *   COUNTING | 0 0 2 0 0 1 0 0 1 0 0 0 0 3 0 0 0 1 0 0 0 |   k counters anywhere in the array
 *
 *   CLASSIC  Bit i is at (value i of the item's walk >> shift) mod m (scheme.h); in ours that is
 *            (a + i*b mod 2^64) mod m. It takes the fewest bits for a given error rate, and costs
 *            k cache misses.
 *   BLOCKED  One bit is in each 32-bit word of the block, which costs one cache miss. This is the
 *            split-block filter of the Parquet specification, bit for bit: the block is
 *            ((a >> 32) * blocks) >> 32, the bit in word i is (low half of a * SALT[i]) >> 27.
 *   COUNTING The positions are those of CLASSIC. A counter of 4 bits stands for each bit, so that
 *            items can be removed (Fan et al. 1998). counting.h has the rules. In this layout a
 *            "set bit" is a counter over 0.
 *
 * layer_contains and layer_add are the definition. The other functions give the same results faster
 * on arrays far larger than the caches. A *probe* holds the positions of up to eight items in one
 * layer. Their cache lines are prefetched in one step and read in a later one:
 *
 *   lookups   layer_probe_first  ...  layer_probe_rest  ...  layer_probe_contains
 *   adds      layer_probe_all    ...  layer_probed_add
 *                                 ^ meanwhile other probes go through their steps (batch.h)
 *
 * Growth and the filter's promise are the business of filter.h, which makes chains of layers. */

#ifndef BLOOMPORT_LAYER_H
#define BLOOMPORT_LAYER_H

#include "module/core/filter/layout.h"
#include "module/core/hash/scheme.h"
#include "module/core/math/sizing.h"
#include "module/core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
    uint8_t *bits;
    uint64_t nbits;       // m
    uint64_t inverse;     // floor((2^64 - 1) / m): multiplying by it replaces the division by m
    uint64_t capacity;    // the items that the layer was sized for
    uint64_t items;       // the adds that changed the layer; COUNTING: minus such removals
    uint64_t ones;        // the set bits; every add updates it
    uint64_t start;       // window: when the layer's generation began, in ms (window.h); else 0
    double error_rate;    // the layer's part of the filter's promise
    double bits_per_item; // foreign: as RedisBloom stores it, to the last bit; else 0
    uint32_t nhashes;     // k
    uint8_t layout;       // enum layout
    uint8_t scheme;       // enum scheme, the filter's
    uint8_t rule;         // enum rule, of the scheme
    uint8_t shift;        // of the scheme
};

/* What was found or done for an item. In adds to most filters the two are equal. In a window an
 * item may be added to the newest generation though an older one holds it: that changes the filter,
 * and answers 0. In COUNTING every add counts, also of an item that is present. */
struct outcome {
    bool answer;  // the command's: an add found the item absent; a lookup or removal, present
    bool changed; // the filter's bits changed: the command must be propagated
};

/* A core can wait for some two dozen cache lines at once. Eight items with three first lines each
 * (layer.c) make 24. With 32 items per probe an item took twice as long. `make bench-distances`
 * tries other values on another CPU. */
#ifndef PROBE_ITEMS
#define PROBE_ITEMS 8
#endif
#define PROBE_MAX_HASHES 32 // layers with more, imported or foreign, are probed bit by bit

/* Up to PROBE_ITEMS items and their positions in one layer. The caller sets n and the hashes; the
 * other fields may be uninitialised. */
struct probe {
    size_t n;
    struct hash hashes[PROBE_ITEMS];
    // The layer of the positions. `bits` is only compared, never dereferenced.
    const uint8_t *bits;
    uint64_t nbits;
    uint32_t nhashes;
    uint8_t layout, scheme; // the hashes depend on these two
    // Lookups: whether the first bits of item i are all set, and the indexes of those items.
    bool passes[PROBE_ITEMS];
    uint8_t passing[PROBE_ITEMS];
    uint8_t npassing;
    uint64_t positions[PROBE_ITEMS][PROBE_MAX_HASHES];
};

/* The bytes of m bits. */
static inline uint64_t layer_bytes(uint64_t nbits) {
    return nbits / 8 + (nbits % 8 != 0);
}

/* The bytes of the layer's array. */
static inline uint64_t layer_array_bytes(const struct layer *layer) {
    return layout_bytes((enum layout)layer->layout, layer->nbits);
}

/* x mod m, without a division. With inverse = floor((2^64-1)/m), x*inverse/2^64 is less than x/m by
 * under 1. So the quotient is exact or one too small, and one subtraction corrects it. The two
 * multiplications overlap with those of the next position; a division would not. */
static inline uint64_t layer_modulo(const struct layer *layer, uint64_t x) {
    uint64_t quotient = (uint64_t)(((unsigned __int128)x * layer->inverse) >> 64);
    uint64_t rest = x - quotient * layer->nbits;
    return rest >= layer->nbits ? rest - layer->nbits : rest;
}

/* The position of a walk's value: (value >> shift) mod m. */
static inline uint64_t layer_position(const struct layer *layer, uint64_t value) {
    return layer_modulo(layer, value >> layer->shift);
}

/* Sets nbits and inverse. */
void layer_set_nbits(struct layer *layer, uint64_t nbits);

/* Sets layout, scheme, rule and shift. */
void layer_set_geometry(struct layer *layer, struct geometry geometry);

/* Gives *layer an array of zero bits. STATUS_NOMEM if there is no memory. */
enum status layer_init(struct layer *layer, struct sizing size, struct geometry geometry,
                       uint64_t capacity, double error_rate);

/* Makes *to a deep copy. In the copy of a sparse layer, pages without a set bit take no memory.
 * STATUS_NOMEM if there is no memory. */
enum status layer_copy(struct layer *to, const struct layer *from);

/* Advises huge pages (mem.h) for a large layer that is dense by its `ones`, and small pages for a
 * large layer that is sparse. */
void layer_advise_pages(struct layer *layer);

/* Releases the bits. The struct itself is the caller's. */
void layer_clear(struct layer *layer);

/* ---- One item: the definition ---- */

/* False: the item was certainly not added. True: it may have been added. */
bool layer_contains(const struct layer *layer, struct hash hash);

/* Sets the item's bits, or increments its counters. If one of them changed, counts the item.
 * `answer` is true if at least one bit was not set before, or one counter was 0. */
struct outcome layer_add(struct layer *layer, struct hash hash);

/* The hash of an item for layers of this layout and scheme. The seed is that of their filter. The
 * layout is compared, as in layer.c: its row, which has is_one_word, would take 4 of 120
 * instructions an item. */
static inline struct hash layer_hash_as(enum layout layout, enum scheme scheme,
                                        const struct seed *seed, const void *item, size_t len) {
    if (layout == LAYOUT_BLOCKED) return (struct hash){XXH64(item, len, 0), 0};
    return scheme_hash(scheme, seed, item, len);
}

/* ---- Probes: lookups and adds of up to eight items, with the memory prefetched ---- */

/* Lookups take three steps, with other work between them:
 *   layer_probe_first     prefetches the lines of each item's first bits;
 *   layer_probe_rest      reads those bits, and prefetches the other lines of the items that pass;
 *   layer_probe_contains  reads the other bits: contained[i] is the answer for item i.
 * After layer_probe_rest, an item with passes[i] = false is certainly not contained. There are two
 * exceptions, BLOCKED and more than PROBE_MAX_HASHES hashes: there no bits have been read yet, and
 * passes[i] is false for every item. */
void layer_probe_first(const struct layer *layer, struct probe *probe);
void layer_probe_rest(const struct layer *layer, struct probe *probe);
void layer_probe_contains(const struct layer *layer, const struct probe *probe, bool *contained);

/* Adds and single lookups take two steps: layer_probe_all prefetches all lines of all items, then
 * the others do what layer_contains and layer_add do, for item i. */
void layer_probe_all(const struct layer *layer, struct probe *probe);
bool layer_probed_contains(const struct layer *layer, const struct probe *probe, size_t i);
struct outcome layer_probed_add(struct layer *layer, const struct probe *probe, size_t i);

/* COUNTING: decrement the item's counters, and return the smallest of them. The caller has checked
 * that the layer contains the item that is removed. layer_probed_remove returns whether a counter
 * changed; then it counts one item less. */
bool layer_probed_remove(struct layer *layer, const struct probe *probe, size_t i);
unsigned layer_probed_count(const struct layer *layer, const struct probe *probe, size_t i);

/* Makes the probe one of no layer and no items. */
static inline void layer_unprobe(struct probe *probe) {
    probe->n = 0;
    probe->bits = NULL;
    probe->nbits = 0;
    probe->nhashes = 0;
    probe->layout = probe->scheme = probe->npassing = 0;
}

/* Whether the probe's positions are those of this layer, as it is now. */
static inline bool layer_is_probed(const struct layer *layer, const struct probe *probe) {
    return probe->bits == layer->bits && probe->nbits == layer->nbits &&
           probe->nhashes == layer->nhashes && probe->layout == layer->layout &&
           probe->scheme == layer->scheme;
}

/* Calls layer_probe_all for `coming` and adds the items of `probe`, item by item in turn.
 * outcomes[i] is that of item i of `probe`. A core drops prefetches beyond the lines that it can
 * wait for, so taking turns is a third faster than one probe after the other. */
void layer_probe_and_add(struct layer *layer, struct probe *coming, const struct probe *probe,
                         struct outcome *outcomes);

/* Prefetches an item's first lines, without a probe. */
void layer_prefetch_first(const struct layer *layer, struct hash hash);

/* ---- All bits ---- */

/* The set bits of a run of bytes of the layer's array. */
uint64_t layer_ones_in(const struct layer *layer, const uint8_t *bytes, uint64_t size);

/* Counts the set bits: O(size), where `ones` is O(1). */
uint64_t layer_count_ones(const struct layer *layer);

/* True if the unused bits of the last byte are all zero, as they must be. */
bool layer_tail_is_zero(const struct layer *layer);

/* Estimates the number of items from the set bits: -(m/k) ln(1 - ones/m), and m if all bits are
 * set. */
double layer_estimate(const struct layer *layer);

/* The estimate as a legal value of `items`: rounded, at least ones/k, at most ones. */
uint64_t layer_estimate_items(const struct layer *layer);

/* The false-positive rate now (rate.h): what lookups of absent items find. */
double layer_current_error_rate(const struct layer *layer);

/* The rate that the layer would have with `ones` set bits. */
double layer_error_rate_at(const struct layer *layer, double ones);

#endif
