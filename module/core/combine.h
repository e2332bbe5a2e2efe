/* The union and the intersection of filters, bit by bit. Two filters can be combined if an item
 * sets the same bits in both: their scheme and layout are equal and, layer by layer, m and k. Their
 * promise, capacities and expansion may differ.
 *
 *   into          layer 0       layer 1
 *   other         layer 0       layer 1       layer 2      chains may have different lengths
 *   union         0 OR 0        1 OR 1        a copy of 2
 *   intersection  0 AND 0       chains of one layer only */

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

/* The first reason why two filters cannot be combined. For DIFFERENCE_BITS and DIFFERENCE_HASHES,
 * *layer is the index of the layer. Layers that only the longer chain has are no difference. */
enum difference combine_difference(const struct filter *a, const struct filter *b, uint32_t *layer);

/* Adds all bits of the n others to `into`. A layer that `into` lacks is copied from the first other
 * that has it, and then united with the rest. `into` keeps its parameters; its item counts become
 * estimates. `into` may be among the others.
 * *changed: whether `into` gained a bit or a layer. If it is false, nothing was written.
 * STATUS_NOMEM: the new layers would make `into` larger than max_bytes, or there is no memory.
 * STATUS_PARAM: `into` cannot have a layer that it lacks: the capacities would add up to more than
 * LIMITS_MAX_COUNT, or one filter is foreign and the other is not. */
enum status combine_union(struct filter *into, const struct filter *const *others, size_t n,
                          uint64_t max_bytes, bool *changed);

/* Makes a filter of the bits that all n sources have. Each source has one layer, and n is at least
 * 1. The parameters are those of the first source. The result contains every item that all sources
 * contain; its item count is an estimate.
 * STATUS_NOMEM: the result would be larger than max_bytes, or there is no memory. */
enum status combine_intersection(const struct filter *const *sources, size_t n, uint64_t max_bytes,
                                 struct filter **out);

#endif
