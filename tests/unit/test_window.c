/* Windows against an exact model: the time of each item's last add. No item is missing within its
 * window, and none is left of itself after window * (1 + 1/g) and g+1 ms, whatever the clock does.
 * The rates and sizes of windows are in test_window_rates.c. */

#include "tests/unit/windows.h"

#include "rdb/codec.h"

/* ---- The model ---- */

#define ITEMS 500 // their numbers: some come again and again
#define MOST_LOG 60000

struct entry {
    uint64_t item, time; // the filter's time
};

struct world {
    struct filter_params params;
    struct filter *filter;
    struct rng rng;
    uint64_t clock, newest; // the start of the newest generation
    uint64_t last[ITEMS];   // the filter's time at the item's last add; 0: never
    struct entry *log;
    size_t nlog;
};

static uint64_t filter_time(const struct world *w) {
    return w->clock > w->newest ? w->clock : w->newest;
}

/* The age of what was added at this time. The clock may have stepped back since. */
static uint64_t age_of(const struct world *w, uint64_t time) {
    uint64_t now = filter_time(w);
    return now > time ? now - time : 0;
}

/* An add makes the generation of now begin, unless the clock has stepped back. */
static void model_add(struct world *w, uint64_t item) {
    uint64_t step = step_of(&w->params), due = w->clock - w->clock % step;
    if (due > w->newest) w->newest = due;
    assert_true(w->nlog < MOST_LOG);
    w->last[item] = filter_time(w);
    w->log[w->nlog++] = (struct entry){item, w->last[item]};
}

static uint64_t ones_of(const struct filter *filter) {
    uint64_t ones = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) ones += filter->layers[i].ones;
    return ones;
}

static void world_add(struct world *w, uint64_t item) {
    bool is_present = contains_at(w->filter, item, w->clock);
    rotate_at(w->filter, w->clock); // which changes no answer
    assert_int_equal(contains_at(w->filter, item, w->clock), is_present);
    uint64_t ones = ones_of(w->filter), items = filter_items(w->filter);
    struct outcome outcome = add_at(w->filter, item, w->clock);
    model_add(w, item);
    assert_int_equal(outcome.answer, !is_present);
    assert_int_equal(outcome.changed, ones_of(w->filter) > ones);
    assert_int_equal(filter_items(w->filter), items + outcome.changed);
    assert_int_equal(filter_newest(w->filter)->start, w->newest);
    assert_true(contains_at(w->filter, item, w->clock));
}

/* Every item is found within its window. */
static void assert_none_is_missing(const struct world *w) {
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t age = age_of(w, w->last[i]);
        if (w->last[i] == 0 || age > UINT64_C(1000) * w->params.window) continue;
        if (contains_at(w->filter, i, w->clock)) continue;
        fail_msg("item %llu is missing after %llu ms of %u s in %u", (unsigned long long)i,
                 (unsigned long long)age, w->params.window, w->params.generations);
    }
}

/* Items that are too old have left nothing. A window that only the younger ones were added to has
 * the same live layers, to the last bit, so that it gives the same answers to everything. */
static void assert_the_old_are_gone(const struct world *w) {
    struct filter *young = filter_as(&w->params), a, b;
    uint64_t life = longest_life(&w->params);
    for (size_t i = 0; i < w->nlog; i++) {
        if (age_of(w, w->log[i].time) >= life) continue;
        add_at(young, w->log[i].item, w->log[i].time);
    }
    const struct filter *live = window_live(w->filter, w->clock, &a);
    const struct filter *expected = window_live(young, w->clock, &b);
    assert_int_equal(live != NULL, expected != NULL);
    if (live) assert_int_equal(live->nlayers, expected->nlayers);
    for (uint32_t i = 0; live && i < live->nlayers; i++) {
        assert_true(same_layer(&live->layers[i], &expected->layers[i]));
    }
    filter_free(young);
}

static void assert_sound(const struct world *w) {
    const char *fault = limits_fault(w->filter);
    if (fault) fail_msg("not loadable: %s", fault);
    assert_true(codec_bits_are_sound(w->filter));
    assert_true(generations_of(w->filter) <= w->params.generations + 1);
    assert_int_equal(w->filter->loaded, filter_array_bytes(w->filter));
    assert_int_equal(filter_capacity(w->filter), w->params.capacity);
    for (uint32_t i = 0; i < w->filter->nlayers; i++) {
        assert_true(w->filter->layers[i].items <= w->filter->layers[i].capacity);
    }
}

/* ---- What happens to a window ---- */

static uint64_t window_ms(const struct world *w) {
    return UINT64_C(1000) * w->params.window;
}

/* A window's worth of items, or less, evenly over a random time. */
static void run_steadily(struct world *w) {
    uint64_t n = 1 + rng_below(&w->rng, w->params.capacity);
    uint64_t pause = 1 + rng_below(&w->rng, 2 * window_ms(w) / w->params.capacity);
    for (uint64_t i = 0; i < n; i++, w->clock += pause) world_add(w, rng_below(&w->rng, ITEMS));
}

/* Ten times the capacity within a tenth of the window. */
static void run_a_burst(struct world *w) {
    uint64_t n = 10 * w->params.capacity, start = w->clock;
    for (uint64_t i = 0; i < n; i++) {
        w->clock = start + i * window_ms(w) / 10 / n;
        world_add(w, rng_below(&w->rng, ITEMS));
    }
}

static void be_idle(struct world *w) {
    w->clock += rng_below(&w->rng, 20 * window_ms(w));
}

static void step_back(struct world *w) {
    w->clock -= rng_below(&w->rng, 3 * window_ms(w));
}

/* A wrong jump, seen by lookups alone, or by an add too: then the window stands still. */
static void jump_forward_and_back(struct world *w) {
    uint64_t before = w->clock;
    w->clock += rng_below(&w->rng, 4 * window_ms(w));
    if (rng_below(&w->rng, 2)) world_add(w, rng_below(&w->rng, ITEMS));
    assert_none_is_missing(w);
    assert_the_old_are_gone(w);
    w->clock = before;
}

static void happen(struct world *w) {
    switch (rng_below(&w->rng, 12)) {
    case 0: run_a_burst(w); break;
    case 1: be_idle(w); break;
    case 2: step_back(w); break;
    case 3: jump_forward_and_back(w); break;
    case 4: w->clock += rng_below(&w->rng, window_ms(w)); break;
    default: run_steadily(w); break;
    }
    assert_none_is_missing(w);
}

static void live_through(struct filter_params params, uint64_t stream) {
    struct world w = {.params = params,
                      .filter = filter_as(&params),
                      .rng = rng_seeded(stream),
                      .clock = NOW,
                      .log = malloc(MOST_LOG * sizeof(struct entry))};
    uint32_t most = 0;
    for (int i = 0; i < 60 && w.nlog + 20 * params.capacity < MOST_LOG; i++) {
        happen(&w);
        assert_sound(&w);
        assert_the_old_are_gone(&w);
        if (generations_of(w.filter) > most) most = generations_of(w.filter);
    }
    assert_true(most > 1 && w.nlog > 2000); // or this would show nothing
    free(w.log);
    filter_free(w.filter);
}

static const uint32_t GENERATIONS[] = {1, 2, 4, 16};

static void random_adds_and_clocks_agree_with_the_model(enum layout layout, double rate,
                                                        double bits) {
    static const uint32_t SECONDS[] = {1, 7, 60, 86400};
    for (size_t g = 0; g < COUNT(GENERATIONS); g++) {
        for (size_t s = 0; s < COUNT(SECONDS); s++) {
            live_through((struct filter_params){.capacity = 90,
                                                .error_rate = rate,
                                                .bits_per_key = bits,
                                                .expansion = 1 + (uint32_t)s % 3,
                                                .layout = layout,
                                                .window = SECONDS[s],
                                                .generations = GENERATIONS[g]},
                         100 + 10 * g + s);
        }
    }
}

static void classic_windows_by_error_rate_agree_with_the_model(void **state) {
    (void)state;
    random_adds_and_clocks_agree_with_the_model(LAYOUT_CLASSIC, 0.01, 0);
}

static void blocked_windows_by_error_rate_agree_with_the_model(void **state) {
    (void)state;
    random_adds_and_clocks_agree_with_the_model(LAYOUT_BLOCKED, 0.05, 0);
}

static void classic_windows_by_bits_agree_with_the_model(void **state) {
    (void)state;
    random_adds_and_clocks_agree_with_the_model(LAYOUT_CLASSIC, 0, 9);
}

static void blocked_windows_by_bits_agree_with_the_model(void **state) {
    (void)state;
    random_adds_and_clocks_agree_with_the_model(LAYOUT_BLOCKED, 0, 7.5);
}

/* ---- To the millisecond ---- */

static struct filter_params window_params(uint32_t seconds, uint32_t generations) {
    return (struct filter_params){.capacity = 1000,
                                  .error_rate = 0.01,
                                  .expansion = 2,
                                  .window = seconds,
                                  .generations = generations};
}

static struct filter *window_for(uint32_t seconds, uint32_t generations) {
    struct filter_params params = window_params(seconds, generations);
    return filter_as(&params);
}

/* The item is alone in the filter, so that it is found because of itself only. */
static void an_item_lives_from_its_window_to_a_generation_more(void **state) {
    (void)state;
    struct rng r = rng_seeded(1);
    for (uint32_t g = 1; g <= LIMITS_MAX_GENERATIONS; g++) {
        for (int i = 0; i < 40; i++) {
            uint32_t seconds = 1 + (uint32_t)rng_below(&r, i < 20 ? 100 : LIMITS_MAX_WINDOW);
            struct filter_params params = window_params(seconds, g);
            struct filter *filter = filter_as(&params);
            uint64_t d = step_of(&params), now = NOW + rng_below(&r, 5 * d);
            add_at(filter, 7, now);
            assert_int_equal(window_step(seconds, g), d);
            assert_int_equal(filter_newest(filter)->start, now - now % d);
            assert_true(contains_at(filter, 7, now + UINT64_C(1000) * seconds));
            uint64_t end = now - now % d + (g + 1) * d;
            assert_int_equal(window_end(filter, filter_newest(filter)->start), end);
            assert_true(contains_at(filter, 7, end - 1));
            assert_false(contains_at(filter, 7, end));
            assert_false(contains_at(filter, 7, now + longest_life(&params)));
            filter_free(filter);
        }
    }
}

/* Refreshed just before the end, it stays for as long again; and it counts in each generation. */
static void an_item_that_is_added_again_stays(void **state) {
    (void)state;
    for (size_t g = 0; g < COUNT(GENERATIONS); g++) {
        struct filter *filter = window_for(60, GENERATIONS[g]);
        uint64_t now = NOW;
        for (int i = 0; i < 200; i++, now += 60000) {
            bool was_present = contains_at(filter, 7, now);
            struct outcome outcome = add_at(filter, 7, now);
            assert_int_equal(was_present, i > 0);
            assert_true(outcome.answer == !was_present && outcome.changed);
            outcome = add_at(filter, 7, now); // the newest generation has it now
            assert_true(!outcome.answer && !outcome.changed);
        }
        assert_int_equal(filter_items(filter), 2); // a window apart: in two generations
        assert_int_equal(filter->nlayers, 2);
        filter_free(filter);
    }
}

/* ---- Generations ---- */

static void a_fresh_window_has_not_begun(void **state) {
    (void)state;
    struct filter *filter = window_for(60, 4), view, *before = copy_of(filter);
    assert_true(filter->nlayers == 1 && filter->layers[0].start == 0);
    assert_int_equal(filter->layers[0].capacity, 250);
    assert_int_equal(filter_capacity(filter), 1000);
    assert_null(window_live(filter, NOW, &view));
    assert_null(window_live(filter, 0, &view));
    assert_true(window_is_due(filter, NOW) && window_is_due(filter, 0));
    assert_true(same_filter(filter, before));
    uint64_t bytes = filter_size_bytes(filter);
    assert_int_equal(window_rotated_bytes(filter, 15000), bytes);
    struct filter *dropped = filter;
    spy_fail_at(1); // its only layer begins: no memory is needed, and no limit is checked
    assert_int_equal(window_rotate(filter, 1700000010000, 0, &dropped), STATUS_OK);
    spy_fail_at(0);
    assert_null(dropped);
    assert_true(filter->nlayers == 1 && filter->layers[0].start == 1700000010000);
    filter_free(before);
    filter_free(filter);
}

static void a_cleared_window_has_not_begun_either(void **state) {
    (void)state;
    struct filter *fresh = window_for(60, 4), *filter = copy_of(fresh);
    bool changed = false;
    for (uint64_t i = 0; i < 3000; i++) add_at(filter, i, NOW + 30 * i);
    assert_true(filter->nlayers > 6);
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    assert_true(changed && same_filter(filter, fresh));
    rotate_at(filter, NOW); // begun, but empty: that is a change too
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    assert_true(changed && same_filter(filter, fresh));
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    assert_false(changed);
    filter_free(filter);
    filter_free(fresh);
}

/* BF.CLEAR ends a window that a wrong clock has sent into the future. */
static void a_clock_that_steps_back_drops_nothing_until_it_is_cleared(void **state) {
    (void)state;
    struct filter *filter = window_for(60, 4);
    add_at(filter, 1, NOW);
    add_at(filter, 2, NOW + 50000);
    struct filter *before = copy_of(filter);
    for (uint64_t now = NOW + 50000; now > NOW - 500000; now -= 5000) {
        assert_true(contains_at(filter, 1, now) && contains_at(filter, 2, now));
        assert_int_equal(window_is_due(filter, now), false);
    }
    assert_true(contains_at(filter, 1, 0) && contains_at(filter, 2, 0));
    assert_true(same_filter(filter, before));
    add_at(filter, 3, NOW - 500000); // into the newest generation, whatever the clock says
    assert_int_equal(filter->nlayers, before->nlayers);
    assert_true(contains_at(filter, 3, NOW + 50000 + 60000));
    bool changed;
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    add_at(filter, 4, NOW - 500000);
    assert_false(contains_at(filter, 4, NOW));
    filter_free(before);
    filter_free(filter);
}

static void a_clock_below_d_counts_as_d(void **state) {
    (void)state;
    static const uint64_t CLOCKS[] = {0, 1, 14999, 15000, 15001, 29999};
    for (size_t i = 0; i < COUNT(CLOCKS); i++) {
        struct filter *filter = window_for(60, 4);
        add_at(filter, 7, CLOCKS[i]);
        assert_int_equal(filter_newest(filter)->start, 15000);
        assert_true(contains_at(filter, 7, CLOCKS[i]) && contains_at(filter, 7, 15000 + 74999));
        assert_false(contains_at(filter, 7, 15000 + 75000));
        filter_free(filter);
    }
}

/* Steps of one d: the oldest of g+2 is dropped, whole. Steps of more: more are dropped. */
static void what_is_over_is_handed_out(void **state) {
    (void)state;
    for (uint32_t jump = 1; jump <= 7; jump++) {
        struct filter *filter = window_for(60, 4), *dropped = NULL;
        for (uint64_t i = 0; i < 5; i++) {
            for (uint64_t j = 0; j < 100 + 100 * i; j++)
                add_at(filter, 1000 * i + j, 15000 + 15000 * i);
        }
        uint32_t sizes[] = {1, 1, 2, 2, 2}, gone = jump < 5 ? jump : 5, layers = 0;
        assert_int_equal(filter->nlayers, 8);
        for (uint32_t i = 0; i < gone; i++) layers += sizes[i];
        struct filter *before = copy_of(filter);
        uint64_t start = 75000 + 15000 * jump, bytes = window_rotated_bytes(filter, start);
        assert_int_equal(window_rotate(filter, start, bytes, &dropped), STATUS_OK);
        assert_int_equal(dropped->nlayers, layers);
        for (uint32_t i = 0; i < layers; i++) {
            assert_true(same_layer(&dropped->layers[i], &before->layers[i]));
        }
        assert_int_equal(filter->nlayers, 8 - layers + 1);
        for (uint32_t i = layers; i < 8; i++) {
            assert_true(same_layer(&filter->layers[i - layers], &before->layers[i]));
        }
        const struct layer *fresh = filter_newest(filter);
        assert_true(fresh->start == start && fresh->ones == 0 && fresh->items == 0);
        assert_true(fresh->nbits == before->layers[0].nbits && fresh->capacity == 250);
        assert_int_equal(window_newest(filter), filter->nlayers - 1);
        assert_int_equal(filter_size_bytes(filter), bytes);
        assert_null(limits_fault(filter));
        filter_free(dropped);
        filter_free(before);
        filter_free(filter);
    }
}

/* A generation grows by itself: the layers of older ones do not count. */
static void each_generation_grows_from_its_own_first_layer(void **state) {
    (void)state;
    struct filter_params params = window_params(60, 4);
    struct filter *filter = filter_as(&params), *alone = filter_as(&params);
    for (uint64_t i = 0; i < 2000; i++) add_at(filter, i, NOW);
    uint32_t before = filter->nlayers;
    assert_true(before >= 4);
    for (uint64_t i = 0; i < 2000; i++) {
        add_at(filter, i, NOW + 15000); // the older generation has them all
        add_at(alone, i, NOW + 15000);
    }
    assert_int_equal(filter->nlayers, before + alone->nlayers);
    assert_int_equal(window_newest(filter), before);
    for (uint32_t i = 0; i < alone->nlayers; i++) {
        assert_true(same_layer(&filter->layers[before + i], &alone->layers[i]));
    }
    assert_int_equal(filter_grown_bytes(filter) - filter_size_bytes(filter),
                     filter_grown_bytes(alone) - filter_size_bytes(alone));
    filter_free(filter);
    filter_free(alone);
}

/* A filter sized by bits per key promises twice the rate of those bits for each generation. */
static void the_rates_of_a_generation_stay_within_its_share(void **state) {
    (void)state;
    for (int by_bits = 0; by_bits < 2; by_bits++) {
        struct filter_params params = window_params(60, 4);
        if (by_bits) params.bits_per_key = 10;
        struct filter *filter = filter_as(&params);
        double first = filter->layers[0].error_rate, sum = 0;
        double share = by_bits ? 2 * first : 0.01 / 5;
        if (!by_bits) assert_true(first == 0.01 / 5 * 0.8);
        if (by_bits) assert_int_equal(filter->layers[0].nbits, 2500);
        for (uint64_t i = 0; i < 100000; i++) add_at(filter, i, NOW);
        for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].error_rate;
        assert_true(filter->nlayers > 7 && sum <= share);
        filter_free(filter);
    }
}

/* ---- Limits ---- */

static void a_new_window_is_accounted_with_all_its_generations(void **state) {
    (void)state;
    for (uint32_t g = 1; g <= LIMITS_MAX_GENERATIONS; g++) {
        struct filter_params params = window_params(60, g);
        struct filter *filter = NULL;
        uint64_t bytes = filter_new_bytes(&params);
        assert_int_equal(filter_new(&params, bytes - 1, &filter), STATUS_NOMEM);
        assert_int_equal(filter_new(&params, bytes, &filter), STATUS_OK);
        uint64_t d = step_of(&params);
        for (uint64_t i = 0; i < 3 * g + 5; i++) add_at(filter, i, NOW + i * d);
        assert_int_equal(filter->nlayers, g + 1);
        assert_int_equal(filter_size_bytes(filter), bytes);
        filter_free(filter);
    }
}

static void a_window_is_held_to_max_bytes_to_the_byte(void **state) {
    (void)state;
    struct filter *filter = window_for(60, 4), *dropped = NULL;
    add_at(filter, 1, NOW);
    struct filter *before = copy_of(filter);
    uint64_t start = window_due(filter, NOW + 15000), bytes = window_rotated_bytes(filter, start);
    assert_int_equal(window_rotate(filter, start, bytes - 1, &dropped), STATUS_NOMEM);
    assert_null(dropped);
    assert_true(same_filter(filter, before));
    assert_int_equal(window_rotate(filter, start, bytes, &dropped), STATUS_OK);
    assert_int_equal(filter_size_bytes(filter), bytes);
    filter_free(dropped);
    filter_free(before);
    filter_free(filter);
}

static void a_window_whose_counts_have_no_room_does_not_rotate(void **state) {
    (void)state;
    struct filter *filter = window_for(60, 4), *dropped = NULL;
    add_at(filter, 1, NOW);
    filter->layers[0].capacity = LIMITS_MAX_COUNT / 2 + 1; // as a loaded one may have
    uint64_t start = window_due(filter, NOW + 15000);
    assert_int_equal(window_rotated_bytes(filter, start), UINT64_MAX);
    assert_int_equal(window_rotate(filter, start, FILTER_NO_LIMIT, &dropped), STATUS_NOMEM);
    assert_null(dropped);
    start = window_due(filter, NOW + 90000); // the first generation is over by then
    assert_int_equal(window_rotate(filter, start, FILTER_NO_LIMIT, &dropped), STATUS_OK);
    assert_null(limits_fault(filter));
    filter_free(dropped);
    filter_free(filter);
}

static void without_memory_a_window_does_not_rotate(void **state) {
    (void)state;
    struct filter *filter = window_for(60, 4), *dropped = NULL;
    for (uint64_t i = 0; i < 3000; i++) add_at(filter, i, NOW + 30 * i);
    struct filter *before = copy_of(filter);
    uint64_t start = window_due(filter, NOW + 150000);
    enum status st = STATUS_NOMEM;
    long failed = 0;
    for (; st == STATUS_NOMEM; failed++) {
        long live = spy.live;
        spy_fail_at(failed + 1);
        st = window_rotate(filter, start, FILTER_NO_LIMIT, &dropped);
        spy_fail_at(0);
        if (st == STATUS_NOMEM) assert_true(same_filter(filter, before) && spy.live == live);
        if (st == STATUS_NOMEM) assert_null(dropped);
    }
    assert_int_equal(st, STATUS_OK);
    assert_int_equal(failed - 1, 3); // the bits, the list of layers, what is dropped
    filter_free(dropped);
    filter_free(before);
    filter_free(filter);
}

/* ---- Dropping ---- */

/* Three generations, the second of two layers. */
static struct filter *three_generations(void) {
    struct filter *filter = window_for(60, 4);
    for (uint64_t i = 0; i < 3; i++) {
        for (uint64_t item = 0; item < (i == 1 ? 300 : 5); item++) {
            add_at(filter, 1000 * i + item, NOW + 15000 * i);
        }
    }
    assert_int_equal(generations_of(filter), 3);
    assert_true(filter->nlayers > 3);
    return filter;
}

static void drop(struct filter *filter, uint64_t start) {
    struct filter *dropped = NULL;
    assert_int_equal(window_drop(filter, start, &dropped), STATUS_OK);
    filter_free(dropped);
    assert_null(limits_fault(filter));
    assert_int_equal(filter->loaded, filter_array_bytes(filter));
}

static void what_is_over_is_the_newest_start_whose_life_has_ended(void **state) {
    (void)state;
    struct filter *filter = three_generations();
    uint64_t first = filter->layers[0].start;
    assert_int_equal(window_over(filter, 0), 0); // the clock has stepped back
    assert_int_equal(window_over(filter, first + 75000 - 1), 0);
    assert_int_equal(window_over(filter, first + 75000), first);
    assert_int_equal(window_over(filter, first + 90000 - 1), first);
    assert_int_equal(window_over(filter, first + 90000), first + 15000);
    assert_int_equal(window_over(filter, first + 105000), first + 30000);
    assert_int_equal(window_over(filter, UINT64_MAX), first + 30000);
    filter_free(filter);
    filter = window_for(60, 4);
    assert_int_equal(window_over(filter, UINT64_MAX), 0); // it has not begun
    filter_free(filter);
}

static void generations_are_dropped_whole_and_the_others_stay_as_they_are(void **state) {
    (void)state;
    struct filter *filter = three_generations(), *before = copy_of(filter), *dropped = NULL;
    uint64_t first = filter->layers[0].start;
    drop(filter, first - 1);
    assert_true(same_filter(filter, before));
    assert_int_equal(window_drop(filter, first + 15000, &dropped), STATUS_OK);
    assert_int_equal(dropped->nlayers, before->nlayers - 1);
    assert_int_equal(filter->nlayers, 1);
    assert_true(same_layer(&filter->layers[0], filter_newest(before)));
    filter_free(dropped);
    filter_free(before);
    filter_free(filter);
}

/* The last byte, found without a walk from the first. */
static void assert_end_is_found(const struct filter *filter) {
    uint64_t within, end = filter_array_bytes(filter);
    assert_ptr_equal(filter_locate(filter, end - 1, &within), filter_newest(filter));
    assert_int_equal(within, layer_array_bytes(filter_newest(filter)) - 1);
    assert_null(filter_locate(filter, end, &within));
}

static void bytes_are_found_after_layers_went_and_came(void **state) {
    (void)state;
    struct filter *filter = three_generations();
    uint64_t first = filter->layers[0].start;
    bool changed;
    assert_end_is_found(filter);
    drop(filter, first);
    assert_end_is_found(filter);
    rotate_at(filter, first + 15000 + 75000); // the second generation goes
    assert_end_is_found(filter);
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    assert_end_is_found(filter);
    filter_free(filter);
}

static void a_window_that_is_left_with_nothing_is_as_if_cleared(void **state) {
    (void)state;
    for (int has_one = 0; has_one < 2; has_one++) {
        struct filter *filter = three_generations();
        bool changed;
        if (has_one) drop(filter, filter->layers[0].start + 15000);
        struct filter *cleared = copy_of(filter);
        filter->is_estimated = cleared->is_estimated = true;
        drop(filter, filter_newest(filter)->start);
        assert_int_equal(filter_empty(cleared, &changed), STATUS_OK);
        assert_true(changed && same_filter(filter, cleared));
        assert_int_equal(window_over(filter, UINT64_MAX), 0);
        assert_true(add_at(filter, 1, NOW).answer); // and begins where the clock is
        filter_free(cleared);
        filter_free(filter);
    }
}

static void without_memory_a_window_drops_nothing(void **state) {
    (void)state;
    for (uint64_t upto = 0; upto < 3; upto++) {
        struct filter *filter = three_generations(), *before = copy_of(filter), *dropped = NULL;
        enum status st = STATUS_NOMEM;
        long failed = 0;
        for (; st == STATUS_NOMEM; failed++) {
            long live = spy.live;
            spy_fail_at(failed + 1);
            st = window_drop(filter, filter->layers[0].start + 15000 * upto, &dropped);
            spy_fail_at(0);
            if (st != STATUS_NOMEM) break;
            assert_true(same_filter(filter, before) && spy.live == live);
            assert_null(dropped);
        }
        assert_int_equal(st, STATUS_OK);
        assert_int_equal(failed, 2); // the list of layers, what is dropped
        filter_free(dropped);
        filter_free(before);
        filter_free(filter);
    }
}

static void estimates_end_when_all_that_was_estimated_is_dropped(void **state) {
    (void)state;
    struct filter *filter = window_for(60, 4);
    add_at(filter, 1, NOW);
    filter->is_estimated = true;
    add_at(filter, 2, NOW + 15000);
    assert_true(filter->is_estimated);
    add_at(filter, 3, NOW + 200000);
    assert_true(!filter->is_estimated && filter->nlayers == 1);
    filter_free(filter);
}

static void what_cannot_be_a_window_is_refused(void **state) {
    (void)state;
    struct filter *filter = NULL;
    const struct filter_params good = window_params(60, 4);
    struct filter_params bad[8];
    for (size_t i = 0; i < COUNT(bad); i++) bad[i] = good;
    bad[0].window = 0; // generations alone
    bad[1].generations = 0;
    bad[2].generations = LIMITS_MAX_GENERATIONS + 1;
    bad[3].window = LIMITS_MAX_WINDOW + 1;
    bad[4].expansion = 0;
    bad[5].layout = LAYOUT_COUNTING;
    bad[6].capacity = 0;
    bad[7].window = UINT32_MAX;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(filter_new(&bad[i], FILTER_NO_LIMIT, &filter), STATUS_PARAM);
        assert_true(filter_new_bytes(&bad[i]) == UINT64_MAX && filter == NULL);
    }
    struct filter_params most = good;
    most.window = LIMITS_MAX_WINDOW;
    most.generations = LIMITS_MAX_GENERATIONS;
    filter_free(filter_as(&most));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(classic_windows_by_error_rate_agree_with_the_model),
        spied(blocked_windows_by_error_rate_agree_with_the_model),
        spied(classic_windows_by_bits_agree_with_the_model),
        spied(blocked_windows_by_bits_agree_with_the_model),
        spied(an_item_lives_from_its_window_to_a_generation_more),
        spied(an_item_that_is_added_again_stays),
        spied(a_fresh_window_has_not_begun),
        spied(a_cleared_window_has_not_begun_either),
        spied(a_clock_that_steps_back_drops_nothing_until_it_is_cleared),
        spied(a_clock_below_d_counts_as_d),
        spied(what_is_over_is_handed_out),
        spied(each_generation_grows_from_its_own_first_layer),
        spied(the_rates_of_a_generation_stay_within_its_share),
        spied(a_new_window_is_accounted_with_all_its_generations),
        spied(a_window_is_held_to_max_bytes_to_the_byte),
        spied(a_window_whose_counts_have_no_room_does_not_rotate),
        spied(without_memory_a_window_does_not_rotate),
        spied(what_is_over_is_the_newest_start_whose_life_has_ended),
        spied(generations_are_dropped_whole_and_the_others_stay_as_they_are),
        spied(bytes_are_found_after_layers_went_and_came),
        spied(a_window_that_is_left_with_nothing_is_as_if_cleared),
        spied(without_memory_a_window_drops_nothing),
        spied(estimates_end_when_all_that_was_estimated_is_dropped),
        spied(what_cannot_be_a_window_is_refused),
    };
    return cmocka_run_group_tests_name("window", tests, print_seed, NULL);
}
