/* One fixed-size Bloom filter: an array of bits and the counts that go with it (Bloom 1970).
 *
 * Bit p lives in byte p>>3 under the mask 1<<(p&7). Where an item's bits are is the layout:
 *
 *   CLASSIC  k bits anywhere in the array, ((a + i*b mod 2^64) >> shift) mod m: fewest bits for a
 * given error rate, k cache misses. BLOCKED  8 bits in one block of 32 bytes, one in each of its
 * 32-bit words: one cache miss. This is the split-block filter of the Parquet specification, bit
 * for bit: the block is
 *            ((a >> 32) * blocks) >> 32, the bit in word i is (low half of a * SALT[i]) >> 27.
 *
 * A layer knows nothing of growth or promises: filter.h puts layers together. Tuned for arrays far
 * larger than the caches: everything here that takes many items hashes first, asks for the memory
 * of all of them, and only then looks at it. */

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
    double bits_per_item; // of an adopted filter: as RedisBloom stores it, to the last bit; else 0
    uint32_t nhashes;     // k
    uint8_t layout;       // enum layout
    uint8_t shift;        // hash_shift of the filter's scheme
};

/* Items on their way through a layer together, and the positions of their bits. So many that the
 * lines asked for at a time, three for each (layer.c), are as many as a core can wait for, some two
 * dozen: asking for those of 32 items at once took twice as long per item. */
#define LAYER_GROUP 8
#define LAYER_MAX_PROBES 32 // items with more, as imported layers may have, are walked one by one

struct group {
    size_t n;
    struct hash hashes[LAYER_GROUP];
    bool hits[LAYER_GROUP];       // whether all bits seen so far are set
    uint8_t passing[LAYER_GROUP]; // the numbers of the items that have hits
    size_t npassing;
    uint64_t pos[LAYER_GROUP][LAYER_MAX_PROBES];
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

/* Gives *layer an array of zero bits. STATUS_NOMEM if the allocator says no. */
enum status layer_init(struct layer *layer, struct sizing size, struct geometry geometry,
                       uint64_t capacity, double error_rate);

/* Makes *to a layer of its own with the same contents. STATUS_NOMEM if the allocator says no. */
enum status layer_copy(struct layer *to, const struct layer *from);

/* Lets the bits be in huge pages (mem.h) if they are, or by `ones` soon will be, dense; else in
 * small ones. */
void layer_advise_pages(struct layer *layer);

/* Releases the bits. The struct itself is the caller's. */
void layer_clear(struct layer *layer);

/* False: surely not added. True: maybe added. */
bool layer_contains(const struct layer *layer, struct hash hash);

/* The same for a group of items, in three steps with other work between them, while the memory
 * arrives: ask for the first lines of each; look at them, and ask for the rest of those that pass;
 * answer, contained[i] for item i. */
void layer_ask(const struct layer *layer, struct group *group);
void layer_ask_on(const struct layer *layer, struct group *group);
void layer_answer(const struct layer *layer, struct group *group, bool *contained);

/* Asks for all lines of a group: for items that will be added. */
void layer_ask_all(const struct layer *layer, struct group *group);

/* layer_contains and layer_add for item i of a group that has asked for all lines. */
bool layer_asked_contains(const struct layer *layer, const struct group *group, size_t i);
bool layer_asked_add(struct layer *layer, const struct group *group, size_t i);

/* Both at once, item by item in turn: asks for all lines of one group, and adds all of another,
 * added[i] for its item i. A core forgets what it is asked for beyond the lines it can wait for, so
 * this is a third quicker than one group after the other. */
void layer_ask_and_add(struct layer *layer, struct group *asking, const struct group *group,
                       bool *added);

/* Asks for an item's first lines, of which nothing is remembered. */
void layer_prefetch_first(const struct layer *layer, struct hash hash);

/* Sets the item's bits; true, and counted, if at least one of them was not set before. */
bool layer_add(struct layer *layer, struct hash hash);

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

/* The rate of false yes now: the share of set bits to the power k. Of BLOCKED, the mean of that
 * over blocks with as many items each as chance gives them, which is more. */
double layer_current_error_rate(const struct layer *layer);

#endif
