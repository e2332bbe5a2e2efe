/* The short record, version 3, against rdb/FORMAT.md: which filters have one, its bytes, the way
 * there and back, and that every other input is refused. */

#include "tests/unit/helpers.h"

#include "rdb/codec.h"
#include "rdb/short_record.h"

#include <math.h>

/* Offsets of FORMAT.md 3. */
enum {
    AT_VERSION = 0,
    AT_NHASHES = 1,
    AT_EXPANSION = 2,
    AT_NBITS = 4,
    AT_CAPACITY = 6,
    AT_ITEMS = 8,
    AT_ERROR_RATE = 10,
    AT_BITS = 18,
};
#define CHECKSUM 4

struct record {
    uint8_t bytes[SHORT_RECORD_MOST_BYTES + 8];
    size_t len;
};

static struct record encode(const struct filter *filter) {
    struct record record;
    record.len = short_record_encode(filter, record.bytes);
    return record;
}

/* Decodes from a block of exactly that length, so that the sanitizer sees a read past the end. */
static enum status decode_within(const struct record *record, uint64_t max_bytes, void **out) {
    uint8_t *exact = malloc(record->len + 1);
    memcpy(exact + 1, record->bytes, record->len); // at an odd address, too
    enum status status = short_record_decode(exact + 1, record->len, max_bytes, NULL, out);
    free(exact);
    return status;
}

static void assert_status(const struct record *record, enum status expected, const char *what) {
    void *value = NULL;
    long live = spy.live;
    enum status status = decode_within(record, FILTER_NO_LIMIT, &value);
    if (status != expected) fail_msg("%s: status %d, expected %d", what, status, expected);
    assert_true((status == STATUS_OK) == (value != NULL));
    if (value) packed_free(value);
    assert_int_equal(spy.live, live);
}

static void write_le(uint8_t *at, uint64_t value, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++, value /= 256) at[i] = (uint8_t)(value % 256);
}

static void repair_checksum(struct record *record) {
    size_t len = record->len - CHECKSUM;
    write_le(record->bytes + len, hash_checksum(record->bytes, len), CHECKSUM);
}

static void set(struct record *record, size_t offset, size_t nbytes, uint64_t value) {
    write_le(record->bytes + offset, value, nbytes);
    repair_checksum(record);
}

static uint64_t bits_of(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* ---- Which filters, there and back ---- */

/* Encoded, decoded and encoded again. */
static void assert_round_trip(const struct filter *filter) {
    struct record record = encode(filter);
    assert_int_equal(record.len, 22 + layer_bytes(filter->layers[0].nbits));
    assert_true(short_record_begins(record.bytes, record.len));
    void *value = NULL;
    assert_int_equal(decode_within(&record, filter_size_bytes(filter), &value), STATUS_OK);
    assert_true(packed_is_packed(value));
    struct packed_view view;
    const struct filter *decoded = packed_view(value, &view);
    assert_true(same_filter(decoded, filter));
    assert_true(decoded->layers[0].inverse == filter->layers[0].inverse);
    struct record again = encode(decoded);
    assert_int_equal(again.len, record.len);
    assert_memory_equal(again.bytes, record.bytes, record.len);
    packed_free(value);
}

static void small_filters_of_all_shapes_come_back_as_they_went(void **state) {
    (void)state;
    static const double RATES[] = {0.9, 0.1, 0.01, 1e-6, 1e-9};
    static const uint32_t EXPANSIONS[] = {0, 1, 2, 255, LIMITS_MAX_EXPANSION};
    int shorts = 0, others = 0;
    for (uint64_t capacity = 1; capacity < 2000; capacity += 1 + capacity / 3) {
        for (size_t i = 0; i < COUNT(RATES) * COUNT(EXPANSIONS); i++) {
            double rate = RATES[i % COUNT(RATES)];
            struct filter *filter = NULL;
            struct filter_params params = {.capacity = capacity,
                                           .error_rate = rate,
                                           .expansion = EXPANSIONS[i / COUNT(RATES)]};
            assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
            bool is_small = filter->layers[0].nbits <= 8192;
            for (uint64_t items = 0; items <= capacity; items += capacity) {
                fill_to(filter, items, 0);
                if (is_small) assert_round_trip(filter);
                assert_true((encode(filter).len > 0) == is_small);
            }
            shorts += is_small;
            others += !is_small;
            filter_free(filter);
        }
    }
    assert_true(shorts > 100 && others > 100);
}

/* The same bytes whether the server's memory sufficed to pack it or not. */
static void a_packed_filter_has_the_record_of_the_unpacked_one(void **state) {
    (void)state;
    struct filter *filter = filter_by_error(100, 0.01, 2);
    fill_to(filter, 60, 0);
    struct record unpacked = encode(filter);
    void *value = packed_pack(filter);
    assert_true(packed_is_packed(value));
    struct packed_view view;
    struct record packed = encode(packed_view(value, &view));
    assert_int_equal(packed.len, unpacked.len);
    assert_memory_equal(packed.bytes, unpacked.bytes, packed.len);
    packed_free(value);
}

static void assert_has_none(struct filter *filter) {
    assert_int_equal(encode(filter).len, 0);
    filter_free(filter);
}

static void other_filters_have_no_short_record(void **state) {
    (void)state;
    static const struct filter_params OTHERS[] = {
        {.capacity = 9, .bits_per_key = 10, .expansion = 2},
        {.capacity = 9, .error_rate = 0.01, .scheme = SCHEME_FNV1A},
        {.capacity = 9, .error_rate = 0.01, .scheme = SCHEME_SIP13},
        {.capacity = 9, .error_rate = 0.01, .layout = LAYOUT_BLOCKED},
        {.capacity = 9, .error_rate = 0.01, .layout = LAYOUT_COUNTING},
        {.capacity = 9, .error_rate = 0.01, .expansion = 2, .window = 60, .generations = 1},
    };
    for (size_t i = 0; i < COUNT(OTHERS); i++) assert_has_none(filter_as(&OTHERS[i]));
    struct filter *filter = filter_by_error(10, 0.01, 2);
    fill_to(filter, 11, 0);
    assert_has_none(filter); // two layers
    filter = filter_by_error(10, 0.01, 2);
    filter->is_loading = true;
    filter->loaded = 1;
    assert_has_none(filter);
    filter = filter_by_error(10, 0.01, 2);
    filter->is_estimated = true;
    assert_has_none(filter);
    filter = filter_by_error(10, 0.01, 2);
    filter->layers[0].capacity = 65536;
    assert_has_none(filter);
    filter = filter_by_error(10, 0.01, 2);
    filter->layers[0].error_rate *= 1.0000001;
    assert_has_none(filter);
}

/* ---- The bytes themselves ---- */

/* The example of FORMAT.md: capacity 4, error rate 0.01, two items that set these 12 bits. The
 * checksum is of a Python XXH64 that shares no code with this one. */
static const uint8_t GOLDEN[] = {
    3,                                              // version
    7,                                              // k
    2,    0,                                        // expansion
    57,   0,                                        // m
    4,    0,                                        // capacity
    2,    0,                                        // items
    0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84, 0x3f, // error rate 0.01
    0x64, 0x00, 0x89, 0x28, 0x40, 0x11, 0x08, 0x00, // bits
    0xce, 0x3f, 0xa0, 0x44,                         // checksum
};

static struct filter *golden_filter(void) {
    struct filter *filter = filter_by_error(4, 0.01, 2);
    struct layer *layer = &filter->layers[0];
    assert_int_equal(layer->nbits, 57);
    assert_int_equal(layer->nhashes, 7);
    memcpy(layer->bits, GOLDEN + AT_BITS, 8);
    layer->items = 2;
    layer->ones = 12;
    return filter;
}

static struct record golden(void) {
    struct record record = {.len = sizeof GOLDEN};
    memcpy(record.bytes, GOLDEN, sizeof GOLDEN);
    return record;
}

static void the_example_of_the_format_is_its_filter(void **state) {
    (void)state;
    struct filter *filter = golden_filter();
    struct record record = encode(filter), expected = golden();
    assert_int_equal(record.len, expected.len);
    assert_memory_equal(record.bytes, expected.bytes, expected.len);
    assert_round_trip(filter);
    filter_free(filter);
}

/* A header begins with another byte, and the decoder of headers refuses a record. */
static void a_record_and_a_header_are_told_apart_by_their_first_byte(void **state) {
    (void)state;
    struct filter *filter = golden_filter(), *decoded = NULL;
    uint8_t header[200];
    assert_true(codec_header_size(filter) <= sizeof header);
    codec_encode_header(filter, header);
    assert_false(short_record_begins(header, codec_header_size(filter)));
    assert_false(short_record_begins(header, 0));
    assert_int_equal(codec_decode_header(GOLDEN, sizeof GOLDEN, FILTER_NO_LIMIT, &decoded),
                     STATUS_CORRUPT);
    assert_int_equal(codec_header_length(GOLDEN, sizeof GOLDEN), 0);
    filter_free(filter);
}

/* ---- Damage ---- */

static void every_flip_of_a_byte_is_refused(void **state) {
    (void)state;
    struct record record = golden();
    for (size_t at = 0; at < record.len; at++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            record.bytes[at] ^= (uint8_t)flip;
            assert_status(&record, STATUS_CORRUPT, "a flipped byte");
            record.bytes[at] ^= (uint8_t)flip;
        }
    }
    assert_status(&record, STATUS_OK, "the record itself");
}

static void every_other_length_is_refused_even_with_a_good_checksum(void **state) {
    (void)state;
    for (size_t len = 0; len <= sizeof GOLDEN + 8; len++) {
        if (len == sizeof GOLDEN) continue;
        struct record record = golden();
        memset(record.bytes + sizeof GOLDEN, 0, 8);
        record.len = len;
        assert_status(&record, STATUS_CORRUPT, "another length");
        if (len < CHECKSUM) continue;
        repair_checksum(&record);
        assert_status(&record, STATUS_CORRUPT, "another length, checksum repaired");
    }
}

struct field {
    const char *what;
    size_t offset, nbytes;
    uint64_t value;
    enum status status;
};

#define BAD STATUS_CORRUPT

static void assert_each(const struct field *fields, size_t nfields) {
    for (size_t i = 0; i < nfields; i++) {
        struct record record = golden();
        set(&record, fields[i].offset, fields[i].nbytes, fields[i].value);
        assert_status(&record, fields[i].status, fields[i].what);
    }
}

static void numbers_out_of_range_are_refused(void **state) {
    (void)state;
    static const struct field FIELDS[] = {
        {"version 2", AT_VERSION, 1, 2, BAD},
        {"version 4", AT_VERSION, 1, 4, BAD},
        {"k = 0", AT_NHASHES, 1, 0, BAD},
        {"k = 255", AT_NHASHES, 1, 255, STATUS_OK},
        {"non-scaling", AT_EXPANSION, 2, 0, STATUS_OK},
        {"expansion 32768", AT_EXPANSION, 2, 32768, STATUS_OK},
        {"expansion 32769", AT_EXPANSION, 2, 32769, BAD},
        {"expansion 65535", AT_EXPANSION, 2, 65535, BAD},
        {"m = 0", AT_NBITS, 2, 0, BAD},
        {"m of seven bytes", AT_NBITS, 2, 56, BAD},
        {"m = 64", AT_NBITS, 2, 64, STATUS_OK},
        {"m of nine bytes", AT_NBITS, 2, 65, BAD},
        {"m = 65535", AT_NBITS, 2, 65535, BAD},
        {"capacity 0", AT_CAPACITY, 2, 0, BAD},
        {"capacity below the items", AT_CAPACITY, 2, 1, BAD},
        {"capacity of the items", AT_CAPACITY, 2, 2, STATUS_OK},
        {"capacity 65535", AT_CAPACITY, 2, 65535, STATUS_OK},
        {"no items, but bits", AT_ITEMS, 2, 0, BAD},
        {"too few items for the bits", AT_ITEMS, 2, 1, BAD},
        {"items of the capacity", AT_ITEMS, 2, 4, STATUS_OK},
        {"more items than capacity", AT_ITEMS, 2, 5, BAD},
        {"a bit beyond m, which is one too many", AT_BITS + 7, 1, 2, BAD},
        {"the last bit", AT_BITS + 7, 1, 1, STATUS_OK},
        {"no bits, but items", AT_BITS, 8, 0, BAD},
    };
    assert_each(FIELDS, COUNT(FIELDS));
}

static void error_rates_out_of_range_are_refused(void **state) {
    (void)state;
    const struct field FIELDS[] = {
        {"0", AT_ERROR_RATE, 8, 0, BAD},
        {"-0", AT_ERROR_RATE, 8, bits_of(-0.0), BAD},
        {"the least over 0", AT_ERROR_RATE, 8, 1, STATUS_OK},
        {"below 0", AT_ERROR_RATE, 8, bits_of(-0.01), BAD},
        {"the most under 1", AT_ERROR_RATE, 8, bits_of(1) - 1, STATUS_OK},
        {"1", AT_ERROR_RATE, 8, bits_of(1), BAD},
        {"infinite", AT_ERROR_RATE, 8, bits_of(INFINITY), BAD},
        {"no number", AT_ERROR_RATE, 8, bits_of(NAN), BAD},
    };
    assert_each(FIELDS, COUNT(FIELDS));
}

/* Items beyond the set bits need a capacity that allows them. */
static void more_items_than_set_bits_are_refused(void **state) {
    (void)state;
    struct record record = golden();
    set(&record, AT_CAPACITY, 2, 100);
    set(&record, AT_ITEMS, 2, 12);
    assert_status(&record, STATUS_OK, "as many items as set bits");
    set(&record, AT_ITEMS, 2, 13);
    assert_status(&record, STATUS_CORRUPT, "more items than set bits");
}

/* A record of m bits, all set; the items are one for each k bits. */
static struct record full_record(uint64_t nbits) {
    struct record record = golden();
    size_t nbytes = (size_t)layer_bytes(nbits);
    record.len = 22 + nbytes;
    memset(record.bytes + AT_BITS, 0xff, nbytes);
    if (nbits % 8) record.bytes[AT_BITS + nbytes - 1] = (uint8_t)((1 << nbits % 8) - 1);
    write_le(record.bytes + AT_NBITS, nbits, 2);
    write_le(record.bytes + AT_CAPACITY, 65535, 2);
    set(&record, AT_ITEMS, 2, (nbits + 6) / 7);
    return record;
}

static void records_of_1_to_8192_bits_are_accepted_and_not_of_one_more(void **state) {
    (void)state;
    for (uint64_t nbits = 1; nbits <= 8193; nbits += nbits < 20 || nbits > 8180 ? 1 : 11) {
        struct record record = full_record(nbits);
        assert_status(&record, nbits <= 8192 ? STATUS_OK : STATUS_CORRUPT, "bits");
    }
}

/* ---- Memory ---- */

static void a_filter_over_the_limit_is_refused(void **state) {
    (void)state;
    struct record record = golden();
    void *value = NULL;
    struct filter *filter = golden_filter();
    uint64_t size = filter_size_bytes(filter);
    filter_free(filter);
    assert_int_equal(decode_within(&record, size - 1, &value), STATUS_NOMEM);
    assert_null(value);
    assert_int_equal(decode_within(&record, size, &value), STATUS_OK);
    packed_free(value);
}

static void out_of_memory_is_a_status_and_leaks_nothing(void **state) {
    (void)state;
    struct record record = golden();
    void *value = NULL;
    long live = spy.live;
    spy_fail_at(1);
    assert_int_equal(decode_within(&record, FILTER_NO_LIMIT, &value), STATUS_NOMEM);
    spy_fail_at(2);
    assert_int_equal(spy.live, live);
    assert_null(value);
    assert_int_equal(decode_within(&record, FILTER_NO_LIMIT, &value), STATUS_OK);
    spy_fail_at(0);
    assert_int_equal(spy.live, live + 1); // one allocation in all
    packed_free(value);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(small_filters_of_all_shapes_come_back_as_they_went),
        spied(a_packed_filter_has_the_record_of_the_unpacked_one),
        spied(other_filters_have_no_short_record),
        spied(the_example_of_the_format_is_its_filter),
        spied(a_record_and_a_header_are_told_apart_by_their_first_byte),
        spied(every_flip_of_a_byte_is_refused),
        spied(every_other_length_is_refused_even_with_a_good_checksum),
        spied(numbers_out_of_range_are_refused),
        spied(error_rates_out_of_range_are_refused),
        spied(more_items_than_set_bits_are_refused),
        spied(records_of_1_to_8192_bits_are_accepted_and_not_of_one_more),
        spied(a_filter_over_the_limit_is_refused),
        spied(out_of_memory_is_a_status_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
