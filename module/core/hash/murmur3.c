/* See murmur3.h. All constants are those of the published algorithm. */

#include "module/core/hash/murmur3.h"

#include "module/core/hash/hash.h"

/* ---- x86_32 ---- */

static uint32_t rotate_32(uint32_t x, unsigned bits) {
    return x << bits | x >> (32 - bits);
}

static uint32_t mix_32(uint32_t word) {
    return rotate_32(word * 0xcc9e2d51U, 15) * 0x1b873593U;
}

static uint32_t block_32(uint32_t h, uint32_t word) {
    return rotate_32(h ^ mix_32(word), 13) * 5 + 0xe6546b64U;
}

static uint32_t blocks_32(const uint8_t *bytes, size_t nblocks, uint32_t h) {
    for (size_t i = 0; i < nblocks; i++) h = block_32(h, (uint32_t)hash_le(bytes + 4 * i, 4));
    return h;
}

static uint32_t finish_32(uint32_t h, size_t len) {
    h ^= (uint32_t)len;
    h = (h ^ h >> 16) * 0x85ebca6bU;
    h = (h ^ h >> 13) * 0xc2b2ae35U;
    return h ^ h >> 16;
}

uint32_t murmur3_32(const uint8_t *bytes, size_t len, uint32_t seed) {
    size_t tail = len % 4;
    uint32_t h = blocks_32(bytes, len / 4, seed);
    if (tail > 0) h ^= mix_32((uint32_t)hash_le(bytes + len - tail, tail));
    return finish_32(h, len);
}

uint32_t murmur3_spark(const uint8_t *bytes, size_t len, uint32_t seed) {
    uint32_t h = blocks_32(bytes, len / 4, seed);
    for (size_t i = len - len % 4; i < len; i++) h = block_32(h, (uint32_t)(int8_t)bytes[i]);
    return finish_32(h, len);
}

/* ---- x64_128 ---- */

static const uint64_t MUL1 = 0x87c37b91114253d5U, MUL2 = 0x4cf5ad432745937fU;

static uint64_t mix_first(uint64_t word) {
    return hash_rotate(word * MUL1, 31) * MUL2;
}

static uint64_t mix_second(uint64_t word) {
    return hash_rotate(word * MUL2, 33) * MUL1;
}

static struct murmur3_128 block_128(struct murmur3_128 h, const uint64_t words[2]) {
    h.h1 = (hash_rotate(h.h1 ^ mix_first(words[0]), 27) + h.h2) * 5 + 0x52dce729;
    h.h2 = (hash_rotate(h.h2 ^ mix_second(words[1]), 31) + h.h1) * 5 + 0x38495ab5;
    return h;
}

static struct murmur3_128 blocks_128(const uint8_t *bytes, size_t nblocks) {
    struct murmur3_128 h = {0, 0};
    for (const uint8_t *end = bytes + 16 * nblocks; bytes != end; bytes += 16) {
        h = block_128(h, (uint64_t[]){hash_le8(bytes), hash_le8(bytes + 8)});
    }
    return h;
}

static uint64_t avalanche_128(uint64_t h) {
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdU;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53U;
    return h ^ h >> 33;
}

/* `tail` is what remains after the blocks, as two words with zeros after its last byte; a word of
 * zero changes nothing. */
static struct murmur3_128 finish_128(struct murmur3_128 h, const uint64_t tail[2], size_t len) {
    h.h1 ^= mix_first(tail[0]) ^ len;
    h.h2 ^= mix_second(tail[1]) ^ len;
    h.h1 += h.h2;
    h.h2 += h.h1;
    h.h1 = avalanche_128(h.h1);
    h.h2 = avalanche_128(h.h2);
    h.h1 += h.h2;
    h.h2 += h.h1;
    return h;
}

/* The tail of an item as two little-endian words. */
static void tail_128(const uint8_t *bytes, size_t len, uint64_t words[2]) {
    const uint8_t *tail = bytes + (len - len % 16);
    size_t nbytes = len % 16;
    words[0] = hash_le(tail, nbytes < 8 ? nbytes : 8);
    words[1] = nbytes < 8 ? 0 : hash_le(tail + 8, nbytes - 8);
}

struct murmur3_128 murmur3_128(const uint8_t *bytes, size_t len) {
    uint64_t tail[2];
    tail_128(bytes, len, tail);
    return finish_128(blocks_128(bytes, len / 16), tail, len);
}

struct murmur3_128 murmur3_128_and_one(const uint8_t *bytes, size_t len) {
    struct murmur3_128 h = blocks_128(bytes, len / 16);
    uint64_t tail[2];
    tail_128(bytes, len, tail);
    tail[len % 16 / 8] |= UINT64_C(1) << 8 * (len % 8);
    if (len % 16 == 15) { // the byte completes a block
        h = block_128(h, tail);
        tail[0] = tail[1] = 0;
    }
    return finish_128(h, tail, len + 1);
}

/* The copies of a sign overlap the bytes after it in the word: they are combined by exclusive or.
 */
struct murmur3_128 murmur3_cassandra(const uint8_t *bytes, size_t len) {
    uint64_t tail[2] = {0, 0};
    const uint8_t *at = bytes + (len - len % 16);
    for (size_t i = 0; i < len % 16; i++) tail[i / 8] ^= (uint64_t)(int8_t)at[i] << 8 * (i % 8);
    return finish_128(blocks_128(bytes, len / 16), tail, len);
}
