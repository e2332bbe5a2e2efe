/* Hashes -> bits, for CLASSIC filters beyond the caches: positions are sorted into regions of the
 * array that fit into the second-level cache, and the bits are set region by region. Several
 * threads do so side by side, each with positions of its own. The bits are those of filter_add;
 * the items are not counted. */

#ifndef BLOOMPORT_TOOL_SORTER_H
#define BLOOMPORT_TOOL_SORTER_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>

struct sorter;

/* NULL if this is no filter for it, or there is no memory. */
struct sorter *sorter_new(struct filter *filter, unsigned nthreads);

/* Thread number `thread` adds; and, when it has no more, sets the last bits. */
void sorter_add(struct sorter *sorter, unsigned thread, const struct hash *hashes, size_t n);
void sorter_flush(struct sorter *sorter, unsigned thread);

/* After all threads have flushed. */
void sorter_free(struct sorter *sorter);

#endif
