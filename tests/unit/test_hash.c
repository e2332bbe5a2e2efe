/* The hashes, against published vectors and against an XXH64 in this file, written from the
 * specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), which shares no code with the
 * library. */

#include "tests/unit/helpers.h"

static const uint64_t P1 = UINT64_C(0x9E3779B185EBCA87), P2 = UINT64_C(0xC2B2AE3D27D4EB4F),
                      P3 = UINT64_C(0x165667B19E3779F9), P4 = UINT64_C(0x85EBCA77C2B2AE63),
                      P5 = UINT64_C(0x27D4EB2F165667C5);

static uint64_t load_le(const uint8_t *p, int nbytes) {
    uint64_t value = 0;
    while (nbytes-- > 0) value = value << 8 | p[nbytes];
    return value;
}

static uint64_t spec_round(uint64_t acc, uint64_t lane) {
    return rng_rotl(acc + lane * P2, 31) * P1;
}

static uint64_t spec_stripes(const uint8_t **at, size_t *left, uint64_t seed) {
    uint64_t acc[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
    for (; *left >= 32; *at += 32, *left -= 32) {
        for (int i = 0; i < 4; i++) acc[i] = spec_round(acc[i], load_le(*at + 8 * i, 8));
    }
    uint64_t h =
        rng_rotl(acc[0], 1) + rng_rotl(acc[1], 7) + rng_rotl(acc[2], 12) + rng_rotl(acc[3], 18);
    for (int i = 0; i < 4; i++) h = (h ^ spec_round(0, acc[i])) * P1 + P4;
    return h;
}

static uint64_t spec_xxh64(const uint8_t *at, size_t len, uint64_t seed) {
    size_t left = len;
    uint64_t h = len >= 32 ? spec_stripes(&at, &left, seed) : seed + P5;
    h += len;
    for (; left >= 8; at += 8, left -= 8) {
        h = rng_rotl(h ^ spec_round(0, load_le(at, 8)), 27) * P1 + P4;
    }
    for (; left >= 4; at += 4, left -= 4) {
        h = rng_rotl(h ^ load_le(at, 4) * P1, 23) * P2 + P3;
    }
    for (; left >= 1; at++, left--) h = rng_rotl(h ^ *at * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

/* Published vectors: xxHash's own and those of its ports (Python's xxhash, Go's cespare). */
static const struct {
    const char *text;
    uint64_t seed0;
} PUBLISHED[] = {
    {"", UINT64_C(0xef46db3751d8e999)},
    {"a", UINT64_C(0xd24ec4f1a98c6e5b)},
    {"as", UINT64_C(0x1c330fb2d66be179)},
    {"asd", UINT64_C(0x631c37ce72a97393)},
    {"asdf", UINT64_C(0x415872f599cea71e)},
    {"abc", UINT64_C(0x44bc2cf5ad770999)},
    {"Call me Ishmael. Some years ago--never mind how long precisely-",
     UINT64_C(0x02a2e85470d6fd96)},
};

static void first_word_of_xxh64_is_the_published_hash_at_seed_0(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof PUBLISHED / sizeof *PUBLISHED; i++) {
        const char *text = PUBLISHED[i].text;
        struct hash hash = scheme_hash(SCHEME_XXH64, NULL, text, strlen(text));
        assert_true(hash.a == PUBLISHED[i].seed0);
    }
}

static void xxh64_of_the_specification_gives_the_published_hashes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof PUBLISHED / sizeof *PUBLISHED; i++) {
        const char *text = PUBLISHED[i].text;
        assert_true(spec_xxh64((const uint8_t *)text, strlen(text), 0) == PUBLISHED[i].seed0);
    }
}

static void both_words_of_xxh64_follow_the_specification_at_seeds_0_and_1(void **state) {
    (void)state;
    struct rng r = rng_seeded(1);
    uint8_t bytes[300] = {0};
    for (size_t len = 0; len <= sizeof bytes; len++) {
        for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)rng_next(&r);
        struct hash hash = scheme_hash(SCHEME_XXH64, NULL, bytes, len);
        assert_true(hash.a == spec_xxh64(bytes, len, 0));
        assert_true(hash.b == spec_xxh64(bytes, len, 1));
    }
}

static void xxh64_does_not_depend_on_where_the_bytes_lie(void **state) {
    (void)state;
    char buffer[64];
    struct hash aligned =
        scheme_hash(SCHEME_XXH64, NULL, "0123456789abcdef0123456789abcdef012", 35);
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(buffer + shift, "0123456789abcdef0123456789abcdef012", 35);
        struct hash hash = scheme_hash(SCHEME_XXH64, NULL, buffer + shift, 35);
        assert_true(hash.a == aligned.a && hash.b == aligned.b);
    }
}

static void items_may_hold_zero_bytes(void **state) {
    (void)state;
    struct hash one = scheme_hash(SCHEME_XXH64, NULL, "a\0b", 3);
    struct hash other = scheme_hash(SCHEME_XXH64, NULL, "a\0c", 3);
    assert_true(one.a != other.a && one.b != other.b);
    one = scheme_hash(SCHEME_FNV1A, NULL, "a\0b", 3);
    other = scheme_hash(SCHEME_FNV1A, NULL, "a\0c", 3);
    assert_true(one.a != other.a && one.b != other.b);
}

static void checksum_is_xxh64_at_seed_0(void **state) {
    (void)state;
    assert_true(hash_checksum("", 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(hash_checksum("abc", 3) == UINT64_C(0x44bc2cf5ad770999));
}

static uint64_t fnv1a_of(const char *text) {
    return hash_fnv1a((const uint8_t *)text, strlen(text));
}

static void fnv1a_gives_the_published_hashes(void **state) {
    (void)state;
    assert_true(fnv1a_of("") == UINT64_C(0xcbf29ce484222325));
    assert_true(fnv1a_of("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(fnv1a_of("foobar") == UINT64_C(0x85944171f73967e8));
}

static void splitmix_gives_the_published_words(void **state) {
    (void)state;
    assert_true(hash_splitmix(0) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(hash_splitmix(0xdeadbeef) == UINT64_C(0x4adfb90f68c9eb9b));
}

static void fnv1a_scheme_splits_the_mix_into_low_and_high_half(void **state) {
    (void)state;
    // Computed independently: mix("foobar") = 5df295413403de4f.
    struct hash hash = scheme_hash(SCHEME_FNV1A, NULL, "foobar", 6);
    assert_true(hash.a == 0x3403de4f);
    assert_true(hash.b == 0x5df29541);
}

/* Computed independently: key0..key3 at m = 25, k = 4 give the bytes 26 82 7f 01. */
static void fnv1a_layer_of_the_own_vector_has_its_published_bits(void **state) {
    (void)state;
    struct layer layer;
    assert_int_equal(layer_init(&layer, (struct sizing){25, 4}, CLASSIC, 4, 0.1), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        char key[8];
        snprintf(key, sizeof key, "key%d", i);
        layer_add(&layer, scheme_hash(SCHEME_FNV1A, NULL, key, 4));
    }
    static const uint8_t expected[4] = {0x26, 0x82, 0x7f, 0x01};
    assert_memory_equal(layer.bits, expected, sizeof expected);
    layer_clear(&layer);
}

static void only_fnv1a_is_bound_to_2_to_the_32_bits(void **state) {
    (void)state;
    assert_true(sizing_max_bits((struct geometry){LAYOUT_CLASSIC, SCHEME_FNV1A}) == UINT64_C(1)
                                                                                        << 32);
    assert_true(sizing_max_bits(CLASSIC) >= SIZING_MAX_BITS);
}

static void scheme_numbers_are_those_of_the_file_format(void **state) {
    (void)state;
    assert_int_equal(SCHEME_XXH64, 0);
    assert_int_equal(SCHEME_FNV1A, 1);
    assert_int_equal(SCHEME_MURMUR, 2);
    assert_int_equal(SCHEME_SIP13, 3);
    assert_int_equal(SCHEME_LEVELDB, 4);
}

/* ---- SipHash-1-3, against one in this file, written from its description ---- */

static void spec_sip_round(uint64_t v[4]) {
    v[0] += v[1], v[1] = rng_rotl(v[1], 13), v[1] ^= v[0], v[0] = rng_rotl(v[0], 32);
    v[2] += v[3], v[3] = rng_rotl(v[3], 16), v[3] ^= v[2];
    v[0] += v[3], v[3] = rng_rotl(v[3], 21), v[3] ^= v[0];
    v[2] += v[1], v[1] = rng_rotl(v[1], 17), v[1] ^= v[2], v[2] = rng_rotl(v[2], 32);
}

/* The message is copied and padded: zeroes, and its length modulo 256 in the last byte. */
static uint64_t spec_siphash13(uint64_t k0, uint64_t k1, const uint8_t *message, size_t len) {
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    uint8_t padded[600] = {0};
    size_t size = len / 8 * 8 + 8;
    memcpy(padded, message, len);
    padded[size - 1] = (uint8_t)len;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = load_le(padded + at, 8);
        v[3] ^= word;
        spec_sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 255;
    for (int i = 0; i < 3; i++) spec_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Every length from 0 to 520, so that the length byte wraps, each at another address. */
static void both_words_of_sip13_follow_the_description(void **state) {
    (void)state;
    struct rng r = rng_seeded(30);
    for (size_t len = 0; len <= 520; len++) {
        uint8_t message[528] = {0}, *item = malloc(len + 16);
        size_t shift = len % 8;
        for (size_t i = 0; i < len; i++) item[shift + i] = (uint8_t)rng_next(&r);
        for (int i = 0; i < 8; i++) message[i] = (uint8_t)(len >> (8 * i));
        memcpy(message + 8, item + shift, len);
        struct seed seed = {{rng_next(&r), rng_next(&r), rng_next(&r), rng_next(&r)}};
        const uint64_t *keys = seed.keys;
        struct hash hash = hash_of_sip13(&seed, item + shift, len);
        assert_true(hash.a == spec_siphash13(keys[0], keys[1], message, len + 8));
        assert_true(hash.b == spec_siphash13(keys[2], keys[3], message, len + 8));
        free(item);
    }
}

/* Each of the 256 bits of the seed counts. */
static void every_bit_of_the_seed_changes_one_word_of_sip13(void **state) {
    (void)state;
    const uint8_t item[] = "item";
    struct hash before = hash_of_sip13(&ITEM_SEED, item, 4);
    for (int bit = 0; bit < 256; bit++) {
        struct seed seed = ITEM_SEED;
        seed.keys[bit / 64] ^= UINT64_C(1) << bit % 64;
        struct hash hash = hash_of_sip13(&seed, item, 4);
        assert_true((hash.a != before.a) == (bit < 128) && (hash.b != before.b) == (bit >= 128));
    }
}

/* Step i >= 2 is reduced modulo 2^64 - 59 first: of 2^64 - 59 on only by chance once in 3e17. */
static void the_walk_of_sip13_is_reduced_by_a_prime(void **state) {
    (void)state;
    const uint64_t prime = UINT64_MAX - 58;
    struct hash hash = {prime - 2, 1};
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 0) == prime - 2);
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 1) == 1);
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 2) == 0);
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 3) == 1);
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 60) == 58);
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 61) == 0); // wrapped at 2^64
    assert_true(walk_value(SCHEME_XXH64, hash, 1, 2) == prime);
    hash = (struct hash){UINT64_MAX, UINT64_MAX};
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 0) == UINT64_MAX);
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 1) == UINT64_MAX);
    assert_true(walk_value(SCHEME_SIP13, hash, 1, 2) == 56);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_word_of_xxh64_is_the_published_hash_at_seed_0),
        cmocka_unit_test(xxh64_of_the_specification_gives_the_published_hashes),
        cmocka_unit_test(both_words_of_xxh64_follow_the_specification_at_seeds_0_and_1),
        cmocka_unit_test(xxh64_does_not_depend_on_where_the_bytes_lie),
        cmocka_unit_test(items_may_hold_zero_bytes),
        cmocka_unit_test(checksum_is_xxh64_at_seed_0),
        cmocka_unit_test(fnv1a_gives_the_published_hashes),
        cmocka_unit_test(splitmix_gives_the_published_words),
        cmocka_unit_test(fnv1a_scheme_splits_the_mix_into_low_and_high_half),
        cmocka_unit_test(fnv1a_layer_of_the_own_vector_has_its_published_bits),
        cmocka_unit_test(only_fnv1a_is_bound_to_2_to_the_32_bits),
        cmocka_unit_test(scheme_numbers_are_those_of_the_file_format),
        cmocka_unit_test(both_words_of_sip13_follow_the_description),
        cmocka_unit_test(every_bit_of_the_seed_changes_one_word_of_sip13),
        cmocka_unit_test(the_walk_of_sip13_is_reduced_by_a_prime),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
