/* How many bits and hashes a layer gets, and how a growing filter shares its error rate among its
 * layers. Pure functions; the reasoning stands beside each of them in sizing.c and rate.c.
 *
 * Every result is the same to the last bit on every machine (real.h): a master and its replica,
 * whatever their C libraries, grow the same layers. */

#ifndef BLOOMPORT_SIZING_H
#define BLOOMPORT_SIZING_H

#include "module/core/hash.h"

#include <stdbool.h>
#include <stdint.h>

/* More than any machine has; keeps every sum of sizes inside 64 bits. */
#define SIZING_MAX_BITS ((uint64_t)1 << 60)

#define SIZING_MAX_HASHES 30   // of the filters we size
#define SIZING_MOST_HASHES 255 // of those of others, and of the layers they grow
#define SIZING_FOREIGN_HASHES                                                                      \
    1100 // of those foreign: RedisBloom's least rate, 2^-1074, takes 1,074

/* How a layer spreads an item's bits (layer.h). The numbers are part of the file format: they never
 * change. */
enum layout {
    LAYOUT_CLASSIC = 0, // over the whole array
    LAYOUT_BLOCKED = 1, // inside one block of 32 bytes
    LAYOUT_COUNT
};

/* What decides how well a given number of bits works. */
struct geometry {
    enum layout layout;
    enum scheme scheme;
};

struct sizing {
    uint64_t nbits;
    uint32_t nhashes;
};

/* The layer of `capacity` items with `bits_per_key` bits each: m = ceil(n*b), k = b ln 2 rounded;
 * BLOCKED: m rounded up to whole blocks, k = 8.
 * False, with *out unchanged, if that is more than the geometry can address. */
bool sizing_by_bits(uint64_t capacity, double bits_per_key, struct geometry geometry,
                    struct sizing *out);

/* The smallest layer that, full, answers a false yes to at most `error_rate` of all absent items.
 * False, with *out unchanged, if that is more than the geometry can address, or the rate is not
 * over 0. */
bool sizing_by_error(uint64_t capacity, double error_rate, struct geometry geometry,
                     struct sizing *out);

/* RedisBloom's rule: b = -ln(rate)/ln(2)^2 bits per item, k = ceil(b ln 2), m = floor(n*b) rounded
 * up to a multiple of 64. False as above. */
bool sizing_as_redisbloom(uint64_t capacity, double error_rate, struct sizing *out);

/* The b of that rule. */
double sizing_redisbloom_bits(double error_rate);

/* The rate of false yes of a layer of this size when `items` adds have counted. */
double sizing_error_rate(uint64_t items, struct sizing size, struct geometry geometry);

/* The most bits a layer can have: all, but for narrow hashes. */
uint64_t sizing_max_bits(struct geometry geometry);

/* The first layer's part of a scaling filter's error rate; the rest is for growth. */
#define SIZING_FIRST_SHARE 0.625

/* The part of the growth budget that belongs to the layer which takes a filter of first capacity
 * `first` from `before` items of total capacity to `after`. Over any chain of layers the parts sum
 * up to less than 1. */
double sizing_growth_share(double first, double before, double after);

#endif
