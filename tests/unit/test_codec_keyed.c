/* The seed in version 2 of the header, against rdb/FORMAT.md. Damage of such a header is in
 * test_codec_forgetting.c. */

#include "tests/unit/headers.h"

/* Plain ones, non-scaling or grown, and windows; of any seed, all zero and all ones too. */
static void keyed_filters_come_back_as_they_went(void **state) {
    (void)state;
    const struct seed seeds[] = {ITEM_SEED,
                                 {{0, 0, 0, 0}},
                                 {{1, 0, 0, 0}},
                                 {{0, 0, 0, 1}},
                                 {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}}};
    for (size_t i = 0; i < COUNT(seeds); i++) {
        for (uint32_t expansion = 0; expansion <= 2; expansion++) {
            struct filter_params params = {.capacity = 30,
                                           .error_rate = 0.01,
                                           .expansion = expansion,
                                           .scheme = SCHEME_SIP13,
                                           .seed = seeds[i]};
            struct filter *filter = filter_as(&params);
            assert_round_trip(filter, 2);
            fill_to(filter, expansion ? 200 : 30, 0);
            assert_round_trip(filter, 2);
            filter_free(filter);
        }
        struct filter_params params = {.capacity = 400,
                                       .error_rate = 0.01,
                                       .expansion = 2,
                                       .scheme = SCHEME_SIP13,
                                       .seed = seeds[i],
                                       .window = 60,
                                       .generations = 2};
        struct filter *filter = filter_as(&params);
        for (uint64_t j = 0; j < 500; j++) add_at(filter, j, NOW + 100 * j);
        assert_round_trip(filter, 2);
        filter_free(filter);
    }
}

/* The seed's bytes stand as SEED gives them: its words are little-endian. */
static void the_fields_of_a_keyed_filter_are_where_the_document_says(void **state) {
    (void)state;
    struct filter *filter = small_keyed();
    struct header header = encode(filter);
    assert_int_equal(header.len, 128 + 64 * 3 + 8);
    assert_int_equal(header.bytes[AT_SCHEME], 3);
    assert_int_equal(header.bytes[AT_LAYOUT], 0);
    assert_memory_equal(header.bytes + AT_SEED,
                        "\0\1\2\3\4\5\6\7\1\0\0\0\0\0\0\0"
                        "\377\377\377\377\377\377\377\377\3\0\0\0\0\0\0\0",
                        32);
    for (size_t i = AT_WINDOW; i < AT_SEED; i++) assert_int_equal(header.bytes[i], 0);
    for (size_t i = AT_ROOM; i < AT_LAYERS; i++) assert_int_equal(header.bytes[i], 0);
    filter_free(filter);
}

/* Any seed is one; the other schemes have none, and BLOCKED has its own hash. */
static void fields_of_a_keyed_filter_have_limits(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"version 1", AT_VERSION, 4, 1, BAD},
        {"scheme xxh64 with a seed", AT_SCHEME, 1, SCHEME_XXH64, BAD},
        {"scheme fnv1a with a seed", AT_SCHEME, 1, SCHEME_FNV1A, BAD},
        {"scheme leveldb with a seed", AT_SCHEME, 1, SCHEME_LEVELDB, BAD},
        {"scheme 5", AT_SCHEME, 1, SCHEME_COUNT, BAD},
        {"layout BLOCKED", AT_LAYOUT, 1, LAYOUT_BLOCKED, BAD},
        {"layout COUNTING of three layers", AT_LAYOUT, 1, LAYOUT_COUNTING, BAD},
        {"another seed", AT_SEED, 8, 0, STATUS_OK},
        {"another seed's end", AT_SEED + 24, 8, UINT64_MAX, STATUS_OK},
        {"room after the seed", AT_ROOM, 1, 1, BAD},
        {"a window without generations", AT_WINDOW, 4, 60, BAD},
        {"items over the capacity", LAYER(0, IN_ITEMS), 8, 21, BAD},
        {"a start without a window", LAYER(0, IN_START), 8, 15000, BAD},
    };
    struct header header = header_of(small_keyed());
    assert_each(&header, FIELDS, COUNT(FIELDS));
    for (size_t at = AT_SEED; at < AT_ROOM; at += 8) set(&header, at, 8, 0);
    assert_status(&header, STATUS_OK, "a seed of zeroes");
    set(&header, AT_SCHEME, 1, SCHEME_XXH64);
    assert_status(&header, BAD, "version 1 can say this");
}

/* One byte of the seed changed is another filter: what was there is not found in it. */
static void a_filter_of_another_seed_does_not_find_the_items(void **state) {
    (void)state;
    struct filter *filter = small_keyed(), *other = copy_of(filter);
    other->seed.keys[1] ^= 1;
    int found = 0;
    for (uint64_t i = 0; i < 90; i++) {
        char text[24];
        size_t len = (size_t)snprintf(text, sizeof text, "%d", (int)i);
        assert_true(filter_contains(filter, filter_hash(filter, text, len)));
        found += filter_contains(other, filter_hash(other, text, len));
    }
    assert_true(found <= 9); // 0.9 expected of 90 at 0.01; sigma 0.95, so this is over 8 sigma
    filter_free(other);
    filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(keyed_filters_come_back_as_they_went),
        spied(the_fields_of_a_keyed_filter_are_where_the_document_says),
        spied(fields_of_a_keyed_filter_have_limits),
        spied(a_filter_of_another_seed_does_not_find_the_items),
    };
    return cmocka_run_group_tests_name("codec keyed", tests, print_seed, NULL);
}
