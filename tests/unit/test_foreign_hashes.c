/* The hashes of other libraries' filters, against values and positions that the libraries gave.
 * The probe rules of foreign_rules.h use the hashes only, so that a wrong position points at a
 * hash.
 */

#include "tests/unit/helpers.h"

#include "tests/unit/foreign_rules.h"
#include "tests/unit/foreign_vectors.h"

#define MAX_BYTES 512 // of a bit array

/* ---- Values ---- */

struct value_32 {
    const char *item;
    uint32_t standard, spark;
};

static const struct value_32 VALUES_32[] = {
    {"", 0, 0},
    {"61", 0x3c2569b2, 0x2b038801},
    {"68656c6c6f", 0x248bfa47, 0xb21f6e00},
    {"ff", 0xfd6cf10d, 0x62106c3e},
    {"6180", 0x0dfc1c8b, 0x8c0c5184},
    {"0102f3", 0xca013064, 0xccd57cc7},
};

static void murmur3_32_gives_the_published_values(void **state) {
    (void)state;
    uint8_t item[MAX_ITEM];
    for (size_t i = 0; i < COUNT(VALUES_32); i++) {
        size_t len = from_hex(VALUES_32[i].item, item);
        assert_int_equal(murmur3_32(item, len, 0), VALUES_32[i].standard);
    }
}

static void murmur3_spark_gives_the_values_of_spark(void **state) {
    (void)state;
    uint8_t item[MAX_ITEM];
    for (size_t i = 0; i < COUNT(VALUES_32); i++) {
        size_t len = from_hex(VALUES_32[i].item, item);
        assert_int_equal(murmur3_spark(item, len, 0), VALUES_32[i].spark);
    }
}

static void assert_pair(struct murmur3_128 hash, uint64_t h1, uint64_t h2) {
    assert_int_equal(hash.h1, h1);
    assert_int_equal(hash.h2, h2);
}

static void murmur3_128_gives_the_published_values(void **state) {
    (void)state;
    const uint8_t ff = 0xff, hello[] = "hello";
    assert_pair(murmur3_128(hello, 0), 0, 0);
    assert_pair(murmur3_128(&ff, 1), 0x47da3778a4e290ec, 0xfa2f17143880ce2e);
    assert_pair(murmur3_128(hello, 5), 0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19);
}

static void murmur3_cassandra_gives_the_values_of_cassandra(void **state) {
    (void)state;
    const uint8_t ff = 0xff, hello[] = "hello";
    assert_pair(murmur3_cassandra(hello, 0), 0, 0);
    assert_pair(murmur3_cassandra(&ff, 1), 0xc25a08894c506b7f, 0xac0bbee7ce7542c7);
    assert_pair(murmur3_cassandra(hello, 5), 0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19);
}

/* Byte i of the item is (73 i + 11) mod 256. */
static const struct {
    size_t len;
    uint64_t hash;
} XXPH3[] = {
    {0, 0x5342c3010fe1dd04},    {1, 0xd79957aeb2f54ee8},    {3, 0x269da3ebaf774b79},
    {4, 0x0b5156fc0370ad3e},    {8, 0x21ddbf0a9254fcf7},    {9, 0xe0b52b453c8c528a},
    {16, 0x1d93a852541fe9ba},   {17, 0xc9c13eb092b28326},   {33, 0xe227899bad626763},
    {65, 0x8ddac1c9af1f1387},   {97, 0x29170b3e1b8ba0ce},   {128, 0xb14e758d5a81d627},
    {129, 0xe64a42c6bb2fcd81},  {240, 0x477440548757ee22},  {241, 0x2aad3ac6bd71a9ff},
    {300, 0x4fe76ef7cd089ec5},  {1023, 0x0d1fea25fd276c7b}, {1024, 0x5e9f6e1e1ef17e2a},
    {1025, 0xbcf56b5e5f1b087b}, {2048, 0x33fd333a41703899},
};

static void rocksdb_hash64_gives_the_values_of_rocksdb_in_every_range_of_lengths(void **state) {
    (void)state;
    uint8_t item[2048];
    for (size_t i = 0; i < sizeof item; i++) item[i] = (uint8_t)(73 * i + 11);
    for (size_t i = 0; i < COUNT(XXPH3); i++) {
        assert_int_equal(rocksdb_hash64(item, XXPH3[i].len), XXPH3[i].hash);
    }
    assert_int_equal(rocksdb_hash64((const uint8_t *)"hello", 5), 0xa0bbc238c97657b5);
}

static void assert_highway(const char *text, uint64_t first, uint64_t second) {
    uint64_t hash[2];
    highway_128((const uint8_t *)text, strlen(text), hash);
    assert_int_equal(hash[0], first);
    assert_int_equal(hash[1], second);
}

static void highway_128_gives_the_values_of_redisson(void **state) {
    (void)state;
    assert_highway("", 0xb7aad9c226c6a36b, 0xb2d4e4a63557bca6);
    assert_highway("a", 0xab0bc04b5da94740, 0xa0462b5aca912353);
    assert_highway("hello", 0x7fd1d0bcd0c085e1, 0x70f5d2de26f6a7d9);
}

/* ---- What the variants have in common ---- */

static void random_bytes(struct rng *r, uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)rng_next(r);
}

static void murmur3_128_and_one_is_the_hash_of_the_item_with_a_byte_1_after_it(void **state) {
    (void)state;
    struct rng r = rng_seeded(1);
    uint8_t bytes[MAX_ITEM + 1];
    for (size_t len = 0; len <= MAX_ITEM; len++) {
        random_bytes(&r, bytes, len);
        bytes[len] = 1;
        struct murmur3_128 whole = murmur3_128(bytes, len + 1);
        bytes[len] = 0xaa; // must not be read
        assert_pair(murmur3_128_and_one(bytes, len), whole.h1, whole.h2);
    }
}

static void signs_matter_in_the_tail_alone(void **state) {
    (void)state;
    struct rng r = rng_seeded(2);
    uint8_t bytes[MAX_ITEM];
    for (size_t len = 1; len <= MAX_ITEM; len++) {
        random_bytes(&r, bytes, len);
        for (size_t i = len - len % 16; i < len; i++) bytes[i] &= 0x7f;
        struct murmur3_128 standard = murmur3_128(bytes, len);
        assert_pair(murmur3_cassandra(bytes, len), standard.h1, standard.h2);
        assert_int_equal(rocksdb_hash32(bytes, len), hash_leveldb(bytes, len));
        bool is_whole = murmur3_spark(bytes, len, 7) == murmur3_32(bytes, len, 7);
        assert_int_equal(is_whole, len % 4 == 0);
        bytes[len - 1] |= 0x80;
        // the sign of the last byte of a word has no bits above it
        assert_int_equal(murmur3_cassandra(bytes, len).h1 == murmur3_128(bytes, len).h1,
                         len % 8 == 0);
        assert_int_equal(rocksdb_hash32(bytes, len) == hash_leveldb(bytes, len), len % 4 == 0);
    }
}

static void all_hashes(const uint8_t *bytes, size_t len, uint64_t out[12]) {
    struct murmur3_128 pairs[] = {murmur3_128(bytes, len), murmur3_128_and_one(bytes, len),
                                  murmur3_cassandra(bytes, len)};
    memcpy(out, pairs, sizeof pairs);
    highway_128(bytes, len, out + 6);
    out[8] = murmur3_32(bytes, len, 1);
    out[9] = murmur3_spark(bytes, len, 1);
    out[10] = rocksdb_hash64(bytes, len);
    out[11] = rocksdb_hash32(bytes, len);
}

/* The copies have no byte to spare, so that the sanitizer sees a read beyond the item. */
static void hashes_do_not_depend_on_where_the_bytes_lie(void **state) {
    (void)state;
    struct rng r = rng_seeded(3);
    uint8_t bytes[1100];
    random_bytes(&r, bytes, sizeof bytes);
    for (size_t len = 0; len <= sizeof bytes; len += len < 300 ? 1 : 50) {
        uint64_t here[12], there[12];
        size_t shift = len % 8;
        uint8_t *copy = malloc(shift + len + (shift + len == 0)); // a byte if that were none
        assert_non_null(copy);
        memcpy(copy + shift, bytes, len);
        all_hashes(bytes, len, here);
        all_hashes(copy + shift, len, there);
        assert_memory_equal(here, there, sizeof here);
        free(copy);
    }
}

/* ---- Positions ---- */

struct foreign {
    struct foreign_shape shape;
    uint8_t bits[MAX_BYTES];
};

static void set_bit(struct foreign *f, uint64_t position) {
    assert_true(position < f->shape.m && f->shape.m <= 8 * MAX_BYTES);
    f->bits[position / 8] |= (uint8_t)(1U << position % 8);
}

static void add(struct foreign *f, foreign_rule *rule, const uint8_t *item, size_t len) {
    uint64_t positions[16];
    assert_true(f->shape.k <= COUNT(positions));
    rule(&f->shape, item, len, positions);
    for (uint32_t i = 0; i < f->shape.k; i++) set_bit(f, positions[i]);
}

/* Each vector's item, added to an empty filter, must set the vector's positions and no other. */
static void assert_vectors(foreign_rule *rule, struct foreign_shape shape,
                           const struct vector *vectors) {
    for (size_t i = 0; i < NVECTORS; i++) {
        struct foreign want = {.shape = shape}, got = want;
        char *end;
        for (const char *at = vectors[i].positions; *at != '\0'; at = end) {
            set_bit(&want, strtoull(at, &end, 10));
        }
        uint8_t item[MAX_ITEM];
        add(&got, rule, item, from_hex(vectors[i].item, item));
        assert_memory_equal(got.bits, want.bits, sizeof want.bits);
    }
}

static void guava_sets_these_positions(void **state) {
    (void)state;
    struct foreign_shape empty = {.m = 192, .k = 7};
    assert_vectors(guava64_rule, empty, GUAVA64);
    assert_vectors(guava64_rule, empty, GUAVA64_LONGS);
    assert_vectors(guava64_rule, empty, GUAVA64_UTF16);
    assert_vectors(guava32_rule, empty, GUAVA32);
}

static void spark_sets_these_positions(void **state) {
    (void)state;
    struct foreign_shape empty = {.m = 192, .k = 7};
    assert_vectors(spark1_rule, empty, SPARK1);
    assert_vectors(spark1_rule, empty, SPARK1_LONGS);
    assert_vectors(spark2_rule, empty, SPARK2);
    empty.seed = 0xdeadbeef;
    assert_vectors(spark2_rule, empty, SPARK2_SEEDED);
}

static void cassandra_sets_these_positions(void **state) {
    (void)state;
    assert_vectors(cassandra2_rule, (struct foreign_shape){.m = 192, .k = 4}, CASSANDRA2);
    assert_vectors(cassandra3_rule, (struct foreign_shape){.m = 192, .k = 4}, CASSANDRA3);
}

static void bip37_sets_these_positions(void **state) {
    (void)state;
    assert_vectors(bip37_rule, (struct foreign_shape){.m = 184, .k = 6}, BIP37);
    assert_vectors(bip37_rule, (struct foreign_shape){.m = 184, .k = 6, .seed = 0xdeadbeef},
                   BIP37_TWEAKED);
}

static void rocksdb_sets_these_positions(void **state) {
    (void)state;
    assert_vectors(rocksdb_rule, (struct foreign_shape){.m = 512, .k = 6}, ROCKSDB);
    assert_vectors(rocksdb4_rule, (struct foreign_shape){.m = 512, .k = 6}, ROCKSDB4);
}

static void go_sets_these_positions(void **state) {
    (void)state;
    assert_vectors(go_rule, (struct foreign_shape){.m = 192, .k = 7}, GO);
}

static void redisson_sets_these_positions(void **state) {
    (void)state;
    assert_vectors(redisson_rule, (struct foreign_shape){.m = 191, .k = 7}, REDISSON);
}

static void datasketches_sets_these_positions(void **state) {
    (void)state;
    assert_vectors(datasketches_rule,
                   (struct foreign_shape){.m = 192, .k = 7, .seed = (uint64_t)-5}, DATASKETCHES);
}

/* Bitcoin Core's own vectors: three items and the filter of them. */
static void bip37_gives_the_filters_of_bitcoin_core(void **state) {
    (void)state;
    const char *items[] = {"99108ad8ed9bb6274d3980bab5a85c048f0950c8",
                           "b5a2c786d9ef4658287ced5914b37a1b4aa32eee",
                           "b9300670b4c5366e95b2699e8b18bc75e5f729c5"};
    struct foreign plain = {.shape = {.m = 24, .k = 5}};
    struct foreign tweaked = {.shape = {.m = 24, .k = 5, .seed = 2147483649}};
    for (size_t i = 0; i < COUNT(items); i++) {
        uint8_t item[MAX_ITEM];
        size_t len = from_hex(items[i], item);
        add(&plain, bip37_rule, item, len);
        add(&tweaked, bip37_rule, item, len);
    }
    assert_memory_equal(plain.bits, "\x61\x4e\x9b", 3);
    assert_memory_equal(tweaked.bits, "\xce\x42\x99", 3);
}

/* ---- Whole filters ---- */

/* Item i: 4 bytes of i * 2654435761, then i mod 64 bytes that often have their sign bit set. So the
 * items have every length from 4 to 67. */
static size_t make_item(uint32_t i, uint8_t *item) {
    uint32_t word = i * 2654435761U;
    for (uint32_t j = 0; j < 4; j++) item[j] = (uint8_t)(word >> 8 * j);
    for (uint32_t j = 0; j < i % 64; j++) item[4 + j] = (uint8_t)(i * 31 + j * 17 + 200);
    return 4 + i % 64;
}

/* `checksum`: XXH64 of the bit array that the library wrote, with bit p in byte p / 8. */
static const struct {
    foreign_rule *rule;
    uint64_t m;
    uint32_t k;
    uint32_t items;
    uint64_t checksum;
} WHOLE[] = {
    {guava64_rule, 3392, 5, 500, 0xc5ea2a5f8678d349},    // 33.7.2
    {spark1_rule, 3392, 5, 500, 0x2d26346df77b7bb4},     // 4.0.0
    {cassandra3_rule, 3520, 4, 500, 0xfb5bc7fe498944e5}, // 4.1.9
    {bip37_rule, 3344, 4, 500, 0x64be288ac45df460},      // bitcoinj 0.17.1
    {go_rule, 4096, 5, 600, 0x5b80a74e06fd65e4},         // v3.7.1
    {redisson_rule, 3349, 5, 500, 0xfd619ddd4e2c2974},   // 4.7.0
};

static void filters_of_items_of_every_length_are_those_the_libraries_wrote(void **state) {
    (void)state;
    for (size_t w = 0; w < COUNT(WHOLE); w++) {
        struct foreign f = {.shape = {.m = WHOLE[w].m, .k = WHOLE[w].k}};
        for (uint32_t i = 0; i < WHOLE[w].items; i++) {
            uint8_t item[MAX_ITEM];
            add(&f, WHOLE[w].rule, item, make_item(i, item));
        }
        assert_int_equal(hash_checksum(f.bits, (f.shape.m + 7) / 8), WHOLE[w].checksum);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(murmur3_32_gives_the_published_values),
        cmocka_unit_test(murmur3_spark_gives_the_values_of_spark),
        cmocka_unit_test(murmur3_128_gives_the_published_values),
        cmocka_unit_test(murmur3_cassandra_gives_the_values_of_cassandra),
        cmocka_unit_test(rocksdb_hash64_gives_the_values_of_rocksdb_in_every_range_of_lengths),
        cmocka_unit_test(highway_128_gives_the_values_of_redisson),
        cmocka_unit_test(murmur3_128_and_one_is_the_hash_of_the_item_with_a_byte_1_after_it),
        cmocka_unit_test(signs_matter_in_the_tail_alone),
        cmocka_unit_test(hashes_do_not_depend_on_where_the_bytes_lie),
        cmocka_unit_test(guava_sets_these_positions),
        cmocka_unit_test(spark_sets_these_positions),
        cmocka_unit_test(cassandra_sets_these_positions),
        cmocka_unit_test(bip37_sets_these_positions),
        cmocka_unit_test(rocksdb_sets_these_positions),
        cmocka_unit_test(go_sets_these_positions),
        cmocka_unit_test(redisson_sets_these_positions),
        cmocka_unit_test(datasketches_sets_these_positions),
        cmocka_unit_test(bip37_gives_the_filters_of_bitcoin_core),
        cmocka_unit_test(filters_of_items_of_every_length_are_those_the_libraries_wrote),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
