/* The promises of windows, measured: the false-positive rate over all generations that live at a
 * time, and the memory. No clock is read; time is simulated.
 *
 * The moment is the worst one: the last millisecond before a step, with g+1 generations full.
 *
 *   steady   every generation gets what it was sized for, ceil(n/g) items
 *   bursty   the same, and the last tenth of the window brings ten times n
 *   stormy   every generation brings ten times what it was sized for
 *
 * The bound. With N absent items looked up, the measured rate may be up to
 *     1.1 p + 4 sqrt(1.1 p (1 - 1.1 p) / N).
 * Chance exceeds 4 sigma once in 30,000; the seed is fixed. Every cell prints its line. */

#include "tests/unit/windows.h"

#include <math.h>

#define TOLERANCE 1.1
#define SIGMAS 4
#define SLOWER (RUNS_SLOWLY ? 16 : 1)
#define CAPACITY 4000 // of a window; at g = 16 a generation has 250 items
#define WINDOW 160    // seconds

static const uint32_t GENERATIONS[] = {1, 2, 4, 16};
static const double RATES[] = {0.1, 0.01, 0.001};

/* ---- Filling ---- */

/* Items are random numbers, 8 bytes each: no two of a run are equal in practice (2^-64 a pair). */
static struct hash fresh_hash(struct rng *r, const struct filter *filter) {
    uint64_t item = rng_next(r);
    return filter_hash(filter, &item, sizeof(item));
}

static void add_counting(struct filter *filter, struct rng *r, uint64_t items) {
    uint64_t goal = filter_items(filter) + items;
    bool added;
    while (filter_items(filter) < goal) {
        enum status st = add_growing(filter, fresh_hash(r, filter), FILTER_NO_LIMIT, &added);
        assert_int_equal(st, STATUS_OK);
    }
}

/* g+1 generations, each with the items that it was sized for. Returns the last millisecond. */
static uint64_t fill_steadily(struct filter *filter, struct rng *r) {
    uint64_t step = window_step(filter->window, filter->generations), now = NOW - NOW % step;
    uint64_t each = (filter->window_capacity - 1) / filter->generations + 1;
    for (uint32_t i = 0; i < filter->generations + 1 + 3; i++, now += step) { // some are dropped
        rotate_at(filter, now);
        add_counting(filter, r, each);
    }
    assert_int_equal(generations_of(filter), filter->generations + 1);
    assert_int_equal(filter->nlayers, filter->generations + 1); // none has grown
    return now - 1;
}

/* Ten times the capacity within a tenth of a window, over as many generations as that takes. */
static uint64_t add_burst(struct filter *filter, struct rng *r, uint64_t now) {
    uint64_t ms = filter->window * UINT64_C(1000) / 10, parts = 64, start = now + 1;
    for (uint64_t i = 0; i < parts; i++) {
        now = start + ms * i / parts;
        rotate_at(filter, now);
        add_counting(filter, r, 10 * filter->window_capacity / parts);
    }
    return now;
}

/* Ten times the capacity in every window: every generation grows. */
static uint64_t add_storm(struct filter *filter, struct rng *r, uint64_t now) {
    uint64_t step = window_step(filter->window, filter->generations);
    now += step - now % step;
    for (uint32_t i = 0; i < filter->generations + 1; i++, now += step) {
        rotate_at(filter, now);
        add_counting(filter, r, 10 * filter->window_capacity / filter->generations);
    }
    return now - 1;
}

/* ---- Measuring ---- */

static double measured_rate(const struct filter *filter, uint64_t now, struct rng *r,
                            uint64_t lookups) {
    struct filter view;
    const struct filter *live = window_live(filter, now, &view);
    uint64_t hits = 0;
    assert_non_null(live);
    for (uint64_t i = 0; i < lookups; i++) hits += filter_contains(live, fresh_hash(r, filter));
    return (double)hits / (double)lookups;
}

static void assert_rate(const char *what, const struct filter *filter, uint64_t now, struct rng *r,
                        double promised) {
    uint64_t lookups = promised >= 0.05 ? 100000 : promised >= 0.005 ? 200000 : 400000;
    lookups /= SLOWER;
    double rate = measured_rate(filter, now, r, lookups), most = TOLERANCE * promised;
    double bound = most + SIGMAS * sqrt(most * (1 - most) / (double)lookups);
    print_message("%s %s g=%u p=%.3g: %.5f measured, bound %.5f, %llu lookups, %u layers\n",
                  filter->layout == LAYOUT_BLOCKED ? "BLOCKED" : "CLASSIC", what,
                  filter->generations, promised, rate, bound, (unsigned long long)lookups,
                  filter->nlayers);
    if (rate > bound) fail_msg("%s: %g, over %g", what, rate, bound);
    if (!RUNS_SLOWLY) assert_true(rate > promised / 4); // or the wrong filter is looked at
}

static void measure(struct filter_params params, double promised, uint64_t stream) {
    struct rng r = rng_seeded(stream);
    struct filter *filter = filter_as(&params);
    uint64_t now = fill_steadily(filter, &r);
    assert_rate("steady", filter, now, &r, promised);
    now = add_burst(filter, &r, now);
    assert_true(filter->nlayers > filter->generations + 1);
    assert_rate("bursty", filter, now, &r, promised);
    now = add_storm(filter, &r, now);
    assert_rate("stormy", filter, now, &r, promised);
    filter_free(filter);
}

static struct filter_params params_of(uint32_t generations, enum layout layout) {
    return (struct filter_params){.capacity = CAPACITY,
                                  .expansion = 2,
                                  .layout = layout,
                                  .window = WINDOW,
                                  .generations = generations};
}

static void measure_all(enum layout layout, uint64_t stream) {
    for (size_t g = 0; g < COUNT(GENERATIONS); g++) {
        for (size_t p = 0; p < COUNT(RATES); p++) {
            struct filter_params params = params_of(GENERATIONS[g], layout);
            params.error_rate = RATES[p];
            measure(params, RATES[p], stream + 10 * g + p);
        }
    }
}

static void a_full_window_keeps_its_rate_through_bursts_classic(void **state) {
    (void)state;
    measure_all(LAYOUT_CLASSIC, 1000);
}

static void a_full_window_keeps_its_rate_through_bursts_blocked(void **state) {
    (void)state;
    measure_all(LAYOUT_BLOCKED, 2000);
}

/* b bits per key promise 2(g+1) times the rate that they give. */
static void a_window_by_bits_keeps_its_rate_through_bursts(void **state) {
    (void)state;
    static const double BITS[] = {8, 10, 16};
    for (size_t g = 0; g < COUNT(GENERATIONS); g++) {
        for (size_t b = 0; b < COUNT(BITS); b++) {
            struct filter_params params = params_of(GENERATIONS[g], LAYOUT_CLASSIC);
            params.bits_per_key = BITS[b];
            struct sizing size;
            assert_true(sizing_by_bits(CAPACITY, BITS[b], CLASSIC, &size));
            double own = sizing_error_rate(CAPACITY, size, CLASSIC);
            measure(params, 2 * (GENERATIONS[g] + 1) * own, 3000 + 10 * g + b);
        }
    }
}

/* ---- Memory ---- */

#define LARGE UINT64_C(100000000)

/* The bits per item of a window: those of the g+1 generations that live at a time. */
static double bits_per_item(uint64_t capacity, double error_rate, uint32_t generations,
                            enum layout layout) {
    struct filter_params params = {.capacity = capacity,
                                   .error_rate = error_rate,
                                   .expansion = 2,
                                   .layout = layout,
                                   .window = 86400,
                                   .generations = generations};
    uint64_t bytes = filter_new_bytes(&params);
    assert_true(bytes != UINT64_MAX);
    return 8 * (double)bytes / (double)capacity;
}

static void a_window_takes_the_bits_per_item_of_the_table(void **state) {
    (void)state;
    static const struct {
        uint32_t generations;
        double bits[3]; // at p = 0.1, 0.01, 0.001
    } TABLE[] = {
        {1, {13.54, 23.00, 32.58}}, {2, {11.39, 18.53, 25.69}},  {4, {10.79, 16.76, 22.75}},
        {8, {11.08, 16.45, 21.85}}, {16, {11.86, 16.94, 22.04}},
    };
    for (size_t i = 0; i < COUNT(TABLE); i++) {
        for (size_t p = 0; p < COUNT(RATES); p++) {
            double bits = bits_per_item(LARGE, RATES[p], TABLE[i].generations, LAYOUT_CLASSIC);
            double blocked = bits_per_item(LARGE, RATES[p], TABLE[i].generations, LAYOUT_BLOCKED);
            print_message("g=%u p=%g: %.2f bits per item of a window; BLOCKED %.2f\n",
                          TABLE[i].generations, RATES[p], bits, blocked);
            assert_true(fabs(bits - TABLE[i].bits[p]) < 0.005);
        }
    }
}

static void a_window_at_one_percent_takes_16_8_bits_per_item(void **state) {
    (void)state;
    assert_true(bits_per_item(LARGE, 0.01, 4, LAYOUT_CLASSIC) <= 16.8);
    assert_true(bits_per_item(1000000, 0.01, 4, LAYOUT_CLASSIC) <= 16.8);
}

/* The same m and k, at four times the bits. */
static void counting_takes_at_most_4_05_times_the_bytes_of_classic(void **state) {
    (void)state;
    for (uint64_t n = 100; n <= LARGE; n = n * 5 / 4) {
        for (size_t p = 0; p < COUNT(RATES); p++) {
            struct sizing classic, counting;
            assert_true(sizing_by_error(n, RATES[p], CLASSIC, &classic));
            assert_true(sizing_by_error(n, RATES[p], COUNTING, &counting));
            assert_true(classic.nbits == counting.nbits && classic.nhashes == counting.nhashes);
            double times = (double)layout_bytes(LAYOUT_COUNTING, counting.nbits) /
                           (double)layout_bytes(LAYOUT_CLASSIC, classic.nbits);
            assert_true(times <= 4.05 && times > 3.9);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_window_keeps_its_rate_through_bursts_classic),
        cmocka_unit_test(a_full_window_keeps_its_rate_through_bursts_blocked),
        cmocka_unit_test(a_window_by_bits_keeps_its_rate_through_bursts),
        cmocka_unit_test(a_window_takes_the_bits_per_item_of_the_table),
        cmocka_unit_test(a_window_at_one_percent_takes_16_8_bits_per_item),
        cmocka_unit_test(counting_takes_at_most_4_05_times_the_bytes_of_classic),
    };
    return cmocka_run_group_tests_name("window rates", tests, print_seed, NULL);
}
