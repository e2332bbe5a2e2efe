/* The false-positive rate of a full layer, for every layout and arrays of any size. */

#ifndef BLOOMPORT_RATE_H
#define BLOOMPORT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_MAX_HASHES 30

/* An add *counts* if it sets at least one bit. */

/* CLASSIC: the rate of a layer of `nbits` bits when `items` adds have counted, with 1 to
 * RATE_MAX_HASHES hashes. `wraps`: the hash words are 64 bits wide, so that a + i*b wraps round at
 * 2^64. */
double rate_when_full(double items, uint64_t nbits, uint32_t nhashes, bool wraps);

/* BLOCKED: the rate of a layer of `nblocks` blocks when `items` adds have counted. */
double rate_blocked_when_full(double items, uint64_t nblocks);

/* BLOCKED: the rate when `offers` items were added, whether they counted or not. */
double rate_blocked(double offers, uint64_t nblocks);

/* RocksDB's filters: the rate when `offers` items were added, each with `nhashes` bits in one of
 * `nlines` lines of 512 bits. */
double rate_lines(double offers, uint64_t nlines, uint32_t nhashes);

/* The same before RocksDB's format_version 5, whose bits within a line are a walk by double
 * hashing. */
double rate_lines4(double offers, uint64_t nlines, uint32_t nhashes);

#endif
