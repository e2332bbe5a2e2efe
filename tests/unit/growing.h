/* Adding with growth, as the server does it: for all programs that test the pure code. */

#ifndef BLOOMPORT_TESTS_GROWING_H
#define BLOOMPORT_TESTS_GROWING_H

#include "module/core/batch.h"

/* filter_add, and filter_grow if the filter has to. */
__attribute__((unused)) static enum status add_growing(struct filter *filter, struct hash hash,
                                                       uint64_t max_bytes, bool *added) {
    struct outcome outcome;
    enum status st = filter_add(filter, hash, &outcome);
    if (st == STATUS_GROW) {
        st = filter_grow(filter, max_bytes, LIMITS_MAX_LAYERS);
        if (st == STATUS_OK) st = filter_add(filter, hash, &outcome);
    }
    if (st == STATUS_OK) *added = outcome.added;
    return st;
}

/* batch_add_many, and filter_grow where the filter has to grow. */
__attribute__((unused)) static enum status add_many_growing(struct filter *filter,
                                                            const struct hash *hashes, size_t n,
                                                            uint64_t max_bytes, bool *added,
                                                            size_t *done) {
    *done = 0;
    for (;;) {
        size_t some;
        enum status st = batch_add_many(filter, hashes + *done, n - *done, added + *done, &some);
        *done += some;
        if (st == STATUS_GROW) st = filter_grow(filter, max_bytes, LIMITS_MAX_LAYERS);
        if (st != STATUS_OK || *done == n) return st;
    }
}

#endif
