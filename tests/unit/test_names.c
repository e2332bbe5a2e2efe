/* Lists of names against a loop over all pairs. */

#include "tests/unit/helpers.h"

#include "module/core/names.h"

static bool is_same_name(const struct name *a, const struct name *b) {
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static void the_first_of_equal_names_stays_in_its_place(void **state) {
    (void)state;
    static const char *const WORDS[] = {"", "a", "b", "aa", "ab", "a\0b", "a\0c", "ba"};
    static const size_t LENGTHS[] = {0, 1, 1, 2, 2, 3, 3, 2};
    struct rng r = rng_seeded(70);
    for (int round = 0; round < 2000; round++) {
        struct name list[20], names[20];
        size_t n = (size_t)rng_below(&r, COUNT(list) + 1), expected = 0;
        for (size_t i = 0; i < n; i++) {
            size_t which = (size_t)rng_below(&r, 1 + rng_below(&r, COUNT(WORDS)));
            list[i] = names[i] = (struct name){WORDS[which], LENGTHS[which], i};
        }
        size_t kept = names_drop_repeated(names, n);
        for (size_t i = 0; i < n; i++) {
            size_t before = 0;
            while (before < i && !is_same_name(&list[before], &list[i])) before++;
            if (before < i) continue;
            assert_true(expected < kept);
            assert_int_equal(names[expected].at, i);
            assert_true(is_same_name(&names[expected], &list[i]));
            expected++;
        }
        assert_int_equal(kept, expected);
    }
}

/* Comparing each name with all others would be 5e9 comparisons of a page each. */
static void a_hundred_thousand_equal_names_are_one(void **state) {
    (void)state;
    enum { N = 100000 };
    static char bytes[4096];
    struct name *names = malloc(N * sizeof(*names));
    for (size_t i = 0; i < N; i++) names[i] = (struct name){bytes, sizeof(bytes), N - 1 - i};
    assert_int_equal(names_drop_repeated(names, N), 1);
    assert_int_equal(names[0].at, 0);
    free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_equal_names_stays_in_its_place),
        cmocka_unit_test(a_hundred_thousand_equal_names_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
