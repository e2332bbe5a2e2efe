/* Origins: whose type a filter is of. RedisBloom's and valkey-bloom's filters are kept as they are
 * (*foreign* filters), so that their own programs can load them again: with their sizes, growth and
 * fields. What differs between origins is a row in each of three tables, by the same enum:
 *
 *   origin.c        sizes, growth, and which fields a filter has
 *   rdb/header.c    the header: its size, its bytes, reading it
 *   type.c          the server's data type: its name, saving, loading, the size that BF.INFO shows
 *
 * and the words of each program's stream: in replicate.c as they are written, in args_foreign.c as
 * they are read. No other code asks which origin it is; it asks the row. */

#ifndef BLOOMPORT_ORIGIN_H
#define BLOOMPORT_ORIGIN_H

#include "module/core/math/sizing.h"

#include <stdbool.h>
#include <stdint.h>

enum origin { ORIGIN_OWN, ORIGIN_REDISBLOOM, ORIGIN_VALKEYBLOOM, ORIGIN_COUNT };

/* A filter that grows, and the layer to come. */
struct growth {
    double error_rate; // the filter's
    double ratio;      // the filter's
    double last_rate;  // the newest layer's error rate
    uint32_t nlayers;
    // The chain that grows, the whole filter or the newest generation of a window:
    double budget;        // the part of the error rate that is left for growth
    double first;         // its first layer's capacity
    double before, after; // its capacity without the layer to come, and with it
};

struct origin_row {
    const char *program; // as messages name it
    bool is_foreign;
    bool has_ratio;      // the filter has a tightening ratio
    bool has_last_count; // its files count the newest layer's items only: the others are full
    uint32_t kept;       // struct filter's `kept` in a new non-scaling filter

    /* A layer's field `bits_per_item`. NULL: its layers have no such field. */
    double (*bits_per_item)(double error_rate);

    /* The error rate of the first layer, and that of the next one. */
    double (*first_rate)(double error_rate, uint32_t expansion);
    double (*next_rate)(const struct growth *growth);

    /* The size of a layer. False, with *out unchanged, if there is none (sizing.h). */
    bool (*size)(uint64_t capacity, double error_rate, struct geometry geometry,
                 struct sizing *out);
};

const struct origin_row *origin_row(enum origin origin);

/* The row whose sizes and growth a filter has: that of its origin. But a filter of our own with
 * RedisBloom's hash was imported from there, and grows as it would there. */
const struct origin_row *origin_rules(enum origin origin, enum scheme scheme);

#endif
