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
 * batch_run is the only loop over items. What differs between BF.MADD, BF.MEXISTS, BF.BULKADD,
 * BF.DEL and the tool is a *feed*: where the next items come from, where their outcomes go, and
 * what is done about an item that the filter has no room for.
 *
 *   next --hashes--> three probes --outcomes--> emit
 *                         |
 *                      make_room     an add to a full layer
 *
 * Answers, bits and counts equal those of one filter_contains, filter_add or filter_remove per
 * item. */

#ifndef BLOOMPORT_BATCH_H
#define BLOOMPORT_BATCH_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>

enum batch_work {
    BATCH_LOOK_UP, // an outcome is {contained, false}
    BATCH_ADD,
    BATCH_REMOVE, // COUNTING: an outcome is {was contained, a counter changed}
};

/* What becomes of an item that the filter has no room for. */
enum batch_verdict {
    BATCH_RETRY, // the filter has grown
    BATCH_SKIP,  // the item is left out; it has no outcome
    BATCH_FORCE, // it is added all the same (filter_probed_force)
    BATCH_END,   // neither this item nor a later one is added
};

/* The functions of a feed get its address, so a feed is the first member of what they need. */
struct feed {
    /* Writes the hashes of the next items, PROBE_ITEMS at most. Returns how many; 0: that was all.
     * A scheme that reads the item (scheme.h) reads it until its outcome has come. */
    size_t (*next)(struct feed *feed, const struct filter *filter, struct hash *hashes);

    /* Takes the outcomes of the next n items, in order. */
    void (*emit)(struct feed *feed, const struct outcome *outcomes, size_t n);

    /* BATCH_ADD: the next item got STATUS_GROW or STATUS_FULL. *filter may be replaced. */
    enum batch_verdict (*make_room)(struct feed *feed, enum status st, struct filter **filter);
};

/* Does the work for all items of the feed. Lookups change nothing, whatever the type says. */
void batch_run(const struct filter *filter, enum batch_work work, struct feed *feed);

/* Looks up an array of hashes: contained[i] is the answer for hashes[i]. */
void batch_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                         bool *contained);

#endif
