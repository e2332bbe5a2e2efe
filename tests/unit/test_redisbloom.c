/* Foreign filters in the pure code, against rdb/FORMAT.md 6: header, pieces, growth, creation, and
 * running out of memory. tests/server/test_foreign.py tests RedisBloom's own recorded files. */

#include "tests/unit/helpers.h"

#include "rdb/codec.h"
#include "rdb/formats/redisbloom.h"

static struct filter *foreign(uint64_t capacity, double error_rate, uint32_t expansion) {
    struct filter_params params = {.capacity = capacity,
                                   .error_rate = error_rate,
                                   .expansion = expansion,
                                   .scheme = SCHEME_MURMUR,
                                   .origin = ORIGIN_REDISBLOOM};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    return filter;
}

/* Heap blocks of the exact length: the sanitizer sees overreads. */
static enum status decode(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                          struct filter **out) {
    uint8_t *exact = malloc(len ? len : 1);
    if (len) memcpy(exact, bytes, len);
    enum status status = codec_decode_header(exact, len, max_bytes, out);
    free(exact);
    return status;
}

static uint8_t *header_of(const struct filter *filter, size_t *len) {
    *len = codec_header_size(filter);
    uint8_t *header = malloc(*len);
    codec_encode_header(filter, header);
    return header;
}

static struct filter *grown(void) {
    struct filter *filter = foreign(10, 0.01, 2);
    fill_to(filter, 60, 0);
    assert_int_equal(filter->nlayers, 3);
    return filter;
}

static void header_and_pieces_make_the_same_filter(void **state) {
    (void)state;
    struct filter *filter = grown(), *copy = NULL;
    size_t len;
    uint8_t *header = header_of(filter, &len);
    assert_int_equal(len, 20 + 3 * 53);
    assert_int_equal(decode(header, len, FILTER_NO_LIMIT, &copy), STATUS_OK);
    assert_true(copy->origin == ORIGIN_REDISBLOOM && !copy->is_loading);
    assert_int_equal(filter_items(copy), 60);
    const uint8_t *bytes;
    size_t piece;
    for (uint64_t at = 0; (piece = codec_piece_at(filter, at, 7, &bytes)) > 0; at += piece) {
        assert_int_equal(codec_put_piece(copy, at + piece, bytes, piece), CODEC_PIECE_STORED);
        assert_int_equal(codec_put_piece(copy, at + piece, bytes, piece), CODEC_PIECE_PRESENT);
    }
    assert_true(same_filter(filter, copy));
    fill_to(filter, 200, 1000);
    fill_to(copy, 200, 1000);
    assert_true(same_filter(filter, copy));
    free(header);
    filter_free(filter);
    filter_free(copy);
}

static void overwritten_bits_are_counted_anew(void **state) {
    (void)state;
    struct filter *filter = grown();
    struct layer *layer = &filter->layers[1];
    uint64_t end = layer_bytes(filter->layers[0].nbits) + 5;
    const uint8_t ones[4] = {0xFF, 0xFF, 0xFF, 0xFF}, zeroes[4] = {0};
    assert_int_equal(codec_put_piece(filter, end, ones, 4), CODEC_PIECE_STORED);
    assert_int_equal(layer->ones, layer_count_ones(layer));
    assert_int_equal(codec_put_piece(filter, end, zeroes, 4), CODEC_PIECE_STORED);
    assert_int_equal(layer->ones, layer_count_ones(layer));
    filter_free(filter);
}

static void every_truncation_and_extension_of_a_header_is_refused(void **state) {
    (void)state;
    struct filter *filter = grown(), *out = NULL;
    size_t len;
    uint8_t *header = header_of(filter, &len);
    uint8_t *longer = calloc(1, len + 53);
    memcpy(longer, header, len);
    for (size_t n = 0; n <= len + 53; n++) {
        if (n == len) continue;
        assert_int_equal(decode(longer, n, FILTER_NO_LIMIT, &out), STATUS_CORRUPT);
    }
    free(longer);
    free(header);
    filter_free(filter);
}

static void every_changed_byte_of_a_header_is_refused_or_a_usable_filter(void **state) {
    (void)state;
    struct filter *filter = foreign(10, 0.01, 2);
    size_t len;
    uint8_t *header = header_of(filter, &len);
    for (size_t at = 0; at < len; at++) {
        for (int value = 0; value < 256; value++) {
            uint8_t kept = header[at];
            header[at] = (uint8_t)value;
            struct filter *out = NULL;
            if (decode(header, len, 1 << 20, &out) == STATUS_OK) {
                assert_true(out->layers[0].nhashes <= SIZING_INCUMBENT_HASHES);
                bool added;
                try_add(out, 1, 1 << 20, &added);
                filter_free(out);
            }
            header[at] = kept;
        }
    }
    free(header);
    filter_free(filter);
}

static void decoding_and_growing_out_of_memory_leave_things_as_they_were(void **state) {
    (void)state;
    struct filter *filter = grown();
    size_t len;
    uint8_t *header = header_of(filter, &len);
    long live = spy.live;
    enum status status = STATUS_NOMEM;
    for (long n = 1; status != STATUS_OK; n++) {
        struct filter *out = NULL;
        spy_fail_at(n);
        status = decode(header, len, FILTER_NO_LIMIT, &out);
        assert_true(status == STATUS_OK || status == STATUS_NOMEM);
        if (status == STATUS_OK) filter_free(out);
        assert_int_equal(spy.live, live);
    }
    spy_fail_at(0);
    struct filter *out = NULL;
    assert_int_equal(decode(header, len, filter_size_bytes(filter) - 1, &out), STATUS_NOMEM);

    fill_to(filter, filter_capacity(filter), 5000);
    struct filter *before = copy_of(filter);
    uint64_t item = absent_item(filter, 100000);
    bool added;
    for (long n = 1; n <= 2; n++) {
        spy_fail_at(n);
        assert_int_equal(try_add(filter, item, FILTER_NO_LIMIT, &added), STATUS_NOMEM);
        spy_fail_at(0);
        assert_true(same_filter(filter, before));
    }
    free(header);
    filter_free(before);
    filter_free(filter);
}

/* As RedisBloom sizes a filter: half the rate if scaling, all of it if not; bits, hashes, growth.
 */
static void creation_is_redisblooms(void **state) {
    (void)state;
    static const struct {
        uint64_t capacity, nbytes;
        double rate;
        uint32_t expansion, nhashes;
    } ROWS[] = {{1000, 1480 - 96, 0.01, 2, 8},
                {1000, 1296 - 96, 0.01, 0, 7},
                {1000000, 1378568 - 96, 0.01, 2, 8},
                {1000000, 1797296 - 96, 0.001, 0, 10},
                {10000000, 25766112 - 96, 0.0001, 4, 15}};
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct filter *filter = foreign(ROWS[i].capacity, ROWS[i].rate, ROWS[i].expansion);
        assert_int_equal(filter_array_bytes(filter), ROWS[i].nbytes);
        assert_int_equal(filter->layers[0].nhashes, ROWS[i].nhashes);
        struct redisbloom_fixed fixed = redisbloom_fixed_of(filter);
        assert_int_equal(fixed.growth, ROWS[i].expansion ? ROWS[i].expansion : 2);
        assert_int_equal(fixed.options, ROWS[i].expansion ? 5 : 13);
        filter_free(filter);
    }
}

/* Whose type it is makes no difference: a filter that is exported and imported grows on. */
static void a_native_murmur_filter_grows_to_as_many_hashes_as_a_foreign_one(void **state) {
    (void)state;
    for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
        struct filter *filter = foreign(1, 0.01, 1);
        if (!is_foreign) filter->origin = ORIGIN_OWN;
        filter->layers[0].error_rate = 0x1.8p-254; // takes 254, and half of it 255
        fill_to(filter, 3, 0);
        assert_int_equal(filter->layers[1].nhashes, 255);
        assert_int_equal(filter->layers[2].nhashes, 256);
        assert_null(limits_layer_fault(filter, &filter->layers[2]));
        filter_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(header_and_pieces_make_the_same_filter),
        spied(overwritten_bits_are_counted_anew),
        spied(every_truncation_and_extension_of_a_header_is_refused),
        spied(every_changed_byte_of_a_header_is_refused_or_a_usable_filter),
        spied(decoding_and_growing_out_of_memory_leave_things_as_they_were),
        spied(creation_is_redisblooms),
        spied(a_native_murmur_filter_grows_to_as_many_hashes_as_a_foreign_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
