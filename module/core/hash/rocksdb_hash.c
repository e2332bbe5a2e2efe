/* See rocksdb_hash.h. XXPH3 has a formula for each range of lengths:
 *
 *   0, 1..3, 4..8, 9..16   one or two words, read from both ends of the item
 *   17..128                pairs of 16 bytes, from both ends towards the middle
 *   129..240               16 bytes after another, with an avalanche after the first 8
 *   over 240               8 sums over stripes of 64 bytes, scrambled after every 16 stripes
 *
 * The secret and the primes are those of the released XXH3, so they are taken from xxhash.h. The
 * multiplier of the avalanche is not. */

#include "module/core/hash/rocksdb_hash.h"

#include "module/core/hash/hash.h"

#define SECRET XXH3_kSecret

enum {
    STRIPE = 64,
    BLOCK = 16 * STRIPE, // the secret moves on by 8 bytes with each stripe: 15 * 8 + 64 <= 192
};

/* The low half of the product xor the high half. */
static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The released XXH3 multiplies by 0x165667919E3779F9 here, which is not a prime of xxHash. */
static uint64_t avalanche(uint64_t h) {
    h = (h ^ h >> 37) * XXH_PRIME64_3;
    return h ^ h >> 32;
}

static uint64_t keyed8(const uint8_t *bytes, const uint8_t *secret) {
    return hash_le8(bytes) ^ hash_le8(secret);
}

static uint64_t mix16(const uint8_t *bytes, const uint8_t *secret) {
    return fold(keyed8(bytes, secret), keyed8(bytes + 8, secret + 8));
}

static uint64_t hash_to_3(const uint8_t *bytes, size_t len) {
    if (len == 0) return fold(hash_le8(SECRET), XXH_PRIME64_2);
    uint64_t word = bytes[0] | (uint64_t)bytes[len / 2] << 8 | (uint64_t)bytes[len - 1] << 16 |
                    (uint64_t)len << 24;
    return avalanche((word ^ hash_le(SECRET, 4)) * XXH_PRIME64_1);
}

static uint64_t hash_4_to_8(const uint8_t *bytes, size_t len) {
    uint64_t word = (hash_le(bytes, 4) | hash_le(bytes + len - 4, 4) << 32) ^ hash_le8(SECRET);
    uint64_t h = len + (word ^ word >> 51) * XXH_PRIME32_1;
    return avalanche((h ^ h >> 47) * XXH_PRIME64_2);
}

static uint64_t hash_9_to_16(const uint8_t *bytes, size_t len) {
    uint64_t low = keyed8(bytes, SECRET), high = keyed8(bytes + len - 8, SECRET + 8);
    return avalanche(len + low + high + fold(low, high));
}

static uint64_t hash_17_to_128(const uint8_t *bytes, size_t len) {
    uint64_t sum = len * XXH_PRIME64_1;
    for (size_t i = 0; i <= (len - 1) / 32; i++) {
        sum += mix16(bytes + 16 * i, SECRET + 32 * i);
        sum += mix16(bytes + len - 16 * (i + 1), SECRET + 32 * i + 16);
    }
    return avalanche(sum);
}

static uint64_t hash_129_to_240(const uint8_t *bytes, size_t len) {
    uint64_t sum = len * XXH_PRIME64_1;
    for (size_t i = 0; i < 8; i++) sum += mix16(bytes + 16 * i, SECRET + 16 * i);
    sum = avalanche(sum);
    for (size_t i = 8; i < len / 16; i++) sum += mix16(bytes + 16 * i, SECRET + 16 * (i - 8) + 3);
    return avalanche(sum + mix16(bytes + len - 16, SECRET + 119));
}

/* The released XXH3 adds each word to the neighbour of its sum; this adds it to its own. */
static void add_stripe(uint64_t sums[8], const uint8_t *bytes, const uint8_t *secret) {
    for (size_t i = 0; i < 8; i++) {
        uint64_t key = keyed8(bytes + 8 * i, secret + 8 * i);
        sums[i] += hash_le8(bytes + 8 * i) + (key & 0xffffffffU) * (key >> 32);
    }
}

static void add_stripes(uint64_t sums[8], const uint8_t *bytes, size_t nstripes) {
    for (size_t i = 0; i < nstripes; i++) add_stripe(sums, bytes + STRIPE * i, SECRET + 8 * i);
}

static void scramble(uint64_t sums[8]) {
    for (size_t i = 0; i < 8; i++) {
        sums[i] ^= sums[i] >> 47 ^ hash_le8(SECRET + 128 + 8 * i);
        sums[i] *= XXH_PRIME32_1;
    }
}

/* If the last stripe is not a whole one, the last 64 bytes of the item take its place. */
static uint64_t hash_over_240(const uint8_t *bytes, size_t len) {
    uint64_t sums[8] = {XXH_PRIME32_3, XXH_PRIME64_1, XXH_PRIME64_2, XXH_PRIME64_3,
                        XXH_PRIME64_4, XXH_PRIME32_2, XXH_PRIME64_5, XXH_PRIME32_1};
    size_t blocks = len - len % BLOCK;
    for (size_t i = 0; i < blocks; i += BLOCK) {
        add_stripes(sums, bytes + i, BLOCK / STRIPE);
        scramble(sums);
    }
    add_stripes(sums, bytes + blocks, len % BLOCK / STRIPE);
    if (len % STRIPE != 0) add_stripe(sums, bytes + len - STRIPE, SECRET + 121);
    uint64_t h = len * XXH_PRIME64_1;
    for (size_t i = 0; i < 4; i++) {
        const uint8_t *secret = SECRET + 11 + 16 * i;
        h += fold(sums[2 * i] ^ hash_le8(secret), sums[2 * i + 1] ^ hash_le8(secret + 8));
    }
    return avalanche(h);
}

uint64_t rocksdb_hash64(const uint8_t *bytes, size_t len) {
    if (len <= 3) return hash_to_3(bytes, len);
    if (len <= 8) return hash_4_to_8(bytes, len);
    if (len <= 16) return hash_9_to_16(bytes, len);
    if (len <= 128) return hash_17_to_128(bytes, len);
    if (len <= 240) return hash_129_to_240(bytes, len);
    return hash_over_240(bytes, len);
}

uint32_t rocksdb_hash32(const uint8_t *bytes, size_t len) {
    uint32_t h = hash_leveldb_words(bytes, len), rest = 0;
    const uint8_t *tail = bytes + len - len % 4;
    for (size_t i = 0; i < len % 4; i++) rest += (uint32_t)(int8_t)tail[i] << 8 * i;
    return len % 4 == 0 ? h : hash_leveldb_rest(h, rest);
}
