/* Arrays of 4-bit counters. See counting.h. */

#include "module/core/filter/counting.h"

#include "module/core/filter/classic.h"
#include "module/core/math/sizing.h"

#include <string.h>

/* ---- One item ------------------------------------------------------------------------------- */

bool counting_all(const uint8_t *counters, const uint64_t *pos, uint32_t from, uint32_t to) {
    bool all = true;
    for (uint32_t i = from; i < to; i++) all &= counting_at(counters, pos[i]) != 0;
    return all;
}

unsigned counting_least(const uint8_t *counters, const uint64_t *pos, uint32_t k) {
    unsigned least = COUNTING_MAX;
    for (uint32_t i = 0; i < k; i++) {
        unsigned count = counting_at(counters, pos[i]);
        if (count < least) least = count;
    }
    return least;
}

/* Whether position i is one of those before it. */
static bool is_repeated(const uint64_t *pos, uint32_t i) {
    for (uint32_t j = 0; j < i; j++) {
        if (pos[j] == pos[i]) return true;
    }
    return false;
}

/* One step of a counter: 1 in its half of the byte. */
static uint8_t one_at(uint64_t pos) {
    return (uint8_t)(1U << (4 * (pos & 1)));
}

uint32_t counting_increment(uint8_t *counters, const uint64_t *pos, uint32_t k, uint32_t *crossed) {
    uint32_t changed = 0;
    *crossed = 0;
    for (uint32_t i = 0; i < k; i++) {
        unsigned count = counting_at(counters, pos[i]);
        if (count == COUNTING_MAX || is_repeated(pos, i)) continue;
        counters[pos[i] >> 1] = (uint8_t)(counters[pos[i] >> 1] + one_at(pos[i]));
        *crossed += count == 0;
        changed++;
    }
    return changed;
}

uint32_t counting_decrement(uint8_t *counters, const uint64_t *pos, uint32_t k, uint32_t *crossed) {
    uint32_t changed = 0;
    *crossed = 0;
    for (uint32_t i = 0; i < k; i++) {
        unsigned count = counting_at(counters, pos[i]);
        if (count == COUNTING_MAX || count == 0 || is_repeated(pos, i)) continue;
        counters[pos[i] >> 1] = (uint8_t)(counters[pos[i] >> 1] - one_at(pos[i]));
        *crossed += count == 1;
        changed++;
    }
    return changed;
}

/* ---- Runs of bytes --------------------------------------------------------------------------
 *
 * A word holds 16 counters. For arithmetic they are spread over the bytes of two words, the even
 * and the odd ones, so that a sum has room. */

#define LOW_HALVES UINT64_C(0x0f0f0f0f0f0f0f0f)
#define ONES UINT64_C(0x0101010101010101)

static uint64_t load(const uint8_t *bytes, size_t len) {
    uint64_t word = 0;
    memcpy(&word, bytes, len);
    return word;
}

/* One bit for each counter over 0. */
static uint64_t over_zero(uint64_t word) {
    word |= word >> 2;
    word |= word >> 1;
    return word & UINT64_C(0x1111111111111111);
}

uint64_t counting_ones(const uint8_t *counters, size_t len) {
    uint64_t ones = 0;
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = load(counters + at, len - at < 8 ? len - at : 8);
        ones += (uint64_t)__builtin_popcountll(over_zero(word));
    }
    return ones;
}

/* The sums of two words of small bytes, 15 at most. A sum over 15 has bit 4 set. */
static uint64_t add_bytes(uint64_t a, uint64_t b) {
    uint64_t sum = a + b;
    return (sum | (sum >> 4 & ONES) * COUNTING_MAX) & LOW_HALVES;
}

/* The smaller bytes of two words of small bytes. Bit 7 of the difference is set where a >= b. */
static uint64_t least_bytes(uint64_t a, uint64_t b) {
    uint64_t is_more = (((a | ONES << 7) - b) >> 7 & ONES) * 0xff;
    return (b & is_more) | (a & ~is_more);
}

static uint64_t combine(uint8_t *into, const uint8_t *from, size_t len,
                        uint64_t (*combine_bytes)(uint64_t, uint64_t)) {
    uint64_t changed = 0;
    for (size_t at = 0; at < len; at += 8) {
        size_t n = len - at < 8 ? len - at : 8;
        uint64_t a = load(into + at, n), b = load(from + at, n);
        uint64_t even = combine_bytes(a & LOW_HALVES, b & LOW_HALVES);
        uint64_t odd = combine_bytes(a >> 4 & LOW_HALVES, b >> 4 & LOW_HALVES);
        uint64_t result = even | odd << 4;
        if (result == a) continue; // an unchanged page is not written to
        changed += (uint64_t)__builtin_popcountll(over_zero(result ^ a));
        memcpy(into + at, &result, n);
    }
    return changed;
}

uint64_t counting_unite(uint8_t *into, const uint8_t *from, size_t len) {
    return combine(into, from, len, add_bytes);
}

uint64_t counting_intersect(uint8_t *into, const uint8_t *from, size_t len) {
    return combine(into, from, len, least_bytes);
}

void counting_to_bits(const uint8_t *counters, uint64_t n, uint8_t *bits) {
    for (uint64_t p = 0; p < n; p++) {
        unsigned is_set = counting_at(counters, p) != 0;
        bits[p >> 3] = (uint8_t)(bits[p >> 3] | is_set << (p & 7));
    }
}

/* ---- The row -------------------------------------------------------------------------------- */

/* Such a filter has one layer: a removal could not tell which layer's counters the item has
 * incremented. */
const struct layout_row COUNTING_LAYOUT = {
    .unit = "counters",
    .byte_shift = 1,
    .has_counters = true,
    .multiple = 1,
    .max_bits = SCHEME_MAX_BITS,
    .max_hashes = SIZING_MAX_HASHES,
    .removes = true,
    .flat = LAYOUT_CLASSIC,
    .probes_ahead = 1,
    .ones = counting_ones,
    .unite = counting_unite,
    .intersect = counting_intersect,
    .to_bits = counting_to_bits,
    .rate_when_full = classic_rate_when_full,
    .rate_at = classic_rate_at,
};
