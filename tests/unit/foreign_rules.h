/* The probe rules of other libraries' filters, written from the formats' descriptions and the
 * hashes alone: the naive model of what a scheme does. */

#ifndef BLOOMPORT_TESTS_FOREIGN_RULES_H
#define BLOOMPORT_TESTS_FOREIGN_RULES_H

#include "module/core/hash/highway.h"
#include "module/core/hash/murmur3.h"
#include "module/core/hash/rocksdb_hash.h"
#include "module/core/hash/scheme.h"

/* A filter's shape; `seed` is what the rule takes. */
struct foreign_shape {
    uint64_t m;
    uint32_t k;
    uint64_t seed;
};

/* Fills in the k positions of an item. */
typedef void foreign_rule(const struct foreign_shape *, const uint8_t *item, size_t len,
                          uint64_t *pos);

/* Negative numbers are complemented in the libraries of the JVM. */
static inline uint64_t complemented_32(uint32_t c) {
    return c >> 31 ? (uint32_t)~c : c;
}

static inline void guava64_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                uint64_t *pos) {
    struct murmur3_128 h = murmur3_128(item, len);
    for (uint32_t i = 0; i < f->k; i++) pos[i] = ((h.h1 + i * h.h2) & INT64_MAX) % f->m;
}

static inline void guava32_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                uint64_t *pos) {
    uint64_t h = murmur3_128(item, len).h1;
    uint32_t a = (uint32_t)h, b = (uint32_t)(h >> 32);
    for (uint32_t i = 1; i <= f->k; i++) *pos++ = complemented_32(a + i * b) % f->m;
}

static inline void spark1_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                               uint64_t *pos) {
    uint32_t a = murmur3_spark(item, len, 0), b = murmur3_spark(item, len, a);
    for (uint32_t i = 1; i <= f->k; i++) *pos++ = complemented_32(a + i * b) % f->m;
}

static inline void spark2_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                               uint64_t *pos) {
    uint32_t a = murmur3_spark(item, len, (uint32_t)f->seed), b = murmur3_spark(item, len, a);
    uint64_t c = (uint64_t)(int32_t)a * INT32_MAX;
    for (uint32_t i = 0; i < f->k; i++) {
        c += (uint64_t)(int32_t)b;
        pos[i] = (c >> 63 ? ~c : c) % f->m;
    }
}

static inline void cassandra_walk(const struct foreign_shape *f, uint64_t base, uint64_t stride,
                                  uint64_t *pos) {
    for (uint32_t i = 0; i < f->k; i++) {
        uint64_t c = base + i * stride;
        pos[i] = (c >> 63 ? -c : c) % f->m;
    }
}

static inline void cassandra2_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                   uint64_t *pos) {
    struct murmur3_128 h = murmur3_cassandra(item, len);
    cassandra_walk(f, h.h1, h.h2, pos);
}

static inline void cassandra3_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                   uint64_t *pos) {
    struct murmur3_128 h = murmur3_cassandra(item, len);
    cassandra_walk(f, h.h2, h.h1, pos);
}

static inline void bip37_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                              uint64_t *pos) {
    for (uint32_t i = 0; i < f->k; i++) {
        pos[i] = murmur3_32(item, len, i * 0xfba4c795U + (uint32_t)f->seed) % f->m;
    }
}

static inline void rocksdb_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                uint64_t *pos) {
    uint64_t h = rocksdb_hash64(item, len);
    uint64_t line = (uint32_t)h * (f->m / 512) >> 32;
    uint32_t g = (uint32_t)(h >> 32);
    for (uint32_t i = 0; i < f->k; i++, g *= 0x9e3779b9U) pos[i] = line * 512 + (g >> 23);
}

static inline void rocksdb4_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                 uint64_t *pos) {
    uint32_t h = rocksdb_hash32(item, len), delta = h >> 17 | h << 15;
    uint64_t line = h % (f->m / 512);
    for (uint32_t i = 0; i < f->k; i++, h += delta) pos[i] = line * 512 + h % 512;
}

static inline void go_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                           uint64_t *pos) {
    struct murmur3_128 one = murmur3_128(item, len), two = murmur3_128_and_one(item, len);
    const uint64_t h[] = {one.h1, one.h2, two.h1, two.h2};
    for (uint32_t i = 0; i < f->k; i++) {
        pos[i] = (h[i % 2] + i * h[2 + (i + i % 2) % 4 / 2]) % f->m;
    }
}

static inline void redisson_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                 uint64_t *pos) {
    uint64_t h[2];
    highway_128(item, len, h);
    uint64_t walk = h[0];
    for (uint32_t i = 0; i < f->k; i++) {
        pos[i] = (walk & INT64_MAX) % f->m;
        walk += i % 2 == 0 ? h[1] : h[0];
    }
}

static inline void datasketches_rule(const struct foreign_shape *f, const uint8_t *item, size_t len,
                                     uint64_t *pos) {
    uint64_t a = XXH64(item, len, f->seed), b = XXH64(item, len, a);
    for (uint32_t i = 1; i <= f->k; i++) *pos++ = ((a + i * b) >> 1) % f->m;
}

#endif
