/* INFO bf: what the server holds of filters, and what was done with them since it started.
 *
 * What it holds is counted when the server gets a value from us, when a command has changed one,
 * and when one is freed; so it is right after loading, flushing, expiry and replication, and counts
 * what a background thread has yet to free. Freeing happens in any thread and has counters of its
 * own; all others belong to the main thread, so a command pays a few plain additions, which is why
 * they are here in the header. */

#ifndef BLOOMPORT_METRICS_H
#define BLOOMPORT_METRICS_H

#include "module/core/packed.h"

#include <redismodule.h>

/* Since the server started. Of items: those of failed commands do not count. */
extern struct metrics {
    uint64_t adds;          // items offered to BF.ADD, BF.MADD, BF.INSERT and answered 0 or 1
    uint64_t checks;        // items asked for by BF.EXISTS, BF.MEXISTS
    uint64_t checks_absent; // of them, those answered 0
    uint64_t merges;        // BF.MERGE
    uint64_t imports;       // BF.IMPORT
} metrics;

/* What one value counts for, or many. */
struct usage {
    uint64_t filters;
    uint64_t layers;
    uint64_t items;
    uint64_t bytes;
};

/* All that the server has ever got, as it is or was last. */
extern struct usage metrics_held;

/* Of a value and the filter it is, opened; nothing if value is NULL. */
static inline struct usage metrics_usage(const void *value, const struct filter *filter) {
    if (!value) return (struct usage){0};
    return (struct usage){.filters = 1,
                          .layers = filter->nlayers,
                          .items = filter_items(filter),
                          .bytes = packed_size_bytes(value)};
}

/* The server holds `now` where it held *counted; *counted becomes that. Main thread only. */
static inline void metrics_settle(struct usage *counted, struct usage now) {
    // Differences may be negative: modulo 2^64 the sums are right all the same.
    metrics_held.filters += now.filters - counted->filters;
    metrics_held.layers += now.layers - counted->layers;
    metrics_held.items += now.items - counted->items;
    metrics_held.bytes += now.bytes - counted->bytes;
    *counted = now;
}

/* The server has got this value from us otherwise than by a command: loaded, or copied. */
void metrics_hold(const void *value);

/* The server frees this value, in any thread. */
void metrics_release(const void *value);

/* Registers the section. REDISMODULE_ERR if the server refuses. */
int metrics_register(RedisModuleCtx *ctx);

#endif
