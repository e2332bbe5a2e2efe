/* Runs of bytes as sets of bits. See bits.h.
 *
 * Each body is compiled twice: once for any CPU, and once for CPUs with the POPCNT instruction,
 * which is detected at run time. With POPCNT, 64 bits at a time keep up with the memory. */

#include "module/core/filter/bits.h"

#include <string.h>

#define BODY static inline __attribute__((always_inline))

BODY uint64_t load(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

BODY void store(uint8_t *bytes, uint64_t word) {
    memcpy(bytes, &word, sizeof(word));
}

BODY uint64_t count_body(const uint8_t *bytes, size_t len) {
    uint64_t ones = 0;
    size_t i = 0;
    for (; i + 8 <= len; i += 8) ones += (uint64_t)__builtin_popcountll(load(bytes + i));
    for (; i < len; i++) ones += (uint64_t)__builtin_popcount(bytes[i]);
    return ones;
}

BODY uint64_t unite_word(uint8_t *into, const uint8_t *from) {
    uint64_t old = load(into), missing = load(from) & ~old;
    store(into, old | missing);
    return (uint64_t)__builtin_popcountll(missing);
}

BODY uint64_t unite_body(uint8_t *into, const uint8_t *from, size_t len) {
    uint64_t fresh = 0;
    size_t i = 0;
    while (i + 8 <= len && !(load(from + i) & ~load(into + i))) i += 8;
    for (; i + 64 <= len; i += 64) {
        // Prefetching a kilobyte ahead, even beyond the end, saves 8 % (make bench-merge).
        __builtin_prefetch(into + i + 1024, 1);
        __builtin_prefetch(from + i + 1024);
        for (size_t j = i; j < i + 64; j += 8) fresh += unite_word(into + j, from + j);
    }
    for (; i + 8 <= len; i += 8) fresh += unite_word(into + i, from + i);
    for (; i < len; i++) {
        unsigned missing = from[i] & ~(unsigned)into[i];
        fresh += (uint64_t)__builtin_popcount(missing);
        if (missing) into[i] = (uint8_t)(into[i] | missing);
    }
    return fresh;
}

BODY uint64_t intersect_body(uint8_t *into, const uint8_t *from, size_t len) {
    uint64_t lost = 0;
    size_t i = 0;
    while (i + 8 <= len && !(load(into + i) & ~load(from + i))) i += 8;
    for (; i + 8 <= len; i += 8) {
        uint64_t old = load(into + i), common = old & load(from + i);
        lost += (uint64_t)__builtin_popcountll(old ^ common);
        store(into + i, common);
    }
    for (; i < len; i++) {
        unsigned common = into[i] & (unsigned)from[i];
        lost += (uint64_t)__builtin_popcount(into[i] ^ common);
        if (into[i] != common) into[i] = (uint8_t)common;
    }
    return lost;
}

#if defined(__x86_64__)
#define POPCNT __attribute__((target("popcnt")))

static POPCNT uint64_t fast_count(const uint8_t *bytes, size_t len) {
    return count_body(bytes, len);
}

static POPCNT uint64_t fast_unite(uint8_t *into, const uint8_t *from, size_t len) {
    return unite_body(into, from, len);
}

static POPCNT uint64_t fast_intersect(uint8_t *into, const uint8_t *from, size_t len) {
    return intersect_body(into, from, len);
}

static int has_popcnt(void) {
    return __builtin_cpu_supports("popcnt");
}
#else
#define fast_count count_body
#define fast_unite unite_body
#define fast_intersect intersect_body

static int has_popcnt(void) {
    return 0; // elsewhere the compiler uses the instruction in the plain body, if every CPU has it
}
#endif

uint64_t bits_count(const uint8_t *bytes, size_t len) {
    return has_popcnt() ? fast_count(bytes, len) : count_body(bytes, len);
}

uint64_t bits_unite(uint8_t *into, const uint8_t *from, size_t len) {
    return has_popcnt() ? fast_unite(into, from, len) : unite_body(into, from, len);
}

uint64_t bits_intersect(uint8_t *into, const uint8_t *from, size_t len) {
    return has_popcnt() ? fast_intersect(into, from, len) : intersect_body(into, from, len);
}
