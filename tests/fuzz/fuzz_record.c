/* A saved filter, as in RDB files, RESTORE and BF.LOADCHUNK: the header, checksum repaired or not,
 * then the bits; or a short record.
 *
 *   steering u8   1: repair the checksum, 2: repair the counts of ones; high half: the
 *                 allocation that fails (0: none)
 *   parts u8      of fuzz_mill
 *   header, bits  what is missing of the bits is zero. With a 3 as its first byte, a short record
 */

#include "tests/fuzz/fuzz.h"

#include "rdb/codec.h"
#include "rdb/short_record.h"

#include <stdlib.h>

#define VERSION_AT 8
#define LAYOUT_AT 13
#define LAYERS_AT 20
#define ONES_AT 16
#define NBITS_AT 36
#define MOST_LAYERS 64

/* The bytes before the layers, and of each layer. */
struct version {
    size_t fixed, layer;
};

static uint64_t number_at(const uint8_t *data, size_t size, size_t at, unsigned bytes) {
    struct reader r = {data + (at < size ? at : size), size - (at < size ? at : size), false};
    return take_uint(&r, bytes);
}

static struct version version_of(const uint8_t *data, size_t size) {
    bool is_second = number_at(data, size, VERSION_AT, 4) == 2;
    return is_second ? (struct version){128, 64} : (struct version){48, 44};
}

static size_t header_size(const uint8_t *data, size_t size) {
    struct version v = version_of(data, size);
    uint64_t layers = number_at(data, size, LAYERS_AT, 4);
    size_t most = size > v.fixed + 8 ? (size - v.fixed - 8) / v.layer : 0;
    if (layers > most || layers > MOST_LAYERS) layers = most < MOST_LAYERS ? most : MOST_LAYERS;
    size_t header = v.fixed + v.layer * (size_t)layers + 8;
    return header < size ? header : size;
}

static void repair_checksum(uint8_t *header, size_t len) {
    if (len < 8) return;
    struct writer w = {header + len - 8};
    put_u64(&w, hash_checksum(header, len - 8));
}

/* Gives each layer the number of ones that its bits, or its counters, have. */
static void repair_ones(uint8_t *header, size_t len, const uint8_t *bits, size_t left) {
    struct version v = version_of(header, len);
    bool counts = number_at(header, len, LAYOUT_AT, 1) == LAYOUT_COUNTING;
    for (size_t at = v.fixed; at + v.layer + 8 <= len; at += v.layer) {
        uint64_t nbits = number_at(header, len, at + NBITS_AT, 8), ones = 0;
        uint64_t bytes = counts ? nbits / 2 + nbits % 2 : layer_bytes(nbits);
        for (; bytes > 0 && left > 0; bytes--, left--, bits++) {
            unsigned over = (unsigned)((*bits & 15) != 0) + (*bits >> 4 != 0);
            ones += counts ? over : (unsigned)__builtin_popcount(*bits);
        }
        struct writer w = {header + at + ONES_AT};
        put_u64(&w, ones);
    }
}

/* Loads the bits, as many as there are; false if they are refused. */
static bool load_bits(struct filter *filter, const uint8_t *bits, size_t left) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        size_t size = (size_t)layer_array_bytes(layer);
        size_t here = size < left ? size : left;
        if (here > 0) memcpy(layer->bits, bits, here);
        bits += here;
        left -= here;
    }
    return codec_bits_are_sound(filter);
}

/* A copy of exactly its length, so that the sanitizer sees its end. */
static uint8_t *copy_of(const uint8_t *data, size_t len) {
    uint8_t *copy = malloc(len ? len : 1);
    CLAIM(copy);
    memcpy(copy, data, len);
    return copy;
}

/* What is accepted has no other form: encoded again, it is the same bytes. */
static void claim_same_record(const void *value, const uint8_t *record, size_t len) {
    struct packed_view view;
    uint8_t again[SHORT_RECORD_MOST_BYTES];
    CLAIM(packed_is_packed(value));
    CLAIM(short_record_encode(packed_view(value, &view), again) == len);
    CLAIM(memcmp(again, record, len) == 0);
}

static void run_short(const uint8_t *data, size_t size, uint8_t steering, uint8_t parts) {
    uint8_t *copy = copy_of(data, size);
    if (steering & 1 && size >= 4) {
        struct writer w = {copy + size - 4};
        put_u32(&w, (uint32_t)hash_checksum(copy, size - 4));
    }
    fuzz_begin(steering >> 4);
    void *value = NULL;
    enum status st = short_record_decode(copy, size, FILTER_NO_LIMIT, NULL, &value);
    CLAIM((st == STATUS_OK) == (value != NULL));
    if (value) {
        claim_same_record(value, copy, size);
        struct filter *filter = packed_unpack(value);
        packed_free(value);
        if (filter) fuzz_mill(filter, parts);
    }
    free(copy);
    fuzz_end();
}

static void run_header(const uint8_t *data, size_t size, uint8_t steering, uint8_t parts) {
    size_t header = header_size(data, size);
    const uint8_t *bits = data + header;
    size_t left = size - header;
    uint8_t *copy = copy_of(data, header);
    if (steering & 2) repair_ones(copy, header, bits, left);
    if (steering & 1) repair_checksum(copy, header);

    fuzz_begin(steering >> 4);
    struct filter *filter = NULL;
    enum status st = codec_decode_header(copy, header, FILTER_NO_LIMIT, &filter);
    CLAIM((st == STATUS_OK) == (filter != NULL));
    if (filter && load_bits(filter, bits, left)) {
        fuzz_mill(filter, parts);
    } else {
        filter_free(filter);
    }
    free(copy);
    fuzz_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    bool is_short = short_record_begins(data + 2, size - 2);
    (is_short ? run_short : run_header)(data + 2, size - 2, data[0], data[1]);
    return 0;
}
