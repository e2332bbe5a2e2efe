/* Runs of counters against a loop over bytes. */

#include "tests/unit/helpers.h"

#include "module/core/filter/counting.h"

#define MOST_BYTES 70

/* Half of the counters at their ends, so that sums of 14, 15 and 16 are frequent. */
static void fill_random(struct rng *r, uint8_t *bytes) {
    static const uint8_t EXTREMES[] = {0, 1, 7, 8, 14, 15};
    for (size_t i = 0; i < MOST_BYTES; i++) {
        uint8_t any = (uint8_t)rng_next(r);
        bytes[i] = (uint8_t)(EXTREMES[any % 6] | EXTREMES[any / 6 % 6] << 4);
        if (rng_below(r, 2)) bytes[i] = any;
    }
}

/* Combines the counters of a byte one by one; returns how many changed. */
static unsigned combine_byte(uint8_t *into, uint8_t from, bool adds) {
    unsigned result = 0, changed = 0;
    for (unsigned shift = 0; shift < 8; shift += 4) {
        unsigned a = *into >> shift & 15, b = from >> shift & 15, c;
        c = adds ? (a + b > 15 ? 15 : a + b) : (a < b ? a : b);
        changed += c != a;
        result |= c << shift;
    }
    *into = (uint8_t)result;
    return changed;
}

static void runs_of_any_length_and_place_are_combined_counter_by_counter(void **state) {
    (void)state;
    struct rng r = rng_seeded(56);
    for (int round = 0; round < 4000; round++) {
        uint8_t into[MOST_BYTES], from[MOST_BYTES], expected[MOST_BYTES];
        fill_random(&r, into);
        fill_random(&r, from);
        memcpy(expected, into, sizeof(into));
        size_t at = (size_t)rng_below(&r, 9), other = (size_t)rng_below(&r, 9);
        size_t len = (size_t)round % 60, ones = 0, changed = 0;
        bool adds = rng_below(&r, 2);
        for (size_t i = 0; i < len; i++) {
            ones += (size_t)((into[at + i] & 15) != 0) + (into[at + i] >> 4 != 0);
            changed += combine_byte(&expected[at + i], from[other + i], adds);
        }
        assert_int_equal(counting_ones(into + at, len), ones);
        uint64_t result = adds ? counting_unite(into + at, from + other, len)
                               : counting_intersect(into + at, from + other, len);
        assert_int_equal(result, changed);
        assert_memory_equal(into, expected, sizeof(into)); // and nothing around the run
    }
}

static void all_pairs_of_counters_are_combined_right(void **state) {
    (void)state;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            for (int adds = 0; adds < 2; adds++) {
                uint8_t into[9], from[9], expected = (uint8_t)a;
                memset(into, (int)a, sizeof(into));
                memset(from, (int)b, sizeof(from));
                unsigned changed = combine_byte(&expected, (uint8_t)b, adds);
                uint64_t result = adds ? counting_unite(into, from, sizeof(into))
                                       : counting_intersect(into, from, sizeof(into));
                assert_int_equal(result, 9 * changed);
                for (size_t i = 0; i < sizeof(into); i++) assert_int_equal(into[i], expected);
            }
        }
    }
}

static void bits_are_set_where_counters_are_over_zero(void **state) {
    (void)state;
    struct rng r = rng_seeded(57);
    for (uint64_t n = 1; n <= 2 * MOST_BYTES; n++) {
        uint8_t counters[MOST_BYTES], bits[MOST_BYTES] = {0};
        fill_random(&r, counters);
        counting_to_bits(counters, n, bits);
        for (uint64_t p = 0; p < 8 * MOST_BYTES; p++) {
            bool is_over = p < n && (counters[p / 2] >> (p % 2 ? 4 : 0) & 15) != 0;
            assert_int_equal(bits[p / 8] >> p % 8 & 1, is_over);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_any_length_and_place_are_combined_counter_by_counter),
        cmocka_unit_test(all_pairs_of_counters_are_combined_right),
        cmocka_unit_test(bits_are_set_where_counters_are_over_zero),
    };
    return cmocka_run_group_tests_name("runs of counters", tests, NULL, NULL);
}
