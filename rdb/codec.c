/* Filters as bytes. See codec.h, and FORMAT.md for every offset. */

#include "rdb/codec.h"

#include "rdb/bytes.h"
#include "rdb/formats/redisbloom.h"

#include <string.h>

#define MAGIC "BLOOMPRT"
#define MAGIC_BYTES 8
#define VERSION 1
#define FIXED_BYTES 48   // before the layers
#define LAYER_BYTES 44   // each
#define CHECKSUM_BYTES 8 // after the layers
#define FLAG_LOADING 1U
#define FLAG_ESTIMATED 2U
#define ALL_FLAGS (FLAG_LOADING | FLAG_ESTIMATED)

static size_t header_size(uint64_t nlayers) {
    return (size_t)(FIXED_BYTES + LAYER_BYTES * nlayers + CHECKSUM_BYTES);
}

size_t codec_header_size(const struct filter *filter) {
    return filter->is_foreign ? redisbloom_header_size(filter) : header_size(filter->nlayers);
}

void codec_encode_portable(const struct layer *layer, uint8_t out[CODEC_PORTABLE_BYTES]) {
    struct writer w = {out};
    put_u32(&w, layer->nhashes);
    put_u64(&w, layer->nbits);
}

void codec_encode_header(const struct filter *filter, uint8_t *out) {
    if (filter->is_foreign) {
        redisbloom_encode_header(filter, out);
        return;
    }
    struct writer w = {out};
    memcpy(w.at, MAGIC, MAGIC_BYTES);
    w.at += MAGIC_BYTES;
    put_u32(&w, VERSION);
    put_u8(&w, (uint8_t)filter->scheme);
    put_u8(&w, (uint8_t)filter->layout);
    put_uint(&w,
             (filter->is_loading ? FLAG_LOADING : 0) | (filter->is_estimated ? FLAG_ESTIMATED : 0),
             2);
    put_u32(&w, filter->expansion);
    put_u32(&w, filter->nlayers);
    put_f64(&w, filter->error_rate);
    put_f64(&w, filter->bits_per_key);
    put_u64(&w, filter->loaded);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        put_u64(&w, layer->capacity);
        put_u64(&w, layer->items);
        put_u64(&w, layer->ones);
        put_f64(&w, layer->error_rate);
        codec_encode_portable(layer, w.at);
        w.at += CODEC_PORTABLE_BYTES;
    }
    put_u64(&w, hash_checksum(out, (size_t)(w.at - out)));
}

/* ---- Decoding ----------------------------------------------------------------------------- */

/* Whether the length and the checksum of these bytes, which begin with our magic, are right. */
static bool envelope_is_sound(const uint8_t *bytes, size_t len) {
    if (len < header_size(1)) return false;
    if ((len - header_size(0)) % LAYER_BYTES != 0) return false;
    struct reader tail = {bytes + len - CHECKSUM_BYTES, CHECKSUM_BYTES, false};
    return take_u64(&tail) == hash_checksum(bytes, len - CHECKSUM_BYTES);
}

static void take_layer(struct reader *r, struct geometry geometry, struct layer *layer) {
    layer_set_geometry(layer, geometry);
    layer->capacity = take_u64(r);
    layer->items = take_u64(r);
    layer->ones = take_u64(r);
    layer->error_rate = take_f64(r);
    layer->nhashes = take_u32(r);
    uint64_t nbits = take_u64(r);
    if (nbits != 0) layer_set_nbits(layer, nbits); // limits_fault rejects 0
}

/* Reads the fields before the layers. False if they are not what this version writes. */
static bool take_fixed(struct reader *r, struct filter *f, uint32_t *nlayers) {
    take_u64(r); // the magic, which the caller has checked
    uint32_t version = take_u32(r);
    f->scheme = (enum scheme)take_u8(r);
    f->layout = (enum layout)take_u8(r);
    uint64_t flags = take_uint(r, 2);
    f->expansion = take_u32(r);
    *nlayers = take_u32(r);
    f->error_rate = take_f64(r);
    f->bits_per_key = take_f64(r);
    f->loaded = take_u64(r);
    f->is_loading = (flags & FLAG_LOADING) != 0;
    f->is_estimated = (flags & FLAG_ESTIMATED) != 0;
    return !r->bad && version == VERSION && (flags & ~(uint64_t)ALL_FLAGS) == 0;
}

/* Reads the fields of the layers and checks the whole filter. */
static bool take_layers(struct reader *r, struct filter *f, uint32_t nlayers) {
    struct geometry geometry = {f->layout, f->scheme};
    for (uint32_t i = 0; i < nlayers; i++) take_layer(r, geometry, &f->layers[i]);
    f->nlayers = nlayers;
    if (r->bad || limits_fault(f)) return false;
    uint64_t total = filter_array_bytes(f);
    return f->is_loading ? f->loaded < total : f->loaded == total;
}

/* Decodes a header of our own. The filter has no bit arrays yet. */
static enum status decode_own(const uint8_t *bytes, size_t len, struct filter **out) {
    if (!envelope_is_sound(bytes, len)) return STATUS_CORRUPT;
    struct reader r = {bytes, len - CHECKSUM_BYTES, false};
    struct filter fixed = {0};
    uint32_t nlayers;
    if (!take_fixed(&r, &fixed, &nlayers) || r.left / LAYER_BYTES != nlayers) return STATUS_CORRUPT;
    if (nlayers < 1 || nlayers > LIMITS_MAX_LAYERS) return STATUS_CORRUPT;
    struct filter *filter = filter_new_bare(nlayers);
    if (!filter) return STATUS_NOMEM;
    fixed.layers = filter->layers;
    *filter = fixed;

    if (!take_layers(&r, filter, nlayers)) {
        filter_free(filter);
        return STATUS_CORRUPT;
    }
    *out = filter;
    return STATUS_OK;
}

/* Decodes a header of RedisBloom's. It has no magic, so all bytes without ours are tried. */
static enum status decode_redisblooms(const uint8_t *bytes, size_t len, struct filter **out) {
    struct reader r = {bytes, len, false};
    const char *fault;
    enum status st = redisbloom_decode_header(&r, out, &fault);
    if (st != STATUS_OK || r.left == 0) return st;
    filter_free(*out);
    return STATUS_CORRUPT;
}

/* The filter that a header describes, whoever's it is, without its bits. */
static enum status decode_fields(const uint8_t *bytes, size_t len, struct filter **out) {
    bool is_own = len >= MAGIC_BYTES && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0;
    return is_own ? decode_own(bytes, len, out) : decode_redisblooms(bytes, len, out);
}

enum status codec_decode_header(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                                struct filter **out) {
    struct filter *filter;
    enum status st = decode_fields(bytes, len, &filter);
    if (st != STATUS_OK) return st;
    bool fits = filter_size_bytes(filter) <= max_bytes;
    st = fits ? filter_alloc_bits(filter) : STATUS_NOMEM;
    if (st == STATUS_OK) {
        *out = filter;
    } else {
        filter_free(filter);
    }
    return st;
}

uint64_t codec_header_bytes(const uint8_t *bytes, size_t len) {
    struct filter *filter;
    if (decode_fields(bytes, len, &filter) != STATUS_OK) return UINT64_MAX;
    uint64_t size = filter_size_bytes(filter);
    filter_free(filter);
    return size;
}

/* ---- The bits ----------------------------------------------------------------------------- */

/* The layer of byte `offset`, and the byte's offset within it. NULL past the end. */
static struct layer *locate(const struct filter *filter, uint64_t offset, uint64_t *within) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        uint64_t size = layer_bytes(filter->layers[i].nbits);
        if (offset < size) {
            *within = offset;
            return &filter->layers[i];
        }
        offset -= size;
    }
    return NULL;
}

size_t codec_piece_at(const struct filter *filter, uint64_t offset, size_t most,
                      const uint8_t **bytes) {
    uint64_t within;
    const struct layer *layer = locate(filter, offset, &within);
    if (!layer) return 0;
    uint64_t left = layer_bytes(layer->nbits) - within;
    *bytes = layer->bits + within;
    return left < most ? (size_t)left : most;
}

static bool counts_are_sound(const struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        if (!layer_tail_is_zero(layer) || layer_count_ones(layer) != layer->ones) return false;
    }
    return true;
}

bool codec_bits_are_sound(const struct filter *filter) {
    if (!filter->is_loading) return counts_are_sound(filter);
    const uint8_t *bytes;
    size_t len;
    for (uint64_t at = filter->loaded;
         (len = codec_piece_at(filter, at, CODEC_PIECE_BYTES, &bytes)) > 0; at += len) {
        if (!bytes_are_zero(bytes, len)) return false;
    }
    return true;
}

/* A foreign filter accepts any piece at any time, as RedisBloom does. */
static enum codec_piece overwrite(struct layer *layer, uint64_t within, const uint8_t *piece,
                                  size_t len) {
    uint8_t *bits = layer->bits + within;
    if (memcmp(bits, piece, len) == 0) return CODEC_PIECE_PRESENT;
    layer->ones = layer->ones - layer_ones_in(bits, len) + layer_ones_in(piece, len);
    memcpy(bits, piece, len);
    return CODEC_PIECE_STORED;
}

enum codec_piece codec_put_piece(struct filter *filter, uint64_t end, const void *bytes,
                                 size_t len) {
    uint64_t total = filter_array_bytes(filter);
    uint64_t start = end - len; // the caller has checked that len <= end
    if (end > total || start >= total) return CODEC_PIECE_OUTSIDE;
    uint64_t within;
    struct layer *layer = locate(filter, start, &within);
    if (len > layer_bytes(layer->nbits) - within) return CODEC_PIECE_CROSSING;
    if (filter->is_foreign) return overwrite(layer, within, bytes, len);
    if (start > filter->loaded) return CODEC_PIECE_GAP;

    // The bytes that are present already must be the same again. Only the rest is stored.
    uint8_t *bits = layer->bits + within;
    const uint8_t *piece = bytes;
    size_t present = (size_t)(end <= filter->loaded ? len : filter->loaded - start);
    if (memcmp(bits, piece, present) != 0) return CODEC_PIECE_BAD;
    if (present == len) return CODEC_PIECE_PRESENT;
    memcpy(bits + present, piece + present, len - present);
    if (end == total && !counts_are_sound(filter)) {
        memset(bits + present, 0, len - present); // undo
        return CODEC_PIECE_BAD;
    }
    filter->loaded = end;
    filter->is_loading = end < total;
    return CODEC_PIECE_STORED;
}
