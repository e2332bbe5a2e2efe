/* The union and the intersection of filters, bit by bit. Filters can be combined if an item sets
 * the same bits in all of them: their scheme and layout are equal and, layer by layer, m and k.
 * Their promise, capacities and expansion may differ.
 *
 *   into          layer 0       layer 1
 *   other         layer 0       layer 1       layer 2      chains may have different lengths
 *   union         0 OR 0        1 OR 1        a copy of 2
 *   intersection  0 AND 0       chains of one layer only
 *
 * Windows are united generation by generation. Generations of equal start belong together, and
 * each of them is a chain. The union is as old as its newest generation: those that are over by
 * then are dropped, without a look at any clock.
 *
 * In COUNTING the union adds the counters, and the intersection keeps the smaller ones. */

#ifndef BLOOMPORT_COMBINE_H
#define BLOOMPORT_COMBINE_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum difference {
    DIFFERENCE_NONE,
    DIFFERENCE_SCHEME,
    DIFFERENCE_SEED,
    DIFFERENCE_LAYOUT,
    DIFFERENCE_WINDOW, // the seconds or the generations
    DIFFERENCE_BITS,   // a layer's m
    DIFFERENCE_HASHES, // a layer's k
};

/* Two filters that cannot be combined, and the first reason. */
struct mismatch {
    size_t at;                  // the index of the first filter that does not go with those before
    const struct filter *other; // one of those before
    enum difference difference;
    uint32_t layer;            // BITS and HASHES: the index of the layer in its generation
    const struct layer *a, *b; // BITS and HASHES: that layer of filter `at`, and of `other`
};

/* Whether all n filters can be combined. If not, fills in *out. */
bool combine_is_possible(const struct filter *const *filters, size_t n, struct mismatch *out);

/* Writes how `filter`, the one at m->at, differs from m->other: "its layout is BLOCKED and not
 * CLASSIC". `in_words`: with the names as the tool prints them, "blocked". */
#define COMBINE_TEXT_BYTES 160
void combine_describe(const struct mismatch *m, const struct filter *filter, bool in_words,
                      char out[COMBINE_TEXT_BYTES]);

/* Whether combine_union can do it: STATUS_OK, or what it would return. It copies nothing. */
enum status combine_union_check(const struct filter *into, const struct filter *const *others,
                                size_t n, uint64_t max_bytes);

/* Adds all bits of the n others to `into`. A layer that `into` lacks is copied from the first other
 * that has it, and then united with the rest. `into` keeps its parameters; its item counts become
 * estimates. `into` may be among the others, except in COUNTING, where the others must be distinct
 * too: the same filter would count twice.
 * *changed: whether `into` gained or lost a bit or a layer. If it is false, nothing was written.
 * STATUS_NOMEM: the new layers would make `into` larger than max_bytes, or there is no memory.
 * STATUS_PARAM: `into` cannot have a layer that it lacks: the capacities would add up to more than
 * LIMITS_MAX_COUNT, the layers to more than LIMITS_MAX_LAYERS, or one filter is foreign and the
 * other is not. */
enum status combine_union(struct filter *into, const struct filter *const *others, size_t n,
                          uint64_t max_bytes, bool *changed);

/* The bytes that `into` would take after combine_union; 0 if there is no memory to tell. */
uint64_t combine_union_bytes(const struct filter *into, const struct filter *const *others,
                             size_t n);

/* Makes a filter of the bits that all n sources have. Each source has one layer, and n is at least
 * 1. The parameters are those of the first source. The result contains every item that all sources
 * contain; its item count is an estimate.
 * STATUS_NOMEM: the result would be larger than max_bytes, or there is no memory. */
enum status combine_intersection(const struct filter *const *sources, size_t n, uint64_t max_bytes,
                                 struct filter **out);

/* Make a filter of one layer of bits, for formats that know nothing else: the union of a window's
 * generations, or the counters over 0 of a COUNTING filter. `filter` is what window_live returned,
 * and `whole` the filter itself, whose size an empty result has.
 *
 * combine_flat_shape makes it without bits and items, at once: whoever refuses it for its fields
 * has done no work. combine_flat_fill gives it both; the item count is an estimate. STATUS_PARAM:
 * the generations are not all single layers of one size. STATUS_NOMEM: there is no memory; `flat`
 * is as it was. */
enum status combine_flat_shape(const struct filter *filter, const struct filter *whole,
                               struct filter **out);
enum status combine_flat_fill(struct filter *flat, const struct filter *filter);

/* Both at once. On failure nothing is left. */
enum status combine_flatten(const struct filter *filter, const struct filter *whole,
                            struct filter **out);

#endif
