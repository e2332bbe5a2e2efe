/* The BLOCKED layout: all of an item's bits lie in one block of 32 bytes, one in each of its eight
 * words of 32 bits. layer.h has the formula, which is that of the Parquet specification.
 *
 *   bits of the layer   | block 0 | block 1 | ... | block b | ... |     b from the hash's high half
 *                                                /           \
 *                               | word 0 | word 1 |  ...  | word 7 |  one bit in each word, from
 *                                                                     the hash's low half
 *
 * With AVX2 (x86-64, detected at run time) one instruction reads a block, with NEON (arm64) two do.
 * Elsewhere plain C gives the same bits. */

#ifndef BLOOMPORT_BLOCKED_H
#define BLOOMPORT_BLOCKED_H

#include "module/core/filter/prefetch.h"
#include "module/core/hash/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCKED_BLOCK_BITS 256
#define BLOCKED_HASHES 8
#define BLOCKED_MAX_BLOCKS ((uint64_t)1 << 32) // 32 bits of the hash choose the block

/* Whether all eight bits of the item are set. */
bool blocked_contains(const uint8_t *bits, uint64_t nbits, uint64_t hash);

/* Looks up n items: contained[i] is the answer for hashes[i]. */
void blocked_contains_many(const uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                           bool *contained);

/* The byte at which the item's block begins. The high half of the hash selects the block, without a
 * division. */
static inline uint64_t blocked_offset(uint64_t nbits, uint64_t hash) {
    uint64_t nblocks = nbits / BLOCKED_BLOCK_BITS;
    return (((hash >> 32) * nblocks) >> 32) * (BLOCKED_BLOCK_BITS / 8);
}

static inline void blocked_prefetch(const uint8_t *bits, uint64_t nbits, uint64_t hash) {
    prefetch_line(bits + blocked_offset(nbits, hash));
}

/* Sets the item's bits, and returns how many were not set before. */
unsigned blocked_add(uint8_t *bits, uint64_t nbits, uint64_t hash);

/* Adds n items: fresh[i] is how many bits of hashes[i] were not set before. */
void blocked_add_many(uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                      unsigned *fresh);

/* For tests: switches AVX2 or NEON on, if the CPU has it, or off. Returns whether it is on now. */
bool blocked_use_simd(bool wanted);

#endif
