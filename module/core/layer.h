/* One fixed-size Bloom filter: an array of bits and the counts that go with it (Bloom 1970).
 *
 * Bit p lives in byte p>>3 under the mask 1<<(p&7). Where an item's bits are is the layout:
 *
 *   CLASSIC  k bits anywhere in the array, bit i at ((a + i*b mod 2^64) >> shift) mod m: the fewest
 *            bits for a given error rate, k cache misses.
 *   BLOCKED  8 bits in one block of 32 bytes, one in each of its 32-bit words: one cache miss. This
 *            is the split-block filter of the Parquet specification, bit for bit: the block is
 *            ((a >> 32) * blocks) >> 32, the bit in word i is (low half of a * SALT[i]) >> 27.
 *
 * layer_contains and layer_add are the definition. The rest of this file does the same faster, for
 * arrays far larger than the caches: a *probe* holds the positions of up to eight items in one
 * layer, and their cache lines are prefetched before anyone looks at them.
 *
 *        hash --> layer_probe_first --> layer_probe_rest --> layer_probe_contains     (lookups)
 *        hash --> layer_probe_all   --> layer_probed_add                              (adds)
 *                     ^ other probes go through the other steps while the memory arrives
 *
 * A layer knows nothing of growth or promises: filter.h makes chains of layers. */

#ifndef BLOOMPORT_LAYER_H
#define BLOOMPORT_LAYER_H

#include "module/core/hash.h"
#include "module/core/sizing.h"
#include "module/core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
    uint8_t *bits;
    uint64_t nbits;       // m
    uint64_t inverse;     // floor((2^64 - 1) / m): multiplying by it replaces the division by m
    uint64_t capacity;    // the items it was sized for
    uint64_t items;       // the adds that changed it
    uint64_t ones;        // its set bits, kept as they change
    double error_rate;    // its part of the filter's promise
    double bits_per_item; // of a foreign filter: as RedisBloom stores it, to the last bit; else 0
    uint32_t nhashes;     // k
    uint8_t layout;       // enum layout
    uint8_t scheme;       // enum scheme, the filter's
    uint8_t shift;        // hash_shift of the scheme
};

/* So many items that the lines prefetched at a time, three for each (layer.c), are as many as a
 * core can wait for, some two dozen: those of 32 items at once took twice as long per item. */
#define PROBE_ITEMS 8
#define PROBE_MAX_HASHES 32 // items with more, as imported layers may have, are probed bit by bit

/* Up to PROBE_ITEMS items and where their bits are in one layer. Only the hashes are the caller's
 * to set; an uninitialised probe is otherwise fine. */
struct probe {
    size_t n;
    struct hash hashes[PROBE_ITEMS];
    // The layer that the positions are in. `bits` is compared, and never followed.
    const uint8_t *bits;
    uint64_t nbits;
    uint32_t nhashes;
    uint8_t layout, scheme; // and what the hashes were made for
    // Lookups: whether an item's first bits are all set, and the numbers of those items
    bool passes[PROBE_ITEMS];
    uint8_t passing[PROBE_ITEMS];
    uint8_t npassing;
    uint64_t positions[PROBE_ITEMS][PROBE_MAX_HASHES];
};

static inline uint64_t layer_bytes(uint64_t nbits) {
    return nbits / 8 + (nbits % 8 != 0);
}

/* (walk >> shift) mod m. With inverse = floor((2^64-1)/m), x*inverse/2^64 is less than x/m by under
 * 1, so the quotient is right or one too small, and one subtraction mends it. Two multiplications
 * that overlap with those of the next position, where a division would not. */
static inline uint64_t layer_position(const struct layer *layer, uint64_t walk) {
    uint64_t x = walk >> layer->shift;
#ifdef __SIZEOF_INT128__
    uint64_t quotient = (uint64_t)(((unsigned __int128)x * layer->inverse) >> 64);
    uint64_t rest = x - quotient * layer->nbits;
    return rest >= layer->nbits ? rest - layer->nbits : rest;
#else
    return x % layer->nbits;
#endif
}

/* Sets nbits and what follows from it. */
void layer_set_nbits(struct layer *layer, uint64_t nbits);

/* Sets layout and scheme and what follows from them. */
void layer_set_geometry(struct layer *layer, struct geometry geometry);

/* Gives *layer an array of zero bits. STATUS_NOMEM if there is no memory. */
enum status layer_init(struct layer *layer, struct sizing size, struct geometry geometry,
                       uint64_t capacity, double error_rate);

/* Makes *to a layer of its own with the same contents; pages without a set bit take no memory in a
 * sparse one. STATUS_NOMEM if there is no memory. */
enum status layer_copy(struct layer *to, const struct layer *from);

/* Lets the bits be in huge pages (mem.h) if they are, or by `ones` soon will be, dense; else in
 * small ones. */
void layer_advise_pages(struct layer *layer);

/* Releases the bits. The struct itself is the caller's. */
void layer_clear(struct layer *layer);

/* ---- One item: the definition ---- */

/* False: surely not added. True: maybe added. */
bool layer_contains(const struct layer *layer, struct hash hash);

/* Sets the item's bits; true, and counted, if at least one of them was not set before. */
bool layer_add(struct layer *layer, struct hash hash);

/* The hash of an item for this layer. */
static inline struct hash layer_hash(const struct layer *layer, const void *item, size_t len) {
    // A blocked layer needs one word only.
    if (layer->layout == LAYOUT_BLOCKED) return (struct hash){XXH64(item, len, 0), 0};
    return hash_item((enum scheme)layer->scheme, item, len);
}

/* ---- Probes: the same for up to eight items, with the memory prefetched ---- */

/* Lookups, in three steps with other work between them: prefetch the first lines of each item; look
 * at them, and prefetch the rest of those that pass; answer, contained[i] for item i. After
 * layer_probe_rest, an item that does not pass is surely not contained, or not looked at yet. */
void layer_probe_first(const struct layer *layer, struct probe *probe);
void layer_probe_rest(const struct layer *layer, struct probe *probe);
void layer_probe_contains(const struct layer *layer, const struct probe *probe, bool *contained);

/* Adds, and single lookups: prefetch all lines; then layer_contains or layer_add for item i. */
void layer_probe_all(const struct layer *layer, struct probe *probe);
bool layer_probed_contains(const struct layer *layer, const struct probe *probe, size_t i);
bool layer_probed_add(struct layer *layer, const struct probe *probe, size_t i);

/* Whether layer_probe_all has been called with this layer, as it is now. */
static inline bool layer_is_probed(const struct layer *layer, const struct probe *probe) {
    return probe->bits == layer->bits && probe->nbits == layer->nbits &&
           probe->nhashes == layer->nhashes && probe->layout == layer->layout &&
           probe->scheme == layer->scheme;
}

/* Both at once, item by item in turn: prefetches all lines of the probe that comes, and adds all of
 * another, added[i] for its item i. A core drops prefetches beyond the lines it can wait for, so
 * this is a third faster than one probe after the other. */
void layer_probe_and_add(struct layer *layer, struct probe *coming, const struct probe *probe,
                         bool *added);

/* Prefetches an item's first lines; nothing is remembered. */
void layer_prefetch_first(const struct layer *layer, struct hash hash);

/* ---- The bits as a whole ---- */

/* The set bits of a run of bytes. */
uint64_t layer_ones_in(const uint8_t *bytes, uint64_t size);

/* The set bits, counted anew (O(size); `ones` is O(1)). */
uint64_t layer_count_ones(const struct layer *layer);

/* True if the unused bits of the last byte are all zero, as they must be. */
bool layer_tail_is_zero(const struct layer *layer);

/* How many items the set bits speak of: -(m/k) ln(1 - ones/m), and m if there is no bit unset. */
double layer_estimate(const struct layer *layer);

/* The same as a count of items that changed something: rounded, at least ones/k, at most ones. */
uint64_t layer_estimate_items(const struct layer *layer);

/* The false-positive rate now: the share of set bits to the power k. In BLOCKED it is the mean of
 * that over blocks with as many items each as chance gives them, which is more. */
double layer_current_error_rate(const struct layer *layer);

#endif
