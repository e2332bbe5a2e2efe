/* One fixed-size Bloom filter: an array of bits and the counts that go with it (Bloom 1970).
 *
 * Bit p lives in byte p>>3 under the mask 1<<(p&7). A layer knows nothing of growth or promises:
 * filter.h puts layers together. */

#ifndef BLOOMPORT_LAYER_H
#define BLOOMPORT_LAYER_H

#include "module/core/hash.h"
#include "module/core/sizing.h"
#include "module/core/status.h"

#include <stdbool.h>
#include <stdint.h>

struct layer {
    uint8_t *bits;
    uint64_t nbits;    // m
    uint64_t capacity; // the items it was sized for
    uint64_t items;    // the adds that changed it
    uint64_t ones;     // its set bits, kept as they change
    double error_rate; // its part of the filter's promise
    uint32_t nhashes;  // k
};

static inline uint64_t layer_bytes(uint64_t nbits) {
    return nbits / 8 + (nbits % 8 != 0);
}

/* Gives *layer an array of zero bits. STATUS_NOMEM if the allocator says no. */
enum status layer_init(struct layer *layer, struct sizing size, uint64_t capacity,
                       double error_rate);

/* Makes *to a layer of its own with the same contents. STATUS_NOMEM if the allocator says no. */
enum status layer_copy(struct layer *to, const struct layer *from);

/* Releases the bits. The struct itself is the caller's. */
void layer_clear(struct layer *layer);

/* False: surely not added. True: maybe added. */
bool layer_contains(const struct layer *layer, struct hash hash);

/* Sets the item's bits; true, and counted, if at least one of them was not set before. */
bool layer_add(struct layer *layer, struct hash hash);

/* The set bits, counted anew (O(size); `ones` is O(1)). */
uint64_t layer_count_ones(const struct layer *layer);

/* True if the unused bits of the last byte are all zero, as they must be. */
bool layer_tail_is_zero(const struct layer *layer);

/* The rate of false yes now: the share of set bits to the power k. */
double layer_current_error_rate(const struct layer *layer);

#endif
