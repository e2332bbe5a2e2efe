/* Filters as bytes. See codec.h, and FORMAT.md for every offset. */

#include "rdb/codec.h"

#include "module/core/mem.h"
#include "rdb/bytes.h"
#include "rdb/header.h"

#include <string.h>

#define MAGIC "BLOOMPRT"
#define MAGIC_BYTES HEADER_MAGIC_BYTES
#define CHECKSUM_BYTES 8 // after the layers
#define FLAG_LOADING 1U
#define FLAG_ESTIMATED 2U
#define ALL_FLAGS (FLAG_LOADING | FLAG_ESTIMATED)

/* The two versions of the header. What version 1 can describe is never written as version 2, so
 * that a server of version 0.1.0 can load it, and equal filters have equal bytes. */
struct version {
    uint32_t number;
    size_t fixed_bytes; // before the layers
    size_t layer_bytes; // each
    size_t fixed_rest;  // the last of fixed_bytes, which are 0
    size_t layer_rest;  // the last of layer_bytes, which are 0
};
static const struct version V1 = {1, 48, 44, 0, 0};
static const struct version V2 = {2, 128, 64, 32, 12};

/* The version that describes the filter. */
static const struct version *version_of(const struct filter *filter) {
    bool is_new_scheme = filter->scheme == SCHEME_SIP13 || filter->scheme > SCHEME_LEVELDB;
    bool is_new_layout = !layout_row(filter->layout)->is_in_v1;
    return filter->window != 0 || is_new_layout || is_new_scheme ? &V2 : &V1;
}

static size_t header_size(const struct version *version, uint64_t nlayers) {
    return version->fixed_bytes + version->layer_bytes * (size_t)nlayers + CHECKSUM_BYTES;
}

static size_t own_size(const struct filter *filter) {
    return header_size(version_of(filter), filter->nlayers);
}

size_t codec_header_size(const struct filter *filter) {
    return header_row(filter->origin)->size(filter);
}

void codec_encode_portable(const struct layer *layer, uint8_t out[CODEC_PORTABLE_BYTES]) {
    struct writer w = {out};
    put_u32(&w, layer->nhashes);
    put_u64(&w, layer->nbits);
}

static void put_zeroes(struct writer *w, size_t n) {
    memset(w->at, 0, n);
    w->at += n;
}

static void put_fixed(struct writer *w, const struct filter *filter,
                      const struct version *version) {
    unsigned loading = filter->is_loading ? FLAG_LOADING : 0;
    unsigned estimated = filter->is_estimated ? FLAG_ESTIMATED : 0;
    memcpy(w->at, MAGIC, MAGIC_BYTES);
    w->at += MAGIC_BYTES;
    put_u32(w, version->number);
    put_u8(w, (uint8_t)filter->scheme);
    put_u8(w, (uint8_t)filter->layout);
    put_uint(w, loading | estimated, 2);
    put_u32(w, filter->expansion);
    put_u32(w, filter->nlayers);
    put_f64(w, filter->error_rate);
    put_f64(w, filter->bits_per_key);
    put_u64(w, filter->loaded);
    if (version == &V1) return;
    put_u32(w, filter->window);
    put_u32(w, filter->generations);
    put_u64(w, filter->window_capacity);
    for (size_t i = 0; i < 4; i++) put_u64(w, filter->seed.keys[i]);
    put_zeroes(w, version->fixed_rest);
}

static void put_layer(struct writer *w, const struct layer *layer, const struct version *version) {
    put_u64(w, layer->capacity);
    put_u64(w, layer->items);
    put_u64(w, layer->ones);
    put_f64(w, layer->error_rate);
    codec_encode_portable(layer, w->at);
    w->at += CODEC_PORTABLE_BYTES;
    if (version == &V1) return;
    put_u64(w, layer->start);
    put_zeroes(w, version->layer_rest);
}

static void encode_own(const struct filter *filter, uint8_t *out) {
    struct writer w = {out};
    const struct version *version = version_of(filter);
    put_fixed(&w, filter, version);
    for (uint32_t i = 0; i < filter->nlayers; i++) put_layer(&w, &filter->layers[i], version);
    put_u64(&w, hash_checksum(out, (size_t)(w.at - out)));
}

void codec_encode_header(const struct filter *filter, uint8_t *out) {
    header_row(filter->origin)->encode(filter, out);
}

static bool headers_are_same(const struct filter *a, const struct filter *b) {
    size_t size = codec_header_size(a);
    if (codec_header_size(b) != size) return false;
    uint8_t *headers = mem_alloc(2 * size);
    if (!headers) return false;
    codec_encode_header(a, headers);
    codec_encode_header(b, headers + size);
    bool is_same = memcmp(headers, headers + size, size) == 0;
    mem_free(headers);
    return is_same;
}

bool codec_is_same(const struct filter *a, const struct filter *b) {
    // A foreign header does not say whether its counts are estimates.
    bool is_one_kind = a->origin == b->origin && a->is_estimated == b->is_estimated;
    if (!is_one_kind || !headers_are_same(a, b)) return false;
    for (uint32_t i = 0; i < a->nlayers; i++) { // equal headers have equal sizes in them
        size_t size = (size_t)layer_array_bytes(&a->layers[i]);
        if (memcmp(a->layers[i].bits, b->layers[i].bits, size) != 0) return false;
    }
    return true;
}

/* ---- Decoding ----------------------------------------------------------------------------- */

/* Passes over the magic and reads the version. NULL if there is none. */
static const struct version *take_version(struct reader *r) {
    take_u64(r);
    uint32_t number = take_u32(r);
    return number == V1.number ? &V1 : number == V2.number ? &V2 : NULL;
}

size_t codec_header_length(const uint8_t *bytes, size_t len) {
    if (len < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0) return 0;
    struct reader r = {bytes, len, false};
    const struct version *version = take_version(&r);
    take_u64(&r); // scheme, layout, flags, expansion
    uint32_t nlayers = take_u32(&r);
    if (r.bad || !version) return 0;
    size_t size = header_size(version, nlayers);
    return size <= len ? size : 0;
}

/* The version of these bytes, which begin with our magic. NULL if there is no such version, or the
 * length or the checksum is wrong. */
static const struct version *sound_version(const uint8_t *bytes, size_t len) {
    struct reader head = {bytes, len, false};
    const struct version *version = take_version(&head);
    if (!version || len < header_size(version, 1)) return NULL;
    if ((len - header_size(version, 0)) % version->layer_bytes != 0) return NULL;
    struct reader tail = {bytes + len - CHECKSUM_BYTES, CHECKSUM_BYTES, false};
    bool is_sound = take_u64(&tail) == hash_checksum(bytes, len - CHECKSUM_BYTES);
    return is_sound ? version : NULL;
}

/* Passes over n bytes that must be 0. */
static bool take_zeroes(struct reader *r, size_t n) {
    if (r->left < n || !bytes_are_zero((const char *)r->at, n)) return false;
    r->at += n;
    r->left -= n;
    return true;
}

/* Reads the fields of a layer. False if bytes that must be 0 are not. */
static bool take_layer(struct reader *r, struct geometry geometry, const struct version *version,
                       struct layer *layer) {
    layer_set_geometry(layer, geometry);
    layer->capacity = take_u64(r);
    layer->items = take_u64(r);
    layer->ones = take_u64(r);
    layer->error_rate = take_f64(r);
    layer->nhashes = take_u32(r);
    uint64_t nbits = take_u64(r);
    if (nbits != 0) layer_set_nbits(layer, nbits); // limits_fault rejects 0
    if (version == &V1) return true;
    layer->start = take_u64(r);
    return take_zeroes(r, version->layer_rest);
}

/* Reads the fields before the layers. False if they are not what this version writes. */
static bool take_fixed(struct reader *r, const struct version *version, struct filter *f,
                       uint32_t *nlayers) {
    take_version(r); // the caller has checked it
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
    if (r->bad || (flags & ~(uint64_t)ALL_FLAGS) != 0) return false;
    if (version == &V2) {
        f->window = take_u32(r);
        f->generations = take_u32(r);
        f->window_capacity = take_u64(r);
        for (size_t i = 0; i < 4; i++) f->seed.keys[i] = take_u64(r);
        if (!take_zeroes(r, version->fixed_rest)) return false;
    }
    return version_of(f) == version;
}

/* Reads the fields of the layers and checks the whole filter. */
static bool take_layers(struct reader *r, const struct version *version, struct filter *f,
                        uint32_t nlayers) {
    struct geometry geometry = {f->layout, f->scheme};
    for (uint32_t i = 0; i < nlayers; i++) {
        if (!take_layer(r, geometry, version, &f->layers[i])) return false;
    }
    f->nlayers = nlayers;
    if (r->bad || limits_fault(f)) return false;
    uint64_t total = filter_array_bytes(f);
    return f->is_loading ? f->loaded < total : f->loaded == total;
}

/* Decodes a header of our own, which is all that is left. */
static enum status decode_own(struct reader *whole, struct filter **out, const char **fault) {
    *fault = NULL;
    const struct version *version = sound_version(whole->at, whole->left);
    if (!version) return STATUS_CORRUPT;
    struct reader r = {whole->at, whole->left - CHECKSUM_BYTES, false};
    struct filter fixed = {0};
    uint32_t nlayers;
    if (!take_fixed(&r, version, &fixed, &nlayers)) return STATUS_CORRUPT;
    if (r.left / version->layer_bytes != nlayers) return STATUS_CORRUPT;
    if (nlayers < 1 || nlayers > LIMITS_MAX_LAYERS) return STATUS_CORRUPT;
    struct filter *filter = filter_new_bare(nlayers);
    if (!filter) return STATUS_NOMEM;
    fixed.layers = filter->layers;
    *filter = fixed;

    if (!take_layers(&r, version, filter, nlayers)) {
        filter_free(filter);
        return STATUS_CORRUPT;
    }
    whole->left = 0;
    *out = filter;
    return STATUS_OK;
}

const struct header_row HEADER_OWN = {
    .magic = MAGIC,
    .size = own_size,
    .encode = encode_own,
    .decode = decode_own,
    .format = FORMAT_COUNT,
};

/* The filter that a header describes, whoever's it is, without its bits. */
static enum status decode_fields(const uint8_t *bytes, size_t len, struct filter **out) {
    struct reader r = {bytes, len, false};
    const char *fault;
    enum status st = header_find(bytes, len)->decode(&r, out, &fault);
    if (st != STATUS_OK || r.left == 0) return st;
    filter_free(*out);
    return STATUS_CORRUPT;
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

void codec_expect_pieces(struct filter *filter) {
    filter->is_loading = !filter_is_foreign(filter);
    if (filter->is_loading) filter->loaded = 0;
}

size_t codec_piece_at(const struct filter *filter, uint64_t offset, size_t most,
                      const uint8_t **bytes) {
    uint64_t within;
    const struct layer *layer = filter_locate(filter, offset, &within);
    if (!layer) return 0;
    uint64_t left = layer_array_bytes(layer) - within;
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

/* A foreign filter accepts any piece at any time, as in RedisBloom. */
static enum codec_piece overwrite(struct layer *layer, uint64_t within, const uint8_t *piece,
                                  size_t len) {
    uint8_t *bits = layer->bits + within;
    if (memcmp(bits, piece, len) == 0) return CODEC_PIECE_PRESENT;
    layer->ones = layer->ones - layer_ones_in(layer, bits, len) + layer_ones_in(layer, piece, len);
    memcpy(bits, piece, len);
    return CODEC_PIECE_STORED;
}

enum codec_piece codec_put_piece(struct filter *filter, uint64_t end, const void *bytes,
                                 size_t len) {
    uint64_t start = end - len; // the caller has checked that len <= end
    uint64_t within = 0;
    struct layer *layer = filter_locate(filter, start, &within);
    if (!layer) return CODEC_PIECE_OUTSIDE;
    uint64_t left = layer_array_bytes(layer) - within;
    if (len > left) {
        return end > filter_array_bytes(filter) ? CODEC_PIECE_OUTSIDE : CODEC_PIECE_CROSSING;
    }
    if (filter_is_foreign(filter)) return overwrite(layer, within, bytes, len);
    if (start > filter->loaded) return CODEC_PIECE_GAP;
    bool is_last = len == left && layer == filter_newest(filter);

    // The bytes that are present already must be the same again. Only the rest is stored.
    uint8_t *bits = layer->bits + within;
    const uint8_t *piece = bytes;
    size_t present = (size_t)(end <= filter->loaded ? len : filter->loaded - start);
    if (memcmp(bits, piece, present) != 0) return CODEC_PIECE_BAD;
    if (present == len) return CODEC_PIECE_PRESENT;
    memcpy(bits + present, piece + present, len - present);
    if (is_last && !counts_are_sound(filter)) {
        memset(bits + present, 0, len - present); // undo
        return CODEC_PIECE_BAD;
    }
    filter->loaded = end;
    filter->is_loading = !is_last;
    return CODEC_PIECE_STORED;
}
