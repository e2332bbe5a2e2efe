/* Many items through a filter, as fast as the memory allows: a pipeline of three probes. While the
 * lines of one arrive, the one before it is looked at, and the one before that is answered.
 *
 *   call       1        2        3        4
 *   items    0..7  ->  first    rest    answer
 *            8..15 ->           first    rest    answer
 *           16..23 ->                    first    rest    answer
 *
 * The caller hands in up to PROBE_ITEMS hashes at a time and gets the answers of those it handed in
 * some calls before, always in order; once it has no more, it hands in none until all are answered.
 * Answers, bits and counts are exactly those of one filter_contains or filter_add per item. */

#ifndef BLOOMPORT_BATCH_H
#define BLOOMPORT_BATCH_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>

/* A batch of lookups, or a batch of adds: never both. */
struct batch {
    struct filter *filter;
    size_t step;
    size_t next; // adds: the first item of the probe under way that was not added yet
    struct probe probes[3];
};

/* A batch is 7 KiB, on the stack of the caller. */
void batch_init(struct batch *batch, struct filter *filter);

/* Takes n hashes and answers an earlier probe: contained[0] on; returns for how many. */
size_t batch_contains(struct batch *batch, const struct hash *hashes, size_t n, bool *contained);

/* Takes n hashes and adds an earlier probe: added[0] to added[*done - 1] answer for its items.
 * STATUS_GROW, STATUS_FULL: the item after those cannot be added. The caller grows the filter and
 * calls batch_resume, or batch_skip to leave that item out, or gives up. */
enum status batch_add(struct batch *batch, const struct hash *hashes, size_t n, bool *added,
                      size_t *done);

/* Goes on with the rest of the probe; added and *done are as of batch_add, for the rest. */
enum status batch_resume(struct batch *batch, bool *added, size_t *done);

/* Leaves out the item that could not be added. */
void batch_skip(struct batch *batch);

/* Both for whole arrays: contained[i] or added[i] answers for hashes[i]. Adding stops at the first
 * item that is not STATUS_OK and returns its status; *done is then its index, else n. */
void batch_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                         bool *contained);
enum status batch_add_many(struct filter *filter, const struct hash *hashes, size_t n, bool *added,
                           size_t *done);

#endif
