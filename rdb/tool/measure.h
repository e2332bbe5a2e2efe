/* What the bits of a filter say about it now. The formulas are those of BF.STATS. */

#ifndef BLOOMPORT_TOOL_MEASURE_H
#define BLOOMPORT_TOOL_MEASURE_H

#include "module/core/filter.h"

uint64_t measure_items(const struct filter *filter); // estimated, over all layers
uint64_t measure_bits(const struct filter *filter);
uint64_t measure_ones(const struct filter *filter);

/* The share of false yes: that at least one layer says yes. */
double measure_error_rate(const struct filter *filter);

#endif
