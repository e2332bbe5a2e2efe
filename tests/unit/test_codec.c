/* The header as bytes, against rdb/FORMAT.md: encoding, decoding, and that every other input is
 * refused. The pieces of bits are in test_pieces.c. */

#include "tests/unit/header_bytes.h"

#include <math.h>

/* Offsets of FORMAT.md 2. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_SCHEME = 12,
    AT_LAYOUT = 13,
    AT_FLAGS = 14,
    AT_EXPANSION = 16,
    AT_NLAYERS = 20,
    AT_ERROR_RATE = 24,
    AT_BITS_PER_KEY = 32,
    AT_LOADED = 40,
    AT_LAYERS = 48,
    LAYER_SIZE = 44,
    IN_CAPACITY = 0,
    IN_ITEMS = 8,
    IN_ONES = 16,
    IN_ERROR_RATE = 24,
    IN_NHASHES = 32,
    IN_NBITS = 36,
};

static uint64_t bits_of(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static void assert_status(const struct header *header, enum status expected, const char *what) {
    assert_status_within(header, FILTER_NO_LIMIT, expected, what);
}

/* ---- Round trips ---- */

/* Decoding gives every field and count, and bits that are all zero. */
static void assert_round_trip(const struct filter *filter) {
    struct header header = encode(filter);
    struct filter *decoded = NULL;
    assert_int_equal(decode_within(&header, FILTER_NO_LIMIT, &decoded), STATUS_OK);
    for (uint32_t i = 0; i < decoded->nlayers; i++) {
        assert_true(layer_count_ones(&decoded->layers[i]) == 0);
        memcpy(decoded->layers[i].bits, filter->layers[i].bits,
               layer_bytes(filter->layers[i].nbits));
    }
    assert_true(same_filter(filter, decoded));
    struct header again = encode(decoded);
    assert_int_equal(again.len, header.len);
    assert_memory_equal(again.bytes, header.bytes, header.len);
    filter_free(decoded);
}

static void headers_of_all_shapes_come_back_as_they_went(void **state) {
    (void)state;
    static const struct filter_params SHAPES[] = {
        {.capacity = 1, .error_rate = 0.5},
        {.capacity = 1000, .error_rate = 0.01},
        {.capacity = 50, .error_rate = 0.01, .expansion = 1},
        {.capacity = 50, .error_rate = 1e-9, .expansion = 4},
        {.capacity = 50, .bits_per_key = 10, .expansion = 2},
        {.capacity = 50, .bits_per_key = 256, .expansion = 32768},
        {.capacity = 50, .error_rate = 0.01, .expansion = 2, .scheme = SCHEME_FNV1A},
        {.capacity = 50, .error_rate = 0.01, .expansion = 2, .layout = LAYOUT_BLOCKED},
        {.capacity = 50, .bits_per_key = 10, .expansion = 4, .layout = LAYOUT_BLOCKED},
    };
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        struct filter *filter = NULL;
        assert_int_equal(filter_new(&SHAPES[i], FILTER_NO_LIMIT, &filter), STATUS_OK);
        assert_round_trip(filter);
        fill_to(filter, SHAPES[i].expansion == 0 ? SHAPES[i].capacity : 700, 0);
        assert_round_trip(filter);
        filter_free(filter);
    }
}

static struct filter *two_layers(void) {
    struct filter *filter = filter_by_error(50, 0.01, 2);
    fill_to(filter, 80, 0);
    assert_int_equal(filter->nlayers, 2);
    return filter;
}

static struct header two_layer_header(void) {
    struct filter *filter = two_layers();
    struct header header = encode(filter);
    filter_free(filter);
    return header;
}

static void a_filter_half_way_through_loading_comes_back_half_way(void **state) {
    (void)state;
    struct filter *filter = two_layers();
    filter->is_loading = true;
    uint64_t total = filter->loaded;
    for (filter->loaded = 0; filter->loaded < total; filter->loaded++) assert_round_trip(filter);
    filter_free(filter);
}

/* ---- The bytes themselves ---- */

/* A filter of known fields, made by hand; its header, written by hand from FORMAT.md 2. The
 * checksum is of a Python XXH64 that shares no code with this one. */
static const uint8_t GOLDEN[] = {
    'B',  'L',  'O',  'O',  'M',  'P',  'R',  'T',  // magic
    1,    0,    0,    0,                            // version
    1,    0,    0,    0,                            // fnv1a, CLASSIC, no flags
    2,    0,    0,    0,                            // expansion
    2,    0,    0,    0,                            // layers
    0,    0,    0,    0,    0,    0,    0xe8, 0x3f, // error rate 0.75
    0,    0,    0,    0,    0,    0,    0,    0,    // no bits per key
    42,   0,    0,    0,    0,    0,    0,    0,    // loaded: ceil(25/8) + ceil(300/8)
    3,    0,    0,    0,    0,    0,    0,    0,    // layer 0: capacity
    2,    0,    0,    0,    0,    0,    0,    0,    // items
    7,    0,    0,    0,    0,    0,    0,    0,    // ones
    0,    0,    0,    0,    0,    0,    0xe0, 0x3f, // error rate 0.5
    4,    0,    0,    0,                            // k
    25,   0,    0,    0,    0,    0,    0,    0,    // m
    6,    0,    0,    0,    0,    0,    0,    0,    // layer 1: capacity
    1,    0,    0,    0,    0,    0,    0,    0,    // items
    4,    0,    0,    0,    0,    0,    0,    0,    // ones
    0,    0,    0,    0,    0,    0,    0xd0, 0x3f, // error rate 0.25
    8,    0,    0,    0,                            // k
    0x2c, 1,    0,    0,    0,    0,    0,    0,    // m
    0x25, 0x32, 0x5b, 0x85, 0x35, 0x66, 0x43, 0x73, // checksum
};

static struct filter *golden_filter(void) {
    struct filter *filter = filter_new_bare(2);
    assert_non_null(filter);
    filter->expansion = 2;
    filter->error_rate = 0.75;
    filter->bits_per_key = 0;
    filter->layout = LAYOUT_CLASSIC;
    filter->scheme = SCHEME_FNV1A;
    filter->is_loading = false;
    filter->loaded = 42;
    filter->nlayers = 2;
    struct layer *layers = filter->layers;
    struct geometry fnv1a = {LAYOUT_CLASSIC, SCHEME_FNV1A};
    assert_int_equal(layer_init(&layers[0], (struct sizing){25, 4}, fnv1a, 3, 0.5), STATUS_OK);
    assert_int_equal(layer_init(&layers[1], (struct sizing){300, 8}, fnv1a, 6, 0.25), STATUS_OK);
    layers[0].items = 2;
    layers[0].ones = 7;
    layers[1].items = 1;
    layers[1].ones = 4;
    return filter;
}

static void a_known_filter_has_its_golden_header(void **state) {
    (void)state;
    struct filter *filter = golden_filter();
    struct header header = encode(filter);
    assert_int_equal(header.len, sizeof GOLDEN);
    assert_memory_equal(header.bytes, GOLDEN, sizeof GOLDEN);
    filter_free(filter);
}

static void the_golden_header_is_its_known_filter(void **state) {
    (void)state;
    struct filter *filter = golden_filter(), *decoded = NULL;
    assert_int_equal(codec_decode_header(GOLDEN, sizeof GOLDEN, FILTER_NO_LIMIT, &decoded),
                     STATUS_OK);
    assert_true(same_filter(filter, decoded)); // the bits of both are zero
    filter_free(decoded);
    filter_free(filter);
}

static void the_loading_flag_is_bit_0_of_byte_14(void **state) {
    (void)state;
    struct filter *filter = golden_filter();
    filter->is_loading = true;
    filter->loaded = 5;
    struct header header = encode(filter);
    assert_int_equal(header.bytes[14], 1);
    assert_int_equal(header.bytes[40], 5);
    filter_free(filter);
}

static void the_estimated_flag_is_bit_1_of_byte_14_and_comes_back(void **state) {
    (void)state;
    struct filter *filter = two_layers(), *decoded = NULL;
    filter->is_estimated = true;
    struct header header = encode(filter);
    assert_int_equal(header.bytes[14], 2);
    assert_round_trip(filter);
    assert_int_equal(decode_within(&header, FILTER_NO_LIMIT, &decoded), STATUS_OK);
    assert_true(decoded->is_estimated && !decoded->is_loading);
    filter_free(decoded);
    filter_free(filter);
}

/* Estimates may exceed the capacity, counts may not; neither may exceed the ones. */
static void estimated_items_may_exceed_the_capacity_but_not_the_ones(void **state) {
    (void)state;
    struct header header = two_layer_header();
    set(&header, AT_LAYERS + IN_ITEMS, 8, 51); // of 50
    assert_status(&header, STATUS_CORRUPT, "counted, over the capacity");
    set(&header, AT_FLAGS, 2, 2);
    assert_status(&header, STATUS_OK, "estimated, over the capacity");
    set(&header, AT_LAYERS + IN_ITEMS, 8, UINT64_MAX);
    assert_status(&header, STATUS_CORRUPT, "estimated, over the ones");
    set(&header, AT_LAYERS + IN_ITEMS, 8, 1);
    assert_status(&header, STATUS_CORRUPT, "estimated, too few for the ones");
}

static void portable_bytes_are_k_then_m(void **state) {
    (void)state;
    struct layer layer = {.nhashes = 0x01020304, .nbits = UINT64_C(0x1112131415161718)};
    static const uint8_t expected[CODEC_PORTABLE_BYTES] = {4,    3,    2,    1,    0x18, 0x17,
                                                           0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
    uint8_t bytes[CODEC_PORTABLE_BYTES];
    codec_encode_portable(&layer, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
}

/* ---- Damage ---- */

static void every_flip_of_a_bit_or_a_byte_is_refused(void **state) {
    (void)state;
    struct header header = two_layer_header();
    for (size_t at = 0; at < header.len; at++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            header.bytes[at] ^= (uint8_t)flip;
            assert_status(&header, STATUS_CORRUPT, "a flipped byte");
            header.bytes[at] ^= (uint8_t)flip;
        }
    }
    assert_status(&header, STATUS_OK, "the header itself");
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    struct header header = two_layer_header();
    for (size_t len = header.len; len-- > 0;) {
        header.len = len;
        assert_status(&header, STATUS_CORRUPT, "a truncated header");
    }
}

static void every_truncation_is_refused_even_with_a_good_checksum(void **state) {
    (void)state;
    for (size_t len = two_layer_header().len - 1; len >= 8; len--) {
        struct header header = two_layer_header();
        header.len = len;
        repair_checksum(&header);
        assert_status(&header, STATUS_CORRUPT, "a truncated header");
    }
}

static void every_extension_is_refused_even_with_a_good_checksum(void **state) {
    (void)state;
    struct header header = two_layer_header();
    size_t len = header.len;
    for (header.len = len + 1; header.len < len + 200; header.len++) {
        assert_status(&header, STATUS_CORRUPT, "an extended header");
        struct header repaired = header;
        repair_checksum(&repaired);
        assert_status(&repaired, STATUS_CORRUPT, "an extended header, checksum repaired");
    }
}

/* ---- Fields out of range, the checksum repaired ---- */

struct field {
    const char *what;
    size_t offset, nbytes;
    uint64_t value;
};

#define LAYER0(field) (AT_LAYERS + (field))
#define LAYER1(field) (AT_LAYERS + LAYER_SIZE + (field))

static void assert_each_refused(const struct field *fields, size_t nfields) {
    for (size_t i = 0; i < nfields; i++) {
        struct header header = two_layer_header();
        set(&header, fields[i].offset, fields[i].nbytes, fields[i].value);
        assert_status(&header, STATUS_CORRUPT, fields[i].what);
        assert_true(spy.largest < 100000); // no field caused a large allocation
    }
}

static void fields_of_the_filter_out_of_range_are_refused(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"magic", AT_MAGIC, 1, 'b'},
        {"magic of RedisBloom", AT_MAGIC, 8, 1},
        {"version 0", AT_VERSION, 4, 0},
        {"version 2", AT_VERSION, 4, 2},
        {"version 1 in the high half", AT_VERSION, 4, 0x10000},
        {"scheme", AT_SCHEME, 1, SCHEME_COUNT},
        {"scheme 255", AT_SCHEME, 1, 255},
        {"layout", AT_LAYOUT, 1, LAYOUT_COUNT},
        {"layout 255", AT_LAYOUT, 1, 255},
        {"flag 2", AT_FLAGS, 2, 4},
        {"flag 15", AT_FLAGS, 2, 0x8000},
        {"all flags", AT_FLAGS, 2, 0xffff},
        {"expansion 32769", AT_EXPANSION, 4, 32769},
        {"expansion 2^32-1", AT_EXPANSION, 4, UINT32_MAX},
        {"no layers", AT_NLAYERS, 4, 0},
        {"1 layer where 2 follow", AT_NLAYERS, 4, 1},
        {"3 layers where 2 follow", AT_NLAYERS, 4, 3},
        {"2^32-1 layers", AT_NLAYERS, 4, UINT32_MAX},
        {"layers that wrap at 2^32", AT_NLAYERS, 4, 0x40000002}, // 44 * 2^30 = 0 mod 2^32
        {"loaded too little", AT_LOADED, 8, 1},
        {"loaded nothing", AT_LOADED, 8, 0},
        {"loaded too much", AT_LOADED, 8, 1000000},
        {"loaded 2^64-1", AT_LOADED, 8, UINT64_MAX},
    };
    assert_each_refused(FIELDS, COUNT(FIELDS));
}

static void counts_of_a_layer_out_of_range_are_refused(void **state) {
    (void)state;
    // two_layers(): 50 items of 50, and 30 of 100; k is 7 or 8, m about 550 and 1200.
    static const struct field FIELDS[] = {
        {"capacity 0", LAYER0(IN_CAPACITY), 8, 0},
        {"capacity 0 of a later layer", LAYER1(IN_CAPACITY), 8, 0},
        {"capacity 2^63", LAYER0(IN_CAPACITY), 8, UINT64_C(1) << 63},
        {"capacity 2^64-1", LAYER1(IN_CAPACITY), 8, UINT64_MAX},
        {"capacities summing up to over 2^63-1", LAYER1(IN_CAPACITY), 8, INT64_MAX},
        {"more items than capacity", LAYER0(IN_ITEMS), 8, 51},
        {"more items than capacity in a later layer", LAYER1(IN_ITEMS), 8, 101},
        {"items 2^64-1", LAYER0(IN_ITEMS), 8, UINT64_MAX},
        {"no items but ones", LAYER0(IN_ITEMS), 8, 0},
        {"no items but ones in a later layer", LAYER1(IN_ITEMS), 8, 0},
        {"items but no ones", LAYER0(IN_ONES), 8, 0},
        {"fewer ones than items", LAYER0(IN_ONES), 8, 49},
        {"more ones than k * items", LAYER1(IN_ONES), 8, 30 * 14 + 1},
        {"more ones than m", LAYER0(IN_ONES), 8, 100000},
        {"ones 2^64-1", LAYER0(IN_ONES), 8, UINT64_MAX},
    };
    assert_each_refused(FIELDS, COUNT(FIELDS));
}

static void shapes_of_a_layer_out_of_range_are_refused(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"k 0", LAYER0(IN_NHASHES), 4, 0},
        {"k 256", LAYER0(IN_NHASHES), 4, 256},
        {"k 2^32-1", LAYER1(IN_NHASHES), 4, UINT32_MAX},
    };
    assert_each_refused(FIELDS, COUNT(FIELDS));
    // `loaded` is for the same m, so that m is what is refused.
    static const uint64_t NBITS[] = {0, SIZING_MAX_BITS + 1, UINT64_C(1) << 61, UINT64_MAX};
    for (size_t i = 0; i < COUNT(NBITS); i++) {
        struct header header = {.len = sizeof GOLDEN};
        memcpy(header.bytes, GOLDEN, sizeof GOLDEN);
        set(&header, AT_SCHEME, 1, SCHEME_XXH64);
        set(&header, LAYER1(IN_NBITS), 8, NBITS[i]);
        set(&header, AT_LOADED, 8, 4 + NBITS[i] / 8 + (NBITS[i] % 8 != 0));
        assert_status(&header, STATUS_CORRUPT, "m");
    }
}

/* Each contradiction alone, everything else in order. */
static void a_layer_without_bits_or_with_more_ones_than_bits_is_refused(void **state) {
    (void)state;
    struct header header = {.len = sizeof GOLDEN};
    memcpy(header.bytes, GOLDEN, sizeof GOLDEN);
    set(&header, LAYER0(IN_ITEMS), 8, 0);
    set(&header, LAYER0(IN_ONES), 8, 0);
    assert_status(&header, STATUS_OK, "an empty layer");
    set(&header, LAYER0(IN_NBITS), 8, 0);
    set(&header, AT_LOADED, 8, 38);
    assert_status(&header, STATUS_CORRUPT, "m 0 of an empty layer");

    memcpy(header.bytes, GOLDEN, sizeof GOLDEN);
    set(&header, LAYER0(IN_CAPACITY), 8, 7);
    set(&header, LAYER0(IN_ITEMS), 8, 7); // of 4 hashes: up to 28 ones, but there are 25 bits
    set(&header, LAYER0(IN_ONES), 8, 25);
    assert_status(&header, STATUS_OK, "as many ones as bits");
    set(&header, LAYER0(IN_ONES), 8, 26);
    assert_status(&header, STATUS_CORRUPT, "more ones than bits");
}

static void ones_are_held_to_k_times_items_to_the_bit(void **state) {
    (void)state;
    struct header header = {.len = sizeof GOLDEN};
    memcpy(header.bytes, GOLDEN, sizeof GOLDEN);
    set(&header, LAYER0(IN_ONES), 8, 8); // 2 items of 4 hashes
    assert_status(&header, STATUS_OK, "k * items ones");
    set(&header, LAYER0(IN_ONES), 8, 9);
    assert_status(&header, STATUS_CORRUPT, "k * items + 1 ones");
}

static void doubles_out_of_range_are_refused(void **state) {
    (void)state;
    static const double RATES[] = {0, -0.0, 1, 1.5, -0.01, NAN, INFINITY, -INFINITY};
    static const double LAYER_RATES[] = {0, -0.0, 1.5, -0.01, NAN, INFINITY, -INFINITY};
    static const double BITS[] = {0.5, 0.999, 256.5, 257, -10, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT(RATES); i++) {
        struct field field = {"error rate", AT_ERROR_RATE, 8, bits_of(RATES[i])};
        assert_each_refused(&field, 1);
    }
    for (size_t i = 0; i < COUNT(LAYER_RATES); i++) {
        struct field field = {"layer error rate", LAYER1(IN_ERROR_RATE), 8,
                              bits_of(LAYER_RATES[i])};
        assert_each_refused(&field, 1);
    }
    for (size_t i = 0; i < COUNT(BITS); i++) {
        struct header header = two_layer_header();
        set(&header, AT_ERROR_RATE, 8, 0);
        set(&header, AT_BITS_PER_KEY, 8, bits_of(BITS[i]));
        assert_status(&header, STATUS_CORRUPT, "bits per key");
    }
    // A value not given is 0 and not -0, or one filter would have two headers.
    struct field minus_zero = {"bits per key", AT_BITS_PER_KEY, 8, bits_of(-0.0)};
    assert_each_refused(&minus_zero, 1);
    struct header header = two_layer_header();
    set(&header, AT_BITS_PER_KEY, 8, bits_of(10));
    set(&header, AT_ERROR_RATE, 8, bits_of(-0.0));
    assert_status(&header, STATUS_CORRUPT, "error rate -0");
}

static void two_promises_at_once_are_refused_and_so_is_none(void **state) {
    (void)state;
    struct header header = two_layer_header();
    set(&header, AT_BITS_PER_KEY, 8, bits_of(10));
    assert_status(&header, STATUS_CORRUPT, "two promises");
    set(&header, AT_ERROR_RATE, 8, 0);
    assert_status(&header, STATUS_OK, "bits per key alone");
    set(&header, AT_BITS_PER_KEY, 8, 0);
    assert_status(&header, STATUS_CORRUPT, "no promise");
}

static void the_ends_of_every_range_are_accepted(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"expansion 0", AT_EXPANSION, 4, 0},
        {"expansion 32768", AT_EXPANSION, 4, 32768},
        {"capacities summing up to 2^63-1", LAYER1(IN_CAPACITY), 8, INT64_MAX - 50},
        {"as many ones as items", LAYER1(IN_ONES), 8, 30},
        {"k 255", LAYER1(IN_NHASHES), 4, 255},
        {"layer error rate 1", LAYER0(IN_ERROR_RATE), 8, UINT64_C(0x3ff0000000000000)},
    };
    for (size_t i = 0; i < COUNT(FIELDS); i++) {
        struct header header = two_layer_header();
        set(&header, FIELDS[i].offset, FIELDS[i].nbytes, FIELDS[i].value);
        assert_status(&header, STATUS_OK, FIELDS[i].what);
    }
}

static void loading_headers_that_loaded_more_than_there_is_are_refused(void **state) {
    (void)state;
    struct filter *filter = two_layers();
    uint64_t total = filter->loaded;
    filter_free(filter);
    struct header header = two_layer_header();
    set(&header, AT_FLAGS, 2, 1);
    set(&header, AT_LOADED, 8, total - 1);
    assert_status(&header, STATUS_OK, "all but one byte");
    set(&header, AT_LOADED, 8, total);
    assert_status(&header, STATUS_CORRUPT, "all bytes, so not loading");
    set(&header, AT_LOADED, 8, total + 1);
    assert_status(&header, STATUS_CORRUPT, "a byte too many");
    set(&header, AT_LOADED, 8, UINT64_MAX);
    assert_status(&header, STATUS_CORRUPT, "2^64-1 bytes");
}

/* A header that is sound in itself, but of a size no machine has. */
static void a_sound_header_too_large_for_the_allocator_is_nomem(void **state) {
    (void)state;
    for (uint64_t nbits = UINT64_C(1) << 40; nbits <= SIZING_MAX_BITS; nbits *= 2) {
        struct header header = {.len = sizeof GOLDEN};
        memcpy(header.bytes, GOLDEN, sizeof GOLDEN);
        set(&header, AT_SCHEME, 1, SCHEME_XXH64);
        set(&header, LAYER1(IN_NBITS), 8, nbits);
        set(&header, AT_LOADED, 8, 4 + nbits / 8);
        assert_status(&header, STATUS_NOMEM, "a giant m");
    }
}

static void fnv1a_of_more_than_2_to_the_32_bits_is_refused(void **state) {
    (void)state;
    struct header header = {.len = sizeof GOLDEN};
    memcpy(header.bytes, GOLDEN, sizeof GOLDEN);
    set(&header, LAYER0(IN_NBITS), 8, (UINT64_C(1) << 32) + 8);
    set(&header, AT_LOADED, 8, 38 + (UINT64_C(1) << 29) + 1);
    assert_status(&header, STATUS_CORRUPT, "fnv1a over 2^32 bits");
    assert_true(spy.largest < 100000);
}

static void decoding_is_held_to_max_bytes_to_the_byte(void **state) {
    (void)state;
    struct filter *filter = two_layers(), *decoded = NULL;
    struct header header = encode(filter);
    uint64_t size = filter_size_bytes(filter);
    filter_free(filter);
    assert_int_equal(decode_within(&header, size - 1, &decoded), STATUS_NOMEM);
    assert_int_equal(decode_within(&header, 0, &decoded), STATUS_NOMEM);
    assert_null(decoded);
    assert_int_equal(decode_within(&header, size, &decoded), STATUS_OK);
    assert_true(filter_size_bytes(decoded) == size && spy.bytes == size);
    filter_free(decoded);
}

static void decoding_out_of_memory_leaves_nothing(void **state) {
    (void)state;
    struct header header = two_layer_header();
    enum status status = STATUS_NOMEM;
    long n;
    for (n = 1; status != STATUS_OK; n++) {
        struct filter *filter = NULL;
        spy_fail_at(n);
        status = decode_within(&header, FILTER_NO_LIMIT, &filter);
        assert_true(status == STATUS_OK || (status == STATUS_NOMEM && filter == NULL));
        filter_free(filter);
        assert_int_equal(spy.live, 0);
    }
    assert_true(n > 4);
}

/* A header that is decoded is encoded to the same bytes; one that is refused leaks nothing. */
static void random_damage_with_a_good_checksum_is_refused_or_means_what_it_says(void **state) {
    (void)state;
    struct rng r = rng_seeded(30);
    int taken = 0;
    for (int i = 0; i < 100000; i++) {
        struct header header = {.len = sizeof GOLDEN};
        memcpy(header.bytes, GOLDEN, sizeof GOLDEN);
        for (uint64_t flips = 1 + rng_below(&r, 3); flips > 0; flips--) {
            uint8_t bit = (uint8_t)(1U << rng_below(&r, 8));
            header.bytes[8 + rng_below(&r, sizeof GOLDEN - 16)] ^= bit;
        }
        repair_checksum(&header);
        struct filter *filter = NULL;
        if (decode_within(&header, 100000, &filter) != STATUS_OK) continue;
        struct header again = encode(filter);
        assert_int_equal(again.len, header.len);
        assert_memory_equal(again.bytes, header.bytes, header.len);
        filter_free(filter);
        taken++;
    }
    assert_int_equal(spy.live, 0);
    assert_true(taken > 100); // or this test would show nothing
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(headers_of_all_shapes_come_back_as_they_went),
        spied(a_filter_half_way_through_loading_comes_back_half_way),
        spied(a_known_filter_has_its_golden_header),
        spied(the_golden_header_is_its_known_filter),
        spied(the_loading_flag_is_bit_0_of_byte_14),
        spied(the_estimated_flag_is_bit_1_of_byte_14_and_comes_back),
        spied(estimated_items_may_exceed_the_capacity_but_not_the_ones),
        spied(portable_bytes_are_k_then_m),
        spied(every_flip_of_a_bit_or_a_byte_is_refused),
        spied(every_truncation_is_refused),
        spied(every_truncation_is_refused_even_with_a_good_checksum),
        spied(every_extension_is_refused_even_with_a_good_checksum),
        spied(fields_of_the_filter_out_of_range_are_refused),
        spied(counts_of_a_layer_out_of_range_are_refused),
        spied(shapes_of_a_layer_out_of_range_are_refused),
        spied(a_layer_without_bits_or_with_more_ones_than_bits_is_refused),
        spied(ones_are_held_to_k_times_items_to_the_bit),
        spied(doubles_out_of_range_are_refused),
        spied(two_promises_at_once_are_refused_and_so_is_none),
        spied(the_ends_of_every_range_are_accepted),
        spied(loading_headers_that_loaded_more_than_there_is_are_refused),
        spied(a_sound_header_too_large_for_the_allocator_is_nomem),
        spied(fnv1a_of_more_than_2_to_the_32_bits_is_refused),
        spied(decoding_is_held_to_max_bytes_to_the_byte),
        spied(decoding_out_of_memory_leaves_nothing),
        spied(random_damage_with_a_good_checksum_is_refused_or_means_what_it_says),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
