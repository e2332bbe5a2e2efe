/* Schemes: how an item becomes the positions of its bits. See scheme.h. */

#include "module/core/hash/scheme.h"

#include "module/core/hash/highway.h"
#include "module/core/hash/murmur3.h"
#include "module/core/hash/rocksdb_hash.h"

#include <string.h>

/* ---- Hash functions ------------------------------------------------------------------------- */

static struct hash of_xxh64(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    return hash_of_xxh64(item, len);
}

static struct hash of_fnv1a(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    uint64_t mix = hash_splitmix(hash_fnv1a(item, len));
    return (struct hash){mix & 0xffffffffU, mix >> 32};
}

static struct hash of_murmur(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    uint64_t first = hash_murmur(item, len, 0xc6a4a7935bd1e995U);
    return (struct hash){first, hash_murmur(item, len, first)};
}

/* Both words stand in the high half, so that the walk wraps at 2^32 as in LevelDB. */
static struct hash of_leveldb(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    uint32_t h = hash_leveldb(item, len);
    return (struct hash){(uint64_t)h << 32, (uint64_t)(h >> 17 | h << 15) << 32};
}

/* Strategy MURMUR128_MITZ_32: the two halves of one word. Its values begin with i = 1. */
static struct hash of_guava32(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    uint64_t word = murmur3_128(item, len).h1;
    uint32_t a = (uint32_t)word, b = (uint32_t)(word >> 32);
    return (struct hash){a + b, b};
}

/* Strategy MURMUR128_MITZ_64, modulo 2^63: the words are shifted, so that the walk wraps there. */
static struct hash of_guava64(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    struct murmur3_128 h = murmur3_128(item, len);
    return (struct hash){h.h1 << 1, h.h2 << 1};
}

/* Its values begin with i = 1. */
static struct hash of_spark1(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    uint32_t a = murmur3_spark(item, len, 0), b = murmur3_spark(item, len, a);
    return (struct hash){a + b, b};
}

static struct hash of_spark2(const struct seed *seed, const uint8_t *item, size_t len) {
    uint32_t first = murmur3_spark(item, len, (uint32_t)seed->keys[0]);
    uint32_t second = murmur3_spark(item, len, first);
    uint64_t a = (uint64_t)(int64_t)(int32_t)first, b = (uint64_t)(int64_t)(int32_t)second;
    return (struct hash){a * INT32_MAX + b, b};
}

static struct hash of_cassandra2(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    struct murmur3_128 h = murmur3_cassandra(item, len);
    return (struct hash){h.h1, h.h2};
}

static struct hash of_cassandra3(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    struct murmur3_128 h = murmur3_cassandra(item, len);
    return (struct hash){h.h2, h.h1};
}

/* Where the item is. */
static struct hash of_go(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    return (struct hash){(uintptr_t)item, len};
}

/* Where the item is, and in the high half of b the filter's tweak. Murmur3 takes no longer items
 * than 2^32 - 1 bytes. */
static struct hash of_bip37(const struct seed *seed, const uint8_t *item, size_t len) {
    return (struct hash){(uintptr_t)item, seed->keys[0] << 32 | (uint32_t)len};
}

static struct hash of_rocksdb(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    return (struct hash){rocksdb_hash64(item, len), 0};
}

static struct hash of_rocksdb4(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    return (struct hash){rocksdb_hash32(item, len), 0};
}

/* Its values begin with i = 1. */
static struct hash of_datasketches(const struct seed *seed, const uint8_t *item, size_t len) {
    uint64_t a = XXH64(item, len, seed->keys[0]), b = XXH64(item, len, a);
    return (struct hash){a + b, b};
}

/* Modulo 2^63, as GUAVA64. */
static struct hash of_redisson(const struct seed *seed, const uint8_t *item, size_t len) {
    (void)seed;
    uint64_t words[2];
    highway_128(item, len, words);
    return (struct hash){words[0] << 1, words[1] << 1};
}

/* ---- The table ------------------------------------------------------------------------------ */

#define BITS32 ((uint64_t)1 << 32)
#define LINES_BITS (BITS32 * SCHEME_LINE_BITS)
#define BIP37_BITS ((uint64_t)8 * 36000)

#define PLAIN .reach_log2 = 63, .max_bits = SCHEME_MAX_BITS, .grows = true

static const struct scheme_row ROWS[SCHEME_COUNT] = {
    [SCHEME_XXH64] = {"XXH64", "xxh64", of_xxh64, RULE_STRIDE, .wraps = true, PLAIN},
    [SCHEME_FNV1A] = {"FNV1A", "fnv1a", of_fnv1a, RULE_STRIDE, .reach_log2 = 33, .max_bits = BITS32,
                      .grows = true},
    [SCHEME_MURMUR] = {"MURMUR", "murmur", of_murmur, RULE_STRIDE, .wraps = true, PLAIN,
                       .is_incumbents = true},
    [SCHEME_SIP13] = {"SIP13", "sip13", hash_of_sip13, RULE_SIP13, .wraps = true, PLAIN,
                      .is_incumbents = true, .seed_bytes = 32},
    [SCHEME_LEVELDB] = {"LEVELDB", "leveldb", of_leveldb, RULE_STRIDE, .shift = 32,
                        .is_narrow = true, .reach_log2 = 32, .max_bits = BITS32, .grows = true},
    [SCHEME_GUAVA32] = {"GUAVA32", "guava32", of_guava32, RULE_FOLD32, .is_imported = true,
                        .reach_log2 = 31, .max_bits = SCHEME_JAVA_BITS, .grows = true},
    [SCHEME_GUAVA64] = {"GUAVA64", "guava64", of_guava64, RULE_STRIDE, .is_imported = true,
                        .shift = 1, .wraps = true, PLAIN},
    [SCHEME_SPARK1] = {"SPARK1", "spark1", of_spark1, RULE_FOLD32, .is_imported = true,
                       .reach_log2 = 31, .max_bits = SCHEME_JAVA_BITS, .grows = true},
    [SCHEME_SPARK2] = {"SPARK2", "spark2", of_spark2, RULE_FOLD64, .is_imported = true, PLAIN,
                       .seed_bytes = 4},
    [SCHEME_CASSANDRA2] = {"CASSANDRA2", "cassandra2", of_cassandra2, RULE_MAGNITUDE,
                           .is_imported = true, .wraps = true, PLAIN},
    [SCHEME_CASSANDRA3] = {"CASSANDRA3", "cassandra3", of_cassandra3, RULE_MAGNITUDE,
                           .is_imported = true, .wraps = true, PLAIN},
    [SCHEME_GO] = {"GO", "go", of_go, RULE_GO, .is_imported = true, .wraps = true,
                   .reads_item = true, PLAIN},
    [SCHEME_BIP37] = {"BIP37", "bip37", of_bip37, RULE_BIP37, .is_imported = true,
                      .reads_item = true, .reach_log2 = 32, .max_bits = BIP37_BITS, .seed_bytes = 4,
                      .extra_bytes = 1},
    [SCHEME_ROCKSDB] = {"ROCKSDB", "rocksdb", of_rocksdb, RULE_LINE, .is_imported = true,
                        .reach_log2 = 63, .max_bits = LINES_BITS},
    [SCHEME_ROCKSDB4] = {"ROCKSDB4", "rocksdb4", of_rocksdb4, RULE_LINE4, .is_imported = true,
                         .is_narrow = true, .reach_log2 = 63, .max_bits = LINES_BITS},
    [SCHEME_DATASKETCHES] = {"DATASKETCHES", "datasketches", of_datasketches, RULE_STRIDE,
                             .is_imported = true, .shift = 1, .wraps = true, PLAIN, .seed_bytes = 8,
                             .extra_bytes = 1},
    [SCHEME_REDISSON] = {"REDISSON", "redisson", of_redisson, RULE_ALTERNATE, .is_imported = true,
                         .shift = 1, .wraps = true, PLAIN},
};

const struct scheme_row *scheme_row(enum scheme scheme) {
    return &ROWS[scheme_exists(scheme) ? scheme : SCHEME_XXH64];
}

bool scheme_is_same_seed(enum scheme scheme, const struct seed *a, const struct seed *b) {
    uint8_t of_a[HASH_SEED_BYTES], of_b[HASH_SEED_BYTES];
    hash_seed_bytes(a, of_a);
    hash_seed_bytes(b, of_b);
    return memcmp(of_a, of_b, scheme_row(scheme)->seed_bytes) == 0;
}

/* ---- Probe rules ---------------------------------------------------------------------------- */

/* The first bit of the item's line. The bits within it follow from c. */
static struct walk begin_line(struct walk walk, uint64_t nbits) {
    uint64_t nlines = nbits / SCHEME_LINE_BITS;
    walk.c = walk.a >> 32;
    walk.a = (walk.a & 0xffffffffU) * nlines >> 32;
    walk.a *= SCHEME_LINE_BITS;
    return walk;
}

static struct walk begin_line4(struct walk walk, uint64_t nbits) {
    uint32_t h = (uint32_t)walk.a;
    walk.c = h;
    walk.b = h >> 17 | h << 15;
    walk.a = h % (nbits / SCHEME_LINE_BITS) * SCHEME_LINE_BITS;
    return walk;
}

/* The words of the item, and of the item with a byte 1 after it. */
static struct walk begin_go(struct walk walk) {
    const uint8_t *item = (const uint8_t *)(uintptr_t)walk.a;
    size_t len = (size_t)walk.b;
    struct murmur3_128 plain = murmur3_128(item, len), longer = murmur3_128_and_one(item, len);
    walk.a = plain.h1, walk.b = plain.h2;
    walk.c = longer.h1, walk.d = longer.h2;
    return walk;
}

struct walk walk_begin(enum rule rule, struct hash hash, uint64_t nbits) {
    struct walk walk = {.a = hash.a, .b = hash.b, .rule = rule};
    if (rule == RULE_LINE) return begin_line(walk, nbits);
    if (rule == RULE_LINE4) return begin_line4(walk, nbits);
    return rule == RULE_GO ? begin_go(walk) : walk;
}

static uint64_t go_value(const struct walk *walk, uint32_t i) {
    uint64_t from = i % 2 == 0 ? walk->a : walk->b;
    uint64_t step = (i + i % 2) % 4 == 0 ? walk->c : walk->d;
    return from + i * step;
}

static uint64_t bip37_value(const struct walk *walk, uint32_t i) {
    uint32_t tweak = (uint32_t)(walk->b >> 32), len = (uint32_t)walk->b;
    return murmur3_32((const uint8_t *)(uintptr_t)walk->a, len, i * 0xfba4c795U + tweak);
}

/* Value i of a line: 9 bits of a number that is multiplied, or added to, each time. */
static uint64_t line_value(struct walk *walk) {
    uint64_t value = walk->a + (walk->c >> 23);
    walk->c = (uint32_t)(walk->c * 0x9e3779b9U);
    return value;
}

static uint64_t line4_value(struct walk *walk) {
    uint64_t value = walk->a + walk->c % SCHEME_LINE_BITS;
    walk->c = (uint32_t)(walk->c + walk->b);
    return value;
}

static uint64_t alternate_value(struct walk *walk, uint32_t i) {
    uint64_t a = walk->a + i / 2 * walk->a; // i / 2 times a, and (i + 1) / 2 times b
    return a + (i + 1) / 2 * walk->b;
}

uint64_t walk_next(struct walk *walk) {
    uint32_t i = walk->i++;
    uint64_t sum = walk->a + i * walk->b;
    switch (walk->rule) {
    case RULE_STRIDE: return sum;
    case RULE_SIP13: return scheme_sip13_value((struct hash){walk->a, walk->b}, i);
    case RULE_FOLD32: return (uint32_t)sum >> 31 ? (uint32_t)~sum : (uint32_t)sum;
    case RULE_FOLD64: return sum >> 63 ? ~sum : sum;
    case RULE_MAGNITUDE: return sum >> 63 ? 0 - sum : sum;
    case RULE_ALTERNATE: return alternate_value(walk, i);
    case RULE_LINE: return line_value(walk);
    case RULE_LINE4: return line4_value(walk);
    case RULE_GO: return go_value(walk, i);
    case RULE_BIP37: return bip37_value(walk, i);
    }
    return sum;
}
