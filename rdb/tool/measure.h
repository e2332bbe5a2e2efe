/* What the bits of a filter say about it now. The formulas are those of BF.STATS. */

#ifndef BLOOMPORT_TOOL_MEASURE_H
#define BLOOMPORT_TOOL_MEASURE_H

#include "module/core/filter.h"

/* -(m/k) ln(1 - ones/m), held to what is possible: at least ones/k, at most ones. */
uint64_t measure_layer_items(const struct layer *layer);

uint64_t measure_items(const struct filter *filter); // the sum over all layers
uint64_t measure_bits(const struct filter *filter);
uint64_t measure_ones(const struct filter *filter);

/* The share of false yes: that at least one layer says yes. */
double measure_error_rate(const struct filter *filter);

#endif
