/* An item's bytes are hashed once, into two 64-bit words, however many layers there are.
 *
 * All positions follow from the pair (Kirsch and Mitzenmacher 2006): in an array of m bits,
 * position i is (a + i*b mod 2^64) mod m. The schemes differ only in how they compute the pair:
 *
 *   item --hash--> (a, b) --> a mod m, a+b mod m, a+2b mod m, ...    the item's k positions
 *
 *   xxh64    a = XXH64(item, seed 0), b = XXH64(item, seed 1). This is the default.
 *   fnv1a    a and b are the low and the high half of SplitMix64's finaliser of FNV-1a 64. They are
 *            32 bits wide, so they cannot address more than 2^32 bits evenly.
 *   murmur   a is MurmurHash64A of the item, b the same with a as its seed. This is RedisBloom's.
 *   leveldb  a is LevelDB's 32-bit hash, b is a rotated. Both stand in the high half of their word,
 *            so that the positions wrap at 2^32 as in LevelDB (see hash_shift).
 *
 * The numbers of the schemes and the seeds are part of the file format: they never change.
 * This is the only file that includes xxhash.h. */

#ifndef BLOOMPORT_HASH_H
#define BLOOMPORT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum scheme {
    SCHEME_XXH64 = 0,
    SCHEME_FNV1A = 1,
    SCHEME_MURMUR = 2,
    SCHEME_LEVELDB = 4, // 3 is reserved for valkey-bloom's hash
    SCHEME_COUNT
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

/* MurmurHash64A (Austin Appleby, public domain), reading little-endian words. */
static inline uint64_t hash_murmur(const uint8_t *bytes, size_t len, uint64_t seed) {
    const uint64_t mul = 0xc6a4a7935bd1e995U;
    uint64_t h = seed ^ (len * mul);
    for (; len >= 8; bytes += 8, len -= 8) {
        uint64_t word = hash_le(bytes, 8) * mul;
        h = (h ^ ((word ^ (word >> 47)) * mul)) * mul;
    }
    if (len > 0) h = (h ^ hash_le(bytes, len)) * mul;
    h = (h ^ (h >> 47)) * mul;
    return h ^ (h >> 47);
}

/* LevelDB's hash, with the seed of its Bloom filters. */
static inline uint32_t hash_leveldb(const uint8_t *bytes, size_t len) {
    const uint32_t mul = 0xc6a4a793U;
    uint32_t h = 0xbc9f1d34U ^ ((uint32_t)len * mul);
    for (; len >= 4; bytes += 4, len -= 4) {
        h = (h + (uint32_t)hash_le(bytes, 4)) * mul;
        h ^= h >> 16;
    }
    if (len > 0) {
        h = (h + (uint32_t)hash_le(bytes, len)) * mul;
        h ^= h >> 24;
    }
    return h;
}

static inline struct hash hash_of_murmur(const void *item, size_t len) {
    uint64_t first = hash_murmur(item, len, 0xc6a4a7935bd1e995U);
    return (struct hash){first, hash_murmur(item, len, first)};
}

static inline struct hash hash_of_leveldb(const void *item, size_t len) {
    uint32_t h = hash_leveldb(item, len);
    return (struct hash){(uint64_t)h << 32, (uint64_t)(h >> 17 | h << 15) << 32};
}

static inline struct hash hash_item(enum scheme scheme, const void *item, size_t len) {
    if (scheme == SCHEME_FNV1A) {
        uint64_t mix = hash_splitmix(hash_fnv1a(item, len));
        return (struct hash){mix & 0xffffffffU, mix >> 32};
    }
    if (scheme == SCHEME_MURMUR) return hash_of_murmur(item, len);
    if (scheme == SCHEME_LEVELDB) return hash_of_leveldb(item, len);
    return (struct hash){XXH64(item, len, 0), XXH64(item, len, 1)};
}

/* The checksum of filter headers (rdb/FORMAT.md). */
static inline uint64_t hash_checksum(const void *bytes, size_t len) {
    return XXH64(bytes, len, 0);
}

static inline bool hash_is_scheme(uint64_t number) {
    return number < SCHEME_COUNT && number != 3;
}

/* The shift of a scheme: a position is ((a + i*b mod 2^64) >> shift) mod m. */
static inline unsigned hash_shift(enum scheme scheme) {
    return scheme == SCHEME_LEVELDB ? 32 : 0;
}

/* Whether the words of the pair are so wide that the walk wraps round at 2^64. Sizing relies on the
 * wraps (rate.c). */
static inline bool hash_wraps(enum scheme scheme) {
    return scheme == SCHEME_XXH64 || scheme == SCHEME_MURMUR;
}

#endif
