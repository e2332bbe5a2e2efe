/* The state of a filter, computed from its set bits: the formulas of BF.STATS and of the tool. Each
 * function takes O(layers). */

#ifndef BLOOMPORT_MEASURE_H
#define BLOOMPORT_MEASURE_H

#include "module/core/filter.h"

/* Sums over all layers. */
uint64_t measure_items(const struct filter *filter); // estimated from the set bits
uint64_t measure_bits(const struct filter *filter);
uint64_t measure_ones(const struct filter *filter); // set bits

/* The false-positive rate now: the probability that at least one layer contains an absent item. */
double measure_error_rate(const struct filter *filter);

/* The false-positive rate that the filter promises. A filter sized by bits per key promises the
 * rate that they give, and twice that rate once it has grown. A window sized by bits per key
 * promises twice the rate of each of its g+1 generations. */
double measure_promise(const struct filter *filter);

/* Whether the false-positive rate is more than twice the promised one. Chance alone moves the rate
 * of a full filter by far less. */
bool measure_is_overfilled(const struct filter *filter);

#endif
