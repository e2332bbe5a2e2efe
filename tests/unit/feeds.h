/* A feed of hashes for batch_run, in groups of any size, with all that became of each item: for the
 * programs that test the pure code. */

#ifndef BLOOMPORT_TESTS_FEEDS_H
#define BLOOMPORT_TESTS_FEEDS_H

#include "module/core/filter/batch.h"

struct hashes_feed {
    struct feed feed;
    const struct hash *hashes;
    size_t n;
    size_t taken;
    size_t (*group)(void *argument, size_t left); // how many at a time; NULL: as many as fit
    void *argument;

    /* Called for each item in order, and for each that cannot be added. */
    void (*take)(void *argument, struct outcome outcome);
    enum batch_verdict (*make_room)(void *argument, enum status st, struct filter **filter);
};

static size_t hashes_next(struct feed *feed, const struct filter *filter, struct hash *out) {
    (void)filter;
    struct hashes_feed *f = (struct hashes_feed *)feed;
    size_t left = f->n - f->taken, n = left < PROBE_ITEMS ? left : PROBE_ITEMS;
    if (f->group && left > 0) n = f->group(f->argument, left);
    for (size_t i = 0; i < n; i++) out[i] = f->hashes[f->taken + i];
    f->taken += n;
    return n;
}

static void hashes_emit(struct feed *feed, const struct outcome *outcomes, size_t n) {
    struct hashes_feed *f = (struct hashes_feed *)feed;
    for (size_t i = 0; i < n; i++) f->take(f->argument, outcomes[i]);
}

static enum batch_verdict hashes_make_room(struct feed *feed, enum status st,
                                           struct filter **filter) {
    struct hashes_feed *f = (struct hashes_feed *)feed;
    return f->make_room ? f->make_room(f->argument, st, filter) : BATCH_END;
}

__attribute__((unused)) static void hashes_run(const struct filter *filter, enum batch_work work,
                                               struct hashes_feed *f) {
    f->feed = (struct feed){hashes_next, hashes_emit, hashes_make_room};
    batch_run(filter, work, &f->feed);
}

#endif
