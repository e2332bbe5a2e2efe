/* The rate of false yes of a full layer of either layout, on an array of any size. */

#ifndef BLOOMPORT_RATE_H
#define BLOOMPORT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_MAX_HASHES 30

/* Of a layer of `nbits` bits to which `items` adds have counted, with 1 to RATE_MAX_HASHES hashes.
 * `wraps`: the hash words are 64 bits wide, so that a + i*b wraps round at 2^64. */
double rate_when_full(double items, uint64_t nbits, uint32_t nhashes, bool wraps);

/* The same of a layer of `nblocks` blocks, layout BLOCKED. */
double rate_blocked_when_full(double items, uint64_t nblocks);

/* The same when `offers` items were added, whether they counted or not. */
double rate_blocked(double offers, uint64_t nblocks);

#endif
