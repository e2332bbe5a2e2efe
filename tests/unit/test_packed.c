/* Small filters at rest (packed.h): a round trip changes nothing, a filter that does not fit stays
 * unpacked, a view is the value itself, and nothing leaks. */

#include "tests/unit/helpers.h"

#include "module/core/filter/packed.h"

static struct filter *filter_of(struct filter_params params) {
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    return filter;
}

/* same_filter, and the fields that it leaves out because they follow from others. */
static bool is_same(const struct filter *a, const struct filter *b) {
    if (!same_filter(a, b) || a->form != b->form) return false;
    for (uint32_t i = 0; i < a->nlayers; i++) {
        const struct layer *left = &a->layers[i], *right = &b->layers[i];
        if (left->inverse != right->inverse || left->layout != right->layout) return false;
    }
    return true;
}

/* A filter of these parameters at rest; *expected: an unpacked copy of it. */
static void *rested(struct filter *filter, struct filter **expected) {
    *expected = copy_of(filter);
    return packed_pack(filter);
}

/* ---- Round trips ---- */

static const double RATES[] = {0.9, 0.5, 0.1, 0.01, 0.001, 1e-6, 1e-9};
static const uint32_t EXPANSIONS[] = {0, 1, 2, 4, 255, 256, LIMITS_MAX_EXPANSION};

/* At rest, opened as a view and unpacked, it is the same filter. True if it was packed. */
static bool assert_round_trip(struct filter *filter) {
    struct filter *expected = NULL;
    bool is_small = filter->layers[0].nbits <= PACKED_MAX_BITS;
    void *value = rested(filter, &expected);
    assert_int_equal(packed_is_packed(value), is_small);
    struct packed_view view;
    assert_true(is_same(packed_view(value, &view), expected));
    struct filter *opened = packed_open(value, &view);
    assert_true(is_same(opened, expected));
    packed_close(value, opened);
    assert_true(is_same(packed_view(value, &view), expected));
    struct filter *whole = packed_unpack(value);
    assert_non_null(whole);
    assert_true(is_same(whole, expected));
    assert_true((void *)whole != value && !packed_is_packed(whole));
    packed_free(value);
    assert_true(is_same(whole, expected)); // it shares no memory with the value
    packed_free(whole);
    filter_free(expected);
    return is_small;
}

static void filters_of_all_shapes_come_back_as_they_went(void **state) {
    (void)state;
    int packed = 0, shapes = 0;
    for (uint64_t capacity = 1; capacity < 3000; capacity += 1 + capacity / 3) {
        for (size_t i = 0; i < COUNT(RATES); i++) {
            for (size_t j = 0; j < COUNT(EXPANSIONS); j++) {
                struct filter_params params = {
                    .capacity = capacity, .error_rate = RATES[i], .expansion = EXPANSIONS[j]};
                packed += assert_round_trip(filter_of(params));
                struct filter *filter = filter_of(params);
                fill_to(filter, capacity / 2, 0);
                packed += assert_round_trip(filter);
                filter = filter_of(params);
                fill_to(filter, capacity, 0);
                packed += assert_round_trip(filter);
                shapes += 3;
            }
        }
    }
    assert_true(packed > shapes / 4 && packed < shapes); // otherwise the test would show little
}

/* packed_new: the value that filter_new and packed_pack make in two steps. */
static void a_value_made_from_a_shape_is_the_one_that_was_packed(void **state) {
    (void)state;
    size_t packed = 0, made = 0;
    for (uint64_t capacity = 1; capacity < 3000; capacity += 1 + capacity / 3) {
        for (size_t i = 0; i < COUNT(RATES); i++, made++) {
            struct filter_params params = {
                .capacity = capacity, .error_rate = RATES[i], .expansion = EXPANSIONS[i]};
            struct filter shape;
            struct layer layer;
            struct packed_view views[2];
            assert_int_equal(filter_shape(&params, &shape, &layer), STATUS_OK);
            void *fresh, *expected = packed_pack(filter_of(params));
            uint64_t bytes = filter_new_bytes(&params);
            assert_int_equal(packed_new(&shape, bytes - 1, &fresh), STATUS_NOMEM);
            assert_int_equal(packed_new(&shape, bytes, &fresh), STATUS_OK);
            assert_int_equal(packed_is_packed(fresh), packed_is_packed(expected));
            assert_true(is_same(packed_view(fresh, &views[0]), packed_view(expected, &views[1])));
            packed += packed_is_packed(fresh);
            packed_free(fresh);
            packed_free(expected);
        }
    }
    assert_true(packed > made / 4 && packed < made);
}

/* The last sizes that fit and the first that do not, made by hand: sizes by error rate are odd. */
static void filters_up_to_packed_max_bits_are_packed_and_not_one_bit_more(void **state) {
    (void)state;
    for (uint64_t nbits = PACKED_MAX_BITS - 9; nbits <= PACKED_MAX_BITS + 9; nbits++) {
        struct filter *filter = filter_by_error(100, 0.01, 2);
        layer_clear(&filter->layers[0]);
        double rate = filter_first_rate(0.01, 2);
        assert_int_equal(
            layer_init(&filter->layers[0], (struct sizing){nbits, 7}, CLASSIC, 100, rate),
            STATUS_OK);
        filter->loaded = layer_bytes(nbits);
        fill_to(filter, 60, 0);
        assert_int_equal(assert_round_trip(filter), nbits <= PACKED_MAX_BITS);
    }
}

/* Every field at the end of its range, as an imported filter may have it. */
static void the_largest_counts_survive(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, LIMITS_MAX_EXPANSION);
    struct layer *layer = &filter->layers[0];
    layer_clear(layer);
    assert_int_equal(layer_init(layer, (struct sizing){PACKED_MAX_BITS, 255}, CLASSIC, UINT16_MAX,
                                filter_first_rate(0.01, LIMITS_MAX_EXPANSION)),
                     STATUS_OK);
    memset(layer->bits, 0xff, PACKED_MAX_BITS / 8);
    layer->items = layer->ones = PACKED_MAX_BITS;
    filter->loaded = PACKED_MAX_BITS / 8;
    assert_true(assert_round_trip(filter));

    filter = filter_by_error(100, 0.01, 2);
    filter->layers[0].capacity = UINT16_MAX + 1;
    struct filter *expected = NULL;
    void *value = rested(filter, &expected);
    assert_ptr_equal(value, filter); // a capacity that does not fit
    assert_true(is_same(value, expected));
    packed_free(value);
    filter_free(expected);
}

/* ---- What is not packed ---- */

static void assert_stays_whole(struct filter *filter) {
    struct filter *expected = NULL;
    long live = spy.live;
    void *value = rested(filter, &expected);
    assert_ptr_equal(value, filter);
    assert_false(packed_is_packed(value));
    struct packed_view view;
    assert_ptr_equal(packed_open(value, &view), filter);
    assert_ptr_equal(packed_view(value, &view), filter);
    packed_close(value, filter);
    assert_true(is_same(filter, expected));
    assert_true(packed_size_bytes(value) == filter_size_bytes(filter));
    filter_free(expected);
    assert_int_equal(spy.live, live);
    packed_free(value);
}

static void filters_by_bits_per_key_stay_whole(void **state) {
    (void)state;
    assert_stays_whole(filter_by_bits(100, 10, 2));
    assert_stays_whole(filter_by_bits(1, 1, 0));
}

static void fnv1a_filters_stay_whole(void **state) {
    (void)state;
    assert_stays_whole(filter_of((struct filter_params){
        .capacity = 100, .error_rate = 0.01, .expansion = 2, .scheme = SCHEME_FNV1A}));
}

static void blocked_filters_stay_whole(void **state) {
    (void)state;
    assert_stays_whole(filter_of((struct filter_params){
        .capacity = 100, .error_rate = 0.01, .expansion = 2, .layout = LAYOUT_BLOCKED}));
}

static void filters_of_two_layers_stay_whole(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(10, 0.01, 2);
    fill_to(filter, 11, 0);
    assert_int_equal(filter->nlayers, 2);
    assert_stays_whole(filter);
}

static void filters_that_are_loading_stay_whole(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    filter->is_loading = true;
    filter->loaded = 5;
    assert_stays_whole(filter);
}

static void filters_over_packed_max_bits_stay_whole(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(10000, 0.01, 2);
    fill_to(filter, 3000, 0);
    assert_stays_whole(filter);
}

/* An imported layer may have any rate; a packed filter has no room for it. */
static void filters_whose_layer_has_a_rate_of_its_own_stay_whole(void **state) {
    (void)state;
    for (uint32_t expansion = 0; expansion <= 2; expansion += 2) {
        struct filter *filter = filter_by_error(100, 0.01, expansion);
        filter->layers[0].error_rate *= 1.0000001;
        assert_stays_whole(filter);
    }
}

/* ---- Sizes ---- */

static void a_default_filter_of_100_items_takes_at_most_160_bytes(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    fill_to(filter, 100, 0);
    void *value = packed_pack(filter);
    print_message("%llu bytes\n", (unsigned long long)spy.bytes);
    assert_int_equal(spy.live, 1); // one allocation in all
    assert_true(spy.bytes <= 160);
    packed_free(value);
}

static void the_size_is_what_was_asked_of_the_allocator(void **state) {
    (void)state;
    for (uint64_t capacity = 1; capacity < 3000; capacity += 1 + capacity / 5) {
        void *value = packed_pack(filter_by_error(capacity, 0.01, 2));
        assert_true(packed_size_bytes(value) == spy.bytes);
        packed_free(value);
    }
}

/* ---- Views ---- */

/* Opened, added to and closed, again and again, it stays equal to an unpacked filter. */
static void adding_through_a_view_changes_the_value(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(RATES); i++) {
        struct filter *whole = filter_by_error(100, RATES[i], 2);
        void *value = packed_pack(copy_of(whole));
        if (!packed_is_packed(value)) { // 100 items at 1e-6 take more than fits
            assert_true(RATES[i] < 1e-5);
            packed_free(value);
            filter_free(whole);
            continue;
        }
        long live = spy.live;
        for (uint64_t item = 0; filter_items(whole) < 100; item++) {
            struct packed_view view;
            struct filter *opened = packed_open(value, &view);
            assert_int_equal(add_item(opened, item), add_item(whole, item));
            packed_close(value, opened);
            assert_true(is_same(packed_view(value, &view), whole));
        }
        assert_int_equal(spy.live, live); // all of it was in place
        packed_free(value);
        filter_free(whole);
    }
}

static void a_window_through_a_view_that_has_room_for_it_changes_the_value(void **state) {
    (void)state;
    struct filter *whole = filter_by_error(300, 0.01, 2);
    void *value = packed_pack(copy_of(whole));
    assert_true(packed_is_packed(value));
    struct hash hashes[256];
    bool here[256], there[256];
    size_t done = 0;
    for (uint64_t i = 0; i < 256; i++) hashes[i] = item_hash(SCHEME_XXH64, i % 200);
    struct packed_view view;
    struct filter *opened = packed_open(value, &view);
    assert_int_equal(add_many_growing(opened, hashes, 256, 0, here, &done), STATUS_OK);
    packed_close(value, opened);
    assert_int_equal(add_many_growing(whole, hashes, 256, 0, there, &done), STATUS_OK);
    assert_memory_equal(here, there, sizeof here);
    assert_true(is_same(packed_view(value, &view), whole));
    packed_free(value);
    filter_free(whole);
}

/* A full view takes an add of an item that it contains; where it may not grow, it refuses others.
 */
static void a_full_view_of_a_non_scaling_filter_refuses_and_is_unchanged(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 0), *expected = NULL;
    uint64_t next = fill_to(filter, 100, 0);
    uint64_t item = absent_item(filter, next);
    void *value = rested(filter, &expected);
    assert_true(packed_is_packed(value));
    struct packed_view view;
    struct filter *opened = packed_open(value, &view);
    bool added = true;
    assert_int_equal(try_add(opened, item, FILTER_NO_LIMIT, &added), STATUS_FULL);
    assert_int_equal(try_add(opened, 0, FILTER_NO_LIMIT, &added), STATUS_OK);
    assert_false(added);
    packed_close(value, opened);
    assert_true(is_same(packed_view(value, &view), expected));
    packed_free(value);
    filter_free(expected);
}

static void a_packed_filter_made_whole_grows_as_one_that_never_was_packed(void **state) {
    (void)state;
    struct filter *never = filter_by_error(100, 0.01, 2);
    fill_to(never, 100, 0);
    void *value = packed_pack(copy_of(never));
    assert_true(packed_is_packed(value));
    struct filter *whole = packed_unpack(value);
    packed_free(value);
    for (uint64_t i = 1000; i < 2500; i++) {
        assert_int_equal(add_item(whole, i), add_item(never, i));
    }
    assert_true(whole->nlayers >= 4 && is_same(whole, never));
    filter_free(whole);
    filter_free(never);
}

static void a_whole_value_made_whole_is_a_copy(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(10, 0.01, 2), *expected = NULL;
    fill_to(filter, 100, 0);
    void *value = rested(filter, &expected);
    struct filter *copy = packed_unpack(value);
    assert_ptr_not_equal(copy, value);
    packed_free(value);
    assert_true(is_same(copy, expected));
    filter_free(copy);
    filter_free(expected);
}

/* ---- Out of memory: the n-th allocation fails, for n = 1, 2, ... until none does ---- */

static void rest_out_of_memory_keeps_the_whole_filter(void **state) {
    (void)state;
    long n;
    bool is_packed = false;
    for (n = 1; !is_packed && n < 100; n++) {
        struct filter *filter = filter_by_error(100, 0.01, 2), *expected = NULL;
        fill_to(filter, 70, 0);
        expected = copy_of(filter);
        spy_fail_at(n);
        void *value = packed_pack(filter);
        spy_fail_at(0);
        is_packed = packed_is_packed(value);
        if (!is_packed) assert_ptr_equal(value, filter);
        struct packed_view view;
        assert_true(is_same(packed_view(value, &view), expected));
        packed_free(value);
        filter_free(expected);
        assert_int_equal(spy.live, 0);
    }
    assert_true(is_packed && n > 2);
}

static void unpack_out_of_memory_is_null_and_keeps_the_value(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2), *expected = NULL, *whole = NULL;
    fill_to(filter, 70, 0);
    void *value = rested(filter, &expected);
    long n;
    for (n = 1; !whole && n < 100; n++) {
        long live = spy.live;
        spy_fail_at(n);
        whole = packed_unpack(value);
        spy_fail_at(0);
        struct packed_view view;
        assert_true(is_same(packed_view(value, &view), expected));
        if (!whole) assert_int_equal(spy.live, live);
    }
    assert_true(whole && n > 3); // a struct, layers and bits
    assert_true(is_same(whole, expected));
    filter_free(whole);
    packed_free(value);
    filter_free(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(filters_of_all_shapes_come_back_as_they_went),
        spied(a_value_made_from_a_shape_is_the_one_that_was_packed),
        spied(filters_up_to_packed_max_bits_are_packed_and_not_one_bit_more),
        spied(the_largest_counts_survive),
        spied(filters_by_bits_per_key_stay_whole),
        spied(fnv1a_filters_stay_whole),
        spied(blocked_filters_stay_whole),
        spied(filters_of_two_layers_stay_whole),
        spied(filters_that_are_loading_stay_whole),
        spied(filters_over_packed_max_bits_stay_whole),
        spied(filters_whose_layer_has_a_rate_of_its_own_stay_whole),
        spied(a_default_filter_of_100_items_takes_at_most_160_bytes),
        spied(the_size_is_what_was_asked_of_the_allocator),
        spied(adding_through_a_view_changes_the_value),
        spied(a_window_through_a_view_that_has_room_for_it_changes_the_value),
        spied(a_full_view_of_a_non_scaling_filter_refuses_and_is_unchanged),
        spied(a_packed_filter_made_whole_grows_as_one_that_never_was_packed),
        spied(a_whole_value_made_whole_is_a_copy),
        spied(rest_out_of_memory_keeps_the_whole_filter),
        spied(unpack_out_of_memory_is_null_and_keeps_the_value),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
