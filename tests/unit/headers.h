/* What the tests of version 2 of the header share: the fields' offsets, encoding, decoding from a
 * block of exactly its length, round trips, and fields set to other values with the checksum
 * repaired. */

#ifndef BLOOMPORT_TESTS_HEADERS_H
#define BLOOMPORT_TESTS_HEADERS_H

#include "tests/unit/windows.h"

#include "rdb/codec.h"

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
#define MAX_HEADER 4096

struct header {
    uint8_t bytes[MAX_HEADER];
    size_t len;
};

static void write_le(uint8_t *at, uint64_t value, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++, value /= 256) at[i] = (uint8_t)(value % 256);
}

static uint64_t read_le(const uint8_t *at, size_t nbytes) {
    uint64_t value = 0;
    while (nbytes-- > 0) value = 256 * value + at[nbytes];
    return value;
}

static struct header encode(const struct filter *filter) {
    struct header header = {.len = codec_header_size(filter)};
    assert_true(header.len <= MAX_HEADER);
    codec_encode_header(filter, header.bytes);
    return header;
}

static void repair_checksum(struct header *header) {
    write_le(header->bytes + header->len - 8, hash_checksum(header->bytes, header->len - 8), 8);
}

static void set(struct header *header, size_t offset, size_t nbytes, uint64_t value) {
    write_le(header->bytes + offset, value, nbytes);
    repair_checksum(header);
}

/* Decodes from a block of exactly that length, so that the sanitizer sees a read past the end. */
static enum status decode(const struct header *header, struct filter **out) {
    uint8_t *exact = malloc(header->len + 1);
    memcpy(exact + 1, header->bytes, header->len);
    enum status status = codec_decode_header(exact + 1, header->len, 1000000, out);
    free(exact);
    return status;
}

static void assert_status(const struct header *header, enum status expected, const char *what) {
    struct filter *filter = NULL;
    long live = spy.live;
    enum status status = decode(header, &filter);
    if (status != expected) fail_msg("%s: status %d, expected %d", what, status, expected);
    if (status != STATUS_OK) assert_null(filter);
    filter_free(filter);
    assert_int_equal(spy.live, live);
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
