/* The rows of origins: every table has all of them, and a filter has the sizes that are its own. */

#include "tests/unit/helpers.h"

#include "rdb/codec.h"
#include "rdb/header.h"

static void every_origin_has_its_rows(void **state) {
    (void)state;
    for (int i = 0; i < ORIGIN_COUNT; i++) {
        const struct origin_row *row = origin_row((enum origin)i);
        const struct header_row *header = header_row((enum origin)i);
        assert_true(row->program && row->first_rate && row->next_rate && row->size);
        assert_true(header->size && header->encode && header->decode);
        assert_int_equal(row->is_foreign, i != ORIGIN_OWN);
        assert_int_equal(row->is_foreign, header->make_native != NULL);
    }
}

/* A filter of each origin, its header, and what the header is decoded to. */
static void a_header_comes_back_as_its_own_origin(void **state) {
    (void)state;
    static const enum scheme SCHEMES[ORIGIN_COUNT] = {SCHEME_XXH64, SCHEME_MURMUR, SCHEME_SIP13};
    for (int i = 0; i < ORIGIN_COUNT; i++) {
        struct filter_params params = {.capacity = 20,
                                       .error_rate = 0.01,
                                       .expansion = 2,
                                       .scheme = SCHEMES[i],
                                       .origin = (enum origin)i,
                                       .ratio = i == ORIGIN_VALKEYBLOOM ? 0.5 : 0};
        struct filter *filter = filter_as(&params), *back = NULL;
        size_t len = codec_header_size(filter);
        uint8_t *header = malloc(len);
        codec_encode_header(filter, header);
        assert_ptr_equal(header_find(header, len), header_row((enum origin)i));
        assert_int_equal(codec_decode_header(header, len, FILTER_NO_LIMIT, &back), STATUS_OK);
        assert_true(same_filter(back, filter));
        free(header);
        filter_free(back);
        filter_free(filter);
    }
}

static void only_redisblooms_hash_keeps_its_rules_in_a_filter_of_our_own(void **state) {
    (void)state;
    for (int i = 0; i < SCHEME_COUNT; i++) {
        enum origin rules = i == SCHEME_MURMUR ? ORIGIN_REDISBLOOM : ORIGIN_OWN;
        assert_ptr_equal(origin_rules(ORIGIN_OWN, (enum scheme)i), origin_row(rules));
    }
    assert_ptr_equal(origin_rules(ORIGIN_VALKEYBLOOM, SCHEME_SIP13),
                     origin_row(ORIGIN_VALKEYBLOOM));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(every_origin_has_its_rows),
        spied(a_header_comes_back_as_its_own_origin),
        spied(only_redisblooms_hash_keeps_its_rules_in_a_filter_of_our_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
