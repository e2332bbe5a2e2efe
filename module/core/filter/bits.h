/* Runs of bytes as sets of bits: count, unite, intersect. Each function passes over the memory
 * once, word by word, so that memory bandwidth bounds its time (tests/bench/bench_merge.c). */

#ifndef BLOOMPORT_BITS_H
#define BLOOMPORT_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Returns how many bits are set. */
uint64_t bits_count(const uint8_t *bytes, size_t len);

/* Sets in `into` every bit that is set in `from`, and returns how many were not set before. Writing
 * starts at the first such bit, so a run without any stays clean, or even unmapped. */
uint64_t bits_unite(uint8_t *into, const uint8_t *from, size_t len);

/* Clears in `into` every bit that is not set in `from`, and returns how many were set before.
 * Nothing is written before the first of them, as in bits_unite. */
uint64_t bits_intersect(uint8_t *into, const uint8_t *from, size_t len);

#endif
