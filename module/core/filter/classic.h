/* The CLASSIC layout: an item's k bits lie anywhere in the array, where its walk leads (layer.h,
 * scheme.h). Its loops are those of layer.c. Here are its rates, which are those of COUNTING too:
 * the positions are the same. */

#ifndef BLOOMPORT_CLASSIC_H
#define BLOOMPORT_CLASSIC_H

#include "module/core/filter/layout.h"

/* The false-positive rate of a layer of this size when `items` adds have counted. */
double classic_rate_when_full(uint64_t items, struct sizing size, enum scheme scheme);

/* The rate that the layer would have with `ones` set positions. */
double classic_rate_at(const struct layer *layer, double ones);

#endif
