/* The table of layouts (layout.h): numbers, names, what filters of each can do, and arrays of any
 * length by the row alone. */

#include "tests/unit/helpers.h"

/* Numbers and names are part of the file format: none may ever change. */
static void the_table_of_layouts_stays_as_it_is(void **state) {
    (void)state;
    static const struct {
        const char *name, *word, *unit;
        unsigned position_bits;
        bool grows, takes_window, removes, is_in_v1;
    } ROWS[] = {
        {"CLASSIC", "classic", "bits", 1, true, true, false, true},
        {"BLOCKED", "blocked", "bits", 1, true, true, false, true},
        {"COUNTING", "counting", "counters", 4, false, false, true, false},
    };
    assert_true(LAYOUT_CLASSIC == 0 && LAYOUT_BLOCKED == 1 && LAYOUT_COUNTING == 2);
    assert_int_equal(COUNT(ROWS), LAYOUT_COUNT);
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        enum layout layout = (enum layout)i;
        const struct layout_row *row = layout_row(layout);
        assert_string_equal(layout_name(layout), ROWS[i].name);
        assert_string_equal(layout_word(layout), ROWS[i].word);
        assert_string_equal(row->unit, ROWS[i].unit);
        assert_int_equal(layout_position_bits(layout), ROWS[i].position_bits);
        assert_int_equal(row->grows, ROWS[i].grows);
        assert_int_equal(row->takes_window, ROWS[i].takes_window);
        assert_int_equal(row->removes, ROWS[i].removes);
        assert_int_equal(row->is_in_v1, ROWS[i].is_in_v1);
    }
}

/* What code relies on without asking. */
static void every_row_is_whole(void **state) {
    (void)state;
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        const struct layout_row *row = layout_row((enum layout)i);
        assert_true(row->ones && row->unite && row->intersect);
        assert_true(row->rate_when_full && row->rate_at);
        assert_true(row->multiple >= 1 && row->max_bits <= SIZING_MAX_BITS);
        assert_int_equal(row->max_bits & (row->max_bits - 1), 0); // reply.c names its logarithm
        assert_true(row->probes_ahead == 1 || row->probes_ahead == 2);
        assert_true(row->byte_shift <= 3 && row->nhashes <= row->max_hashes);
        assert_true(row->takes_window <= row->grows); // a window's layers are a chain
        bool is_flat = row->flat == (enum layout)i;
        assert_int_equal(is_flat, row->to_bits == NULL);
        assert_int_equal(layout_row(row->flat)->byte_shift, 3);
    }
}

static void a_number_without_a_layout_has_the_row_of_classic(void **state) {
    (void)state;
    assert_true(layout_exists(LAYOUT_COUNT - 1) && !layout_exists(LAYOUT_COUNT));
    assert_ptr_equal(layout_row(LAYOUT_COUNT), &CLASSIC_LAYOUT);
    assert_ptr_equal(layout_row((enum layout)255), &CLASSIC_LAYOUT);
    assert_false(layout_takes(LAYOUT_COUNT, SCHEME_XXH64));
}

static void a_layout_is_found_by_its_whole_word_in_any_case(void **state) {
    (void)state;
    enum layout found = LAYOUT_COUNT;
    assert_true(layout_find("Blocked", 7, &found) && found == LAYOUT_BLOCKED);
    assert_true(layout_find("COUNTINGS", 8, &found) && found == LAYOUT_COUNTING);
    assert_false(layout_find("COUNT", 5, &found));
    assert_false(layout_find("CLASSICAL", 9, &found));
    assert_false(layout_find("", 0, &found));
    assert_int_equal(found, LAYOUT_COUNTING);
}

static void blocked_takes_one_scheme_and_counting_none_of_imported_filters(void **state) {
    (void)state;
    for (int i = 0; i <= SCHEME_COUNT; i++) {
        enum scheme scheme = (enum scheme)i;
        bool exists = i < SCHEME_COUNT, is_imported = exists && scheme_row(scheme)->is_imported;
        assert_int_equal(layout_takes(LAYOUT_CLASSIC, scheme), exists);
        assert_int_equal(layout_takes(LAYOUT_BLOCKED, scheme), scheme == SCHEME_XXH64);
        assert_int_equal(layout_takes(LAYOUT_COUNTING, scheme), exists && !is_imported);
    }
}

/* No sum of it overflows. */
static void the_bytes_of_m_positions_hold_them_and_no_byte_more(void **state) {
    (void)state;
    assert_int_equal(layout_bytes(LAYOUT_CLASSIC, 0), 0);
    for (uint64_t m = 1; m <= 64; m++) {
        assert_int_equal(layout_bytes(LAYOUT_CLASSIC, m), (m + 7) / 8);
        assert_int_equal(layout_bytes(LAYOUT_BLOCKED, m), (m + 7) / 8);
        assert_int_equal(layout_bytes(LAYOUT_COUNTING, m), (m + 1) / 2);
    }
    assert_true(layout_bytes(LAYOUT_CLASSIC, UINT64_MAX) == UINT64_C(1) << 61);
    assert_true(layout_bytes(LAYOUT_COUNTING, UINT64_MAX) == UINT64_C(1) << 63);
}

/* The tail of a layer: every position of its last byte beyond m, one at a time. */
static void a_set_bit_beyond_m_is_seen_in_every_layout(void **state) {
    (void)state;
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        for (uint64_t m = 1; m <= 16; m++) {
            uint8_t bytes[16] = {0};
            struct layer layer = {.bits = bytes, .layout = (uint8_t)i};
            layer_set_nbits(&layer, m);
            uint64_t bits = m * layout_position_bits((enum layout)i);
            uint64_t all = 8 * layout_bytes((enum layout)i, m);
            for (uint64_t bit = 0; bit < all; bit++) {
                bytes[bit / 8] = (uint8_t)(1U << (bit % 8));
                assert_int_equal(layer_tail_is_zero(&layer), bit < bits);
                bytes[bit / 8] = 0;
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_layouts_stays_as_it_is),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(a_number_without_a_layout_has_the_row_of_classic),
        cmocka_unit_test(a_layout_is_found_by_its_whole_word_in_any_case),
        cmocka_unit_test(blocked_takes_one_scheme_and_counting_none_of_imported_filters),
        cmocka_unit_test(the_bytes_of_m_positions_hold_them_and_no_byte_more),
        cmocka_unit_test(a_set_bit_beyond_m_is_seen_in_every_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
