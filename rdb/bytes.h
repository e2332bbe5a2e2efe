/* A bounded reader and writer. They work byte by byte, so that alignment and the host's byte order
 * do not matter. Numbers are little-endian unless a name says `be`, for big-endian.
 *
 * The reader never reads past its end. There it sets `bad` and returns zeroes from then on, so that
 * a decoder reads all its fields and checks once. The writer fills a buffer that the caller has
 * made large enough. */

#ifndef BLOOMPORT_BYTES_H
#define BLOOMPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const uint8_t *at;
    size_t left;
    bool bad; // a read went past the end
};

static inline uint64_t take_uint(struct reader *r, size_t nbytes) {
    if (r->left < nbytes) {
        r->bad = true;
        r->left = 0;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < nbytes; i++) value |= (uint64_t)r->at[i] << (8 * i);
    r->at += nbytes;
    r->left -= nbytes;
    return value;
}

static inline uint64_t take_be(struct reader *r, size_t nbytes) {
    uint64_t value = take_uint(r, nbytes), turned = 0;
    for (size_t i = 0; i < nbytes; i++) turned = turned << 8 | (value >> (8 * i) & 0xff);
    return turned;
}

static inline uint8_t take_u8(struct reader *r) {
    return (uint8_t)take_uint(r, 1);
}

static inline uint32_t take_u32(struct reader *r) {
    return (uint32_t)take_uint(r, 4);
}

static inline uint64_t take_u64(struct reader *r) {
    return take_uint(r, 8);
}

static inline double take_f64(struct reader *r) {
    uint64_t word = take_u64(r);
    double value;
    memcpy(&value, &word, 8);
    return value;
}

static inline bool bytes_are_zero(const void *bytes, size_t len) {
    const uint8_t *b = bytes;
    return len == 0 || (b[0] == 0 && memcmp(b, b + 1, len - 1) == 0);
}

struct writer {
    uint8_t *at;
};

static inline void put_uint(struct writer *w, uint64_t value, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++) *w->at++ = (uint8_t)(value >> (8 * i));
}

static inline void put_be(struct writer *w, uint64_t value, size_t nbytes) {
    for (size_t i = nbytes; i-- > 0;) *w->at++ = (uint8_t)(value >> (8 * i));
}

static inline void put_u8(struct writer *w, uint8_t value) {
    put_uint(w, value, 1);
}

static inline void put_u32(struct writer *w, uint32_t value) {
    put_uint(w, value, 4);
}

static inline void put_u64(struct writer *w, uint64_t value) {
    put_uint(w, value, 8);
}

static inline void put_f64(struct writer *w, double value) {
    uint64_t word;
    memcpy(&word, &value, 8);
    put_u64(w, word);
}

#endif
