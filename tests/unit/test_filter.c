/* The filter: against a plain set, its parts, the edges of its growth, copies. Its refusals are
 * tested in test_filter_limits.c, its false-positive rates in test_rates.c. */

#include "tests/unit/helpers.h"

static uint64_t array_bits(const struct filter *filter) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) bits += filter->layers[i].nbits;
    return bits;
}

/* ---- Against a plain set ---- */

#define UNIVERSE 20000

static void run_against_a_set(struct filter_params params, uint64_t stream) {
    struct rng r = rng_seeded(stream);
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    bool *in_set = calloc(UNIVERSE, sizeof(bool));
    uint64_t counted = 0;
    for (int step = 0; step < 30000; step++) {
        uint64_t item = rng_below(&r, UNIVERSE);
        bool was_there = filter_contains(filter, item_hash(params.scheme, item));
        if (in_set[item] && !was_there) fail_msg("item %d is missing", (int)item);
        if (rng_below(&r, 2) == 0) continue;
        bool added = add_item(filter, item);
        assert_true(added == !was_there);
        counted += added;
        in_set[item] = true;
        assert_true(filter_items(filter) == counted);
    }
    for (uint64_t item = 0; item < UNIVERSE; item++) {
        if (in_set[item]) assert_true(filter_contains(filter, item_hash(params.scheme, item)));
    }
    free(in_set);
    filter_free(filter);
}

static void random_adds_and_lookups_agree_with_a_plain_set_while_it_grows(void **state) {
    (void)state;
    static const uint32_t EXPANSIONS[] = {1, 2, 4, 10, 32768};
    for (size_t i = 0; i < COUNT(EXPANSIONS); i++) {
        struct filter_params params = {
            .capacity = 100, .error_rate = 0.01, .expansion = EXPANSIONS[i]};
        run_against_a_set(params, 10 + i);
    }
}

static void random_operations_agree_with_a_plain_set_however_it_is_made(void **state) {
    (void)state;
    run_against_a_set((struct filter_params){.capacity = 1, .error_rate = 0.5, .expansion = 2}, 20);
    run_against_a_set((struct filter_params){.capacity = 1, .bits_per_key = 1, .expansion = 3}, 21);
    run_against_a_set((struct filter_params){.capacity = 50, .bits_per_key = 12, .expansion = 2},
                      22);
    run_against_a_set((struct filter_params){.capacity = 30000, .error_rate = 0.001}, 23);
    run_against_a_set(
        (struct filter_params){
            .capacity = 100, .error_rate = 0.01, .expansion = 2, .scheme = SCHEME_FNV1A},
        24);
}

/* ---- Its layers and sizes ---- */

static void fresh_filter_is_one_empty_layer(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(1000, 0.01, 2);
    assert_int_equal(filter->nlayers, 1);
    assert_true(filter->layers[0].capacity == 1000 && filter_capacity(filter) == 1000);
    assert_true(filter_items(filter) == 0 && filter->layers[0].ones == 0);
    assert_true(filter->error_rate == 0.01 && filter->bits_per_key == 0);
    assert_int_equal(filter->expansion, 2);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_false(filter_contains(filter, item_hash(SCHEME_XXH64, i)));
    }
    filter_free(filter);
}

static void non_scaling_layer_is_sized_for_the_whole_error_rate(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(12345, 0.003, 0);
    struct sizing size;
    assert_true(sizing_by_error(12345, 0.003, CLASSIC, &size));
    assert_true(filter->layers[0].nbits == size.nbits);
    assert_int_equal(filter->layers[0].nhashes, size.nhashes);
    filter_free(filter);
}

static void scaling_first_layer_is_sized_for_the_first_share(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(12345, 0.003, 2);
    struct sizing size;
    assert_true(sizing_by_error(12345, 0.003 * SIZING_FIRST_SHARE, CLASSIC, &size));
    assert_true(filter->layers[0].nbits == size.nbits);
    assert_int_equal(filter->layers[0].nhashes, size.nhashes);
    filter_free(filter);
}

static void by_bits_per_key_the_first_layer_has_exactly_those_bits(void **state) {
    (void)state;
    for (uint32_t expansion = 0; expansion <= 4; expansion += 2) {
        struct filter_params params = {
            .capacity = 1001, .bits_per_key = 10.5, .error_rate = 0.3, .expansion = expansion};
        struct filter *filter = NULL;
        assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
        assert_true(filter->layers[0].nbits == 10511); // ceil(1001 * 10.5)
        assert_int_equal(filter->layers[0].nhashes, 7);
        assert_true(filter->bits_per_key == 10.5 && filter->error_rate == 0);
        filter_free(filter);
    }
}

/* The bits of a known filter: items "0" to "999" at 10 bits per key (m = 10000, k = 7). The figures
 * come from a Python program that shares no code with this one: XXH64 by its specification,
 * position i = (a + i*b mod 2^64) mod m, LSB first; golden = XXH64(the 1250 bytes, seed 0). */
static void assert_golden(enum scheme scheme, uint64_t ones, uint64_t golden) {
    struct filter_params params = {
        .capacity = 1000, .bits_per_key = 10, .expansion = 2, .scheme = scheme};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    for (uint64_t i = 0; i < 1000; i++) add_item(filter, i);
    assert_int_equal(filter->nlayers, 1);
    assert_true(filter_array_bytes(filter) == 1250);
    assert_true(filter_items(filter) == 1000);
    assert_true(filter->layers[0].ones == ones);
    assert_true(hash_checksum(filter->layers[0].bits, 1250) == golden);
    filter_free(filter);
}

static void xxh64_filter_has_its_golden_bits(void **state) {
    (void)state;
    assert_golden(SCHEME_XXH64, 5046, UINT64_C(0x6d310cdada6cb504));
}

static void fnv1a_filter_has_its_golden_bits(void **state) {
    (void)state;
    assert_golden(SCHEME_FNV1A, 5068, UINT64_C(0x6d766131518b8223));
}

static void sizes_are_what_was_asked_of_the_allocator(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    uint64_t next = 0;
    for (uint32_t nlayers = 1; nlayers < 6; nlayers++) {
        assert_true(filter_size_bytes(filter) == spy.bytes);
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < filter->nlayers; i++)
            bytes += layer_bytes(filter->layers[i].nbits);
        assert_true(filter_array_bytes(filter) == bytes);
        assert_true(filter_structure_bytes(nlayers) == spy.bytes - bytes);
        assert_true(!filter->is_loading && filter->loaded == bytes);
        next = fill_to(filter, filter_capacity(filter) + 1, next);
    }
    filter_free(filter);
}

/* ---- Growth ---- */

static void assert_grows_by(uint32_t expansion) {
    struct filter *filter = filter_by_error(64, 0.01, expansion);
    uint64_t next = 0, last = 64, total = 64;
    for (uint32_t nlayers = 1; nlayers < 5; nlayers++) {
        next = fill_to(filter, total, next); // exactly full: not grown yet
        assert_int_equal(filter->nlayers, nlayers);
        assert_true(filter_capacity(filter) == total && filter_items(filter) == total);
        assert_false(add_item(filter, 0)); // nor by an item it has
        assert_int_equal(filter->nlayers, nlayers);

        assert_true(add_item(filter, absent_item(filter, next)));
        last *= expansion;
        total += last;
        assert_int_equal(filter->nlayers, nlayers + 1);
        assert_true(filter->layers[nlayers].capacity == last);
        assert_true(filter->layers[nlayers].items == 1);
        assert_true(filter_capacity(filter) == total);
    }
    filter_free(filter);
}

static void it_grows_by_expansion_1_at_the_first_new_item_after_full(void **state) {
    (void)state;
    assert_grows_by(1);
}

static void it_grows_by_expansion_2_at_the_first_new_item_after_full(void **state) {
    (void)state;
    assert_grows_by(2);
}

static void it_grows_by_expansion_4_at_the_first_new_item_after_full(void **state) {
    (void)state;
    assert_grows_by(4);
}

static void capacity_1_grows_at_the_second_item(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(1, 0.01, 2);
    assert_true(add_item(filter, 0));
    assert_int_equal(filter->nlayers, 1);
    assert_true(add_item(filter, absent_item(filter, 1)));
    assert_int_equal(filter->nlayers, 2);
    filter_free(filter);
}

static void an_item_of_an_older_layer_is_not_added_again(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    fill_to(filter, 650, 0); // three layers
    assert_int_equal(filter->nlayers, 3);
    struct filter *before = copy_of(filter);
    for (uint64_t i = 0; i < 650; i++) assert_false(add_item(filter, i));
    assert_true(same_filter(filter, before));
    filter_free(before);
    filter_free(filter);
}

static void layers_share_no_more_than_the_promised_error_rate(void **state) {
    (void)state;
    for (uint32_t expansion = 1; expansion <= 4; expansion++) {
        struct filter *filter = filter_by_error(8, 0.02, expansion);
        fill_to(filter, 3000, 0);
        double sum = 0;
        for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].error_rate;
        assert_true(sum > 0 && sum <= 0.02);
        filter_free(filter);
    }
}

static void layers_of_bits_per_key_share_no_more_than_twice_the_first_ones_rate(void **state) {
    (void)state;
    struct filter *filter = filter_by_bits(1000, 10, 2);
    double first = sizing_error_rate(1000, (struct sizing){10000, 7}, CLASSIC), sum = 0;
    fill_to(filter, 30000, 0);
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].error_rate;
    assert_true(sum > 0 && sum <= 2 * first);
    filter_free(filter);
}

/* ---- Non-scaling ---- */

static void full_non_scaling_filter_refuses_a_new_item_and_is_unchanged(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 0);
    uint64_t next = fill_to(filter, 100, 0);
    struct filter *before = copy_of(filter);
    bool added = true;
    assert_int_equal(try_add(filter, absent_item(filter, next), FILTER_NO_LIMIT, &added),
                     STATUS_FULL);
    assert_true(added); // an out-parameter is written on STATUS_OK only
    assert_true(same_filter(filter, before));
    filter_free(before);
    filter_free(filter);
}

static void full_non_scaling_filter_takes_a_known_item_as_not_added(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 0);
    uint64_t next = fill_to(filter, 100, 0);
    struct filter *before = copy_of(filter);
    for (uint64_t i = 0; i < next; i++) {
        bool added = true;
        assert_int_equal(try_add(filter, i, FILTER_NO_LIMIT, &added), STATUS_OK);
        assert_false(added);
    }
    assert_true(same_filter(filter, before));
    filter_free(before);
    filter_free(filter);
}

/* ---- Copies ---- */

static void copy_is_the_same_filter_and_independent(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    fill_to(filter, 650, 0);
    struct filter *copy = copy_of(filter), *before = copy_of(filter);
    assert_true(same_filter(copy, filter));
    fill_to(copy, 5000, 1000000); // grows the copy
    assert_true(same_filter(filter, before));
    filter_free(copy);
    fill_to(filter, 5000, 1000000);
    filter_free(before);
    filter_free(filter);
}

static void copies_grow_alike(void **state) {
    (void)state;
    struct filter *filter = filter_by_bits(100, 12, 2);
    fill_to(filter, 100, 0);
    struct filter *copy = copy_of(filter);
    for (uint64_t i = 0; i < 3000; i++) {
        assert_int_equal(add_item(filter, 500 + i), add_item(copy, 500 + i));
    }
    assert_true(same_filter(filter, copy));
    assert_true(array_bits(filter) == array_bits(copy));
    filter_free(copy);
    filter_free(filter);
}

/* Every field makes a difference: a filter must never be taken for another. */
static void parameters_that_differ_in_one_field_are_not_equal(void **state) {
    (void)state;
    const struct filter_params base = {.capacity = 7, .error_rate = 0.01, .seed = ITEM_SEED};
    struct filter_params others[13];
    for (size_t i = 0; i < COUNT(others); i++) others[i] = base;
    others[1].capacity++;
    others[2].error_rate = 0.02;
    others[3].bits_per_key = 10;
    others[4].expansion++;
    others[5].layout = LAYOUT_BLOCKED;
    others[6].scheme = SCHEME_SIP13;
    others[7].seed.keys[0]++;
    others[8].seed.keys[3]++;
    others[9].origin = ORIGIN_REDISBLOOM;
    others[10].ratio = 0.5;
    others[11].window = 60;
    others[12].generations = 4;
    for (size_t i = 0; i < COUNT(others); i++) {
        for (size_t j = 0; j < COUNT(others); j++) {
            assert_int_equal(filter_params_are_equal(&others[i], &others[j]), i == j);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_that_differ_in_one_field_are_not_equal),
        spied(random_adds_and_lookups_agree_with_a_plain_set_while_it_grows),
        spied(random_operations_agree_with_a_plain_set_however_it_is_made),
        spied(fresh_filter_is_one_empty_layer),
        spied(non_scaling_layer_is_sized_for_the_whole_error_rate),
        spied(scaling_first_layer_is_sized_for_the_first_share),
        spied(by_bits_per_key_the_first_layer_has_exactly_those_bits),
        spied(xxh64_filter_has_its_golden_bits),
        spied(fnv1a_filter_has_its_golden_bits),
        spied(sizes_are_what_was_asked_of_the_allocator),
        spied(it_grows_by_expansion_1_at_the_first_new_item_after_full),
        spied(it_grows_by_expansion_2_at_the_first_new_item_after_full),
        spied(it_grows_by_expansion_4_at_the_first_new_item_after_full),
        spied(capacity_1_grows_at_the_second_item),
        spied(an_item_of_an_older_layer_is_not_added_again),
        spied(layers_share_no_more_than_the_promised_error_rate),
        spied(layers_of_bits_per_key_share_no_more_than_twice_the_first_ones_rate),
        spied(full_non_scaling_filter_refuses_a_new_item_and_is_unchanged),
        spied(full_non_scaling_filter_takes_a_known_item_as_not_added),
        spied(copy_is_the_same_filter_and_independent),
        spied(copies_grow_alike),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
