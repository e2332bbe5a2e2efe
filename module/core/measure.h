/* What the bits of a filter say about it now: the formulas of BF.STATS and of the tool. All are
 * O(layers). */

#ifndef BLOOMPORT_MEASURE_H
#define BLOOMPORT_MEASURE_H

#include "module/core/filter.h"

uint64_t measure_items(const struct filter *filter); // estimated, over all layers
uint64_t measure_bits(const struct filter *filter);
uint64_t measure_ones(const struct filter *filter);

/* The share of false yes: that at least one layer says yes. */
double measure_error_rate(const struct filter *filter);

/* The share of false yes that the filter promises, whatever it was asked for by: of bits per key,
 * what they give, and twice that once it has grown. */
double measure_promise(const struct filter *filter);

/* Whether it is far beyond its promise: wrong more than twice as often. What chance does to a full
 * filter is far less. */
bool measure_is_overfilled(const struct filter *filter);

#endif
