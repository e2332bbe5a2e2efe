/* Adding with growth, as the server does it: for all programs that test the pure code. */

#ifndef BLOOMPORT_TESTS_GROWING_H
#define BLOOMPORT_TESTS_GROWING_H

#include "tests/unit/feeds.h"

/* filter_add, and filter_grow if the filter has to. */
__attribute__((unused)) static enum status add_growing(struct filter *filter, struct hash hash,
                                                       uint64_t max_bytes, bool *added) {
    struct outcome outcome;
    enum status st = filter_add(filter, hash, &outcome);
    if (st == STATUS_GROW) {
        st = filter_grow(filter, max_bytes, LIMITS_MAX_LAYERS);
        if (st == STATUS_OK) st = filter_add(filter, hash, &outcome);
    }
    if (st == STATUS_OK) *added = outcome.answer;
    return st;
}

/* Adds of an array of hashes: added[i] is the answer for hashes[i]. */
struct adds {
    bool *added;
    size_t done;
    enum status status; // of the item that ended them
};

static void take_add(void *argument, struct outcome outcome) {
    struct adds *adds = argument;
    adds->added[adds->done++] = outcome.answer;
}

static enum batch_verdict end_adds(void *argument, enum status st, struct filter **filter) {
    (void)filter;
    ((struct adds *)argument)->status = st;
    return BATCH_END;
}

/* Adds in a batch, up to the first item that cannot be added. Returns that item's status and sets
 * *done to its index; if all are added, to n. */
__attribute__((unused)) static enum status
add_many(struct filter *filter, const struct hash *hashes, size_t n, bool *added, size_t *done) {
    struct adds adds = {.added = added};
    struct hashes_feed feed = {
        .hashes = hashes, .n = n, .argument = &adds, .take = take_add, .make_room = end_adds};
    hashes_run(filter, BATCH_ADD, &feed);
    *done = adds.done;
    return adds.status;
}

/* The same, and filter_grow where the filter has to grow. */
__attribute__((unused)) static enum status add_many_growing(struct filter *filter,
                                                            const struct hash *hashes, size_t n,
                                                            uint64_t max_bytes, bool *added,
                                                            size_t *done) {
    *done = 0;
    for (;;) {
        size_t some;
        enum status st = add_many(filter, hashes + *done, n - *done, added + *done, &some);
        *done += some;
        if (st == STATUS_GROW) st = filter_grow(filter, max_bytes, LIMITS_MAX_LAYERS);
        if (st != STATUS_OK || *done == n) return st;
    }
}

#endif
