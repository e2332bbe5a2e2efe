/* Filters put together, bit by bit. Filters can be combined if the same item sets the same bits in
 * both: equal scheme and layout and, layer by layer, equal m and k. What else they were made with
 * (promise, capacities, expansion) may differ. */

#ifndef BLOOMPORT_COMBINE_H
#define BLOOMPORT_COMBINE_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum difference {
    DIFFERENCE_NONE,
    DIFFERENCE_SCHEME,
    DIFFERENCE_LAYOUT,
    DIFFERENCE_BITS,   // a layer's m
    DIFFERENCE_HASHES, // a layer's k
};

/* The first thing for which two filters cannot be combined. *layer, written for the last two: the
 * index of the layer. A longer chain goes with a shorter one: what only one has is no difference.
 */
enum difference combine_difference(const struct filter *a, const struct filter *b, uint32_t *layer);

/* Adds to `into` all bits of the n others, and the layers that it lacks, as the first of them has
 * them. `into` keeps its parameters; its item counts become estimates. It may be among the others.
 * *changed: whether it gained a bit or a layer; if not, nothing was written at all.
 * STATUS_NOMEM: the new layers would make it larger than max_bytes, or the allocator said no.
 * STATUS_PARAM: it lacks layers that it cannot have: the capacities would add up to more than
 * LIMITS_MAX_COUNT, or one filter is foreign and the other is not. */
enum status combine_union(struct filter *into, const struct filter *const *others, size_t n,
                          uint64_t max_bytes, bool *changed);

/* A filter with the bits that all n sources have, n >= 1, of one layer each; otherwise as the first
 * of them. It holds every item that all of them hold. Its item count is an estimate.
 * STATUS_NOMEM: it would take more than max_bytes, or the allocator said no. */
enum status combine_intersection(const struct filter *const *sources, size_t n, uint64_t max_bytes,
                                 struct filter **out);

#endif
