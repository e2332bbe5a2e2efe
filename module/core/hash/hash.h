/* Hash functions. An item's bytes are hashed once, into two 64-bit words, however many layers there
 * are. scheme.h lists which of them go with which rule for the positions.
 *
 *   xxh64    a = XXH64(item, seed 0), b = XXH64(item, seed 1). This is the default.
 *   fnv1a    a and b are the low and the high half of SplitMix64's finaliser of FNV-1a 64. They are
 *            32 bits wide, so they cannot address more than 2^32 bits evenly.
 *   sip13    a and b are SipHash-1-3 (Aumasson and Bernstein 2012) of the item's length and bytes,
 *            with two keys of a secret seed. Whoever does not know the seed cannot choose items
 *            that collide. This is valkey-bloom's too.
 *   murmur   a is MurmurHash64A of the item, b the same with a as its seed. This is RedisBloom's.
 *   leveldb  a is LevelDB's 32-bit hash, b is a rotated.
 *
 * Those from GUAVA32 on come with the formats that they are named after (murmur3.h, highway.h,
 * rocksdb_hash.h).
 *
 * The numbers of the schemes and the seeds are part of the file format: they never change.
 * This is the only file that includes xxhash.h. */

#ifndef BLOOMPORT_HASH_H
#define BLOOMPORT_HASH_H

#if __SIZEOF_POINTER__ < 8
#error "bloomport needs a 64-bit machine: filters are counted and addressed in 64 bits"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 0 and 0: words are read by memcpy. Version 0.8.3, Debian 13's, otherwise reads bytes through a
 * uint64_t pointer, against C's aliasing rules: test_codec failed where gcc 13 or 14 built it at
 * -O3. All versions do so on machines that are neither x86-64 nor arm64, for aligned bytes; the
 * second line prevents that. */
#define XXH_FORCE_MEMORY_ACCESS 0
#define XXH_FORCE_ALIGN_CHECK 0
#define XXH_INLINE_ALL
#include <xxhash.h>

enum scheme {
    SCHEME_XXH64 = 0,
    SCHEME_FNV1A = 1,
    SCHEME_MURMUR = 2,
    SCHEME_SIP13 = 3,
    SCHEME_LEVELDB = 4,
    SCHEME_GUAVA32 = 5,     // Guava's strategy 0
    SCHEME_GUAVA64 = 6,     // Guava's strategy 1
    SCHEME_SPARK1 = 7,      // Spark's version 1
    SCHEME_SPARK2 = 8,      // Spark's version 2
    SCHEME_CASSANDRA2 = 9,  // Cassandra 1.2 to 2.2
    SCHEME_CASSANDRA3 = 10, // Cassandra from 3.0 on
    SCHEME_GO = 11,         // bits-and-blooms
    SCHEME_BIP37 = 12,
    SCHEME_ROCKSDB = 13,  // format_version 5 and later
    SCHEME_ROCKSDB4 = 14, // before
    SCHEME_DATASKETCHES = 15,
    SCHEME_REDISSON = 16,
    SCHEME_COUNT
};

/* The seed of sip13, and of other schemes that have one; else all zero. Most seeds take fewer
 * bytes: the first ones. */
#define HASH_SEED_BYTES 32
struct seed {
    uint64_t keys[4]; // the 32 bytes as little-endian words; sip13: two keys of two words
};

struct hash {
    uint64_t a; // where the walk over the positions starts
    uint64_t b; // the stride of the walk
};

static inline uint64_t hash_fnv1a(const uint8_t *bytes, size_t len) {
    uint64_t h = 0xcbf29ce484222325U; // the published offset basis and prime
    for (size_t i = 0; i < len; i++) h = (h ^ bytes[i]) * 0x100000001b3U;
    return h;
}

static inline uint64_t hash_splitmix(uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static inline uint64_t hash_le(const uint8_t *bytes, size_t nbytes) {
    uint64_t word = 0;
    for (size_t i = 0; i < nbytes; i++) word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

/* hash_le of 8 bytes, in one load. */
static inline uint64_t hash_le8(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* MurmurHash64A (Austin Appleby, public domain), reading little-endian words. */
static inline uint64_t hash_murmur(const uint8_t *bytes, size_t len, uint64_t seed) {
    const uint64_t mul = 0xc6a4a7935bd1e995U;
    uint64_t h = seed ^ (len * mul);
    for (; len >= 8; bytes += 8, len -= 8) {
        uint64_t word = hash_le8(bytes) * mul;
        h = (h ^ ((word ^ (word >> 47)) * mul)) * mul;
    }
    if (len > 0) h = (h ^ hash_le(bytes, len)) * mul;
    h = (h ^ (h >> 47)) * mul;
    return h ^ (h >> 47);
}

#define HASH_LEVELDB_MUL 0xc6a4a793U

/* LevelDB's hash, with the seed of its Bloom filters, of the item's whole words. */
static inline uint32_t hash_leveldb_words(const uint8_t *bytes, size_t len) {
    uint32_t h = 0xbc9f1d34U ^ ((uint32_t)len * HASH_LEVELDB_MUL);
    for (; len >= 4; bytes += 4, len -= 4) {
        h = (h + (uint32_t)hash_le(bytes, 4)) * HASH_LEVELDB_MUL;
        h ^= h >> 16;
    }
    return h;
}

/* Takes the 1 to 3 bytes after them, as one number. */
static inline uint32_t hash_leveldb_rest(uint32_t h, uint32_t rest) {
    h = (h + rest) * HASH_LEVELDB_MUL;
    return h ^ h >> 24;
}

static inline uint32_t hash_leveldb(const uint8_t *bytes, size_t len) {
    uint32_t h = hash_leveldb_words(bytes, len);
    size_t left = len % 4;
    return left == 0 ? h : hash_leveldb_rest(h, (uint32_t)hash_le(bytes + len - left, left));
}

/* Writes the seed's 32 bytes. */
static inline void hash_seed_bytes(const struct seed *seed, uint8_t out[HASH_SEED_BYTES]) {
    for (size_t i = 0; i < HASH_SEED_BYTES; i++) {
        out[i] = (uint8_t)(seed->keys[i / 8] >> (i % 8 * 8));
    }
}

/* ---- SipHash-1-3 ---- */

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t hash_rotate(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static inline struct sip sip_begin(uint64_t k0, uint64_t k1) {
    return (struct sip){k0 ^ 0x736f6d6570736575U, k1 ^ 0x646f72616e646f6dU,
                        k0 ^ 0x6c7967656e657261U, k1 ^ 0x7465646279746573U};
}

static inline void sip_round(struct sip *s) {
    s->v0 += s->v1, s->v2 += s->v3;
    s->v1 = hash_rotate(s->v1, 13) ^ s->v0, s->v3 = hash_rotate(s->v3, 16) ^ s->v2;
    s->v0 = hash_rotate(s->v0, 32);
    s->v2 += s->v1, s->v0 += s->v3;
    s->v1 = hash_rotate(s->v1, 17) ^ s->v2, s->v3 = hash_rotate(s->v3, 21) ^ s->v0;
    s->v2 = hash_rotate(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t word) {
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

static inline uint64_t sip_end(struct sip *s) {
    s->v2 ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* The message is the item's length as a little-endian word, and then its bytes. Both hashes are
 * computed side by side: their steps overlap. */
static inline struct hash hash_of_sip13(const struct seed *seed, const uint8_t *bytes, size_t len) {
    struct sip a = sip_begin(seed->keys[0], seed->keys[1]);
    struct sip b = sip_begin(seed->keys[2], seed->keys[3]);
    uint64_t last = (uint64_t)(len + 8) << 56; // the length of the message, modulo 256
    sip_word(&a, len), sip_word(&b, len);
    for (; len >= 8; bytes += 8, len -= 8) {
        uint64_t word = hash_le8(bytes);
        sip_word(&a, word), sip_word(&b, word);
    }
    if (len > 0) last |= hash_le(bytes, len);
    sip_word(&a, last), sip_word(&b, last);
    uint64_t first = sip_end(&a);
    return (struct hash){first, sip_end(&b)};
}

static inline struct hash hash_of_xxh64(const void *item, size_t len) {
    return (struct hash){XXH64(item, len, 0), XXH64(item, len, 1)};
}

/* The checksum of filter headers (rdb/FORMAT.md). */
static inline uint64_t hash_checksum(const void *bytes, size_t len) {
    return XXH64(bytes, len, 0);
}

#endif
