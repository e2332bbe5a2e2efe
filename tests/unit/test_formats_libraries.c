/* The formats of other libraries, one by one: what each can hold, the sizes that its library would
 * choose, what it is recognised by, and damaged bytes of the libraries' own files
 * (tests/golden/formats). */

#include "tests/unit/helpers.h"

#include "rdb/codec.h"
#include "rdb/formats/formats.h"

#include <math.h>

/* ---- What a format can hold ---- */

#define LAYERS "it has more than one layer: BF.SCANDUMP carries any filter, or reserve it larger"
#define SIZE "its size is not one that this format has, use BF.SCANDUMP"

/* A filter that has no bits: no obstacle depends on them. */
static const char *obstacle(enum scheme scheme, uint64_t nbits, uint32_t nhashes, uint32_t nlayers,
                            enum format format, enum variant variant) {
    struct layer layers[2] = {{.nbits = nbits, .nhashes = nhashes, .capacity = 1}};
    layers[1] = layers[0];
    struct filter filter = {.layers = layers, .nlayers = nlayers, .scheme = scheme};
    return formats_obstacle(&filter, format, variant);
}

static void each_format_refuses_what_it_cannot_hold(void **state) {
    (void)state;
    const uint64_t java = UINT64_C(64) * INT32_MAX;
    const struct {
        enum scheme scheme;
        enum format format;
        uint64_t unit, most; // of bits
        uint32_t hashes;     // the most
    } ROWS[] = {
        {SCHEME_GUAVA32, FORMAT_GUAVA, 64, java, 255},
        {SCHEME_GUAVA64, FORMAT_GUAVA, 64, java, 255},
        {SCHEME_SPARK1, FORMAT_SPARK, 64, java, 255},
        {SCHEME_SPARK2, FORMAT_SPARK, 64, java, 255},
        {SCHEME_CASSANDRA2, FORMAT_CASSANDRA, 64, java, 255},
        {SCHEME_CASSANDRA3, FORMAT_CASSANDRA, 64, java, 255},
        {SCHEME_GO, FORMAT_GO, 1, 0, 0},
        {SCHEME_BIP37, FORMAT_BIP37, 8, 8 * 36000, 50},
        {SCHEME_ROCKSDB, FORMAT_ROCKSDB, 512, UINT64_C(512) * UINT32_MAX, 30},
        {SCHEME_ROCKSDB4, FORMAT_ROCKSDB, 512, UINT64_C(512) * UINT32_MAX, 30},
        {SCHEME_DATASKETCHES, FORMAT_DATASKETCHES, 64, UINT64_C(64) * UINT32_MAX, 255},
        {SCHEME_REDISSON, FORMAT_REDISSON, 1, UINT64_C(4294967294), 255},
    };
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        enum scheme s = ROWS[i].scheme;
        enum format f = ROWS[i].format;
        uint64_t unit = ROWS[i].unit, most = ROWS[i].most;
        assert_null(obstacle(s, 3 * unit, 1, 1, f, VARIANT_NONE));
        assert_string_equal(obstacle(s, 3 * unit, 1, 2, f, VARIANT_NONE), LAYERS);
        if (unit > 1) assert_string_equal(obstacle(s, 3 * unit + 1, 1, 1, f, VARIANT_NONE), SIZE);
        if (unit > 1) assert_string_equal(obstacle(s, unit / 2, 1, 1, f, VARIANT_NONE), SIZE);
        if (most == 0) continue;
        assert_null(obstacle(s, most, ROWS[i].hashes, 1, f, VARIANT_NONE));
        assert_string_equal(obstacle(s, most + unit, 1, 1, f, VARIANT_NONE), SIZE);
        assert_string_equal(obstacle(s, unit, ROWS[i].hashes + 1, 1, f, VARIANT_NONE), SIZE);
    }
}

static void cassandras_variants_go_with_their_hash(void **state) {
    (void)state;
    const char *old = "hash is that of Cassandra before 3.0, use VARIANT old";
    const char *new = "hash is that of Cassandra 3.0 and later, use VARIANT 3.x or 4.x";
    enum format f = FORMAT_CASSANDRA;
    assert_null(obstacle(SCHEME_CASSANDRA2, 64, 1, 1, f, VARIANT_OLD));
    assert_string_equal(obstacle(SCHEME_CASSANDRA2, 64, 1, 1, f, VARIANT_3X), old);
    assert_string_equal(obstacle(SCHEME_CASSANDRA2, 64, 1, 1, f, VARIANT_4X), old);
    assert_string_equal(obstacle(SCHEME_CASSANDRA3, 64, 1, 1, f, VARIANT_OLD), new);
    assert_null(obstacle(SCHEME_CASSANDRA3, 64, 1, 1, f, VARIANT_3X));
    assert_null(obstacle(SCHEME_CASSANDRA3, 64, 1, 1, f, VARIANT_4X));
}

/* ---- Sizes ---- */

/* As the libraries made them: the golden files, their vectors, and Bitcoin Core's. */
static void sizes_are_those_of_the_libraries(void **state) {
    (void)state;
    static const struct {
        enum format format;
        uint64_t capacity;
        double error_rate, bits_per_key;
        uint64_t nbits;
        uint32_t nhashes;
    } ROWS[] = {
        {FORMAT_GUAVA, 20, 0.01, 0, 192, 7},
        {FORMAT_GUAVA, 500, 0.04, 0, 3392, 5},
        {FORMAT_GUAVA, 1000000, 0.001, 0, 14377600, 10}, // trunc(14377587.5) / 64, rounded up
        {FORMAT_GUAVA, 1, 0.99, 0, 0, 0},                // trunc gives no bit: Guava refuses it
        {FORMAT_SPARK, 20, 0.01, 0, 192, 7},
        {FORMAT_SPARK, 500, 0.04, 0, 3392, 5},
        {FORMAT_SPARK, 1000000, 0.001, 0, 14377600, 10},
        {FORMAT_GO, 20, 0.01, 0, 192, 7},
        {FORMAT_GO, 1000, 0.01, 0, 9586, 7},
        {FORMAT_GO, 1000000, 0.001, 0, 14377588, 10},
        {FORMAT_CASSANDRA, 20, 0.04, 0, 192, 4},
        {FORMAT_CASSANDRA, 500, 0.04, 0, 3520, 4},
        {FORMAT_CASSANDRA, 6400, 0.5, 0, 64 * 101, 2}, // 1 bit per item
        {FORMAT_CASSANDRA, 6400, 0.1, 0, 64 * 501, 3},
        {FORMAT_CASSANDRA, 6400, 0.04, 0, 64 * 701, 4},
        {FORMAT_CASSANDRA, 6400, 0.01, 0, 64 * 1001, 5},
        {FORMAT_CASSANDRA, 6400, 0.001, 0, 64 * 1501, 7},
        {FORMAT_CASSANDRA, 6400, 0.00001, 0, 0, 0}, // over 20 bits per item are refused
        {FORMAT_BIP37, 3, 0.01, 0, 24, 5},
        {FORMAT_BIP37, 20, 0.01, 0, 184, 6},
        {FORMAT_BIP37, 500, 0.04, 0, 8 * 418, 4},
        {FORMAT_BIP37, 500, 0.001, 0, 8 * 898, 9},
        {FORMAT_BIP37, 1000000, 0.001, 0, 8 * 36000, 1},
        {FORMAT_BIP37, 1, 1e-9, 0, 40, 27},
        {FORMAT_DATASKETCHES, 20, 0.01, 0, 192, 7},
        {FORMAT_DATASKETCHES, 500, 0.04, 0, 3392, 5},
        {FORMAT_ROCKSDB, 1, 0, 10, 512, 6},
        {FORMAT_ROCKSDB, 500, 0, 10, 5120, 6},
        {FORMAT_ROCKSDB, 500, 0, 9.9, 5120, 6},
        {FORMAT_ROCKSDB, 500, 0, 20, 10240, 11},
        {FORMAT_ROCKSDB, 500, 0, 6, 3072, 4},
    };
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        struct formats_request request = {.capacity = ROWS[i].capacity,
                                          .error_rate = ROWS[i].error_rate,
                                          .bits_per_key = ROWS[i].bits_per_key};
        struct filter *filter = NULL;
        enum status status = formats_new(ROWS[i].format, &request, &filter);
        assert_int_equal(status, ROWS[i].nbits ? STATUS_OK : STATUS_PARAM);
        if (status != STATUS_OK) continue;
        const struct layer *layer = &filter->layers[0];
        if (layer->nbits != ROWS[i].nbits || layer->nhashes != ROWS[i].nhashes) {
            fail_msg("%s, row %zu: m %llu, k %u", formats_name(ROWS[i].format), i,
                     (unsigned long long)layer->nbits, layer->nhashes);
        }
        assert_true(layer->capacity == ROWS[i].capacity && layer->ones == 0);
        assert_null(formats_obstacle(filter, ROWS[i].format, VARIANT_NONE));
        filter_free(filter);
    }
    assert_false(formats_has_sizes(FORMAT_REDISSON));
}

static void rocksdbs_hashes_follow_from_its_bits_per_key(void **state) {
    (void)state;
    static const uint8_t ROWS[][2] = {
        {1, 1},   {2, 1},   {3, 2},   {4, 3},   {5, 3},   {6, 4},   {7, 5},   {8, 5},   {9, 6},
        {10, 6},  {11, 7},  {12, 8},  {14, 8},  {15, 9},  {16, 9},  {17, 10}, {18, 10}, {19, 11},
        {22, 11}, {25, 12}, {30, 13}, {40, 18}, {50, 23}, {60, 24}, {100, 24}};
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        struct formats_request request = {.capacity = 1000, .bits_per_key = ROWS[i][0]};
        struct filter *filter = NULL;
        assert_int_equal(formats_new(FORMAT_ROCKSDB, &request, &filter), STATUS_OK);
        assert_int_equal(filter->layers[0].nhashes, ROWS[i][1]);
        assert_int_equal(filter->layers[0].nbits, (1000U * ROWS[i][0] + 511) / 512 * 512);
        filter_free(filter);
    }
}

static void new_filters_have_the_hash_of_their_variant(void **state) {
    (void)state;
    static const struct {
        enum format format;
        enum variant variant;
        uint64_t capacity;
        enum scheme scheme;
    } ROWS[] = {
        {FORMAT_CASSANDRA, VARIANT_NONE, 100, SCHEME_CASSANDRA3},
        {FORMAT_CASSANDRA, VARIANT_OLD, 100, SCHEME_CASSANDRA2},
        {FORMAT_CASSANDRA, VARIANT_3X, 100, SCHEME_CASSANDRA3},
        {FORMAT_CASSANDRA, VARIANT_4X, 100, SCHEME_CASSANDRA3},
        {FORMAT_SPARK, VARIANT_NONE, 100, SCHEME_SPARK1},
        {FORMAT_SPARK, VARIANT_NONE, 230000000, SCHEME_SPARK2}, // 2.2e9 bits
        {FORMAT_SPARK, VARIANT_V1, 230000000, SCHEME_SPARK1},
        {FORMAT_SPARK, VARIANT_V2, 100, SCHEME_SPARK2},
    };
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        struct formats_request request = {
            .capacity = ROWS[i].capacity, .error_rate = 0.01, .variant = ROWS[i].variant};
        struct filter *filter = NULL;
        assert_int_equal(formats_new(ROWS[i].format, &request, &filter), STATUS_OK);
        assert_int_equal(filter->scheme, ROWS[i].scheme);
        filter_free(filter);
    }
}

static void a_variant_is_found_by_its_word_in_its_own_format(void **state) {
    (void)state;
    static const char *const WORDS[] = {"old", "3.x", "4.x", "v1", "v2"};
    for (int i = 0; i < 5; i++) {
        enum variant found;
        bool is_cassandras = i < 3;
        assert_int_equal(formats_find_variant(FORMAT_CASSANDRA, WORDS[i], strlen(WORDS[i]), &found),
                         is_cassandras);
        assert_int_equal(formats_find_variant(FORMAT_SPARK, WORDS[i], strlen(WORDS[i]), &found),
                         !is_cassandras);
        assert_int_equal(found, VARIANT_OLD + i);
        assert_false(formats_find_variant(FORMAT_GUAVA, WORDS[i], strlen(WORDS[i]), &found));
    }
}

/* ---- The libraries' own files ---- */

struct golden {
    const char *name;
    enum format format;
    enum variant variant;
    uint64_t nbits; // of redisson
    uint32_t nhashes;
};

static const struct golden GOLDEN[] = {
    {"guava/mitz32_bytes.bin", FORMAT_GUAVA, VARIANT_NONE, 0, 0},
    {"guava/mitz64_bytes.bin", FORMAT_GUAVA, VARIANT_NONE, 0, 0},
    {"guava/mitz64_utf16.bin", FORMAT_GUAVA, VARIANT_NONE, 0, 0},
    {"spark/s35_default_utf8.bin", FORMAT_SPARK, VARIANT_NONE, 0, 0},
    {"spark/s42_V1_bytes.bin", FORMAT_SPARK, VARIANT_NONE, 0, 0},
    {"spark/s42_V2_seedneg_i64.bin", FORMAT_SPARK, VARIANT_NONE, 0, 0},
    {"go/m4096k5.bin", FORMAT_GO, VARIANT_NONE, 0, 0},
    {"cassandra/c1_2_19.db", FORMAT_CASSANDRA, VARIANT_OLD, 0, 0},
    {"cassandra/c1_2_19.db", FORMAT_CASSANDRA, VARIANT_3X, 0, 0},
    {"cassandra/c4_1_9.db", FORMAT_CASSANDRA, VARIANT_4X, 0, 0},
    {"bip37/pybitcoinlib.bin", FORMAT_BIP37, VARIANT_NONE, 0, 0},
    {"bip37/tweak0.bin", FORMAT_BIP37, VARIANT_NONE, 0, 0},
    {"bip37/tweak7_all.bin", FORMAT_BIP37, VARIANT_NONE, 0, 0},
    {"datasketches/bytes.bin", FORMAT_DATASKETCHES, VARIANT_NONE, 0, 0},
    {"redisson/bytes.bitmap", FORMAT_REDISSON, VARIANT_NONE, 3349, 5},
};

struct bytes {
    uint8_t *at;
    size_t len;
};

static struct bytes read_golden(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "tests/golden/formats/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    struct bytes bytes = {malloc(4096), 0};
    bytes.len = fread(bytes.at, 1, 4096, file);
    fclose(file);
    return bytes;
}

static enum status decode(const struct golden *g, const uint8_t *at, size_t len,
                          struct filter **out, const char **fault) {
    uint8_t *exact = malloc(len ? len : 1); // the sanitizer sees its end
    memcpy(exact, at, len);
    struct formats_options options = {
        .variant = g->variant, .nbits = g->nbits, .nhashes = g->nhashes};
    *out = NULL;
    *fault = NULL;
    enum status status = formats_decode(g->format, exact, len, &options, 1 << 20, out, fault);
    free(exact);
    return status;
}

/* A filter within every limit that is exported as the bytes it came from, or a named fault. */
static bool is_taken(const struct golden *g, const uint8_t *at, size_t len) {
    struct filter *filter;
    const char *fault;
    enum status status = decode(g, at, len, &filter, &fault);
    if (status != STATUS_OK) {
        assert_true(filter == NULL && (status == STATUS_NOMEM || (fault && fault[0])));
        return false;
    }
    assert_null(limits_fault(filter));
    assert_true(codec_bits_are_sound(filter));
    assert_null(formats_obstacle(filter, g->format, g->variant));
    size_t size = (size_t)formats_size(filter, g->format);
    bool is_cut = g->format == FORMAT_REDISSON; // zero bytes at its end go
    assert_true(is_cut ? size <= len : size == len);
    uint8_t *again = malloc(size ? size : 1);
    formats_encode(filter, g->format, g->variant, again);
    assert_memory_equal(again, at, size);
    free(again);
    filter_free(filter);
    return true;
}

static void every_truncation_of_a_librarys_file_is_refused_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(GOLDEN); i++) {
        struct bytes bytes = read_golden(GOLDEN[i].name);
        assert_true(is_taken(&GOLDEN[i], bytes.at, bytes.len));
        for (size_t len = 0; len < bytes.len; len++) {
            bool may_be = GOLDEN[i].format == FORMAT_REDISSON; // m does not come from the bytes
            assert_int_equal(is_taken(&GOLDEN[i], bytes.at, len), may_be);
        }
        bytes.at[bytes.len] = 0; // a byte more
        assert_false(is_taken(&GOLDEN[i], bytes.at, bytes.len + 1));
        free(bytes.at);
    }
}

/* Every other value of the first and last 32 bytes, and four of each other byte. */
static void every_changed_byte_of_a_librarys_file_is_refused_or_exported_as_it_came(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(GOLDEN); i++) {
        struct bytes bytes = read_golden(GOLDEN[i].name);
        size_t taken = 0, refused = 0;
        for (size_t at = 0; at < bytes.len; at++) {
            bool is_edge = (at < 32 || at + 32 >= bytes.len) && !UNDER_VALGRIND;
            for (unsigned mask = 1; mask < 256; mask = is_edge ? mask + 1 : mask * 4) {
                bytes.at[at] ^= (uint8_t)mask;
                bool is = is_taken(&GOLDEN[i], bytes.at, bytes.len);
                taken += is;
                refused += !is;
                bytes.at[at] ^= (uint8_t)mask;
            }
        }
        print_message("%s: %zu taken, %zu refused\n", GOLDEN[i].name, taken, refused);
        assert_true(taken > 4 * 300 && refused > 0);
        free(bytes.at);
    }
}

/* ---- Bytes by hand ---- */

#define ZEROES_8 "0000000000000000"
#define ZEROES_64 ZEROES_8 ZEROES_8 ZEROES_8 ZEROES_8 ZEROES_8 ZEROES_8 ZEROES_8 ZEROES_8 // a line

/* NULL: they are a filter, and are exported as the same bytes. */
static const struct {
    enum format format;
    const char *hex, *fault;
} BY_HAND[] = {
    {FORMAT_GUAVA, "01 01 00000001 8000000000000000", NULL},
    {FORMAT_GUAVA, "02 01 00000001 8000000000000000", "strategy"},
    {FORMAT_GUAVA, "01 00 00000001 8000000000000000", "k"},
    {FORMAT_GUAVA, "01 01 00000000", "m"},
    {FORMAT_GUAVA, "01 01 ffffffff 8000000000000000", "m"},
    {FORMAT_GUAVA, "01 01 7fffffff 8000000000000000", "length is not that of m bits"},
    {FORMAT_SPARK, "00000001 000000ff 00000001 8000000000000000", NULL},
    {FORMAT_SPARK, "00000001 00000100 00000001 8000000000000000", "k"},
    {FORMAT_SPARK, "00000001 00000000 00000001 8000000000000000", "k"},
    {FORMAT_SPARK, "00000001 80000001 00000001 8000000000000000", "k"},
    {FORMAT_SPARK, "00000003 00000001 00000001 8000000000000000", "version"},
    {FORMAT_SPARK, "00000002 00000001 ffffffff 00000001 8000000000000000", NULL},
    {FORMAT_SPARK, "00000002 00000001 ffffffff 00000000", "m"},
    {FORMAT_GO, "0000000000000041 00000000000000ff 0000000000000041" ZEROES_8 "0000000000000001",
     NULL},
    {FORMAT_GO, "0000000000000041 00000000000000ff 0000000000000041" ZEROES_8 "0000000000000002",
     "bits beyond m"},
    {FORMAT_GO, "0000000000000041 00000000000000ff 0000000000000041" ZEROES_8 "0000000000000100",
     "bits beyond m"},
    {FORMAT_GO, "0000000000000041 00000000000000ff 0000000000000041" ZEROES_8 "8000000000000000",
     "bits beyond m"},
    {FORMAT_GO, "0000000000000040 0000000100000001 0000000000000040" ZEROES_8, "k"},
    {FORMAT_GO, "0000000000000040 0000000000000000 0000000000000040" ZEROES_8, "k"},
    {FORMAT_GO, "0000000000000000 0000000000000001 0000000000000000", "m"},
    {FORMAT_GO, "ffffffffffffffff 0000000000000001 ffffffffffffffff" ZEROES_8, "m"},
    {FORMAT_GO, "0000000000000040 0000000000000001 000000000000003f" ZEROES_8,
     "length of the bit set"},
    {FORMAT_BIP37, "01 01 32000000 ffffffff ff", NULL},
    {FORMAT_BIP37, "01 01 33000000 ffffffff 00", "k"},
    {FORMAT_BIP37, "01 01 00000000 ffffffff 00", "k"},
    {FORMAT_BIP37, "00 01000000 00000000 00", "length of the bits"},
    {FORMAT_BIP37, "fd0100 01 01000000 00000000 00", "length of the bits"}, // not the shortest form
    {FORMAT_BIP37, "fe01000000 01 01000000 00000000 00", "length of the bits"},
    {FORMAT_BIP37, "02 01 01000000 00000000 00", "length is not that of m bits"},
    {FORMAT_ROCKSDB, ZEROES_64 "ff 00 1e 0000", NULL},
    {FORMAT_ROCKSDB, ZEROES_64 "ff 00 1f 0000", "k"},
    {FORMAT_ROCKSDB, ZEROES_64 "ff 00 00 0000", "k"},
    {FORMAT_ROCKSDB, ZEROES_64 "ff 00 26 0000", "size of a line"},
    {FORMAT_ROCKSDB, ZEROES_64 "ff 01 06 0000", "kind of filter"},
    {FORMAT_ROCKSDB, ZEROES_64 "ff 00 06 0001", "trailer"},
    {FORMAT_ROCKSDB, ZEROES_64 "1e 01000000", NULL},
    {FORMAT_ROCKSDB, ZEROES_64 "1f 01000000", "k"},
    {FORMAT_ROCKSDB, ZEROES_64 "00 01000000", "k"},
    {FORMAT_ROCKSDB, ZEROES_64 "06 02000000", "number of lines"},
    {FORMAT_ROCKSDB, ZEROES_8 "06 01000000", "shorter than a line and its trailer"},
    {FORMAT_ROCKSDB, ZEROES_64 "00 06 01000000", "length is not that of whole lines"},
    {FORMAT_DATASKETCHES, "03011504 0700 0000 0500000000000000 01000000 00000000", NULL},
    {FORMAT_DATASKETCHES, "03011504 0700 0000 0500000000000000 00000000 00000000", "m"},
    {FORMAT_DATASKETCHES, "03011504 0001 0000 0500000000000000 01000000 00000000", "k"},
    {FORMAT_DATASKETCHES, "03011504 0700 0100 0500000000000000 01000000 00000000", "header"},
    {FORMAT_DATASKETCHES, "03011504 0700 0000 0500000000000000 01000000 00000001", "header"},
    {FORMAT_DATASKETCHES, "03011504 0700 0000 0500000000000000 01000000 00000000 00",
     "length is not that of an empty filter"},
    {FORMAT_DATASKETCHES,
     "04011500 0700 0000 0500000000000000 01000000 00000000 ffffffffffffffff 0100000000000080",
     NULL},
    {FORMAT_DATASKETCHES,
     "04011500 0700 0000 0500000000000000 01000000 00000000 0200000000000000 0100000000000080",
     NULL}, // counted: and so again when it is exported
    {FORMAT_DATASKETCHES,
     "04011500 0700 0000 0500000000000000 01000000 00000000 0300000000000000 0100000000000080",
     "count of set bits"},
    {FORMAT_CASSANDRA, "000000ff 00000001 8000000000000000", NULL},
    {FORMAT_CASSANDRA, "00000100 00000001 8000000000000000", "k"},
    {FORMAT_CASSANDRA, "00000000 00000001 8000000000000000", "k"},
    {FORMAT_CASSANDRA, "00000001 00000000", "m"},
    {FORMAT_CASSANDRA, "00000001 80000001 8000000000000000", "m"},
};

/* The bytes of hexadecimal text with spaces; their number. */
static size_t from_spaced_hex(const char *hex, uint8_t *bytes) {
    size_t len = 0;
    for (unsigned byte; *hex;) {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        assert_int_equal(sscanf(hex, "%2x", &byte), 1);
        bytes[len++] = (uint8_t)byte;
        hex += 2;
    }
    return len;
}

static void each_wrong_field_is_named(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(BY_HAND); i++) {
        uint8_t bytes[128];
        struct golden g = {.format = BY_HAND[i].format, .variant = VARIANT_OLD};
        if (g.format != FORMAT_CASSANDRA) g.variant = VARIANT_NONE;
        struct filter *filter;
        const char *fault, *expected = BY_HAND[i].fault;
        size_t len = from_spaced_hex(BY_HAND[i].hex, bytes);
        enum status status = decode(&g, bytes, len, &filter, &fault);
        if (status == STATUS_OK) filter_free(filter);
        if (status != (expected ? STATUS_CORRUPT : STATUS_OK) ||
            (expected && strcmp(fault, expected) != 0)) {
            fail_msg("%s %s: status %d, %s", formats_name(g.format), BY_HAND[i].hex, (int)status,
                     fault && status ? fault : "taken");
        }
        if (!expected) assert_true(is_taken(&g, bytes, len));
    }
}

/* ---- Recognised ---- */

/* Bytes have one format at most; those of `cassandra` and `redisson` have no marks. */
static void assert_recognised(const uint8_t *at, size_t len, enum format own, const char *what) {
    bool has_marks = own != FORMAT_CASSANDRA && own != FORMAT_REDISSON && own != FORMAT_LEVELDB;
    enum format found = FORMAT_COUNT;
    bool is_found = formats_recognise(at, len, &found);
    if (is_found != has_marks || (is_found && found != own)) {
        fail_msg("%s is taken for %s", what, is_found ? formats_name(found) : "none");
    }
}

static void a_librarys_file_is_recognised_as_its_own_format_and_no_other(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(GOLDEN); i++) {
        struct bytes bytes = read_golden(GOLDEN[i].name);
        assert_recognised(bytes.at, bytes.len, GOLDEN[i].format, GOLDEN[i].name);
        free(bytes.at);
    }
}

/* Filters of every format with sizes, empty, with few items and full. */
static void filters_of_any_size_are_recognised_as_their_own_format(void **state) {
    (void)state;
    static const uint64_t CAPACITIES[] = {1, 2, 6, 7, 20, 100, 1000};
    for (int f = 0; f < FORMAT_COUNT; f++) {
        for (size_t i = 0; i < COUNT(CAPACITIES) * 15 && formats_has_sizes((enum format)f); i++) {
            struct formats_request request = {.capacity = CAPACITIES[i % COUNT(CAPACITIES)],
                                              .error_rate = i % 5 ? 0.01 : 0.2,
                                              .variant = (enum variant)(i % VARIANT_COUNT)};
            struct filter *filter = NULL;
            assert_int_equal(formats_new((enum format)f, &request, &filter), STATUS_OK);
            static const uint64_t PARTS[] = {0, 1, 3};
            uint64_t n = request.capacity * PARTS[i % 3] / 3;
            for (uint64_t j = 0; j < n; j++) {
                struct outcome outcome;
                filter_add(filter, filter_hash(filter, &j, sizeof j), &outcome);
            }
            size_t len = (size_t)formats_size(filter, (enum format)f);
            uint8_t *bytes = malloc(len);
            formats_encode(filter, (enum format)f, request.variant, bytes);
            assert_recognised(bytes, len, (enum format)f, formats_name((enum format)f));
            free(bytes);
            filter_free(filter);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(each_format_refuses_what_it_cannot_hold),
        spied(cassandras_variants_go_with_their_hash),
        spied(sizes_are_those_of_the_libraries),
        spied(rocksdbs_hashes_follow_from_its_bits_per_key),
        spied(new_filters_have_the_hash_of_their_variant),
        spied(a_variant_is_found_by_its_word_in_its_own_format),
        spied(every_truncation_of_a_librarys_file_is_refused_by_name),
        spied(every_changed_byte_of_a_librarys_file_is_refused_or_exported_as_it_came),
        spied(each_wrong_field_is_named),
        spied(a_librarys_file_is_recognised_as_its_own_format_and_no_other),
        spied(filters_of_any_size_are_recognised_as_their_own_format),
    };
    return cmocka_run_group_tests_name("formats of libraries", tests, print_seed, NULL);
}
