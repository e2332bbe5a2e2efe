/* INFO bf. See metrics.h. */

#include "module/metrics.h"

#include <stdatomic.h>

struct metrics metrics;

struct usage metrics_held;

/* The sum over all values that the server has freed. */
static struct { atomic_uint_fast64_t filters, layers, items, bytes, full, overfilled; } freed;

static struct usage usage_of(const void *value) {
    struct packed_view view;
    return metrics_usage(value, packed_view(value, &view), 0);
}

void metrics_hold(void *value) {
    struct usage none = {0};
    if (!packed_is_packed(value)) measure_settle_fill(value, NULL);
    metrics_settle(&none, usage_of(value));
}

void metrics_release(const void *value) {
    struct usage usage = usage_of(value);
    atomic_fetch_add(&freed.filters, usage.filters);
    atomic_fetch_add(&freed.layers, usage.layers);
    atomic_fetch_add(&freed.items, usage.items);
    atomic_fetch_add(&freed.bytes, usage.bytes);
    atomic_fetch_add(&freed.full, usage.full);
    atomic_fetch_add(&freed.overfilled, usage.overfilled);
}

static void on_info(RedisModuleInfoCtx *ctx, int for_crash_report) {
    (void)for_crash_report;
    // A section without a name gets the module's name, and so does each field: bf_filters.
    if (RedisModule_InfoAddSection(ctx, "") != REDISMODULE_OK) return; // INFO wants another section
    RedisModule_InfoAddFieldULongLong(ctx, "filters",
                                      metrics_held.filters - atomic_load(&freed.filters));
    RedisModule_InfoAddFieldULongLong(ctx, "layers",
                                      metrics_held.layers - atomic_load(&freed.layers));
    RedisModule_InfoAddFieldULongLong(ctx, "items", metrics_held.items - atomic_load(&freed.items));
    RedisModule_InfoAddFieldULongLong(ctx, "bytes", metrics_held.bytes - atomic_load(&freed.bytes));
    RedisModule_InfoAddFieldULongLong(ctx, "full", metrics_held.full - atomic_load(&freed.full));
    RedisModule_InfoAddFieldULongLong(ctx, "overfilled",
                                      metrics_held.overfilled - atomic_load(&freed.overfilled));
    RedisModule_InfoAddFieldULongLong(ctx, "adds", metrics.adds);
    RedisModule_InfoAddFieldULongLong(ctx, "checks", metrics.checks);
    RedisModule_InfoAddFieldULongLong(ctx, "checks_absent", metrics.checks_absent);
    RedisModule_InfoAddFieldULongLong(ctx, "merges", metrics.merges);
    RedisModule_InfoAddFieldULongLong(ctx, "imports", metrics.imports);
}

int metrics_register(RedisModuleCtx *ctx) {
    return RedisModule_RegisterInfoFunc(ctx, on_info);
}
