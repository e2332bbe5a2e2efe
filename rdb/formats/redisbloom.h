/* RedisBloom's filters: the fields it keeps of one, in the header of its dumps and in RDB files,
 * and what has to hold for them before anyone uses them. FORMAT.md, section 6, has the layouts.
 *
 * Filters that come so are *foreign*: they keep RedisBloom's hash and rules of growth, and are
 * written again byte for byte as RedisBloom would. */

#ifndef BLOOMPORT_REDISBLOOM_H
#define BLOOMPORT_REDISBLOOM_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields of a filter and of a layer, as wide as the widest place that has them. */
struct redisbloom_fixed {
    uint64_t items, nlayers, options, growth;
};

struct redisbloom_layer {
    uint64_t nbytes, nbits, items, nhashes, capacity, n2;
    double error_rate, bits_per_item;
};

struct redisbloom_fixed redisbloom_fixed_of(const struct filter *filter);
struct redisbloom_layer redisbloom_layer_of(const struct layer *layer);

/* A foreign filter with room for its layers, none of them there yet. NULL: *fault names the field
 * that is wrong, or is NULL if there is no memory. */
struct filter *redisbloom_new_bare(const struct redisbloom_fixed *fixed, const char **fault);

/* Appends another layer's fields; its bits are still NULL. There must be room. NULL,
 * or the name of the field that is wrong: then the filter is as before. */
const char *redisbloom_put_layer(struct filter *filter, const struct redisbloom_layer *from);

/* The last step before the bits: all layers are there. NULL, or the field that is wrong. */
const char *redisbloom_check_sums(struct filter *filter, uint64_t items);

#endif
