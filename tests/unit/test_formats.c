/* The formats of other programs, against rdb/FORMAT.md 5: vectors, round trips, truncations, and
 * running out of memory. Decoders get heap blocks of the exact length: the sanitizer sees
 * overreads. */

#include "tests/unit/helpers.h"

#include "module/core/math/sizing.h"
#include "module/core/measure.h"
#include "rdb/bytes.h"
#include "rdb/codec.h"
#include "rdb/formats/formats.h"
#include "rdb/header.h"

static enum status decode(enum format format, const uint8_t *bytes, size_t len,
                          const struct formats_options *options, uint64_t max_bytes,
                          struct filter **out) {
    uint8_t *exact = malloc(len ? len : 1);
    if (len) memcpy(exact, bytes, len);
    const char *fault = NULL;
    enum status status = formats_decode(format, exact, len, options, max_bytes, out, &fault);
    if (status == STATUS_CORRUPT) assert_true(fault != NULL && fault[0] != 0);
    free(exact);
    return status;
}

struct bytes {
    uint8_t *at;
    size_t len;
};

static struct bytes encode(const struct filter *filter, enum format format) {
    assert_null(formats_obstacle(filter, format, VARIANT_NONE));
    struct bytes bytes = {.len = (size_t)formats_size(filter, format)};
    bytes.at = malloc(bytes.len);
    formats_encode(filter, format, VARIANT_NONE, bytes.at);
    return bytes;
}

/* Whether the format keeps the number of items, the capacity and any number of layers. */
static bool is_of_a_server(int format) {
    return format == FORMAT_REDISBLOOM || format == FORMAT_VALKEYBLOOM;
}

/* A layer's bits are a multiple of this. */
static uint64_t unit_of(enum format format) {
    switch (format) {
    case FORMAT_GUAVA:
    case FORMAT_SPARK:
    case FORMAT_CASSANDRA:
    case FORMAT_DATASKETCHES: return 64;
    case FORMAT_ROCKSDB: return 512;
    default: return 8;
    }
}

/* What the bytes of a format alone do not say. */
static struct formats_options options_for(const struct filter *filter, uint64_t capacity) {
    return (struct formats_options){.capacity = capacity,
                                    .variant = VARIANT_4X,
                                    .nbits = filter->layers[0].nbits,
                                    .nhashes = filter->layers[0].nhashes};
}

/* A filter of `format` with `nbits` bits or a few more (or RedisBloom's for `nbits` items), items
 * 0.. in it. */
static struct filter *sample(enum format format, uint64_t nbits, uint32_t nhashes, uint64_t items) {
    struct formats_options options = {.capacity = 1000000};
    struct filter *filter = NULL;
    struct sizing size = {nbits, nhashes};
    struct geometry geometry = CLASSIC;
    double rate = 0.01;
    static const enum scheme SCHEMES[FORMAT_COUNT] = {
        [FORMAT_LEVELDB] = SCHEME_LEVELDB,
        [FORMAT_VALKEYBLOOM] = SCHEME_SIP13,
        [FORMAT_GUAVA] = SCHEME_GUAVA64,
        [FORMAT_SPARK] = SCHEME_SPARK2,
        [FORMAT_GO] = SCHEME_GO,
        [FORMAT_CASSANDRA] = SCHEME_CASSANDRA3,
        [FORMAT_BIP37] = SCHEME_BIP37,
        [FORMAT_ROCKSDB] = SCHEME_ROCKSDB,
        [FORMAT_DATASKETCHES] = SCHEME_DATASKETCHES,
        [FORMAT_REDISSON] = SCHEME_REDISSON,
    };
    geometry.scheme = SCHEMES[format];
    uint64_t unit = unit_of(format);
    size.nbits = (nbits + unit - 1) / unit * unit;
    if (format == FORMAT_PARQUET) {
        geometry.layout = LAYOUT_BLOCKED;
        size = (struct sizing){(nbits + 255) / 256 * 256, 8};
    }
    if (format == FORMAT_REDISBLOOM) {
        geometry.scheme = SCHEME_MURMUR;
        assert_true(sizing_as_redisbloom(nbits, rate, &size));
        options.capacity = nbits;
    }
    filter = filter_new_bare(1);
    assert_non_null(filter);
    assert_int_equal(layer_init(&filter->layers[0], size, geometry, options.capacity, rate),
                     STATUS_OK);
    filter->nlayers = 1;
    filter->layout = geometry.layout;
    filter->scheme = geometry.scheme;
    filter->error_rate = rate;
    filter->loaded = layer_bytes(size.nbits);
    for (uint64_t i = 0; i < items; i++) {
        bool added;
        char text[24];
        int len = snprintf(text, sizeof text, "%llu", (unsigned long long)i);
        struct hash hash = filter_hash(filter, text, (size_t)len);
        assert_int_equal(add_growing(filter, hash, FILTER_NO_LIMIT, &added), STATUS_OK);
    }
    return filter;
}

static void every_format_comes_back_as_it_went(void **state) {
    (void)state;
    static const uint64_t SIZES[] = {8, 64, 104, 512, 4096, 100000};
    for (int f = 0; f < FORMAT_COUNT; f++) {
        for (size_t i = 0; i < COUNT(SIZES); i++) {
            for (uint32_t k = 1; k <= 30; k += 7) {
                struct filter *filter = sample((enum format)f, SIZES[i], k, SIZES[i] / 16),
                              *back = NULL;
                struct bytes bytes = encode(filter, (enum format)f);
                struct formats_options options =
                    options_for(filter, is_of_a_server(f) ? 0 : 1000000);
                assert_int_equal(
                    decode((enum format)f, bytes.at, bytes.len, &options, FILTER_NO_LIMIT, &back),
                    STATUS_OK);
                assert_true(back->scheme == filter->scheme && back->layout == filter->layout);
                assert_int_equal(back->is_estimated, !is_of_a_server(f));
                assert_true(back->layers[0].ones == filter->layers[0].ones);
                struct bytes again = encode(back, (enum format)f);
                assert_int_equal(again.len, bytes.len);
                assert_memory_equal(again.at, bytes.at, bytes.len);
                free(again.at);
                free(bytes.at);
                filter_free(back);
                filter_free(filter);
            }
        }
    }
}

static void every_truncation_and_extension_is_refused_or_leaks_nothing(void **state) {
    (void)state;
    for (int f = 0; f < FORMAT_COUNT; f++) {
        struct filter *filter = sample((enum format)f, 512, 6, 20);
        struct bytes bytes = encode(filter, (enum format)f);
        struct formats_options options = options_for(filter, 0);
        filter_free(filter);
        uint8_t *longer = calloc(1, bytes.len + 1);
        memcpy(longer, bytes.at, bytes.len);
        for (size_t len = 0; len <= bytes.len + 1; len++) {
            if (len == bytes.len) continue;
            struct filter *back = NULL;
            enum status st = decode((enum format)f, longer, len, &options, FILTER_NO_LIMIT, &back);
            // A shorter LevelDB filter is one too if its last byte happens to be a k. Redisson cuts
            // its strings after the last set bit.
            bool may_be_short = f == FORMAT_LEVELDB || f == FORMAT_REDISSON;
            if (!may_be_short) assert_int_equal(st, STATUS_CORRUPT);
            if (st == STATUS_OK) filter_free(back);
            assert_int_equal(spy.live, 0);
        }
        free(longer);
        free(bytes.at);
    }
}

static void decoding_out_of_memory_leaves_nothing(void **state) {
    (void)state;
    for (int f = 0; f < FORMAT_COUNT; f++) {
        struct filter *filter = sample((enum format)f, 512, 6, 20);
        struct bytes bytes = encode(filter, (enum format)f);
        struct formats_options options = options_for(filter, 0);
        filter_free(filter);
        enum status status = STATUS_NOMEM;
        long n;
        for (n = 1; status != STATUS_OK; n++) {
            struct filter *back = NULL;
            spy_fail_at(n);
            status = decode((enum format)f, bytes.at, bytes.len, &options, FILTER_NO_LIMIT, &back);
            assert_true(status == STATUS_OK || status == STATUS_NOMEM);
            if (status == STATUS_OK) filter_free(back);
            assert_int_equal(spy.live, 0);
        }
        assert_true(n > 2);
        spy_fail_at(0);
        free(bytes.at);
    }
}

/* redis.io's example of BF.SCANDUMP: item1 in 64 bits, 5 hashes, sets {0, 11, 31, 42, 53}. */
static void murmur_gives_the_public_vector_of_redisbloom(void **state) {
    (void)state;
    struct hash hash = scheme_hash(SCHEME_MURMUR, NULL, "item1", 5);
    uint64_t bits = 0;
    for (uint64_t i = 0; i < 5; i++) bits |= UINT64_C(1) << ((hash.a + i * hash.b) % 64);
    assert_true(bits == ((UINT64_C(1) << 0) | (UINT64_C(1) << 11) | (UINT64_C(1) << 31) |
                         (UINT64_C(1) << 42) | (UINT64_C(1) << 53)));
}

/* The bytes that LevelDB writes for {"hello", "world"} at 10 bits per key. */
static void leveldb_gives_its_vector(void **state) {
    (void)state;
    static const uint8_t EXPECTED[] = {0x11, 0x40, 0x00, 0x41, 0x44, 0x10, 0x40, 0x10, 6};
    struct filter *filter = sample(FORMAT_LEVELDB, 64, 6, 0);
    bool added;
    add_growing(filter, filter_hash(filter, "hello", 5), FILTER_NO_LIMIT, &added);
    add_growing(filter, filter_hash(filter, "world", 5), FILTER_NO_LIMIT, &added);
    struct bytes bytes = encode(filter, FORMAT_LEVELDB);
    assert_int_equal(bytes.len, sizeof EXPECTED);
    assert_memory_equal(bytes.at, EXPECTED, sizeof EXPECTED);
    free(bytes.at);
    filter_free(filter);
}

/* Measured on RedisBloom. Its MEMORY USAGE and SIZE include about 100 bytes of structures. */
static void sizes_are_those_of_redisbloom(void **state) {
    (void)state;
    static const struct {
        double rate;
        uint64_t capacity, size;
        uint32_t nhashes;
    } ROWS[] = {
        {0.005, 1000, 1480, 8},
        {0.01, 1000, 1296, 7},
        {0.005, 1000000, 1378568, 8},
        {0.01, 1000000, 1198232, 7},
        {0.0005, 1000000, 1977632, 11},
        {0.001, 1000000, 1797296, 10},
        {0.00005, 10000000, 25766112, 15},
        {0.0001, 10000000, 23962744, 14},
        {0.005, 1U << 30, 1480120112, 8},
    };
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        struct sizing size;
        assert_true(sizing_as_redisbloom(ROWS[i].capacity, ROWS[i].rate, &size));
        assert_int_equal(size.nhashes, ROWS[i].nhashes);
        assert_true(size.nbits % 64 == 0);
        // `auto` of the fixtures: SIZE 240 of 144 bytes of bits: 96 are structure
        if (size.nbits / 8 + 96 != ROWS[i].size)
            fail_msg("row %zu: %llu bytes", i, (unsigned long long)(size.nbits / 8));
    }
}

/* A layer of bloomport's own type has at most 255 hashes: a filter that grew beyond could be saved
 * but never loaded. */
static void a_murmur_filter_grows_by_its_rule_and_every_reader_takes_its_layers(void **state) {
    (void)state;
    struct sizing size = {1, 2};
    assert_true(sizing_as_redisbloom(1, 1e-76, &size)); // 2^-252.5
    assert_int_equal(size.nhashes, 253);
    assert_true(sizing_as_redisbloom(1, 1e-77, &size)); // 2^-255.8
    assert_int_equal(size.nhashes, 256);
    assert_true(sizing_as_redisbloom(1, 0x1p-1074, &size)); // the least there is
    assert_false(sizing_as_redisbloom(1, 0, &size));
    struct filter_params params = {
        .capacity = 1, .error_rate = 0.5, .expansion = 1, .scheme = SCHEME_MURMUR};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    filter->layers[0].error_rate = 1e-75; // as one that was imported
    for (uint64_t i = 0; i < 8; i++) {
        bool added;
        try_add(filter, i, FILTER_NO_LIMIT, &added);
    }
    assert_true(filter->nlayers > 1);
    assert_true(filter_newest(filter)->nhashes > 255); // k grows by one from layer to layer
    assert_null(limits_fault(filter));
    filter_free(filter);
}

/* More ones than bits have no logarithm; UBSan checks the conversion of the result. */
static void bits_beyond_m_are_refused_before_they_are_counted(void **state) {
    (void)state;
    static const uint8_t BYTES[] = {21, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xa1};
    struct formats_options options = {0};
    struct filter *filter = NULL;
    assert_int_equal(
        decode(FORMAT_PORTABLE, BYTES, sizeof(BYTES), &options, FILTER_NO_LIMIT, &filter),
        STATUS_CORRUPT);
    assert_null(filter);
}

/* ---- The bits per key of an sstable ---- */

/* An sstable of random bits, about as full as a filter is. */
static struct bytes random_sstable(struct rng *rng, uint64_t nbits, uint32_t nhashes,
                                   uint32_t bits_per_key) {
    size_t size = (size_t)(nbits + 7) / 8;
    struct bytes bytes = {calloc(1, 16 + size), 16 + size};
    struct writer w = {bytes.at};
    put_u64(&w, nbits);
    put_u32(&w, nhashes);
    put_u32(&w, bits_per_key);
    uint64_t ones = rng_below(rng, nbits + 1);
    for (uint64_t i = 0; i < ones; i++) {
        uint64_t p = rng_below(rng, nbits);
        bytes.at[16 + p / 8] |= (uint8_t)(1 << p % 8);
    }
    return bytes;
}

static void assert_sstable_is(const struct filter *filter, const struct bytes *expected) {
    struct bytes bytes = encode(filter, FORMAT_SSTABLE);
    assert_int_equal(bytes.len, expected->len);
    assert_memory_equal(bytes.at, expected->at, bytes.len);
    free(bytes.at);
}

/* The filter after a round trip as header and pieces: an RDB file, BF.SCANDUMP and BF.LOADCHUNK. */
static struct filter *carried(const struct filter *filter) {
    size_t len = codec_header_size(filter);
    uint8_t *header = malloc(len);
    codec_encode_header(filter, header);
    struct filter *copy = NULL;
    assert_int_equal(codec_decode_header(header, len, FILTER_NO_LIMIT, &copy), STATUS_OK);
    free(header);
    memcpy(copy->layers[0].bits, filter->layers[0].bits, (size_t)filter_array_bytes(filter));
    assert_true(codec_bits_are_sound(copy));
    return copy;
}

/* The filter is exported as these bytes, also after it was saved and loaded; frees both. */
static void assert_sstable_stays(struct filter *filter, struct bytes *bytes) {
    struct filter *copy = carried(filter);
    assert_sstable_is(filter, bytes);
    assert_sstable_is(copy, bytes);
    filter_free(copy);
    filter_free(filter);
    free(bytes->at);
}

static void sstables_come_back_byte_for_byte_with_any_m_k_and_bits_per_key(void **state) {
    (void)state;
    struct rng rng = rng_seeded(11);
    for (int round = 0; round < 20000; round++) {
        uint64_t m = 1 + rng_below(&rng, round % 2 ? 5000 : 40);
        uint32_t k = 1 + (uint32_t)rng_below(&rng, round % 3 ? 12 : 255);
        uint32_t b = 1 + (uint32_t)rng_below(&rng, round % 5 ? 40 : 256);
        struct formats_options options = {.capacity = round % 7 ? 0 : 1 + rng_below(&rng, 9000)};
        options.scheme = round % 2 ? SCHEME_XXH64 : SCHEME_FNV1A;
        struct bytes bytes = random_sstable(&rng, m, k, b);
        struct filter *filter = NULL;
        assert_int_equal(
            decode(FORMAT_SSTABLE, bytes.at, bytes.len, &options, FILTER_NO_LIMIT, &filter),
            STATUS_OK);
        uint64_t expected = options.capacity ? options.capacity : m / b ? m / b : 1;
        assert_true(filter->bits_per_key == b && filter->error_rate == 0);
        assert_int_equal(filter_capacity(filter), expected);
        assert_true(measure_promise(filter) > 0 && measure_promise(filter) <= 1);
        assert_sstable_stays(filter, &bytes);
    }
}

/* BF.EXPORT writes such a header for a filter that is small and precise. */
static void over_256_bits_per_key_are_kept_by_the_capacity(void **state) {
    (void)state;
    struct rng rng = rng_seeded(12);
    for (int round = 0; round < 20000; round++) {
        uint64_t n = 1 + rng_below(&rng, round % 2 ? 100 : 3);
        uint64_t m = n * 257 + rng_below(&rng, n * (round % 3 ? 1000 : 10));
        uint32_t b = (uint32_t)((2 * m + n) / (2 * n)); // m / n to the nearest
        struct formats_options options = {.capacity = round % 7 ? 0 : n};
        struct bytes bytes = random_sstable(&rng, m, 7, b);
        struct filter *filter = NULL;
        assert_int_equal(
            decode(FORMAT_SSTABLE, bytes.at, bytes.len, &options, FILTER_NO_LIMIT, &filter),
            STATUS_OK);
        assert_true(filter->bits_per_key == 0 && filter->error_rate > 0);
        if (options.capacity) assert_int_equal(filter_capacity(filter), n);
        assert_sstable_stays(filter, &bytes);
    }
}

static void over_256_bits_per_key_that_no_capacity_gives_are_refused(void **state) {
    (void)state;
    static const struct {
        uint64_t nbits;
        uint32_t bits_per_key;
        uint64_t capacity;
    } ROWS[] = {{1000, 300, 0}, {1000, 334, 0}, {1000, 1001, 0},   {8, UINT32_MAX, 0},
                {1, 257, 0},    {1000, 500, 3}, {257, 257, 10000}, {2570, 257, 9}};
    struct rng rng = rng_seeded(13);
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        struct formats_options options = {.capacity = ROWS[i].capacity};
        struct bytes bytes = random_sstable(&rng, ROWS[i].nbits, 3, ROWS[i].bits_per_key);
        struct filter *filter = NULL;
        const char *fault = NULL;
        enum status status = formats_decode(FORMAT_SSTABLE, bytes.at, bytes.len, &options,
                                            FILTER_NO_LIMIT, &filter, &fault);
        assert_int_equal(status, STATUS_CORRUPT);
        assert_string_equal(fault, "bits per key");
        assert_null(filter);
        free(bytes.at);
    }
}

/* By bits per key the growth may cost as much again as the first layer's rate, and no more. */
static void an_imported_sstable_that_grows_keeps_twice_the_rate_of_its_bits(void **state) {
    (void)state;
    struct rng rng = rng_seeded(14);
    struct bytes bytes = random_sstable(&rng, 1000, 7, 10);
    memset(bytes.at + 16, 0, bytes.len - 16);
    struct formats_options options = {.expansion = 2};
    struct filter *filter = NULL;
    assert_int_equal(
        decode(FORMAT_SSTABLE, bytes.at, bytes.len, &options, FILTER_NO_LIMIT, &filter), STATUS_OK);
    fill_to(filter, 20000, 0);
    double rate = 0, first = filter->layers[0].error_rate;
    for (uint32_t i = 0; i < filter->nlayers; i++) rate += filter->layers[i].error_rate;
    assert_true(filter->nlayers > 7 && rate <= 2 * first && measure_promise(filter) == 2 * first);
    assert_true(measure_error_rate(filter) < 2 * first);
    filter_free(filter);
    free(bytes.at);
}

/* ---- Advice ---- */

/* Each obstacle names a format that can hold the filter; or, if there is none, BF.SCANDUMP. */
static void assert_advice_works(const struct filter *filter, bool any_format_does) {
    bool found = false;
    for (int f = 0; f < FORMAT_COUNT; f++) {
        const char *text = formats_obstacle(filter, (enum format)f, VARIANT_NONE);
        if (!text) {
            found = true;
            continue;
        }
        const char *use = strstr(text, "use ");
        if (!any_format_does) {
            assert_non_null(strstr(text, "BF.SCANDUMP"));
            continue;
        }
        int advised = 0;
        while (advised < FORMAT_COUNT &&
               (!use || strcmp(use + 4, formats_name((enum format)advised)) != 0)) {
            advised++;
        }
        if (advised == FORMAT_COUNT)
            fail_msg("%s: no format is advised: %s", formats_name((enum format)f), text);
        if (formats_obstacle(filter, (enum format)advised, VARIANT_NONE))
            fail_msg("bad advice: %s", text);
    }
    assert_int_equal(found, any_format_does);
}

static void every_obstacle_advises_what_works(void **state) {
    (void)state;
    for (int f = 0; f < FORMAT_COUNT; f++) {
        struct filter *filter = sample((enum format)f, 512, 6, 20);
        filter->expansion = 2;
        assert_advice_works(filter, true);
        filter->layers[0].capacity = 20;
        fill_to(filter, 30, 1000);
        assert_int_equal(filter->nlayers, 2);
        assert_advice_works(filter, f == FORMAT_REDISBLOOM);
        filter_free(filter);
        if (f == FORMAT_REDISBLOOM) continue;
        filter = sample((enum format)f, 512, 6, 0);
        if (filter->layout == LAYOUT_CLASSIC && filter->scheme == SCHEME_XXH64) {
            filter->scheme = SCHEME_FNV1A;
            assert_advice_works(filter, true);
            filter->scheme = SCHEME_MURMUR; // of a size that RedisBloom does not have
            assert_advice_works(filter, false);
        }
        if (f == FORMAT_LEVELDB) {
            filter->layers[0].nhashes = 31;
            assert_advice_works(filter, false);
        }
        if (f == FORMAT_PARQUET) {
            uint64_t nbits = filter->layers[0].nbits;
            filter->layers[0].nbits = UINT64_C(1) << 34;
            assert_advice_works(filter, false);
            filter->layers[0].nbits = nbits;
        }
        filter_free(filter);
    }
}

static void redisblooms_filters_of_any_number_of_layers_are_sent_to_redisbloom(void **state) {
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++) {
        struct filter_params params = {.capacity = 10,
                                       .error_rate = 0.01,
                                       .expansion = 2,
                                       .scheme = SCHEME_MURMUR,
                                       .origin = ORIGIN_REDISBLOOM};
        struct filter *filter = NULL;
        assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
        if (!foreign) assert_null(header_make_native(filter));
        assert_advice_works(filter, true);
        fill_to(filter, 100, 0);
        assert_true(filter->nlayers > 2);
        assert_advice_works(filter, true);
        filter_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(every_format_comes_back_as_it_went),
        spied(every_truncation_and_extension_is_refused_or_leaks_nothing),
        spied(decoding_out_of_memory_leaves_nothing),
        spied(murmur_gives_the_public_vector_of_redisbloom),
        spied(leveldb_gives_its_vector),
        spied(sizes_are_those_of_redisbloom),
        spied(bits_beyond_m_are_refused_before_they_are_counted),
        spied(a_murmur_filter_grows_by_its_rule_and_every_reader_takes_its_layers),
        spied(sstables_come_back_byte_for_byte_with_any_m_k_and_bits_per_key),
        spied(over_256_bits_per_key_are_kept_by_the_capacity),
        spied(over_256_bits_per_key_that_no_capacity_gives_are_refused),
        spied(an_imported_sstable_that_grows_keeps_twice_the_rate_of_its_bits),
        spied(every_obstacle_advises_what_works),
        spied(redisblooms_filters_of_any_number_of_layers_are_sent_to_redisbloom),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
