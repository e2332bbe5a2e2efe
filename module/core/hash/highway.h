/* HighwayHash-128 (Alakuijala, Cox and Wassenberg, "Fast keyed hash/pseudo-random function using
 * SIMD multiply and permute", 2016) with the fixed key of Redisson's Bloom filters.
 * The result is the same on machines of either byte order. */

#ifndef BLOOMPORT_HIGHWAY_H
#define BLOOMPORT_HIGHWAY_H

#include <stddef.h>
#include <stdint.h>

void highway_128(const uint8_t *bytes, size_t len, uint64_t out[2]);

#endif
