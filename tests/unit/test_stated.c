/* The error rate that filters state is the one that lookups find, within 10 %: a selection of the
 * cells of `make study T=study_stated`, which prints all. stated.h says how a cell is measured, and
 * what its bound is. The cells are those where fill^k is farthest from the truth, and for each kind
 * of walk those which are within 10 %. */

#include "tests/unit/helpers.h"
#include "tests/unit/stated.h"

#define LOOKUPS (RUNS_SLOWLY ? 2e4 : 2e5)

static int false_cells(struct geometry geometry, uint64_t items, struct sizing size) {
    int count = 0;
    for (int state = 0; state <= STATED_MERGED_FULL; state++) {
        if (items == 1 && (state == STATED_HALF || state == STATED_MERGED_HALVES)) continue;
        struct stated_cell cell = {geometry, items, size, (enum stated_state)state};
        struct stated_result result = stated_measure(&cell, LOOKUPS);
        stated_print(&cell, &result);
        count += !stated_is_true(&result);
    }
    return count;
}

static const struct {
    uint64_t items;
    double error_rate;
} OWN[] = {{1, 1e-4},   {1, 1e-6},   {5, 0.1},     {5, 1e-4},     {10, 0.001},
           {100, 0.01}, {100, 1e-4}, {1000, 1e-5}, {10000, 0.01}, {10000, 1e-6}};

static int false_of_own(struct geometry geometry) {
    int count = 0;
    for (size_t i = 0; i < COUNT(OWN); i++) {
        struct sizing size;
        assert_true(sizing_by_error(OWN[i].items, OWN[i].error_rate, geometry, &size));
        count += false_cells(geometry, OWN[i].items, size);
    }
    return count;
}

static void classic_filters_state_what_lookups_find(void **state) {
    (void)state;
    assert_int_equal(false_of_own((struct geometry){LAYOUT_CLASSIC, SCHEME_XXH64}), 0);
}

static void blocked_filters_state_what_lookups_find(void **state) {
    (void)state;
    assert_int_equal(false_of_own((struct geometry){LAYOUT_BLOCKED, SCHEME_XXH64}), 0);
}

static void counting_filters_state_what_lookups_find(void **state) {
    (void)state;
    assert_int_equal(false_of_own((struct geometry){LAYOUT_COUNTING, SCHEME_XXH64}), 0);
}

static void filters_of_narrow_words_state_what_lookups_find(void **state) {
    (void)state;
    assert_int_equal(false_of_own((struct geometry){LAYOUT_CLASSIC, SCHEME_FNV1A}), 0);
}

static void keyed_filters_state_what_lookups_find(void **state) {
    (void)state;
    assert_int_equal(false_of_own((struct geometry){LAYOUT_CLASSIC, SCHEME_SIP13}), 0);
}

/* m is the textbook's, rounded up to words, as RedisBloom and most libraries have it. */
static void filters_of_other_programs_state_what_lookups_find(void **state) {
    (void)state;
    static const enum scheme SCHEMES[] = {SCHEME_MURMUR,     SCHEME_GUAVA32, SCHEME_GUAVA64,
                                          SCHEME_SPARK1,     SCHEME_SPARK2,  SCHEME_BIP37,
                                          SCHEME_ROCKSDB,    SCHEME_GO,      SCHEME_DATASKETCHES,
                                          SCHEME_CASSANDRA2, SCHEME_ROCKSDB4};
    static const double RATES[] = {0.1, 0.01, 0.001};
    int count = 0;
    for (size_t i = 0; i < COUNT(SCHEMES) * COUNT(RATES); i++) {
        struct geometry geometry = {LAYOUT_CLASSIC, SCHEMES[i / COUNT(RATES)]};
        bool is_lines = geometry.scheme == SCHEME_ROCKSDB || geometry.scheme == SCHEME_ROCKSDB4;
        double rate = RATES[i % COUNT(RATES)], bits = -300 * log(rate) / (log(2) * log(2));
        // lines: an odd number of them, as RocksDB has it
        uint64_t nbits =
            is_lines ? 512 * ((uint64_t)ceil(bits / 512) | 1) : 64 * (uint64_t)ceil(bits / 64);
        struct sizing size = {nbits, (uint32_t)floor(0.5 - log2(rate))};
        count += false_cells(geometry, 300, size);
    }
    assert_int_equal(count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classic_filters_state_what_lookups_find),
        cmocka_unit_test(blocked_filters_state_what_lookups_find),
        cmocka_unit_test(counting_filters_state_what_lookups_find),
        cmocka_unit_test(filters_of_narrow_words_state_what_lookups_find),
        cmocka_unit_test(keyed_filters_state_what_lookups_find),
        cmocka_unit_test(filters_of_other_programs_state_what_lookups_find),
    };
    return cmocka_run_group_tests_name("stated rates", tests, print_seed, NULL);
}
