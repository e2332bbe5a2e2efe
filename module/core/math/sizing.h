/* How many bits and hashes a layer gets, and how a growing filter shares its error rate among its
 * layers. The functions are pure; sizing.c and rate.c give the reasoning beside each of them.
 *
 * Every result is the same to the last bit on every machine (real.h). So a master and its replica
 * grow the same layers, whatever their C libraries. */

#ifndef BLOOMPORT_SIZING_H
#define BLOOMPORT_SIZING_H

#include "module/core/filter/layout.h"

#include <stdbool.h>
#include <stdint.h>

#define SIZING_MAX_BITS SCHEME_MAX_BITS

#define SIZING_MAX_HASHES 30   // of the layers that we size
#define SIZING_MOST_HASHES 255 // of any layer, imported ones included, but for those below
#define SIZING_INCUMBENT_HASHES                                                                    \
    1100 // with the hash of RedisBloom or valkey-bloom: the least rate, 2^-1074, takes 1,074

/* The layer for `capacity` items with `bits_per_key` bits each: m = ceil(n*b), k = b ln 2 rounded.
 * In BLOCKED m is rounded up to whole blocks, and k = 8 (layout.h: multiple and nhashes).
 * False, with *out unchanged, if that is more bits than the geometry can address. */
bool sizing_by_bits(uint64_t capacity, double bits_per_key, struct geometry geometry,
                    struct sizing *out);

/* The first layer of one of the `generations` of a window for `capacity` items: m = ceil(n*b/g). */
bool sizing_generation_by_bits(uint64_t capacity, uint32_t generations, double bits_per_key,
                               struct geometry geometry, struct sizing *out);

/* The smallest layer whose false-positive rate, when it is full, is at most `error_rate`.
 * False, with *out unchanged, if that is more bits than the geometry can address, or the rate is 0
 * or less. */
bool sizing_by_error(uint64_t capacity, double error_rate, struct geometry geometry,
                     struct sizing *out);

/* RedisBloom's rule: b = -ln(rate)/ln(2)^2 bits per item, k = ceil(b ln 2), m = floor(n*b) rounded
 * up to a multiple of 64.
 * False, with *out unchanged, if a layer cannot have so many bits or hashes, or the rate is 0 or
 * less. */
bool sizing_as_redisbloom(uint64_t capacity, double error_rate, struct sizing *out);

/* The bits per item, b, of RedisBloom's rule. */
double sizing_redisbloom_bits(double error_rate);

/* valkey-bloom's rule: b = ceil(n ln(rate) / (-8 ln(2)^2)) bytes, m = 8b, k = m/n ln 2 rounded, at
 * least 1. False, with *out unchanged, as for RedisBloom's. */
bool sizing_as_valkeybloom(uint64_t capacity, double error_rate, struct sizing *out);

/* The error rate of layer i, from 0: rate * ratio^i. 0 if that is no normal number any more: then
 * there is no such layer. */
double sizing_valkeybloom_rate(double error_rate, double ratio, uint32_t i);

/* The false-positive rate of a layer of this size when `items` adds have counted. */
double sizing_error_rate(uint64_t items, struct sizing size, struct geometry geometry);

/* The most bits that a layer can have: fewer than SIZING_MAX_BITS if the hash is narrow. A layer
 * that came from elsewhere may have more of them than its hash can reach; one that we size has not.
 */
uint64_t sizing_max_bits(struct geometry geometry);

/* The first layer's part of a scaling filter's error rate; the rest is for growth. A generation of
 * a window gives more: it grows only if the window brings more items than were asked for. */
#define SIZING_FIRST_SHARE 0.625
#define SIZING_WINDOW_SHARE 0.8

/* A new layer's part of the error rate that is left for growth. `first` is the capacity of the
 * first layer; the new layer raises the filter's total capacity from `before` to `after`. Over any
 * chain of layers the parts sum up to less than 1. */
double sizing_growth_share(double first, double before, double after);

#endif
