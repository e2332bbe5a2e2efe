/* A header as bytes, for the tests of every version: encoding, fields set to other values with the
 * checksum repaired, and decoding from a block of exactly its length. */

#ifndef BLOOMPORT_TESTS_HEADER_BYTES_H
#define BLOOMPORT_TESTS_HEADER_BYTES_H

#include "tests/unit/helpers.h"

#include "rdb/codec.h"

#define MAX_HEADER 4096

struct header {
    uint8_t bytes[MAX_HEADER];
    size_t len;
};

static void write_le(uint8_t *at, uint64_t value, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++, value /= 256) at[i] = (uint8_t)(value % 256);
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
static enum status decode_within(const struct header *header, uint64_t max_bytes,
                                 struct filter **out) {
    uint8_t *exact = malloc(header->len + 1);
    memcpy(exact + 1, header->bytes, header->len); // at an odd address, too
    enum status status = codec_decode_header(exact + 1, header->len, max_bytes, out);
    free(exact);
    return status;
}

static void assert_status_within(const struct header *header, uint64_t max_bytes,
                                 enum status expected, const char *what) {
    struct filter *filter = NULL;
    long live = spy.live;
    enum status status = decode_within(header, max_bytes, &filter);
    if (status != expected) fail_msg("%s: status %d, expected %d", what, status, expected);
    if (status != STATUS_OK) assert_null(filter);
    filter_free(filter);
    assert_int_equal(spy.live, live);
}

#endif
