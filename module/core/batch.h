/* Many items through a filter, as fast as the memory allows.
 *
 * A batch is a pipeline of three probes. Each call moves every probe one step on, so that the cache
 * lines of one probe arrive while the core works on the other two:
 *
 *   lookups       call 1     call 2     call 3     call 4     call 5
 *   items  0..7   first      rest       answer
 *   items  8..15             first      rest       answer
 *   items 16..23                        first      rest       answer
 *
 *     first    prefetch the lines of each item's first bits
 *     rest     read those bits; prefetch the other lines of the items that have them all set
 *     answer   read the other bits; fill in contained[]
 *
 *   adds, CLASSIC                       adds, BLOCKED
 *                 call 1     call 2                   call 1     call 2     call 3
 *   items  0..7   prefetch   add        items  0..7   prefetch   (wait)     add
 *   items  8..15             prefetch   items  8..15             prefetch   (wait)
 *
 * The caller passes up to PROBE_ITEMS hashes per call and gets the answers for hashes of an earlier
 * call, always in order. When the caller has no more hashes, it calls with n = 0 until every item
 * is answered. Answers, bits and counts equal those of one filter_contains or filter_add per item.
 */

#ifndef BLOOMPORT_BATCH_H
#define BLOOMPORT_BATCH_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>

/* A batch of lookups, of adds, or of removals: one batch never mixes them. */
struct batch {
    struct filter *filter;
    size_t step;            // calls so far; step % 3 is the probe that the next call fills
    size_t next;            // adds: the first item of the current probe that is not added yet
    struct probe probes[3]; // used in turn
};

/* Starts an empty batch. It takes 7 KiB, which fit on the caller's stack. */
void batch_init(struct batch *batch, struct filter *filter);

/* Takes n hashes and answers an earlier probe. Returns how many items that probe has; contained[0]
 * to contained[that number - 1] are their answers. */
size_t batch_contains(struct batch *batch, const struct hash *hashes, size_t n, bool *contained);

/* Takes n hashes and adds the items of an earlier probe. outcomes[0] to outcomes[*done - 1] are
 * those of the items that were added.
 * STATUS_GROW, STATUS_FULL: the next item cannot be added. The caller grows the filter and calls
 * batch_resume, or calls batch_skip or batch_force and batch_resume to leave the item out or to add
 * it all the same, or gives up. */
enum status batch_add(struct batch *batch, const struct hash *hashes, size_t n,
                      struct outcome *outcomes, size_t *done);

/* Adds the remaining items of the probe. outcomes and *done mean what they mean in batch_add, and
 * count from the first remaining item. */
enum status batch_resume(struct batch *batch, struct outcome *outcomes, size_t *done);

/* Skips the item that could not be added. */
void batch_skip(struct batch *batch);

/* Adds the item that got STATUS_FULL all the same (filter_probed_force). */
struct outcome batch_force(struct batch *batch);

/* COUNTING: takes n hashes and removes the items of an earlier probe. Returns how many items that
 * probe has. For item i of it, removed[i] is whether the filter contained it, and changed[i]
 * whether a counter changed. */
size_t batch_remove(struct batch *batch, const struct hash *hashes, size_t n, bool *removed,
                    bool *changed);

/* Lookups and adds of n items: contained[i] or added[i] is the answer for hashes[i]. Adding stops
 * at the first item that cannot be added, returns that item's status and sets *done to its index.
 * If every item is added, *done is n. */
void batch_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                         bool *contained);
enum status batch_add_many(struct filter *filter, const struct hash *hashes, size_t n, bool *added,
                           size_t *done);

#endif
