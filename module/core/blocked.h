/* The BLOCKED layout: all of an item's bits in one block of 32 bytes. See layer.h for the formula,
 * which is that of the Parquet specification.
 *
 * With AVX2, found at run time, a block is looked at as a whole; else plain C gives the same bits.
 */

#ifndef BLOOMPORT_BLOCKED_H
#define BLOOMPORT_BLOCKED_H

#include "module/core/hash.h"
#include "module/core/prefetch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCKED_BLOCK_BITS 256
#define BLOCKED_HASHES 8
#define BLOCKED_MAX_BLOCKS ((uint64_t)1 << 32) // 32 bits of the hash choose the block

bool blocked_contains(const uint8_t *bits, uint64_t nbits, uint64_t hash);

/* The same for n items: contained[i] answers for hashes[i]. */
void blocked_contains_many(const uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                           bool *contained);

/* Where the item's block begins. The high half of the hash picks it, without a division. */
static inline uint64_t blocked_offset(uint64_t nbits, uint64_t hash) {
    uint64_t nblocks = nbits / BLOCKED_BLOCK_BITS;
    return (((hash >> 32) * nblocks) >> 32) * (BLOCKED_BLOCK_BITS / 8);
}

static inline void blocked_prefetch(const uint8_t *bits, uint64_t nbits, uint64_t hash) {
    prefetch_line(bits + blocked_offset(nbits, hash));
}

/* Sets the item's bits; returns how many were not set before. */
unsigned blocked_add(uint8_t *bits, uint64_t nbits, uint64_t hash);

/* The same for n items: fresh[i] of hashes[i]. */
void blocked_add_many(uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                      unsigned *fresh);

/* For tests: whether AVX2 is used from now on, if the CPU has it. Returns whether it is. */
bool blocked_use_simd(bool wanted);

#endif
