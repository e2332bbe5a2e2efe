/* The false-positive rate of a layer, for every layout and arrays of any size: when it is full,
 * which sizes it, and at the set bits that it has, which is what the filter states. */

#ifndef BLOOMPORT_RATE_H
#define BLOOMPORT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_MAX_HASHES 30

/* ---- When it is full. An add *counts* if it sets at least one bit. ---- */

/* CLASSIC: the rate of a layer of `nbits` bits when `items` adds have counted, with 1 to
 * RATE_MAX_HASHES hashes. `wraps`: the hash words are 64 bits wide, so that a + i*b wraps round at
 * 2^64. */
double rate_when_full(double items, uint64_t nbits, uint32_t nhashes, bool wraps);

/* BLOCKED: the rate of a layer of `nblocks` blocks when `items` adds have counted. */
double rate_blocked_when_full(double items, uint64_t nblocks);

/* RocksDB's filters: the rate when `offers` items were added, each with `nhashes` bits in one of
 * `nlines` lines of 512 bits. */
double rate_lines(double offers, uint64_t nlines, uint32_t nhashes);

/* The same before RocksDB's format_version 5, whose bits within a line are a walk by double
 * hashing. */
double rate_lines4(double offers, uint64_t nlines, uint32_t nhashes);

/* ---- As it is ---- */

/* How the positions of an item follow from its words. */
enum rate_walk {
    RATE_WALK_WRAPS,    // a + i*b, which wraps round
    RATE_WALK_STRAIGHT, // a + i*b, of words so narrow that it does not
    RATE_WALK_SPLIT,    // as WRAPS, but one position is b
    RATE_WALK_HALVED,   // as WRAPS, of half the value
    RATE_WALK_FOLDED,   // as WRAPS, of the absolute value
    RATE_WALK_MIXED,    // two walks in turn
    RATE_WALK_SUMS,     // a and b are added in turn
    RATE_WALK_FREE,     // each position has a hash of its own
};

/* CLASSIC, COUNTING: the rate of a layer with `ones` set bits of `nbits`, with any number of
 * hashes.
 */
double rate_now(double ones, uint64_t nbits, uint32_t nhashes, enum rate_walk walk);

/* BLOCKED and RocksDB's filters: the rate when a share `fill` of all bits is set. */
double rate_blocked_now(double fill, uint64_t nblocks);
double rate_lines_now(double fill, uint64_t nlines, uint32_t nhashes);
double rate_lines4_now(double fill, uint64_t nlines, uint32_t nhashes);

#endif
