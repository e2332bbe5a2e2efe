/* INFO bf: the filters that the server holds, and what was done with them since it started.
 *
 * The held filters are counted when the server gets a value from us, when a command has changed
 * one, and when one is freed. So the counts are right after loading, flushing, expiry and
 * replication. They include filters that a background thread has yet to free.
 *
 *   held now  =  metrics_held (main thread)  -  freed (any thread, atomic)
 *
 * All counters but `freed` belong to the main thread, so a command pays a few plain additions. The
 * functions are inline for that reason. */

#ifndef BLOOMPORT_METRICS_H
#define BLOOMPORT_METRICS_H

#include "module/core/filter/packed.h"
#include "module/core/measure.h"

#include <redismodule.h>

/* Counts since the server started. Items and commands that fail are not counted. */
extern struct metrics {
    uint64_t adds;          // items that the commands of adding.h answered with 0 or 1
    uint64_t checks;        // items that BF.EXISTS, BF.MEXISTS and BF.BULKEXISTS looked up
    uint64_t checks_absent; // looked-up items that were answered with 0
    uint64_t merges;        // BF.MERGE commands
    uint64_t imports;       // BF.IMPORT commands
} metrics;

/* The counts of one value, or of many. */
struct usage {
    uint64_t filters;
    uint64_t layers;
    uint64_t items;
    uint64_t bytes;
    uint64_t full;       // in the state `full` of BF.STATS
    uint64_t overfilled; // in the state `overfilled`; a window with every generation that it holds
};

/* The sum over all values that the server ever got; a freed value counts as it was last. */
extern struct usage metrics_held;

/* Whether the filter is overfilled. An add asks this twice, and rate.c takes microseconds, so
 * filter->safe_fill spares nearly every filter the arithmetic. */
static inline bool metrics_is_overfilled(const struct filter *filter) {
    return measure_is_settled(filter) ? filter->safe_fill < 0 : measure_is_overfilled(filter);
}

/* The usage of one value; `filter` is the same value, opened. Layers, items and bytes are of its
 * layers from this one on. All counts are 0 if value is NULL. A filter that is still loading has no
 * state. */
static inline struct usage metrics_usage(const void *value, const struct filter *filter,
                                         uint32_t from) {
    if (!value) return (struct usage){0};
    bool is_overfilled = !filter->is_loading && metrics_is_overfilled(filter);
    struct usage usage = {.filters = 1,
                          .layers = filter->nlayers - from,
                          .bytes = packed_structure_bytes(value),
                          .full = !filter->is_loading && !is_overfilled && measure_is_full(filter),
                          .overfilled = is_overfilled};
    for (uint32_t i = from; i < filter->nlayers; i++) {
        usage.items += filter->layers[i].items;
        usage.bytes += layer_array_bytes(&filter->layers[i]);
    }
    return usage;
}

/* Replaces *counted by `now`, in metrics_held and in *counted itself. Main thread only. */
static inline void metrics_settle(struct usage *counted, struct usage now) {
    // Differences may be negative: the sums are right modulo 2^64.
    metrics_held.filters += now.filters - counted->filters;
    metrics_held.layers += now.layers - counted->layers;
    metrics_held.items += now.items - counted->items;
    metrics_held.bytes += now.bytes - counted->bytes;
    metrics_held.full += now.full - counted->full;
    metrics_held.overfilled += now.overfilled - counted->overfilled;
    *counted = now;
}

/* Counts a value that the server gets from us: loaded, or copied. */
void metrics_hold(void *value);

/* Counts a value that the server frees. Any thread may call this. */
void metrics_release(const void *value);

/* Registers the section. REDISMODULE_ERR if the server refuses. */
int metrics_register(RedisModuleCtx *ctx);

#endif
