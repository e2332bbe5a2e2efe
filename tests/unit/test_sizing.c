/* The formulas, against libm and against figures known from the literature. test_rates.c measures
 * full filters. */

#include "tests/unit/helpers.h"

#include <math.h>

static struct sizing by_bits(uint64_t capacity, double bits_per_key) {
    struct sizing size = {0, 0};
    assert_true(sizing_by_bits(capacity, bits_per_key, CLASSIC, &size));
    return size;
}

static struct sizing by_error(uint64_t capacity, double error_rate) {
    struct sizing size = {0, 0};
    assert_true(sizing_by_error(capacity, error_rate, CLASSIC, &size));
    return size;
}

/* The textbook, by libm: the rate after `adds` adds, counted or not. Both may be per bit. */
static double textbook_rate(double adds, double nbits, double nhashes) {
    return pow(-expm1(-nhashes * adds / nbits), nhashes);
}

static double textbook_bits(double items, double error_rate, double nhashes) {
    return -nhashes * items / log1p(-pow(error_rate, 1 / nhashes));
}

/* A full layer is one in which `items` adds have counted. An add counts unless its item is a false
 * positive, so more adds are needed: d adds / d items = 1 / (1 - rate). By Runge and Kutta, per
 * bit. */
static double counted_rate(double items_per_bit, double nhashes) {
    const int steps = 2000;
    double adds = 0, h = items_per_bit / steps;
    for (int i = 0; i < steps; i++) {
        double k1 = 1 / (1 - textbook_rate(adds, 1, nhashes));
        double k2 = 1 / (1 - textbook_rate(adds + h / 2 * k1, 1, nhashes));
        double k3 = 1 / (1 - textbook_rate(adds + h / 2 * k2, 1, nhashes));
        double k4 = 1 / (1 - textbook_rate(adds + h * k3, 1, nhashes));
        adds += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return textbook_rate(adds, 1, nhashes);
}

/* The bits per item at which a full layer has `error_rate`, by bisection. */
static double counted_bits(double error_rate, double nhashes) {
    double low = 1.0001, high = 300;
    while (high - low > 1e-9 * high) {
        double middle = (low + high) / 2;
        *(counted_rate(1 / middle, nhashes) > error_rate ? &low : &high) = middle;
    }
    return high;
}

#define LIBM_TOLERANCE 1e-9

static bool is_near(double got, double expected, double relative) {
    return fabs(got - expected) <= relative * fabs(expected);
}

/* ---- By bits per key ---- */

static const struct {
    double bits_per_key;
    uint32_t nhashes;
    double rate, rounding; // after n adds, rounded, and half the last digit
} KNOWN[] = {
    {4, 3, 0.147, 0.0005},    {8, 6, 0.022, 0.0005},       {10, 7, 0.0082, 0.00005},
    {12, 8, 0.0031, 0.00005}, {16, 11, 0.00046, 0.000005}, {20, 14, 0.000067, 0.0000005},
};

static void bits_per_key_give_the_known_hashes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(KNOWN); i++) {
        assert_int_equal(by_bits(1000, KNOWN[i].bits_per_key).nhashes, KNOWN[i].nhashes);
    }
}

/* The known figures are the textbook's, for n adds. */
static void bits_per_key_give_the_known_rates(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(KNOWN); i++) {
        struct sizing size = by_bits(100000000, KNOWN[i].bits_per_key);
        double rate = textbook_rate(1e8, (double)size.nbits, size.nhashes);
        assert_true(fabs(rate - KNOWN[i].rate) <= KNOWN[i].rounding);
    }
}

/* A layer that is filled until n adds have counted has a higher rate at few bits: 16.4 % instead of
 * 14.7 %. */
static void full_layers_of_bits_per_key_have_little_more_than_the_known_rates(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(KNOWN); i++) {
        struct sizing size = by_bits(100000000, KNOWN[i].bits_per_key);
        double rate = sizing_error_rate(100000000, size, CLASSIC);
        double adds = textbook_rate(1e8, (double)size.nbits, size.nhashes);
        print_message("%g bits: k = %u, rate %.4g full, %.4g after n adds\n", KNOWN[i].bits_per_key,
                      size.nhashes, rate, adds);
        assert_true(rate >= adds * (1 - 1e-6) && rate <= adds * (1 + adds));
    }
}

static void bits_per_key_give_exactly_those_bits(void **state) {
    (void)state;
    static const double BITS[] = {1, 1.5, 4, 8, 9.625, 10, 12, 16, 20, 255.5, 256};
    for (size_t i = 0; i < COUNT(BITS); i++) {
        for (uint64_t n = 1; n < UINT64_C(10000000000000); n = n * 3 + 1) {
            // In eighths of a bit, of which all BITS are multiples, this is exact.
            uint64_t eighths = n * (uint64_t)(BITS[i] * 8);
            assert_true(by_bits(n, BITS[i]).nbits == eighths / 8 + (eighths % 8 != 0));
        }
    }
}

static void bits_per_key_that_binary_cannot_write_are_rounded_up_by_at_most_one(void **state) {
    (void)state;
    for (uint64_t tenths = 11; tenths < 300; tenths += 7) {
        for (uint64_t n = 1; n < UINT64_C(1000000000000); n = n * 5 + 2) {
            uint64_t exact = n * tenths / 10 + (n * tenths % 10 != 0);
            uint64_t got = by_bits(n, (double)tenths / 10).nbits;
            assert_true(got == exact || got == exact + 1);
        }
    }
}

static void bits_per_key_hashes_are_ln_2_times_bits_rounded_and_held_to_1_and_30(void **state) {
    (void)state;
    for (double bits = 1; bits <= 256; bits += 0.0625) {
        double expected = fmin(fmax(round(bits * log(2)), 1), 30);
        assert_int_equal(by_bits(1000, bits).nhashes, (uint32_t)expected);
    }
}

/* ---- By error rate ---- */

static void error_rate_hashes_are_minus_log2_rounded_and_held_to_1_and_30(void **state) {
    (void)state;
    for (double log2p = -0.01; log2p > -60; log2p -= 0.0137) {
        double expected = fmin(fmax(round(-log2p), 1), 30);
        double error_rate = exp2(log2p);
        assert_int_equal(by_error(1000000, error_rate).nhashes, (uint32_t)expected);
    }
}

static const double RATES[] = {0.5, 0.3, 0.1, 0.05, 0.01, 0.005, 0.001, 1e-4, 1e-5, 1e-6};

static void large_layers_have_the_fewest_bits_that_keep_the_promise(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(RATES); i++) {
        for (uint64_t n = 1000000; n <= 1000000000; n *= 10) {
            struct sizing size = by_error(n, RATES[i]);
            double fewest = counted_bits(RATES[i], size.nhashes);
            if (!is_near((double)size.nbits / (double)n, fewest, 0.001)) {
                fail_msg("n = %g, p = %g: %.4f bits per item, %.4f would do", (double)n, RATES[i],
                         (double)size.nbits / (double)n, fewest);
            }
        }
    }
}

static void large_layers_of_low_rates_have_the_bits_of_the_textbook(void **state) {
    (void)state;
    for (double p = 0.001; p >= 1e-6; p /= 10) { // above, what n counted items cost shows
        struct sizing size = by_error(1000000, p);
        assert_true(is_near((double)size.nbits, textbook_bits(1e6, p, size.nhashes), 0.001));
    }
}

static void layers_keep_the_promise_of_their_own_model(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(RATES); i++) {
        for (uint64_t n = 1; n < UINT64_C(1000000000000); n = n * 2 + 1) {
            struct sizing size = by_error(n, RATES[i]);
            double rate = sizing_error_rate(n, size, CLASSIC);
            if (rate > RATES[i] * (1 + 1e-9)) {
                fail_msg("n = %g, p = %g: %g", (double)n, RATES[i], rate);
            }
        }
    }
}

static void small_layers_never_have_fewer_bits_than_the_textbook(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(RATES); i++) {
        for (uint64_t n = 1; n < 100000; n += 1 + n / 8) {
            struct sizing size = by_error(n, RATES[i]);
            double textbook = textbook_bits((double)n, RATES[i], size.nhashes);
            assert_true((double)size.nbits >= textbook * (1 - 1e-9));
        }
    }
}

/* The order is strict from a rate of 0.001 up. Below, the rate ripples in m as m gains and loses
 * small factors, and the search stops at one of the ripples: that may cost 3 %. */
static void bits_never_shrink_as_capacity_grows(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(RATES); i++) {
        double least = 0, ripple = RATES[i] >= 0.001 ? 0 : 0.03;
        for (uint64_t n = 1; n < UINT64_C(1000000000000); n += 1 + n / 32) {
            double nbits = (double)by_error(n, RATES[i]).nbits;
            if (nbits < least) fail_msg("n = %llu, p = %g", (unsigned long long)n, RATES[i]);
            least = fmax(least, nbits * (1 - ripple));
        }
    }
}

/* Where k steps up, fewer bits suffice: 7 % fewer at k = 1 -> 2 (1 counted item sets 1 bit at
 * k = 1), less at every later step. Otherwise the order is strict down to 0.001, and within the
 * ripple below that. */
static void bits_never_shrink_as_the_error_rate_does(void **state) {
    (void)state;
    static const uint64_t CAPACITIES[] = {1, 5, 10, 100, 1000, 1000000, 1000000000};
    for (size_t i = 0; i < COUNT(CAPACITIES); i++) {
        struct sizing last = {0, 0};
        for (double p = 0.9; p > 1e-9; p *= 0.98) {
            struct sizing size = by_error(CAPACITIES[i], p);
            double slack = size.nhashes != last.nhashes ? 0.08 : p >= 0.001 ? 0 : 0.03;
            if ((double)size.nbits < floor((double)last.nbits * (1 - slack))) {
                fail_msg("n = %llu, p = %g: %llu after %llu", (unsigned long long)CAPACITIES[i], p,
                         (unsigned long long)size.nbits, (unsigned long long)last.nbits);
            }
            last = size;
        }
    }
}

static void first_layer_of_a_million_at_one_percent_takes_at_most_10_6_bits_per_item(void **state) {
    (void)state;
    double share = SIZING_FIRST_SHARE;
    double bits = (double)by_error(1000000, 0.01 * share).nbits / 1e6;
    print_message("first share %g: %.3f bits per item\n", share, bits);
    assert_true(share > 0 && share < 1);
    assert_true(bits <= 10.6);
}

/* ---- Too large ---- */

static void more_bits_than_the_limit_is_false_with_out_unchanged(void **state) {
    (void)state;
    struct sizing size = {42, 43};
    assert_false(sizing_by_error(UINT64_C(1000000000000000000), 1e-6, CLASSIC, &size));
    assert_false(sizing_by_error(UINT64_C(1000000000000000000), 0.01, CLASSIC, &size));
    assert_false(sizing_by_error(INT64_MAX, 0.5, CLASSIC, &size));
    assert_false(sizing_by_error(INT64_MAX, 1e-300, CLASSIC, &size));
    assert_false(sizing_by_error(UINT64_MAX, 0.01, CLASSIC, &size));
    assert_false(sizing_by_bits(INT64_MAX, 1, CLASSIC, &size));
    assert_false(sizing_by_bits(INT64_MAX, 256, CLASSIC, &size));
    assert_false(sizing_by_bits(UINT64_MAX, 256, CLASSIC, &size));
    assert_false(sizing_by_bits(SIZING_MAX_BITS / 8 + 1000000, 8, CLASSIC, &size));
    assert_true(size.nbits == 42 && size.nhashes == 43);
}

static void the_limit_itself_is_allowed(void **state) {
    (void)state;
    assert_true(by_bits(SIZING_MAX_BITS / 8, 8).nbits == SIZING_MAX_BITS);
    assert_true(by_bits(SIZING_MAX_BITS, 1).nbits == SIZING_MAX_BITS);
}

static void the_smallest_error_rates_have_a_size(void **state) {
    (void)state;
    struct sizing size;
    for (double p = 1e-9; p > 0; p /= 1e10) {
        if (sizing_by_error(1, p, CLASSIC, &size))
            assert_true(size.nbits >= 1 && size.nhashes == 30);
    }
    assert_true(sizing_by_error(1, 1 - 1e-16, CLASSIC, &size));
    assert_true(size.nbits >= 1 && size.nhashes == 1);
}

/* ---- The rate ---- */

static double error_rate(uint64_t items, uint64_t nbits, uint32_t nhashes) {
    return sizing_error_rate(items, (struct sizing){nbits, nhashes}, CLASSIC);
}

/* At m = 2^59 the cost of small arrays has vanished (it is proportional to 1/m). */
static void error_rate_agrees_with_libm_at_large_sizes(void **state) {
    (void)state;
    for (double bits = 2; bits <= 40; bits += 1.7) {
        for (uint32_t k = 1; k <= 30; k++) {
            double items = floor(0x1p59 / bits), expected = counted_rate(items / 0x1p59, k);
            if (expected > 0.5) continue; // no layer of the module is that full
            double got = error_rate((uint64_t)items, UINT64_C(1) << 59, k);
            if (!is_near(got, expected, LIBM_TOLERANCE)) {
                fail_msg("bits %g, k %u: %.15g, libm %.15g", bits, k, got, expected);
            }
        }
    }
}

static void error_rate_of_one_hash_is_the_share_of_set_bits(void **state) {
    (void)state;
    // With k = 1 every add that counts sets exactly one bit.
    for (uint64_t n = 1; n < 100000; n = n * 3 + 1) {
        assert_true(is_near(error_rate(n, 2 * n, 1), 0.5, 1e-6));
        assert_true(is_near(error_rate(n, 10 * n, 1), 0.1, 1e-6));
    }
}

static void error_rate_is_a_probability_and_never_falls_with_items(void **state) {
    (void)state;
    static const uint64_t SIZES[] = {1, 2, 7, 64, 1000, 1000003, UINT64_C(1) << 40};
    for (size_t i = 0; i < COUNT(SIZES); i++) {
        for (uint32_t k = 1; k <= 30; k += 1 + k / 4) {
            double last = 0;
            for (uint64_t items = 1; items <= SIZES[i]; items += 1 + items / 2) {
                double rate = error_rate(items, SIZES[i], k);
                if (!(rate >= last * (1 - 1e-9) && rate > 0 && rate <= 1)) {
                    fail_msg("n %llu, m %llu, k %u: %.12g after %.12g", (unsigned long long)items,
                             (unsigned long long)SIZES[i], k, rate, last);
                }
                last = rate;
            }
        }
    }
}

/* ---- Growth ---- */

static void assert_budget_holds(double first, double expansion, int nlayers) {
    double total = first, last = first, sum = 0;
    for (int i = 1; i < nlayers && total < 9.2e18; i++) {
        last *= expansion;
        double share = sizing_growth_share(first, total, total + last);
        if (!(share > 0)) fail_msg("layer %d of expansion %g: share %g", i, expansion, share);
        sum += share;
        total += last;
        if (!(sum < 1)) fail_msg("%d layers of expansion %g: sum %.17g", i, expansion, sum);
    }
}

static void growth_shares_are_positive_and_sum_to_less_than_one(void **state) {
    (void)state;
    static const double FIRST[] = {1, 7, 1000, 1e6, 1e12};
    static const double EXPANSION[] = {1, 2, 3, 4, 10, 1000, 32768};
    for (size_t i = 0; i < COUNT(FIRST); i++) {
        for (size_t j = 0; j < COUNT(EXPANSION); j++) {
            assert_budget_holds(FIRST[i], EXPANSION[j], 10000);
        }
    }
}

static void growth_shares_sum_to_less_than_one_over_random_chains(void **state) {
    (void)state;
    struct rng r = rng_seeded(6);
    for (int chain = 0; chain < 1000; chain++) {
        double first = (double)(1 + rng_below(&r, 100000)), total = first, sum = 0;
        for (int i = 1; i < 200 && total < 9.2e18; i++) {
            double step = 1 + (double)rng_below(&r, (uint64_t)first * 3);
            double share = sizing_growth_share(first, total, total + step);
            assert_true(share > 0);
            sum += share;
            total += step;
        }
        assert_true(sum < 1);
    }
}

static void sizes_are_the_same_when_asked_again(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(RATES); i++) {
        for (uint64_t n = 1; n < 1000000; n = n * 3 + 1) {
            struct sizing one = by_error(n, RATES[i]), two = by_error(n, RATES[i]);
            assert_true(one.nbits == two.nbits && one.nhashes == two.nhashes);
        }
    }
}

/* Here 1 - p^(1/8) is 1; UBSan checks the conversion of the result. */
static void rates_that_no_blocked_layer_can_have_are_refused(void **state) {
    (void)state;
    struct sizing size;
    assert_false(sizing_by_error(1, 1e-128, BLOCKED, &size));
    assert_false(sizing_by_error(100, 1e-200, BLOCKED, &size));
    assert_false(sizing_by_error(1, 0x1p-1074, BLOCKED, &size));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_per_key_give_the_known_hashes),
        cmocka_unit_test(bits_per_key_give_the_known_rates),
        cmocka_unit_test(full_layers_of_bits_per_key_have_little_more_than_the_known_rates),
        cmocka_unit_test(bits_per_key_give_exactly_those_bits),
        cmocka_unit_test(bits_per_key_that_binary_cannot_write_are_rounded_up_by_at_most_one),
        cmocka_unit_test(bits_per_key_hashes_are_ln_2_times_bits_rounded_and_held_to_1_and_30),
        cmocka_unit_test(error_rate_hashes_are_minus_log2_rounded_and_held_to_1_and_30),
        cmocka_unit_test(large_layers_have_the_fewest_bits_that_keep_the_promise),
        cmocka_unit_test(large_layers_of_low_rates_have_the_bits_of_the_textbook),
        cmocka_unit_test(layers_keep_the_promise_of_their_own_model),
        cmocka_unit_test(small_layers_never_have_fewer_bits_than_the_textbook),
        cmocka_unit_test(bits_never_shrink_as_capacity_grows),
        cmocka_unit_test(bits_never_shrink_as_the_error_rate_does),
        cmocka_unit_test(first_layer_of_a_million_at_one_percent_takes_at_most_10_6_bits_per_item),
        cmocka_unit_test(more_bits_than_the_limit_is_false_with_out_unchanged),
        cmocka_unit_test(the_limit_itself_is_allowed),
        cmocka_unit_test(the_smallest_error_rates_have_a_size),
        cmocka_unit_test(error_rate_agrees_with_libm_at_large_sizes),
        cmocka_unit_test(error_rate_of_one_hash_is_the_share_of_set_bits),
        cmocka_unit_test(error_rate_is_a_probability_and_never_falls_with_items),
        cmocka_unit_test(growth_shares_are_positive_and_sum_to_less_than_one),
        cmocka_unit_test(growth_shares_sum_to_less_than_one_over_random_chains),
        cmocka_unit_test(sizes_are_the_same_when_asked_again),
        cmocka_unit_test(rates_that_no_blocked_layer_can_have_are_refused),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
