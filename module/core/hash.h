/* Item bytes -> two 64-bit words, once per item, whatever the number of layers.
 *
 * From the pair all probes follow (Kirsch and Mitzenmacher 2006): position i of an array of m bits
 * is (a + i*b mod 2^64) mod m. The schemes differ only in how the pair is made:
 *
 *   xxh64   a = XXH64(item, seed 0), b = XXH64(item, seed 1). The default.
 *   fnv1a   x = SplitMix64 finaliser of FNV-1a 64; a = low half, b = high half of x. Being 32 bits
 *           wide, they cannot address more than 2^32 bits evenly.
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

enum scheme { SCHEME_XXH64 = 0, SCHEME_FNV1A = 1, SCHEME_COUNT };

struct hash {
    uint64_t a; // where the walk over the array starts
    uint64_t b; // its stride
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

static inline struct hash hash_item(enum scheme scheme, const void *item, size_t len) {
    if (scheme == SCHEME_FNV1A) {
        uint64_t mix = hash_splitmix(hash_fnv1a(item, len));
        return (struct hash){mix & 0xffffffffU, mix >> 32};
    }
    return (struct hash){XXH64(item, len, 0), XXH64(item, len, 1)};
}

/* The checksum of filter headers (rdb/FORMAT.md). */
static inline uint64_t hash_checksum(const void *bytes, size_t len) {
    return XXH64(bytes, len, 0);
}

/* Whether the words of the pair are so wide that the walk over the array wraps round at 2^64, which
 * sizing counts on. */
static inline bool hash_wraps(enum scheme scheme) {
    return scheme != SCHEME_FNV1A;
}

#endif
