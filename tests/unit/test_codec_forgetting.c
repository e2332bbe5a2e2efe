/* Version 2 of the header, for windows and COUNTING, against rdb/FORMAT.md. What
 * version 1 says is in test_codec.c; nothing of that may come as version 2. */

#include "tests/unit/headers.h"

#define STEP 15000 // d of 60 s in 4
#define START UINT64_C(1700000010000)

/* ---- Filters ---- */

static struct filter_params window_params(enum layout layout, uint32_t generations) {
    return (struct filter_params){.capacity = 400,
                                  .error_rate = 0.01,
                                  .expansion = 2,
                                  .layout = layout,
                                  .window = 60,
                                  .generations = generations};
}

/* Three generations of 1, 2 and 1 layers: starts START, START + 2d, START + 4d. */
static struct filter *small_window(void) {
    struct filter_params params = window_params(LAYOUT_CLASSIC, 4);
    struct filter *filter = filter_as(&params);
    for (uint64_t i = 0; i < 50; i++) add_at(filter, i, START);
    for (uint64_t i = 0; i < 120; i++) add_at(filter, i, START + 2 * STEP);
    for (uint64_t i = 0; i < 50; i++) add_at(filter, i, START + 4 * STEP);
    assert_int_equal(filter->nlayers, 4);
    return filter;
}

static struct filter *small_counting(void) {
    struct filter_params params = {.capacity = 50, .error_rate = 0.01, .layout = LAYOUT_COUNTING};
    struct filter *filter = filter_as(&params);
    for (uint64_t i = 0; i < 60; i++) add_item(filter, i % 30);
    return filter;
}

/* ---- Round trips ---- */

static void windows_of_all_shapes_come_back_as_they_went(void **state) {
    (void)state;
    static const uint32_t GENERATIONS[] = {1, 2, 4, 16, 64};
    for (int layout = LAYOUT_CLASSIC; layout <= LAYOUT_BLOCKED; layout++) {
        for (size_t g = 0; g < COUNT(GENERATIONS); g++) {
            for (int by_bits = 0; by_bits < 2; by_bits++) {
                struct filter_params params = window_params((enum layout)layout, GENERATIONS[g]);
                if (by_bits) params.bits_per_key = 9.5;
                struct filter *filter = filter_as(&params);
                assert_round_trip(filter, 2); // not begun
                for (uint64_t i = 0; i < 40; i++) {
                    for (uint64_t j = 0; j < i * 3; j++)
                        add_at(filter, 1000 * i + j, NOW + i * 1700);
                    if (codec_header_size(filter) <= MAX_HEADER) assert_round_trip(filter, 2);
                }
                bool changed;
                assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
                assert_round_trip(filter, 2);
                filter_free(filter);
            }
        }
    }
}

static void counting_filters_come_back_as_they_went(void **state) {
    (void)state;
    static const enum scheme SCHEMES[] = {SCHEME_XXH64, SCHEME_FNV1A, SCHEME_MURMUR, SCHEME_SIP13,
                                          SCHEME_LEVELDB};
    for (size_t s = 0; s < COUNT(SCHEMES); s++) {
        for (uint64_t capacity = 1; capacity < 40; capacity += 3) {
            struct filter_params params = {.capacity = capacity,
                                           .bits_per_key = capacity % 2 ? 9.5 : 0,
                                           .error_rate = 0.01,
                                           .layout = LAYOUT_COUNTING,
                                           .scheme = SCHEMES[s]};
            if (params.scheme == SCHEME_SIP13) params.seed = ITEM_SEED;
            struct filter *filter = filter_as(&params);
            bool changed;
            assert_round_trip(filter, 2);
            fill_to(filter, capacity, 0);
            assert_round_trip(filter, 2);
            filter_remove(filter, item_hash(SCHEMES[s], 0), &changed);
            assert_round_trip(filter, 2);
            filter->is_estimated = true;
            assert_round_trip(filter, 2);
            filter_free(filter);
        }
    }
}

static void filters_half_way_through_loading_come_back_half_way(void **state) {
    (void)state;
    struct filter *filters[] = {small_window(), small_counting(), small_keyed()};
    for (size_t i = 0; i < COUNT(filters); i++) {
        struct filter *filter = filters[i];
        uint64_t total = filter->loaded;
        filter->is_loading = true;
        for (filter->loaded = 0; filter->loaded < total; filter->loaded++) {
            assert_round_trip(filter, 2);
        }
        filter_free(filter);
    }
}

/* What needs nothing new is written as version 1: an older server can load it. */
static void plain_filters_stay_version_1(void **state) {
    (void)state;
    for (int layout = LAYOUT_CLASSIC; layout <= LAYOUT_BLOCKED; layout++) {
        struct filter_params params = {
            .capacity = 50, .error_rate = 0.01, .expansion = 2, .layout = (enum layout)layout};
        struct filter *filter = filter_as(&params);
        fill_to(filter, 300, 0);
        struct header header = encode(filter);
        assert_int_equal(header.len, 48 + 44 * filter->nlayers + 8);
        assert_round_trip(filter, 1);
        filter_free(filter);
    }
}

/* ---- The bytes themselves ---- */

static void the_fields_of_a_window_are_where_the_document_says(void **state) {
    (void)state;
    struct filter *filter = small_window();
    struct header header = encode(filter);
    const uint8_t *bytes = header.bytes;
    assert_int_equal(header.len, 128 + 64 * 4 + 8);
    assert_memory_equal(bytes, "BLOOMPRT\2\0\0\0", 12);
    assert_int_equal(read_le(bytes + AT_WINDOW, 4), 60);
    assert_int_equal(read_le(bytes + AT_GENERATIONS, 4), 4);
    assert_int_equal(read_le(bytes + AT_CAPACITY, 8), 400);
    for (size_t i = AT_SEED; i < AT_LAYERS; i++) assert_int_equal(bytes[i], 0);
    static const uint64_t STEPS[] = {0, 2, 2, 4}, CAPACITIES[] = {100, 100, 200, 100};
    for (size_t i = 0; i < 4; i++) {
        const struct layer *layer = &filter->layers[i];
        assert_int_equal(read_le(bytes + LAYER(i, IN_START), 8), START + STEPS[i] * STEP);
        assert_int_equal(read_le(bytes + LAYER(i, IN_CAPACITY), 8), CAPACITIES[i]);
        assert_int_equal(read_le(bytes + LAYER(i, IN_ITEMS), 8), layer->items);
        assert_int_equal(read_le(bytes + LAYER(i, IN_ONES), 8), layer->ones);
        assert_int_equal(read_le(bytes + LAYER(i, IN_NHASHES), 4), layer->nhashes);
        assert_int_equal(read_le(bytes + LAYER(i, IN_NBITS), 8), layer->nbits);
        for (size_t j = IN_ROOM; j < LAYER_SIZE; j++) assert_int_equal(bytes[LAYER(i, j)], 0);
    }
    filter_free(filter);
}

static void the_fields_of_a_counting_filter_are_where_the_document_says(void **state) {
    (void)state;
    struct filter *filter = small_counting();
    struct header header = encode(filter);
    assert_int_equal(header.len, 128 + 64 + 8);
    assert_int_equal(header.bytes[AT_LAYOUT], 2);
    uint64_t m = filter->layers[0].nbits;
    assert_int_equal(read_le(header.bytes + AT_LOADED, 8), (m + 1) / 2);
    for (size_t i = AT_WINDOW; i < AT_LAYERS; i++) assert_int_equal(header.bytes[i], 0);
    for (size_t i = IN_START; i < LAYER_SIZE; i++) assert_int_equal(header.bytes[LAYER(0, i)], 0);
    filter_free(filter);
}

/* The hash of a filter's header and bits. */
static uint64_t golden_hash(struct filter *filter) {
    struct header header = encode(filter);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        size_t size = layer_array_bytes(&filter->layers[i]);
        assert_true(header.len + size <= MAX_HEADER);
        memcpy(header.bytes + header.len, filter->layers[i].bits, size);
        header.len += size;
    }
    filter_free(filter);
    return hash_checksum(header.bytes, header.len);
}

/* Every field and every byte of the bits counts. */
static void two_filters_are_the_same_if_they_are_saved_as_the_same_bytes(void **state) {
    (void)state;
    struct filter *filter = small_counting(), *other = small_counting();
    struct layer *layer = &other->layers[0];
    assert_true(codec_is_same(filter, other));
    spy_fail_at(1);
    assert_false(codec_is_same(filter, other)); // there is no memory to tell
    spy_fail_at(0);
    uint8_t *last = &layer->bits[layer_array_bytes(layer) - 1];
    *last ^= 1;
    assert_false(codec_is_same(filter, other));
    *last ^= 1;
    layer->items++;
    assert_false(codec_is_same(filter, other));
    layer->items--;
    other->is_estimated = true;
    assert_false(codec_is_same(filter, other));
    other->is_estimated = false;
    other->origin = ORIGIN_REDISBLOOM;
    assert_false(codec_is_same(filter, other));
    other->origin = ORIGIN_OWN;
    other->error_rate = 0.02;
    assert_false(codec_is_same(filter, other));
    other->error_rate = filter->error_rate;
    assert_true(codec_is_same(filter, other));
    struct filter *window = small_window();
    assert_false(codec_is_same(filter, window)); // it has more layers
    filter_free(window);
    filter_free(filter);
    filter_free(other);
}

/* A change of any byte is a change of the format. */
static void known_filters_have_their_golden_bytes(void **state) {
    (void)state;
    assert_int_equal(golden_hash(small_window()), UINT64_C(0x7af12e0891837cae));
    assert_int_equal(golden_hash(small_counting()), UINT64_C(0x7721eb17304f8b80));
    struct filter *older = small_counting();
    older->layers[0].items = 30; // as 0.2.0 counted: no item twice
    assert_int_equal(golden_hash(older), UINT64_C(0x3cfc7495de3c5275));
    assert_int_equal(golden_hash(small_keyed()), UINT64_C(0x86c8ca79a425da08));
}

/* ---- Damage ---- */

static void every_flipped_byte_is_refused(void **state) {
    (void)state;
    struct header headers[] = {header_of(small_window()), header_of(small_counting()),
                               header_of(small_keyed())};
    for (size_t i = 0; i < COUNT(headers); i++) {
        struct header *header = &headers[i];
        for (size_t at = 0; at < header->len; at++) {
            for (unsigned flip = 1; flip < 256; flip++) {
                header->bytes[at] ^= (uint8_t)flip;
                assert_status(header, STATUS_CORRUPT, "a flipped byte");
                header->bytes[at] ^= (uint8_t)flip;
            }
        }
        assert_status(header, STATUS_OK, "the header itself");
    }
}

static void every_truncation_and_extension_is_refused_even_with_a_good_checksum(void **state) {
    (void)state;
    struct header headers[] = {header_of(small_window()), header_of(small_counting()),
                               header_of(small_keyed())};
    for (size_t i = 0; i < COUNT(headers); i++) {
        for (size_t len = 0; len < headers[i].len + 200; len++) {
            if (len == headers[i].len) continue;
            struct header header = headers[i];
            header.len = len;
            assert_status(&header, STATUS_CORRUPT, "another length");
            if (len < 8) continue;
            repair_checksum(&header);
            assert_status(&header, STATUS_CORRUPT, "another length, checksum repaired");
        }
    }
}

/* ---- Fields out of range, the checksum repaired ---- */

static void fields_of_a_window_have_limits(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"version 1", AT_VERSION, 4, 1, BAD},
        {"version 3", AT_VERSION, 4, 3, BAD},
        {"no window", AT_WINDOW, 4, 0, BAD},
        {"window 1000000001", AT_WINDOW, 4, 1000000001, BAD},
        {"window 2^32-1", AT_WINDOW, 4, UINT32_MAX, BAD},
        {"no generations", AT_GENERATIONS, 4, 0, BAD},
        {"65 generations", AT_GENERATIONS, 4, 65, BAD},
        {"2^32-1 generations", AT_GENERATIONS, 4, UINT32_MAX, BAD},
        {"capacity 0", AT_CAPACITY, 8, 0, BAD},
        {"capacity 1", AT_CAPACITY, 8, 1, STATUS_OK},
        {"capacity 2^63-1", AT_CAPACITY, 8, INT64_MAX, STATUS_OK},
        {"capacity 2^63", AT_CAPACITY, 8, UINT64_C(1) << 63, BAD},
        {"expansion 0", AT_EXPANSION, 4, 0, BAD},
        {"expansion 1", AT_EXPANSION, 4, 1, STATUS_OK},
        {"layout COUNTING", AT_LAYOUT, 1, LAYOUT_COUNTING, BAD},
        {"layout 3", AT_LAYOUT, 1, LAYOUT_COUNT, BAD},
        {"scheme sip13, a seed of zeroes", AT_SCHEME, 1, SCHEME_SIP13, STATUS_OK},
        {"scheme 5", AT_SCHEME, 1, SCHEME_COUNT, BAD},
        {"3 layers where 4 follow", AT_NLAYERS, 4, 3, BAD},
        {"5 layers where 4 follow", AT_NLAYERS, 4, 5, BAD},
        {"layers that wrap at 2^32", AT_NLAYERS, 4, 0x40000004, BAD}, // 64 * 2^30 = 0 mod 2^32
        {"loaded too little", AT_LOADED, 8, 1, BAD},
        {"k 255", LAYER(0, IN_NHASHES), 4, 255, STATUS_OK},
        {"k 256", LAYER(0, IN_NHASHES), 4, 256, BAD},
        {"items over the capacity", LAYER(0, IN_ITEMS), 8, 101, BAD},
    };
    struct header header = header_of(small_window());
    assert_each(&header, FIELDS, COUNT(FIELDS));
}

static void starts_of_layers_have_an_order_a_step_and_an_age(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"the oldest 0", LAYER(0, IN_START), 8, 0, BAD},
        {"the oldest not a multiple", LAYER(0, IN_START), 8, START + 1, BAD},
        {"the oldest one step more", LAYER(0, IN_START), 8, START + STEP, STATUS_OK},
        {"the oldest one too old", LAYER(0, IN_START), 8, START - STEP, BAD},
        {"the oldest as the next", LAYER(0, IN_START), 8, START + 2 * STEP, STATUS_OK},
        {"the oldest after the next", LAYER(0, IN_START), 8, START + 3 * STEP, BAD},
        {"a chain in two generations", LAYER(1, IN_START), 8, START + STEP, STATUS_OK},
        {"a chain out of order", LAYER(2, IN_START), 8, START + STEP, BAD},
        {"the newest 0", LAYER(3, IN_START), 8, 0, BAD},
        {"the newest older than another", LAYER(3, IN_START), 8, START + STEP, BAD},
        {"the newest so late that the oldest is over", LAYER(3, IN_START), 8, START + 5 * STEP,
         BAD},
        {"the newest 2^64-1", LAYER(3, IN_START), 8, UINT64_MAX, BAD},
        {"a start over the newest", LAYER(1, IN_START), 8, UINT64_MAX, BAD},
    };
    struct header header = header_of(small_window());
    assert_each(&header, FIELDS, COUNT(FIELDS));
    set(&header, AT_WINDOW, 4, 75); // d is 18.75 s: no start is a multiple
    assert_status(&header, BAD, "another d");
}

/* The latest time is 2^63-1, and a window that has not begun has the start 0 in every layer. */
static void starts_end_at_2_to_the_63(void **state) {
    (void)state;
    struct filter_params params = window_params(LAYOUT_CLASSIC, 4);
    struct header header = header_of(filter_as(&params));
    uint64_t last = (uint64_t)INT64_MAX / STEP * STEP;
    assert_status(&header, STATUS_OK, "not begun");
    set(&header, LAYER(0, IN_START), 8, STEP);
    assert_status(&header, STATUS_OK, "the first start");
    set(&header, LAYER(0, IN_START), 8, last);
    assert_status(&header, STATUS_OK, "the last start");
    set(&header, LAYER(0, IN_START), 8, last + STEP);
    assert_status(&header, BAD, "one after the last");
}

static void seed_and_room_must_be_zero(void **state) {
    (void)state;
    struct header headers[] = {header_of(small_window()), header_of(small_counting())};
    for (size_t i = 0; i < COUNT(headers); i++) {
        for (size_t at = AT_SEED; at < AT_LAYERS; at++) {
            struct field field = {at < AT_ROOM ? "seed" : "room", at, 1, 1 + at % 255, BAD};
            assert_each(&headers[i], &field, 1);
        }
        for (size_t at = AT_LAYERS; at + 8 < headers[i].len; at++) {
            if ((at - AT_LAYERS) % LAYER_SIZE < IN_ROOM) continue;
            struct field field = {"room of a layer", at, 1, 1 + at % 255, BAD};
            assert_each(&headers[i], &field, 1);
        }
    }
}

static void fields_of_a_counting_filter_have_limits(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"version 1", AT_VERSION, 4, 1, BAD},
        {"CLASSIC in version 2", AT_LAYOUT, 1, LAYOUT_CLASSIC, BAD},
        {"expansion", AT_EXPANSION, 4, 1, BAD},
        {"window", AT_WINDOW, 4, 60, BAD},
        {"generations", AT_GENERATIONS, 4, 4, BAD},
        {"capacity of a window", AT_CAPACITY, 8, 50, BAD},
        {"start", LAYER(0, IN_START), 8, STEP, BAD},
        {"k 30", LAYER(0, IN_NHASHES), 4, 30, STATUS_OK},
        {"k 31", LAYER(0, IN_NHASHES), 4, 31, BAD},
        {"no items but counters", LAYER(0, IN_ITEMS), 8, 0, STATUS_OK},
        {"items as the capacity", LAYER(0, IN_ITEMS), 8, 50, STATUS_OK},
        {"items over the capacity", LAYER(0, IN_ITEMS), 8, 51, STATUS_OK},
        {"items 2^63-1", LAYER(0, IN_ITEMS), 8, INT64_MAX, STATUS_OK},
        {"items 2^63", LAYER(0, IN_ITEMS), 8, (uint64_t)INT64_MAX + 1, BAD},
        {"items 2^64-1", LAYER(0, IN_ITEMS), 8, UINT64_MAX, BAD},
        {"more ones than counters", LAYER(0, IN_ONES), 8, 100000, BAD},
        {"as many bytes as bits", AT_LOADED, 8, 70, BAD},
    };
    struct header header = header_of(small_counting());
    assert_each(&header, FIELDS, COUNT(FIELDS));
}

static void a_counting_filter_of_two_layers_is_refused(void **state) {
    (void)state;
    struct header header = header_of(small_counting());
    uint64_t bytes = read_le(header.bytes + AT_LOADED, 8);
    memcpy(header.bytes + LAYER(1, 0), header.bytes + LAYER(0, 0), LAYER_SIZE);
    header.len += LAYER_SIZE;
    set(&header, AT_NLAYERS, 4, 2);
    set(&header, AT_LOADED, 8, 2 * bytes);
    assert_status(&header, BAD, "two layers");
}

/* One filter, one header: else equal filters would have different bytes. */
static void what_version_1_can_say_is_refused_as_version_2(void **state) {
    (void)state;
    struct header header = header_of(small_window());
    set(&header, AT_WINDOW, 4, 0);
    set(&header, AT_GENERATIONS, 4, 0);
    set(&header, AT_CAPACITY, 8, 0);
    for (size_t i = 0; i < 4; i++) set(&header, LAYER(i, IN_START), 8, 0);
    assert_status(&header, BAD, "a plain filter in version 2");
}

static void decoding_out_of_memory_leaves_nothing(void **state) {
    (void)state;
    struct header header = header_of(small_window());
    enum status status = STATUS_NOMEM;
    long n;
    for (n = 1; status != STATUS_OK; n++) {
        struct filter *filter = NULL;
        spy_fail_at(n);
        status = decode(&header, &filter);
        assert_true(status == STATUS_OK || (status == STATUS_NOMEM && filter == NULL));
        filter_free(filter);
        assert_int_equal(spy.live, 0);
    }
    assert_int_equal(n - 2, 6); // the filter, the layers, and four arrays
}

/* A header that is decoded is encoded to the same bytes; one that is refused leaks nothing. */
static void random_damage_with_a_good_checksum_is_refused_or_means_what_it_says(void **state) {
    (void)state;
    struct rng r = rng_seeded(80);
    struct header headers[] = {header_of(small_window()), header_of(small_counting()),
                               header_of(small_keyed())};
    int taken = 0;
    for (int i = 0; i < 150000; i++) {
        struct header header = headers[i % 3];
        for (uint64_t flips = 1 + rng_below(&r, 3); flips > 0; flips--) {
            uint8_t bit = (uint8_t)(1U << rng_below(&r, 8));
            header.bytes[8 + rng_below(&r, header.len - 16)] ^= bit;
        }
        repair_checksum(&header);
        struct filter *filter = NULL;
        if (decode(&header, &filter) != STATUS_OK) continue;
        assert_null(limits_fault(filter));
        struct header again = encode(filter);
        assert_int_equal(again.len, header.len);
        assert_memory_equal(again.bytes, header.bytes, header.len);
        filter_free(filter);
        taken++;
    }
    assert_int_equal(spy.live, 0);
    assert_true(taken > 100); // or this test would show nothing
}

/* ---- The counters in pieces ---- */

static enum codec_piece put(struct filter *filter, const struct filter *from, uint64_t *at,
                            size_t most) {
    const uint8_t *bytes;
    size_t len = codec_piece_at(from, *at, most, &bytes);
    *at += len;
    return codec_put_piece(filter, *at, bytes, len);
}

static void filters_that_forget_travel_in_pieces(void **state) {
    (void)state;
    struct filter *filters[] = {small_window(), small_counting(), small_keyed()};
    for (size_t i = 0; i < COUNT(filters); i++) {
        for (size_t most = 1; most < 200; most += 7) {
            struct header header = encode(filters[i]);
            struct filter *filter = NULL;
            assert_int_equal(decode(&header, &filter), STATUS_OK);
            filter->is_loading = true;
            filter->loaded = 0;
            for (uint64_t at = 0; filter->is_loading;) {
                assert_int_equal(put(filter, filters[i], &at, most), CODEC_PIECE_STORED);
            }
            assert_true(same_filter(filter, filters[i]));
            filter_free(filter);
        }
        filter_free(filters[i]);
    }
}

/* A counter that is 0 and must not be, or the other way round, makes the number of ones wrong; a
 * counter beyond m must be 0. */
static void counters_that_contradict_the_header_are_refused(void **state) {
    (void)state;
    struct filter *good = small_counting();
    struct layer *layer = &good->layers[0];
    assert_true(codec_bits_are_sound(good));
    layer->bits[0] ^= layer->bits[0] & 15 ? layer->bits[0] & 15 : 1;
    assert_false(codec_bits_are_sound(good));
    filter_free(good);
    good = small_counting();
    layer = &good->layers[0];
    layer_set_nbits(layer, layer->nbits - (layer->nbits % 2 == 0)); // now odd
    layer->bits[layer->nbits / 2] &= 15;
    layer->ones = layer_count_ones(layer);
    assert_true(codec_bits_are_sound(good));
    layer->bits[layer->nbits / 2] |= 16;
    layer->ones = layer_count_ones(layer);
    assert_false(codec_bits_are_sound(good));
    filter_free(good);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(windows_of_all_shapes_come_back_as_they_went),
        spied(counting_filters_come_back_as_they_went),
        spied(filters_half_way_through_loading_come_back_half_way),
        spied(plain_filters_stay_version_1),
        spied(the_fields_of_a_window_are_where_the_document_says),
        spied(the_fields_of_a_counting_filter_are_where_the_document_says),
        spied(two_filters_are_the_same_if_they_are_saved_as_the_same_bytes),
        spied(known_filters_have_their_golden_bytes),
        spied(every_flipped_byte_is_refused),
        spied(every_truncation_and_extension_is_refused_even_with_a_good_checksum),
        spied(fields_of_a_window_have_limits),
        spied(starts_of_layers_have_an_order_a_step_and_an_age),
        spied(starts_end_at_2_to_the_63),
        spied(seed_and_room_must_be_zero),
        spied(fields_of_a_counting_filter_have_limits),
        spied(a_counting_filter_of_two_layers_is_refused),
        spied(what_version_1_can_say_is_refused_as_version_2),
        spied(decoding_out_of_memory_leaves_nothing),
        spied(random_damage_with_a_good_checksum_is_refused_or_means_what_it_says),
        spied(filters_that_forget_travel_in_pieces),
        spied(counters_that_contradict_the_header_are_refused),
    };
    return cmocka_run_group_tests_name("codec forgetting", tests, print_seed, NULL);
}
