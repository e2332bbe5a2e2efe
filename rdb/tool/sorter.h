/* Hashes -> bits, for filters larger than the caches: positions are sorted into regions of the
 * array that fit into the second-level cache, and the bits are set region by region. Several
 * threads work side by side, each with positions of its own. The bits are those of filter_add;
 * the items are not counted. */

#ifndef BLOOMPORT_TOOL_SORTER_H
#define BLOOMPORT_TOOL_SORTER_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>

struct sorter;

/* NULL if the filter is too small to gain from sorting, too large for 32-bit positions, or memory
 * runs out. */
struct sorter *sorter_new(struct filter *filter, unsigned nthreads);

/* Thread number `thread` adds hashes; when it has no more, it flushes, which sets the last bits. */
void sorter_add(struct sorter *sorter, unsigned thread, const struct hash *hashes, size_t n);
void sorter_flush(struct sorter *sorter, unsigned thread);

/* After all threads have flushed. */
void sorter_free(struct sorter *sorter);

#endif
