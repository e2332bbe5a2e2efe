/* A saved filter, as in RDB files, RESTORE and BF.LOADCHUNK: the header, checksum repaired or not,
 * then the bits.
 *
 *   steering u8   1: repair the checksum, 2: repair the counts of ones; high half: the
 *                 allocation that fails (0: none)
 *   parts u8      of fuzz_mill
 *   header, bits  what is missing of the bits is zero */

#include "tests/fuzz/fuzz.h"

#include "rdb/codec.h"

#include <stdlib.h>

#define LAYERS_AT 20
#define FIXED 48
#define LAYER 44
#define ONES_AT 16
#define MOST_LAYERS 64

static size_t header_size(const uint8_t *data, size_t size) {
    struct reader r = {data, size, false};
    for (int i = 0; i < LAYERS_AT / 4; i++) take_u32(&r);
    uint64_t layers = take_u32(&r);
    size_t most = size > FIXED + 8 ? (size - FIXED - 8) / LAYER : 0;
    if (layers > most || layers > MOST_LAYERS) layers = most < MOST_LAYERS ? most : MOST_LAYERS;
    size_t header = FIXED + LAYER * (size_t)layers + 8;
    return header < size ? header : size;
}

static void repair_checksum(uint8_t *header, size_t len) {
    if (len < 8) return;
    struct writer w = {header + len - 8};
    put_u64(&w, hash_checksum(header, len - 8));
}

/* Gives each layer the number of ones that its bits have. */
static void repair_ones(uint8_t *header, size_t len, const uint8_t *bits, size_t left) {
    for (size_t at = FIXED; at + LAYER + 8 <= len; at += LAYER) {
        struct reader r = {header + at + 36, 8, false};
        uint64_t bytes = layer_bytes(take_u64(&r)), ones = 0;
        for (; bytes > 0 && left > 0; bytes--, left--) {
            ones += (unsigned)__builtin_popcount(*bits++);
        }
        struct writer w = {header + at + ONES_AT};
        put_u64(&w, ones);
    }
}

/* Loads the bits, as many as there are; false if they are refused. */
static bool load_bits(struct filter *filter, const uint8_t *bits, size_t left) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        size_t size = (size_t)layer_bytes(layer->nbits);
        size_t here = size < left ? size : left;
        if (here > 0) memcpy(layer->bits, bits, here);
        bits += here;
        left -= here;
    }
    return codec_bits_are_sound(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    uint8_t steering = data[0], parts = data[1];
    data += 2;
    size -= 2;
    size_t header = header_size(data, size);
    const uint8_t *bits = data + header;
    size_t left = size - header;
    // A copy of exactly its length, so that the sanitizer sees its end.
    uint8_t *copy = malloc(header ? header : 1);
    CLAIM(copy);
    memcpy(copy, data, header);
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
    return 0;
}
