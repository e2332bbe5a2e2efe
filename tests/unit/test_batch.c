/* Many items at once: filter_contains_many and filter_add_many do exactly what one call per item
 * does, in answers, bits and counts. The oracle is filter_contains and filter_add, item by item, on
 * a deep copy; test_layer.c and test_blocked.c compare those with a naive model. */

#include "tests/unit/helpers.h"

static const size_t LENGTHS[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256};

/* ---- Windows ---- */

struct window {
    struct hash *hashes; // exactly n: the sanitizer sees a read past the end
    size_t n;
};

/* Items `first`, `first` + 1, ... */
static struct window window_of(enum scheme scheme, uint64_t first, size_t n) {
    struct window w = {malloc(n * sizeof(struct hash) + (n == 0)), n};
    for (size_t i = 0; i < n; i++) w.hashes[i] = item_hash(scheme, first + i);
    return w;
}

/* Random items below `universe`: if that is small, a window has items two and three times. */
static struct window random_window(struct rng *r, enum scheme scheme, uint64_t universe, size_t n) {
    struct window w = {malloc(n * sizeof(struct hash) + (n == 0)), n};
    for (size_t i = 0; i < n; i++) w.hashes[i] = item_hash(scheme, rng_below(r, universe));
    return w;
}

static bool *answers_new(size_t n) {
    bool *answers = malloc(n * sizeof(bool) + (n == 0));
    for (size_t i = 0; i < n; i++) answers[i] = true;
    return answers;
}

/* ---- Against one item at a time ---- */

/* Looks the window up at once; returns how many of its items the filter contains. */
static size_t assert_contains_alike(const struct filter *filter, struct window w) {
    struct filter *before = copy_of(filter);
    bool *contained = answers_new(w.n);
    size_t hits = 0;
    batch_contains_many(filter, w.hashes, w.n, contained);
    for (size_t i = 0; i < w.n; i++) {
        if (contained[i] != filter_contains(before, w.hashes[i])) {
            fail_msg("item %zu of %zu: %d at once", i, w.n, contained[i]);
        }
        hits += contained[i];
    }
    assert_true(same_filter(filter, before)); // a lookup changes nothing
    free(contained);
    filter_free(before);
    return hits;
}

struct result {
    enum status status;
    size_t done, added;
};

/* Adds the window at once to `filter`, and item by item to a copy. `fail_at`: as of spy_fail_at,
 * counted from the start of either. */
static struct result assert_adds_alike(struct filter *filter, struct window w, uint64_t max_bytes,
                                       long fail_at) {
    struct filter *single = copy_of(filter);
    bool *expected = answers_new(w.n), *added = answers_new(w.n);
    struct result one = {STATUS_OK, 0, 0}, many = {STATUS_OK, w.n + 1, 0};

    spy_fail_at(fail_at);
    while (one.status == STATUS_OK && one.done < w.n) {
        one.status = add_growing(single, w.hashes[one.done], max_bytes, &expected[one.done]);
        if (one.status == STATUS_OK) one.done++;
    }
    spy_fail_at(fail_at);
    many.status = add_many_growing(filter, w.hashes, w.n, max_bytes, added, &many.done);
    spy_fail_at(0);

    assert_int_equal(many.status, one.status);
    assert_int_equal(many.done, one.done);
    for (size_t i = 0; i < one.done; i++) {
        if (added[i] != expected[i]) fail_msg("item %zu of %zu: %d at once", i, w.n, added[i]);
        many.added += added[i];
    }
    assert_true(same_filter(filter, single));
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        assert_true(layer_count_ones(&filter->layers[i]) == filter->layers[i].ones);
    }
    free(added);
    free(expected);
    filter_free(single);
    return many;
}

/* ---- Filters built by hand: any k, any number of layers ---- */

struct shape {
    enum layout layout;
    enum scheme scheme;
    uint64_t nbits;
    uint32_t nhashes;
};

/* Layers of one shape with room for 2000 items each, `fill` items in all but the last. */
static struct filter *built(struct shape shape, uint32_t nlayers, uint64_t fill) {
    struct filter *filter = filter_new_bare(nlayers);
    assert_non_null(filter);
    filter->layout = shape.layout;
    filter->scheme = shape.scheme;
    filter->expansion = 2;
    filter->error_rate = 0.01;
    struct sizing size = {shape.nbits, shape.nhashes};
    for (; filter->nlayers < nlayers; filter->nlayers++) {
        struct layer *layer = &filter->layers[filter->nlayers];
        assert_int_equal(
            layer_init(layer, size, (struct geometry){shape.layout, shape.scheme}, 2000, 0.001),
            STATUS_OK);
        for (uint64_t i = 0; i < fill && filter->nlayers + 1 < nlayers; i++) {
            layer_add(layer, item_hash(shape.scheme, filter->nlayers * fill + i));
        }
    }
    filter->loaded = filter_array_bytes(filter);
    return filter;
}

/* Tries every length of a window on one shape; half of the items are added before. */
static void check_shape(struct shape shape, uint32_t nlayers, struct rng *r) {
    struct filter *filter = built(shape, nlayers, 60);
    for (size_t i = 0; i < COUNT(LENGTHS); i++) {
        struct window w = random_window(r, shape.scheme, 400, LENGTHS[i]);
        assert_contains_alike(filter, w);
        assert_int_equal(assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0).status, STATUS_OK);
        assert_int_equal(assert_contains_alike(filter, w), w.n);
        assert_int_equal(assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0).added, 0);
        free(w.hashes);
    }
    filter_free(filter);
}

/* Odd, even and a power of two; small enough for many false positives, large enough for some
 * negatives. */
static const uint64_t SIZES[] = {67, 1000, 4096, 65537};

static void check_classic(enum scheme scheme, uint32_t from, uint32_t to, uint64_t stream) {
    struct rng r = rng_seeded(stream);
    for (uint32_t k = from; k <= to; k++) {
        for (size_t i = 0; i < COUNT(SIZES); i++) {
            struct shape shape = {LAYOUT_CLASSIC, scheme, SIZES[i], k};
            check_shape(shape, 1 + (k + (uint32_t)i) % 3, &r);
        }
    }
}

static void xxh64_windows_of_every_length_equal_one_by_one_for_k_1_to_40(void **state) {
    (void)state;
    check_classic(SCHEME_XXH64, 1, 40, 100);
}

static void fnv1a_windows_of_every_length_equal_one_by_one_for_k_1_to_40(void **state) {
    (void)state;
    check_classic(SCHEME_FNV1A, 1, 40, 101);
}

static void sip13_windows_of_every_length_equal_one_by_one_for_k_1_to_40(void **state) {
    (void)state;
    check_classic(SCHEME_SIP13, 1, 40, 104);
}

static void windows_equal_one_by_one_for_the_largest_k_a_file_may_have(void **state) {
    (void)state;
    check_classic(SCHEME_XXH64, 254, 255, 102);
    check_classic(SCHEME_SIP13, 254, 255, 105);
}

static void blocked_windows_of_every_length_equal_one_by_one(void **state) {
    (void)state;
    static const uint64_t BLOCKS[] = {1, 2, 3, 7, 16, 100, 1000};
    struct rng r = rng_seeded(103);
    for (size_t i = 0; i < COUNT(BLOCKS); i++) {
        struct shape shape = {LAYOUT_BLOCKED, SCHEME_XXH64, BLOCKS[i] * 256, 8};
        for (uint32_t nlayers = 1; nlayers <= 4; nlayers++) check_shape(shape, nlayers, &r);
    }
}

/* Each layer of every kind decides the answer alone once: its items are in no other layer. */
static void an_item_of_any_layer_is_found_and_not_added_again(void **state) {
    (void)state;
    static const struct shape SHAPES[] = {
        {LAYOUT_CLASSIC, SCHEME_XXH64, 65537, 7},  {LAYOUT_CLASSIC, SCHEME_XXH64, 65537, 33},
        {LAYOUT_CLASSIC, SCHEME_FNV1A, 65537, 7},  {LAYOUT_CLASSIC, SCHEME_SIP13, 65537, 1},
        {LAYOUT_CLASSIC, SCHEME_SIP13, 65537, 2},  {LAYOUT_CLASSIC, SCHEME_SIP13, 65537, 7},
        {LAYOUT_CLASSIC, SCHEME_SIP13, 65537, 33}, {LAYOUT_BLOCKED, SCHEME_XXH64, 65536, 8}};
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        struct filter *filter = built(SHAPES[i], 5, 50);
        struct window all = window_of(SHAPES[i].scheme, 0, 200); // of layers 0 to 3
        assert_int_equal(assert_contains_alike(filter, all), 200);
        assert_int_equal(assert_adds_alike(filter, all, FILTER_NO_LIMIT, 0).added, 0);
        assert_true(filter->layers[4].items == 0);
        free(all.hashes);
        filter_free(filter);
    }
}

/* ---- Duplicates ---- */

static const struct filter_params KINDS[] = {
    {.capacity = 3, .error_rate = 0.01, .expansion = 2},
    {.capacity = 3, .error_rate = 0.01, .expansion = 1},
    {.capacity = 100, .error_rate = 0.01, .expansion = 2},
    {.capacity = 3, .error_rate = 0.01, .expansion = 2, .layout = LAYOUT_BLOCKED},
    {.capacity = 100, .bits_per_key = 10, .expansion = 2, .layout = LAYOUT_BLOCKED},
    {.capacity = 3, .error_rate = 0.001, .expansion = 4, .scheme = SCHEME_FNV1A},
    {.capacity = 3, .error_rate = 0.001, .expansion = 2, .scheme = SCHEME_SIP13},
    {.capacity = 10, .bits_per_key = 4, .expansion = 1},
};

static struct filter *filter_of(struct filter_params params) {
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    return filter;
}

/* The duplicate comes 1 to 128 items after the first: within and beyond the prefetched items. */
static void an_item_twice_in_a_window_is_added_and_then_not(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(KINDS); kind++) {
        for (size_t apart = 1; apart <= 128; apart++) {
            struct filter *filter = filter_of(KINDS[kind]);
            struct window w = window_of(KINDS[kind].scheme, 0, 2 * apart);
            memcpy(w.hashes + apart, w.hashes, apart * sizeof *w.hashes);
            struct filter *probe = copy_of(filter);
            bool added[256];
            size_t done = 0;
            add_many_growing(probe, w.hashes, w.n, FILTER_NO_LIMIT, added, &done);
            assert_true(added[0]);
            for (size_t i = 0; i < apart; i++) assert_false(added[apart + i]);
            assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0);
            assert_true(same_filter(filter, probe));
            filter_free(probe);
            free(w.hashes);
            filter_free(filter);
        }
    }
}

static void a_window_of_one_item_256_times_adds_it_once(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(KINDS); kind++) {
        struct filter *filter = filter_of(KINDS[kind]);
        struct rng r = rng_seeded(110);
        struct window w = random_window(&r, KINDS[kind].scheme, 1, 256);
        assert_int_equal(assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0).added, 1);
        free(w.hashes);
        filter_free(filter);
    }
}

/* ---- Growth in the middle ---- */

static void growth_many_times_within_a_window_equals_one_by_one(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(KINDS); kind++) {
        struct filter *filter = filter_of(KINDS[kind]);
        struct window w = window_of(KINDS[kind].scheme, 1000, 256);
        assert_int_equal(assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0).status, STATUS_OK);
        if (KINDS[kind].capacity == 3) assert_true(filter->nlayers >= 4);
        assert_int_equal(assert_contains_alike(filter, w), w.n);
        free(w.hashes);
        filter_free(filter);
    }
}

/* The filter is full after 0, 1, 2, ... items of the window, so that it grows at every place. */
static void growth_at_every_place_of_a_window_equals_one_by_one(void **state) {
    (void)state;
    static const struct geometry KEYED = {LAYOUT_CLASSIC, SCHEME_SIP13};
    const struct geometry geometries[] = {CLASSIC, BLOCKED, KEYED};
    for (size_t i = 0; i < COUNT(geometries); i++) {
        for (uint64_t room = 0; room <= 40; room++) {
            struct filter_params params = {.capacity = 60,
                                           .error_rate = 0.01,
                                           .expansion = 2,
                                           .layout = geometries[i].layout,
                                           .scheme = geometries[i].scheme};
            struct filter *filter = filter_of(params);
            fill_to(filter, 60 - room, 0);
            struct rng r = rng_seeded(120 + room);
            struct window w = random_window(&r, params.scheme, 300, 64);
            assert_int_equal(assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0).status, STATUS_OK);
            free(w.hashes);
            filter_free(filter);
        }
    }
}

/* ---- What stops a window ---- */

static void a_non_scaling_filter_full_in_the_middle_stops_there(void **state) {
    (void)state;
    for (uint64_t layout = LAYOUT_CLASSIC; layout < LAYOUT_COUNT; layout++) {
        for (uint64_t capacity = 1; capacity <= 256; capacity += 1 + capacity / 9) {
            struct filter_params params = {
                .capacity = capacity, .error_rate = 1e-6, .layout = (enum layout)layout};
            if (layout != LAYOUT_BLOCKED && capacity % 2) params.scheme = SCHEME_SIP13;
            struct filter *filter = filter_of(params);
            struct window w = window_of(params.scheme, 0, 256);
            struct result outcome = assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0);
            assert_true(filter_items(filter) == capacity || capacity > 250);
            if (filter_items(filter) == capacity && outcome.done < 256) {
                assert_int_equal(outcome.status, STATUS_FULL);
                assert_int_equal(outcome.added, capacity);
                // Items after it set no bits: at this rate none is found even by chance.
                for (size_t i = outcome.done; i < 256; i++) {
                    assert_false(filter_contains(filter, w.hashes[i]));
                }
            }
            free(w.hashes);
            filter_free(filter);
        }
    }
}

static void a_full_non_scaling_filter_passes_known_items_and_stops_at_a_new_one(void **state) {
    (void)state;
    for (uint64_t layout = LAYOUT_CLASSIC; layout < LAYOUT_COUNT; layout++) {
        struct filter_params params = {
            .capacity = 100, .error_rate = 1e-6, .layout = (enum layout)layout};
        struct filter *filter = filter_of(params);
        fill_to(filter, 100, 0);
        for (size_t at = 0; at < 100; at++) {
            struct window w = window_of(SCHEME_XXH64, 0, 100);
            w.hashes[at] = item_hash(SCHEME_XXH64, 5000 + at);
            struct result outcome = assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0);
            assert_int_equal(outcome.status, STATUS_FULL);
            assert_int_equal(outcome.done, at);
            assert_int_equal(outcome.added, 0);
            free(w.hashes);
        }
        filter_free(filter);
    }
}

/* A merge, or an import, may leave more items than the capacity. */
static void a_filter_that_is_more_than_full_grows_or_stops_as_one_by_one(void **state) {
    (void)state;
    for (uint64_t layout = LAYOUT_CLASSIC; layout <= LAYOUT_BLOCKED; layout++) {
        for (uint32_t expansion = 0; expansion <= 2; expansion += 2) {
            struct filter_params params = {.capacity = 100,
                                           .error_rate = 1e-6,
                                           .expansion = expansion,
                                           .layout = (enum layout)layout};
            struct filter *filter = filter_of(params);
            fill_to(filter, 100, 0);
            filter->layers[0].items += 7;
            struct window w = window_of(SCHEME_XXH64, 5000, 20);
            struct result outcome = assert_adds_alike(filter, w, FILTER_NO_LIMIT, 0);
            assert_int_equal(outcome.status, expansion ? STATUS_OK : STATUS_FULL);
            assert_int_equal(outcome.added, expansion ? 20 : 0);
            assert_int_equal(filter->nlayers, expansion ? 2 : 1);
            free(w.hashes);
            filter_free(filter);
        }
    }
}

/* The commands work so: no growth is allowed, and adding continues where it stopped. */
static void a_window_that_may_not_grow_stops_and_can_be_gone_on_with(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(KINDS); kind++) {
        struct filter *filter = filter_of(KINDS[kind]), *single = copy_of(filter);
        struct window w = window_of(KINDS[kind].scheme, 77, 256);
        int stops = 0;
        for (size_t from = 0; from < w.n;) {
            struct window rest = {w.hashes + from, w.n - from};
            struct result outcome = assert_adds_alike(filter, rest, 0, 0);
            from += outcome.done;
            if (outcome.status == STATUS_OK) break;
            assert_int_equal(outcome.status, STATUS_NOMEM);
            bool added;
            assert_int_equal(add_growing(filter, w.hashes[from++], FILTER_NO_LIMIT, &added),
                             STATUS_OK);
            stops++;
        }
        assert_true(stops > 0);
        assert_adds_alike(single, w, FILTER_NO_LIMIT, 0);
        assert_true(same_filter(filter, single));
        free(w.hashes);
        filter_free(single);
        filter_free(filter);
    }
}

static void a_window_out_of_memory_at_any_allocation_stops_as_one_by_one_does(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(KINDS); kind++) {
        struct window w = window_of(KINDS[kind].scheme, 0, 256);
        enum status status = STATUS_NOMEM;
        long n;
        for (n = 1; status != STATUS_OK; n++) {
            struct filter *filter = filter_of(KINDS[kind]);
            status = assert_adds_alike(filter, w, FILTER_NO_LIMIT, n).status;
            assert_true(status == STATUS_OK || status == STATUS_NOMEM);
            filter_free(filter);
            assert_int_equal(spy.live, 0);
        }
        assert_true(n > 2);
        free(w.hashes);
    }
}

/* ---- Random programs ---- */

static struct filter_params random_params(struct rng *r) {
    static const uint64_t CAPACITIES[] = {1, 2, 3, 10, 100, 300, 1000};
    static const uint32_t EXPANSIONS[] = {0, 1, 2, 2, 4};
    static const double RATES[] = {0.5, 0.1, 0.01, 1e-4, 1e-9};
    struct filter_params params = {.capacity = CAPACITIES[rng_below(r, COUNT(CAPACITIES))],
                                   .error_rate = RATES[rng_below(r, COUNT(RATES) - 1)],
                                   .expansion = EXPANSIONS[rng_below(r, COUNT(EXPANSIONS))]};
    if (params.expansion == 1) params.capacity = 50 + rng_below(r, 50); // not thousands of layers
    if (rng_below(r, 4) == 0) params.bits_per_key = 1 + (double)rng_below(r, 20);
    if (rng_below(r, 2) == 0) {
        params.layout = LAYOUT_BLOCKED;
    } else {
        params.error_rate = RATES[rng_below(r, COUNT(RATES))];
        static const enum scheme SCHEMES[] = {SCHEME_XXH64, SCHEME_FNV1A, SCHEME_SIP13};
        params.scheme = SCHEMES[rng_below(r, COUNT(SCHEMES))];
    }
    return params;
}

static void run_a_random_program(uint64_t stream) {
    struct rng r = rng_seeded(stream);
    struct filter_params params = random_params(&r);
    struct filter *filter = filter_of(params);
    uint64_t universe = 1 + rng_below(&r, 3000);
    for (int step = 0; step < 12; step++) {
        size_t n = (size_t)(rng_below(&r, 2) ? rng_below(&r, 257) : rng_below(&r, 20));
        struct window w = random_window(&r, params.scheme, universe, n);
        uint64_t limits[] = {0, filter_size_bytes(filter) + rng_below(&r, 3000), FILTER_NO_LIMIT,
                             FILTER_NO_LIMIT};
        if (rng_below(&r, 3) == 0) {
            assert_contains_alike(filter, w);
        } else {
            assert_adds_alike(filter, w, limits[rng_below(&r, COUNT(limits))], 0);
        }
        free(w.hashes);
    }
    filter_free(filter);
}

static void random_programs_of_windows_equal_one_by_one(void **state) {
    (void)state;
    uint64_t programs = RUNS_SLOWLY ? 200 : 1500;
    for (uint64_t i = 0; i < programs; i++) run_a_random_program(1000 + i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(xxh64_windows_of_every_length_equal_one_by_one_for_k_1_to_40),
        spied(fnv1a_windows_of_every_length_equal_one_by_one_for_k_1_to_40),
        spied(sip13_windows_of_every_length_equal_one_by_one_for_k_1_to_40),
        spied(windows_equal_one_by_one_for_the_largest_k_a_file_may_have),
        spied(blocked_windows_of_every_length_equal_one_by_one),
        spied(an_item_of_any_layer_is_found_and_not_added_again),
        spied(an_item_twice_in_a_window_is_added_and_then_not),
        spied(a_window_of_one_item_256_times_adds_it_once),
        spied(growth_many_times_within_a_window_equals_one_by_one),
        spied(growth_at_every_place_of_a_window_equals_one_by_one),
        spied(a_non_scaling_filter_full_in_the_middle_stops_there),
        spied(a_full_non_scaling_filter_passes_known_items_and_stops_at_a_new_one),
        spied(a_filter_that_is_more_than_full_grows_or_stops_as_one_by_one),
        spied(a_window_that_may_not_grow_stops_and_can_be_gone_on_with),
        spied(a_window_out_of_memory_at_any_allocation_stops_as_one_by_one_does),
        spied(random_programs_of_windows_equal_one_by_one),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
