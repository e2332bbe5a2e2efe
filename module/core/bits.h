/* Runs of bytes as sets of bits: counted, united, intersected. Each passes over the memory once,
 * word by word, so that what it costs is the memory's bandwidth (tests/bench/bench_merge.c). */

#ifndef BLOOMPORT_BITS_H
#define BLOOMPORT_BITS_H

#include <stddef.h>
#include <stdint.h>

uint64_t bits_count(const uint8_t *bytes, size_t len);

/* Sets in `into` every bit that is set in `from`; returns how many were not set before. Nothing is
 * written up to the first of them: in a run without any, pages stay as they are, clean or even
 * unmapped. */
uint64_t bits_unite(uint8_t *into, const uint8_t *from, size_t len);

/* Clears in `into` every bit that is not set in `from`; returns how many were set before. Nothing
 * is written up to the first of them, as by bits_unite. */
uint64_t bits_intersect(uint8_t *into, const uint8_t *from, size_t len);

#endif
