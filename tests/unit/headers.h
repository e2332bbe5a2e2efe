/* What the tests of version 2 of the header share: the fields' offsets, round trips, and fields
 * that are out of range. */

#ifndef BLOOMPORT_TESTS_HEADERS_H
#define BLOOMPORT_TESTS_HEADERS_H

#include "tests/unit/header_bytes.h"
#include "tests/unit/windows.h"

/* Offsets of FORMAT.md. */
enum {
    AT_VERSION = 8,
    AT_SCHEME = 12,
    AT_LAYOUT = 13,
    AT_EXPANSION = 16,
    AT_NLAYERS = 20,
    AT_LOADED = 40,
    AT_WINDOW = 48,
    AT_GENERATIONS = 52,
    AT_CAPACITY = 56,
    AT_SEED = 64,
    AT_ROOM = 96,
    AT_LAYERS = 128,
    LAYER_SIZE = 64,
    IN_CAPACITY = 0,
    IN_ITEMS = 8,
    IN_ONES = 16,
    IN_NHASHES = 32,
    IN_NBITS = 36,
    IN_START = 44,
    IN_ROOM = 52,
};

#define LAYER(i, field) (AT_LAYERS + LAYER_SIZE * (i) + (field))
#define MOST_BYTES_DECODED 1000000

static uint64_t read_le(const uint8_t *at, size_t nbytes) {
    uint64_t value = 0;
    while (nbytes-- > 0) value = 256 * value + at[nbytes];
    return value;
}

static enum status decode(const struct header *header, struct filter **out) {
    return decode_within(header, MOST_BYTES_DECODED, out);
}

static void assert_status(const struct header *header, enum status expected, const char *what) {
    assert_status_within(header, MOST_BYTES_DECODED, expected, what);
}

static struct header header_of(struct filter *filter) {
    struct header header = encode(filter);
    filter_free(filter);
    return header;
}

/* A keyed filter of three layers. */
static struct filter *small_keyed(void) {
    struct filter_params params = {.capacity = 20,
                                   .error_rate = 0.01,
                                   .expansion = 2,
                                   .scheme = SCHEME_SIP13,
                                   .seed = ITEM_SEED};
    struct filter *filter = filter_as(&params);
    fill_to(filter, 100, 0);
    assert_int_equal(filter->nlayers, 3);
    return filter;
}

/* ---- Round trips ---- */

/* Decoding gives every field, and bits that are all zero. */
static void assert_round_trip(const struct filter *filter, uint32_t version) {
    struct header header = encode(filter);
    struct filter *decoded = NULL;
    assert_int_equal(read_le(header.bytes + AT_VERSION, 4), version);
    assert_int_equal(decode(&header, &decoded), STATUS_OK);
    assert_int_equal(codec_header_length(header.bytes, header.len), header.len);
    assert_int_equal(codec_header_length(header.bytes, header.len - 1), 0);
    assert_int_equal(codec_header_bytes(header.bytes, header.len), filter_size_bytes(filter));
    for (uint32_t i = 0; i < decoded->nlayers; i++) {
        const struct layer *from = &filter->layers[i];
        assert_int_equal(layer_count_ones(&decoded->layers[i]), 0);
        memcpy(decoded->layers[i].bits, from->bits, layer_array_bytes(from));
    }
    assert_true(same_filter(filter, decoded) && filter->is_estimated == decoded->is_estimated);
    assert_true(filter->is_loading || codec_bits_are_sound(decoded));
    struct header again = encode(decoded);
    assert_int_equal(again.len, header.len);
    assert_memory_equal(again.bytes, header.bytes, header.len);
    filter_free(decoded);
}

/* ---- Fields out of range, the checksum repaired ---- */

struct field {
    const char *what;
    size_t offset, nbytes;
    uint64_t value;
    enum status status; // 0: accepted
};

static void assert_each(const struct header *good, const struct field *fields, size_t nfields) {
    for (size_t i = 0; i < nfields; i++) {
        struct header header = *good;
        set(&header, fields[i].offset, fields[i].nbytes, fields[i].value);
        assert_status(&header, fields[i].status, fields[i].what);
    }
}

#define BAD STATUS_CORRUPT

#endif
