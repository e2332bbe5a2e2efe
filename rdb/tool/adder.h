/* Hashes -> the bits of a fresh filter, in a thread of its own beside the one that reads and
 * hashes.
 *
 * Two ways. The exact one is filter_add_many. The sorted one, for filters beyond the caches whose
 * exact count of items nobody asks for, sorts positions into regions of the array that fit into the
 * second-level cache and sets the bits region by region; the count is then the estimate, as after
 * an import. The bits are the same. */

#ifndef BLOOMPORT_TOOL_ADDER_H
#define BLOOMPORT_TOOL_ADDER_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>

struct adder;

/* The filter is the adder's until adder_end. is_exact: items must be counted and held to the
 * capacity; more of them end the program. */
struct adder *adder_begin(struct filter *filter, bool is_exact);

/* Where the next hashes go, at most ITEMS_BATCH, and then how many came. */
struct hash *adder_room(struct adder *adder);
void adder_take(struct adder *adder, size_t n);

/* Waits for the last of them. */
void adder_end(struct adder *adder);

#endif
