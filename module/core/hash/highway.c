/* See highway.h. The state is four vectors of four 64-bit lanes. A packet of 32 bytes, one word a
 * lane, is mixed into it by multiplications within each lane and by shuffling the bytes of
 * neighbouring lanes. The last 1..31 bytes are padded to a packet by their own rule. */

#include "module/core/hash/highway.h"

#include "module/core/hash/hash.h"

enum { LANES = 4, PACKET = 8 * LANES };

struct highway {
    uint64_t v0[LANES], v1[LANES], mul0[LANES], mul1[LANES];
};

/* Redisson's key. */
static const uint64_t KEY[LANES] = {0x9e3779b97f4a7c15U, 0xf39cc0605cedc834U, 0x1082276bf3a27251U,
                                    0xf86c6a11d0c18e95U};

/* The published initial values, from the digits of pi. */
static const uint64_t INIT0[LANES] = {0xdbe6d5d5fe4cce2fU, 0xa4093822299f31d0U, 0x13198a2e03707344U,
                                      0x243f6a8885a308d3U};
static const uint64_t INIT1[LANES] = {0x3bd39e10cb0ef593U, 0xc0acf169b5f18a8cU, 0xbe5466cf34e90c6cU,
                                      0x452821e638d01377U};

static void highway_init(struct highway *s) {
    for (size_t i = 0; i < LANES; i++) {
        s->mul0[i] = INIT0[i];
        s->mul1[i] = INIT1[i];
        s->v0[i] = INIT0[i] ^ KEY[i];
        s->v1[i] = INIT1[i] ^ hash_rotate(KEY[i], 32);
    }
}

/* The word of the bytes `order` names: 0..7 are the bytes of `low`, 8..15 those of `high`. */
static uint64_t shuffle(uint64_t low, uint64_t high, const uint8_t order[8]) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t from = order[i] < 8 ? low : high;
        word |= (from >> 8 * (order[i] % 8) & 0xff) << 8 * i;
    }
    return word;
}

/* The "zipper merge". The product of two halves is best mixed in its middle bytes, so the order
 * gives each byte of the result some of those, and takes from both lanes. */
static void add_zipped(uint64_t to[LANES], const uint64_t from[LANES]) {
    static const uint8_t LOW[8] = {3, 12, 2, 5, 14, 1, 15, 0};
    static const uint8_t HIGH[8] = {11, 4, 10, 13, 9, 6, 8, 7};
    for (size_t i = 0; i < LANES; i += 2) {
        to[i] += shuffle(from[i], from[i + 1], LOW);
        to[i + 1] += shuffle(from[i], from[i + 1], HIGH);
    }
}

static void add_words(struct highway *s, const uint64_t words[LANES]) {
    for (size_t i = 0; i < LANES; i++) {
        s->v1[i] += s->mul0[i] + words[i];
        s->mul0[i] ^= (s->v1[i] & 0xffffffffU) * (s->v0[i] >> 32);
        s->v0[i] += s->mul1[i];
        s->mul1[i] ^= (s->v0[i] & 0xffffffffU) * (s->v1[i] >> 32);
    }
    add_zipped(s->v0, s->v1);
    add_zipped(s->v1, s->v0);
}

static void add_packet(struct highway *s, const uint8_t *bytes) {
    uint64_t words[LANES];
    for (size_t i = 0; i < LANES; i++) words[i] = hash_le8(bytes + 8 * i);
    add_words(s, words);
}

/* Both 32-bit halves of the word, each rotated by 1..31 bits. */
static uint64_t rotate_halves(uint64_t word, unsigned bits) {
    uint32_t low = (uint32_t)word, high = (uint32_t)(word >> 32);
    low = low << bits | low >> (32 - bits);
    high = high << bits | high >> (32 - bits);
    return (uint64_t)high << 32 | low;
}

/* The last 1..31 bytes. Their number goes into every lane. Whole groups of four bytes stay where
 * they are; the 0..3 after them follow in the last word (the last four bytes, overlapping the
 * groups) if there are 16 bytes or more, else in the third. */
static void add_remainder(struct highway *s, const uint8_t *bytes, size_t len) {
    uint8_t packet[PACKET] = {0};
    size_t odd = len % 4, whole = len - odd;
    for (size_t i = 0; i < LANES; i++) {
        s->v0[i] += (uint64_t)len << 32 | len;
        s->v1[i] = rotate_halves(s->v1[i], (unsigned)len);
    }
    memcpy(packet, bytes, whole);
    if (len >= 16) {
        memcpy(packet + 28, bytes + len - 4, 4);
    } else if (odd > 0) {
        packet[16] = bytes[whole];
        packet[17] = bytes[whole + odd / 2];
        packet[18] = bytes[len - 1];
    }
    add_packet(s, packet);
}

static void add_itself(struct highway *s) {
    uint64_t words[LANES];
    for (size_t i = 0; i < LANES; i++) words[i] = hash_rotate(s->v0[(i + 2) % LANES], 32);
    add_words(s, words);
}

void highway_128(const uint8_t *bytes, size_t len, uint64_t out[2]) {
    struct highway s;
    highway_init(&s);
    for (; len >= PACKET; bytes += PACKET, len -= PACKET) add_packet(&s, bytes);
    if (len > 0) add_remainder(&s, bytes, len);
    for (int i = 0; i < 6; i++) add_itself(&s); // the published number for 128 bits of result
    for (size_t i = 0; i < 2; i++) out[i] = s.v0[i] + s.mul0[i] + s.v1[i + 2] + s.mul1[i + 2];
}
