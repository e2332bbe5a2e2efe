/* real.h's logarithm and exponential against libm's of long doubles, which are right to 1e-18. */

#include "tests/unit/helpers.h"

#include "module/core/math/real.h"

#define BOUND 1e-15L // what real.h claims

static bool is_near(double got, long double expected) {
    return fabsl((long double)got - expected) <= BOUND * fabsl(expected);
}

static double random_between(struct rng *r, double low, double high) {
    return low + (high - low) * ((double)(rng_next(r) >> 11) * 0x1p-53);
}

static void ln_agrees_with_libm(void **state) {
    (void)state;
    struct rng r = rng_seeded(40);
    for (int i = 0; i < 1000000; i++) {
        double x = ldexp(random_between(&r, 0.5, 1), (int)rng_below(&r, 2000) - 1000);
        if (!is_near(real_ln(x), logl(x))) fail_msg("ln %.17g = %.17g", x, real_ln(x));
    }
}

static void ln_agrees_with_libm_near_1(void **state) {
    (void)state;
    struct rng r = rng_seeded(41);
    for (int i = 0; i < 1000000; i++) {
        double x = 1 + ldexp(random_between(&r, -1, 1), -(int)rng_below(&r, 52));
        if (x > 0 && !is_near(real_ln(x), logl(x))) fail_msg("ln %.17g = %.17g", x, real_ln(x));
    }
    assert_true(real_ln(1) == 0);
}

static void ln_of_the_smallest_and_largest_doubles_agrees_with_libm(void **state) {
    (void)state;
    static const double ENDS[] = {0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, 0.5, 2};
    for (size_t i = 0; i < COUNT(ENDS); i++) assert_true(is_near(real_ln(ENDS[i]), logl(ENDS[i])));
}

static void exp_agrees_with_libm(void **state) {
    (void)state;
    struct rng r = rng_seeded(42);
    for (int i = 0; i < 1000000; i++) {
        double x = random_between(&r, -700, 700);
        if (!is_near(real_exp(x), expl(x))) fail_msg("e^%.17g = %.17g", x, real_exp(x));
        x = random_between(&r, -1, 1);
        if (!is_near(real_exp(x), expl(x))) fail_msg("e^%.17g = %.17g", x, real_exp(x));
    }
    assert_true(real_exp(0) == 1);
}

static void exp_of_what_no_double_can_hold_is_zero(void **state) {
    (void)state;
    assert_true(real_exp(-746) == 0);
    assert_true(real_exp(-1e300) == 0);
    assert_true(real_exp(-INFINITY) == 0);
}

/* The error of x^y grows with y ln x: 1e-15 for each unit of it. */
static void pow_agrees_with_libm(void **state) {
    (void)state;
    if (UNDER_VALGRIND) {
        print_message(
            "valgrind's long doubles have 64 bits: its powl is no more exact than real.h\n");
        skip();
    }
    struct rng r = rng_seeded(43);
    for (int i = 0; i < 1000000; i++) {
        double x = random_between(&r, 1e-9, 1), y = random_between(&r, 0, 30);
        long double expected = powl(x, y), size = 2 + fabsl(y * logl(x));
        assert_true(fabsl(real_pow(x, y) - expected) <= BOUND * size * expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ln_agrees_with_libm),
        cmocka_unit_test(ln_agrees_with_libm_near_1),
        cmocka_unit_test(ln_of_the_smallest_and_largest_doubles_agrees_with_libm),
        cmocka_unit_test(exp_agrees_with_libm),
        cmocka_unit_test(exp_of_what_no_double_can_hold_is_zero),
        cmocka_unit_test(pow_agrees_with_libm),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
