/* Pieces of a filter in any order, of any length, right and wrong, as BF.LOADCHUNK receives them,
 * against a model: the run of bytes that has arrived.
 *
 *   shape u8 (how many layers; and a window, or COUNTING), then the bits of each layer
 *   then pieces: end u8, length u8, fault u8 (which byte is wrong; 0: none) */

#include "tests/fuzz/fuzz.h"

#include "module/core/mem.h"
#include "rdb/codec.h"

#include <stdlib.h>

#define MOST_LAYERS 3
#define MOST_PIECES 16

/* A filter of up to three layers, a window of as many generations, or a layer of counters. */
static struct filter *make_source(struct reader *r) {
    uint8_t shape = take_u8(r);
    bool counts = shape & 128, is_window = (shape & 64) && !counts;
    uint32_t nlayers = counts ? 1 : 1 + shape % MOST_LAYERS;
    struct filter *filter = filter_new_bare(nlayers);
    CLAIM(filter);
    filter->error_rate = 0.01;
    filter->expansion = counts ? 0 : 2;
    filter->layout = counts ? LAYOUT_COUNTING : LAYOUT_CLASSIC;
    filter->window = is_window ? 4 : 0;
    filter->generations = is_window ? 4 : 0;
    filter->window_capacity = is_window ? 32 : 0;
    struct geometry geometry = {filter->layout, SCHEME_XXH64};
    for (uint32_t i = 0; i < nlayers; i++) {
        struct sizing size = {1 + take_u8(r), 3};
        struct layer *layer = &filter->layers[i];
        CLAIM(layer_init(layer, size, geometry, 8, 0.01) == STATUS_OK);
        layer->start = is_window ? 1000 * (i + 1) : 0;
        filter->nlayers++;
        for (uint8_t item = 0; item < 8; item++) layer_add(layer, filter_hash(filter, &item, 1));
    }
    filter->loaded = filter_array_bytes(filter);
    return filter;
}

/* The counters over 0 in a byte, as a mask. */
static unsigned set_halves(uint8_t byte) {
    return (byte & 15 ? 1U : 0U) | (byte >> 4 ? 2U : 0U);
}

/* What the answer must be, by rdb/FORMAT.md 4. */
static enum codec_piece expected(const struct filter *source, const uint8_t *run, uint64_t loaded,
                                 uint64_t end, const uint8_t *piece, size_t len) {
    uint64_t total = filter_array_bytes(source), from = 0;
    if (end > total || end - len >= total) return CODEC_PIECE_OUTSIDE;
    for (uint32_t i = 0; i < source->nlayers; i++) {
        uint64_t to = from + layer_array_bytes(&source->layers[i]);
        if (end - len >= from && end - len < to && end > to) return CODEC_PIECE_CROSSING;
        from = to;
    }
    if (end - len > loaded) return CODEC_PIECE_GAP;
    bool has_wrong = false;
    for (size_t i = 0; i < len; i++) {
        uint8_t right = run[end - len + i];
        if (piece[i] != right && end - len + i < loaded) return CODEC_PIECE_BAD;
        // of counters only those over 0 are counted
        has_wrong |= source->layout == LAYOUT_COUNTING ? set_halves(piece[i]) != set_halves(right)
                                                       : piece[i] != right;
    }
    if (end <= loaded) return CODEC_PIECE_PRESENT;
    // Only the last piece is checked: a wrong one before it makes the sum wrong.
    return end == total && has_wrong ? CODEC_PIECE_BAD : CODEC_PIECE_STORED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct reader r = {data, size, false};
    fuzz_begin(0);
    struct filter *source = make_source(&r);
    struct image image = fuzz_image(source);
    struct filter *filter = NULL;
    CLAIM(codec_decode_header(image.bytes, image.header, FILTER_NO_LIMIT, &filter) == STATUS_OK);
    filter->is_loading = true;
    filter->loaded = 0;

    uint8_t *run = image.bytes + image.header;
    bool spoiled = false; // a wrong byte was taken before the end
    for (int i = 0; i < MOST_PIECES && r.left > 0 && filter->is_loading; i++) {
        uint64_t end = take_u8(&r);
        size_t len = take_u8(&r);
        uint8_t fault = take_u8(&r);
        if (len > end) len = (size_t)end; // as load_piece of module/cmd_transfer.c ensures
        uint8_t *piece = malloc(len ? len : 1);
        CLAIM(piece);
        for (size_t j = 0; j < len; j++) {
            uint64_t at = end - len + j;
            piece[j] = at < image.len - image.header ? run[at] : 0;
        }
        if (fault > 0 && fault <= len) piece[fault - 1] ^= (uint8_t)(1U << fault % 8);
        if (spoiled) { // the model ends here; the code must not crash
            codec_put_piece(filter, end, piece, len);
        } else {
            enum codec_piece want = expected(source, run, filter->loaded, end, piece, len);
            struct image before = fuzz_image(filter);
            CLAIM(codec_put_piece(filter, end, piece, len) == want);
            if (want == CODEC_PIECE_STORED) {
                CLAIM(filter->loaded == end);
                spoiled = fault > 0 && fault <= len;
            } else {
                fuzz_claim_same(filter, &before);
            }
            fuzz_release(&before);
        }
        free(piece);
    }
    if (!filter->is_loading) fuzz_check(filter);
    if (!filter->is_loading && !spoiled) fuzz_claim_same(filter, &image);
    fuzz_release(&image);
    filter_free(source);
    filter_free(filter);
    fuzz_end();
    return 0;
}
