/* Arrays of 4-bit counters, for layers that items can be removed from (Fan, Cao, Almeida, Broder:
 * Summary Cache, 1998). Counter p is in byte p >> 1: in the low half if p is even, in the high half
 * if it is odd.
 *
 * An item's k positions may repeat. Each distinct one is incremented or decremented once, so that
 * adding an item and removing it again leaves the array as it was.
 *
 * A counter stops at 15, and then stays there: nobody knows how many items it stands for. So an
 * item may outlive its removal, but no other item is lost. With the best k a counter reaches 16
 * with probability 1.37e-15 * m, as the paper computes. */

#ifndef BLOOMPORT_COUNTING_H
#define BLOOMPORT_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTING_MAX 15U

static inline unsigned counting_at(const uint8_t *counters, uint64_t pos) {
    unsigned byte = counters[pos >> 1];
    return byte >> (4 * (pos & 1)) & COUNTING_MAX;
}

/* Whether the counters at pos[from] to pos[to - 1] are all over 0. It reads without a branch. */
bool counting_all(const uint8_t *counters, const uint64_t *pos, uint32_t from, uint32_t to);

/* The smallest counter of an item with k positions: an upper bound on how often it was added. */
unsigned counting_least(const uint8_t *counters, const uint64_t *pos, uint32_t k);

/* Increment or decrement an item's counters. They return how many counters changed. *crossed: how
 * many of those became 1 from 0, or 0 from 1. */
uint32_t counting_increment(uint8_t *counters, const uint64_t *pos, uint32_t k, uint32_t *crossed);
uint32_t counting_decrement(uint8_t *counters, const uint64_t *pos, uint32_t k, uint32_t *crossed);

/* ---- Runs of bytes ---- */

/* Returns how many counters are over 0. */
uint64_t counting_ones(const uint8_t *counters, size_t len);

/* Adds the counters of `from`, stopping at 15; or keeps the smaller counter of each pair. They
 * return how many counters changed, and write nothing before the first of them. */
uint64_t counting_unite(uint8_t *into, const uint8_t *from, size_t len);
uint64_t counting_intersect(uint8_t *into, const uint8_t *from, size_t len);

/* Sets bit p of `bits`, which must be all zero, for each counter p over 0 of the n counters. */
void counting_to_bits(const uint8_t *counters, uint64_t n, uint8_t *bits);

#endif
