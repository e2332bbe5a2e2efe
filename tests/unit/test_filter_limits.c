/* What a filter refuses, and that a refusal leaves it unchanged: parameters out of range, sizes
 * over the limit or beyond any machine, and running out of memory. */

#include "tests/unit/helpers.h"

#include <math.h>

/* ---- The limit ---- */

static void creation_is_held_to_max_bytes_to_the_byte(void **state) {
    (void)state;
    struct filter_params params = {.capacity = 1000, .error_rate = 0.01, .expansion = 2};
    struct filter *filter = filter_by_error(1000, 0.01, 2), *other = NULL;
    uint64_t size = filter_size_bytes(filter);
    assert_int_equal(filter_new(&params, size - 1, &other), STATUS_NOMEM);
    assert_int_equal(filter_new(&params, 0, &other), STATUS_NOMEM);
    assert_null(other);
    assert_int_equal(filter_new(&params, size, &other), STATUS_OK);
    filter_free(other);
    filter_free(filter);
}

static void growth_is_held_to_max_bytes_to_the_byte_and_leaves_it_unchanged(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(1000, 0.01, 2);
    uint64_t item = absent_item(filter, fill_to(filter, 1000, 0));
    struct filter *grown = copy_of(filter), *before = copy_of(filter);
    assert_true(add_item(grown, item));
    uint64_t size = filter_size_bytes(grown);
    bool added = true;
    assert_int_equal(try_add(filter, item, size - 1, &added), STATUS_NOMEM);
    assert_int_equal(try_add(filter, item, 0, &added), STATUS_NOMEM);
    assert_true(added);
    assert_true(same_filter(filter, before));
    assert_int_equal(try_add(filter, item, size, &added), STATUS_OK);
    assert_true(added && same_filter(filter, grown));
    filter_free(before);
    filter_free(grown);
    filter_free(filter);
}

static void adds_that_do_not_grow_ignore_max_bytes(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(1000, 0.01, 2);
    bool added = false;
    assert_int_equal(try_add(filter, 1, 0, &added), STATUS_OK); // the limit may have been lowered
    assert_true(added);
    filter_free(filter);
}

static void sizes_beyond_any_machine_are_nomem_and_nothing_is_asked_for(void **state) {
    (void)state;
    static const uint64_t CAPACITIES[] = {UINT64_C(1000000000000000000), INT64_MAX};
    for (size_t i = 0; i < COUNT(CAPACITIES); i++) {
        struct filter_params params = {.capacity = CAPACITIES[i], .error_rate = 0.01};
        struct filter *filter = NULL;
        assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_NOMEM);
        params.bits_per_key = 256;
        assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_NOMEM);
        assert_null(filter);
        assert_true(spy.largest < 1000000);
    }
}

/* The filter is made full by hand: no one can add that many items. */
static void growth_beyond_64_bits_is_nomem_and_leaves_it_unchanged(void **state) {
    (void)state;
    static const uint64_t CAPACITIES[] = {UINT64_C(1) << 62, INT64_MAX, UINT64_C(1) << 50};
    for (size_t i = 0; i < COUNT(CAPACITIES); i++) {
        for (uint32_t expansion = 4; expansion <= 32768; expansion *= 2) { // 2^62 * 4 wraps to 0
            struct filter *filter = filter_by_error(1000, 0.01, expansion);
            filter->layers[0].capacity = filter->layers[0].items = CAPACITIES[i];
            struct filter *before = copy_of(filter);
            bool added;
            assert_int_equal(try_add(filter, 1, FILTER_NO_LIMIT, &added), STATUS_NOMEM);
            assert_true(same_filter(filter, before));
            filter_free(before);
            filter_free(filter);
        }
    }
}

/* ---- Parameters ---- */

static void assert_refused(struct filter_params params) {
    struct filter *untouched = (struct filter *)&params, *filter = untouched;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_PARAM);
    assert_ptr_equal(filter, untouched);
    assert_int_equal(spy.live, 0);
}

static const struct filter_params GOOD = {.capacity = 100, .error_rate = 0.01, .expansion = 2};

static void error_rates_outside_0_to_1_are_refused(void **state) {
    (void)state;
    static const double BAD[] = {0, 1, -0.0, -0.01, 1.0000001, 2, 100, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < COUNT(BAD); i++) {
        struct filter_params params = GOOD;
        params.error_rate = BAD[i];
        assert_refused(params);
    }
}

static void bits_per_key_outside_1_to_256_are_refused(void **state) {
    (void)state;
    static const double BAD[] = {0.5,   0.9999999, -1,       -10,       256.0000001,
                                 1e300, 1e-300,    INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < COUNT(BAD); i++) {
        struct filter_params params = GOOD;
        params.bits_per_key = BAD[i];
        assert_refused(params);
    }
}

static void capacities_outside_1_to_the_maximum_are_refused(void **state) {
    (void)state;
    static const uint64_t BAD[] = {0, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT(BAD); i++) {
        struct filter_params params = GOOD;
        params.capacity = BAD[i];
        assert_refused(params);
    }
}

static void expansions_above_32768_are_refused(void **state) {
    (void)state;
    struct filter_params params = GOOD;
    params.expansion = 32769;
    assert_refused(params);
    params.expansion = UINT32_MAX;
    assert_refused(params);
}

static void unknown_layouts_and_schemes_are_refused(void **state) {
    (void)state;
    struct filter_params params = GOOD;
    params.layout = LAYOUT_COUNT;
    assert_refused(params);
    params = GOOD;
    params.scheme = SCHEME_COUNT;
    assert_refused(params);
}

static void the_ends_of_every_range_are_accepted(void **state) {
    (void)state;
    const struct filter_params ENDS[] = {
        {.capacity = 1, .error_rate = 0.01},
        {.capacity = 100, .error_rate = 1 - 1e-15},
        {.capacity = 100, .error_rate = 1e-12, .expansion = 1},
        {.capacity = 100, .error_rate = 0.01, .expansion = LIMITS_MAX_EXPANSION},
        {.capacity = 100, .bits_per_key = 1},
        {.capacity = 100, .bits_per_key = 256},
    };
    for (size_t i = 0; i < COUNT(ENDS); i++) {
        struct filter *filter = NULL;
        assert_int_equal(filter_new(&ENDS[i], FILTER_NO_LIMIT, &filter), STATUS_OK);
        filter_free(filter);
    }
}

static void fnv1a_of_more_than_2_to_the_32_bits_is_refused(void **state) {
    (void)state;
    struct filter_params params = {
        .capacity = (UINT64_C(1) << 29) + 1, .bits_per_key = 8, .scheme = SCHEME_FNV1A};
    assert_refused(params);
    params.capacity = UINT64_C(1) << 29; // 2^32 bits can be addressed; the limit is what refuses
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, 1000000, &filter), STATUS_NOMEM);
    params.capacity++;
    params.scheme = SCHEME_XXH64;
    assert_int_equal(filter_new(&params, 1000000, &filter), STATUS_NOMEM);
}

static void fnv1a_growth_over_2_to_the_32_bits_is_refused_and_leaves_it_unchanged(void **state) {
    (void)state;
    struct filter_params params = {
        .capacity = 20000, .bits_per_key = 8, .expansion = 32768, .scheme = SCHEME_FNV1A};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    fill_to(filter, 20000, 0);
    struct filter *before = copy_of(filter);
    bool added;
    spy.largest = 0;
    enum status status = try_add(filter, absent_item(filter, 1000000), FILTER_NO_LIMIT, &added);
    assert_int_equal(status, STATUS_NOMEM);       // "it cannot grow"
    assert_true(spy.largest < (uint64_t)1 << 29); // refused before 5.2e9 bits were allocated
    assert_true(same_filter(filter, before));
    filter_free(before);
    filter_free(filter);
}

/* ---- Out of memory: the n-th allocation fails, for n = 1, 2, ... until none does ---- */

static void creation_out_of_memory_leaves_nothing(void **state) {
    (void)state;
    enum status status = STATUS_NOMEM;
    long n;
    for (n = 1; status != STATUS_OK; n++) {
        struct filter *filter = NULL;
        spy_fail_at(n);
        status = filter_new(&GOOD, FILTER_NO_LIMIT, &filter);
        if (status == STATUS_OK) {
            filter_free(filter);
        } else {
            assert_int_equal(status, STATUS_NOMEM);
            assert_null(filter);
        }
        assert_int_equal(spy.live, 0);
    }
    assert_true(n > 3); // it takes a struct, layers and bits
}

static void growth_out_of_memory_leaves_the_filter_intact(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    uint64_t item = absent_item(filter, fill_to(filter, 300, 0)); // two full layers
    struct filter *before = copy_of(filter);
    enum status status = STATUS_NOMEM;
    long n;
    for (n = 1; status != STATUS_OK; n++) {
        long live = spy.live;
        bool added = false;
        spy_fail_at(n);
        status = try_add(filter, item, FILTER_NO_LIMIT, &added);
        if (status == STATUS_OK) break;
        assert_int_equal(status, STATUS_NOMEM);
        assert_false(added);
        assert_int_equal(spy.live, live);
        assert_true(same_filter(filter, before));
    }
    assert_true(n > 1);
    assert_int_equal(filter->nlayers, 3);
    for (uint64_t i = 0; i < 300; i++) assert_true(filter_contains(filter, item_hash(0, i)));
    filter_free(before);
    filter_free(filter);
}

static void copy_out_of_memory_leaves_nothing_and_the_original_intact(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    fill_to(filter, 650, 0);
    struct filter *before = copy_of(filter);
    enum status status = STATUS_NOMEM;
    long n;
    for (n = 1; status != STATUS_OK; n++) {
        long live = spy.live;
        struct filter *copy = NULL;
        spy_fail_at(n);
        status = filter_copy(filter, &copy);
        assert_true(status == STATUS_OK || (status == STATUS_NOMEM && copy == NULL));
        filter_free(copy);
        assert_int_equal(spy.live, live);
        assert_true(same_filter(filter, before));
    }
    assert_true(n > 5); // three layers, at least
    filter_free(before);
    filter_free(filter);
}

static void freeing_a_null_filter_does_nothing(void **state) {
    (void)state;
    filter_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(creation_is_held_to_max_bytes_to_the_byte),
        spied(growth_is_held_to_max_bytes_to_the_byte_and_leaves_it_unchanged),
        spied(adds_that_do_not_grow_ignore_max_bytes),
        spied(sizes_beyond_any_machine_are_nomem_and_nothing_is_asked_for),
        spied(growth_beyond_64_bits_is_nomem_and_leaves_it_unchanged),
        spied(error_rates_outside_0_to_1_are_refused),
        spied(bits_per_key_outside_1_to_256_are_refused),
        spied(capacities_outside_1_to_the_maximum_are_refused),
        spied(expansions_above_32768_are_refused),
        spied(unknown_layouts_and_schemes_are_refused),
        spied(the_ends_of_every_range_are_accepted),
        spied(fnv1a_of_more_than_2_to_the_32_bits_is_refused),
        spied(fnv1a_growth_over_2_to_the_32_bits_is_refused_and_leaves_it_unchanged),
        spied(creation_out_of_memory_leaves_nothing),
        spied(growth_out_of_memory_leaves_the_filter_intact),
        spied(copy_out_of_memory_leaves_nothing_and_the_original_intact),
        spied(freeing_a_null_filter_does_nothing),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
