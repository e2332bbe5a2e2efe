/* Whose type a filter is of. See origin.h. */

#include "module/core/filter/origin.h"

#include "module/core/filter/filter.h"

/* ---- Ours: most of the rate to the first layer, the rest by doublings (sizing.h) ---- */

static double own_next_rate(const struct growth *g) {
    return g->budget * sizing_growth_share(g->first, g->before, g->after);
}

/* ---- RedisBloom's: each layer has half of the last one's rate, the first half of the filter's */

static double redisbloom_first_rate(double error_rate, uint32_t expansion) {
    return expansion ? error_rate / 2 : error_rate;
}

static double redisbloom_next_rate(const struct growth *g) {
    return g->last_rate / 2;
}

static bool redisbloom_size(uint64_t capacity, double error_rate, struct geometry geometry,
                            struct sizing *out) {
    (void)geometry;
    return sizing_as_redisbloom(capacity, error_rate, out);
}

/* ---- valkey-bloom's: the last layer's rate times a ratio; the first has all of the filter's ----
 */

static double valkeybloom_first_rate(double error_rate, uint32_t expansion) {
    (void)expansion;
    return error_rate;
}

static double valkeybloom_next_rate(const struct growth *g) {
    return sizing_valkeybloom_rate(g->error_rate, g->ratio, g->nlayers);
}

static bool valkeybloom_size(uint64_t capacity, double error_rate, struct geometry geometry,
                             struct sizing *out) {
    (void)geometry;
    return sizing_as_valkeybloom(capacity, error_rate, out);
}

/* ---- The table ---- */

static const struct origin_row ROWS[ORIGIN_COUNT] = {
    [ORIGIN_OWN] = {.program = "bloomport",
                    .first_rate = filter_first_rate,
                    .next_rate = own_next_rate,
                    .size = sizing_by_error},
    [ORIGIN_REDISBLOOM] = {.program = "RedisBloom",
                           .is_foreign = true,
                           .kept = 2, // the expansion that its non-scaling filters state
                           .bits_per_item = sizing_redisbloom_bits,
                           .first_rate = redisbloom_first_rate,
                           .next_rate = redisbloom_next_rate,
                           .size = redisbloom_size},
    [ORIGIN_VALKEYBLOOM] = {.program = "valkey-bloom",
                            .is_foreign = true,
                            .has_ratio = true,
                            .has_last_count = true,
                            .first_rate = valkeybloom_first_rate,
                            .next_rate = valkeybloom_next_rate,
                            .size = valkeybloom_size},
};

const struct origin_row *origin_row(enum origin origin) {
    return &ROWS[origin];
}

const struct origin_row *origin_rules(enum origin origin, enum scheme scheme) {
    return &ROWS[scheme == SCHEME_MURMUR ? ORIGIN_REDISBLOOM : origin];
}
