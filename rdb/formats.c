/* Filters in the formats of other programs. See formats.h. */

#include "rdb/formats.h"

#include "module/core/blocked.h"
#include "module/core/limits.h"
#include "module/core/real.h"
#include "rdb/bytes.h"
#include "rdb/redisbloom.h"

#include <math.h>
#include <string.h>

#define PORTABLE_HEADER 12
#define SSTABLE_HEADER 16

/* Parquet's header in Thrift's compact protocol: field 1, i32 numBytes, as a zigzag varint; then
 * the unions algorithm = BLOCK, hash = XXHASH, compression = UNCOMPRESSED, each a struct in a
 * struct. */
static const uint8_t PARQUET_HEAD = 0x15;
static const uint8_t PARQUET_TAIL[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};

static size_t varint_size(uint64_t value) {
    size_t size = 1;
    while (value >>= 7) size++;
    return size;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static bool is_redisbloom_layer(const struct layer *layer) {
    struct sizing size;
    return sizing_as_redisbloom(layer->capacity, layer->error_rate, &size) &&
           size.nhashes == layer->nhashes && layer->nbits % 8 == 0;
}

static bool is_redisblooms(const struct filter *filter) {
    if (filter->is_foreign) return true;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        if (!is_redisbloom_layer(&filter->layers[i])) return false;
    }
    return true;
}

static bool is_leveldbs(const struct layer *layer) {
    return layer->nbits % 8 == 0 && layer->nhashes <= SIZING_MAX_HASHES;
}

/* The format that the filter's layout and hash have (`sstable` holds what `portable` does).
 * FORMAT_COUNT: none can hold it, for the reason *why. */
static enum format home_format(const struct filter *filter, const char **why) {
    const struct layer *layer = &filter->layers[0];
    if (filter->scheme == SCHEME_MURMUR) {
        *why = "a layer is not as RedisBloom sizes it, use BF.SCANDUMP";
        return is_redisblooms(filter) ? FORMAT_REDISBLOOM : FORMAT_COUNT;
    }
    *why = "it has more than one layer: BF.SCANDUMP carries any filter, or reserve it larger";
    if (filter->nlayers > 1) return FORMAT_COUNT;
    if (filter->layout == LAYOUT_BLOCKED) {
        *why = "it is larger than 2 GiB, use BF.SCANDUMP";
        return layer->nbits / 8 <= INT32_MAX ? FORMAT_PARQUET : FORMAT_COUNT;
    }
    if (filter->scheme == SCHEME_LEVELDB) {
        *why = "its size is not one that LevelDB has, use BF.SCANDUMP";
        return is_leveldbs(layer) ? FORMAT_LEVELDB : FORMAT_COUNT;
    }
    *why = "no format has its hash, use BF.SCANDUMP";
    bool is_ours = filter->scheme == SCHEME_XXH64 || filter->scheme == SCHEME_FNV1A;
    return is_ours ? FORMAT_PORTABLE : FORMAT_COUNT;
}

/* What `format` is made for and a filter at home in `portable` has not. */
static const char *portable_obstacle(enum format format) {
    switch (format) {
    case FORMAT_PARQUET: return "layout is not BLOCKED, use portable";
    case FORMAT_LEVELDB: return "hash is not LEVELDB, use portable";
    case FORMAT_REDISBLOOM:
        return "hash is not MURMUR: only filters that came from RedisBloom can go back, use "
               "portable";
    default: return NULL;
    }
}

/* The advice is always the filter's home: a format that does hold it. */
const char *formats_obstacle(const struct filter *filter, enum format format) {
    const char *why;
    enum format home = home_format(filter, &why);
    if (home == format) return NULL;
    switch (home) {
    case FORMAT_PORTABLE: return portable_obstacle(format);
    case FORMAT_PARQUET: return "layout is BLOCKED, use parquet";
    case FORMAT_LEVELDB: return "hash is LEVELDB, use leveldb";
    case FORMAT_REDISBLOOM: return "hash is MURMUR, use redisbloom";
    default: return why;
    }
}

uint64_t formats_size(const struct filter *filter, enum format format) {
    uint64_t bits = filter_array_bytes(filter);
    switch (format) {
    case FORMAT_PORTABLE: return PORTABLE_HEADER + bits;
    case FORMAT_SSTABLE: return SSTABLE_HEADER + bits;
    case FORMAT_LEVELDB: return bits + 1;
    case FORMAT_PARQUET: return 1 + varint_size(2 * bits) + sizeof(PARQUET_TAIL) + bits;
    default: return redisbloom_header_size(filter) + bits;
    }
}

static void put_bits(struct writer *w, const struct layer *layer) {
    size_t size = (size_t)layer_bytes(layer->nbits);
    memcpy(w->at, layer->bits, size);
    w->at += size;
}

/* The field of an sstable header: to the nearest, at least 1. */
static uint32_t rounded_bits_per_key(double bits_per_key) {
    double bits = floor(bits_per_key + 0.5);
    return bits < 1 ? 1 : bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
}

static uint32_t bits_of_capacity(uint64_t nbits, uint64_t capacity) {
    return rounded_bits_per_key((double)nbits / (double)capacity);
}

static void encode_sstable(const struct filter *filter, struct writer *w) {
    const struct layer *layer = &filter->layers[0];
    put_u64(w, layer->nbits);
    put_u32(w, layer->nhashes);
    put_u32(w, filter->bits_per_key != 0 ? rounded_bits_per_key(filter->bits_per_key)
                                         : bits_of_capacity(layer->nbits, layer->capacity));
    put_bits(w, layer);
}

static void encode_parquet(const struct layer *layer, struct writer *w) {
    put_u8(w, PARQUET_HEAD);
    uint64_t zigzag = 2 * layer_bytes(layer->nbits);
    for (; zigzag >= 128; zigzag >>= 7) put_u8(w, (uint8_t)(zigzag | 128));
    put_u8(w, (uint8_t)zigzag);
    memcpy(w->at, PARQUET_TAIL, sizeof(PARQUET_TAIL));
    w->at += sizeof(PARQUET_TAIL);
    put_bits(w, layer);
}

static void encode_redisbloom(const struct filter *filter, struct writer *w) {
    redisbloom_encode_header(filter, w->at);
    w->at += redisbloom_header_size(filter);
    for (uint32_t i = 0; i < filter->nlayers; i++) put_bits(w, &filter->layers[i]);
}

void formats_encode(const struct filter *filter, enum format format, uint8_t *out) {
    struct writer w = {out};
    const struct layer *layer = &filter->layers[0];
    switch (format) {
    case FORMAT_PORTABLE:
        put_u32(&w, layer->nhashes);
        put_u64(&w, layer->nbits);
        put_bits(&w, layer);
        break;
    case FORMAT_SSTABLE: encode_sstable(filter, &w); break;
    case FORMAT_LEVELDB:
        put_bits(&w, layer);
        put_u8(&w, (uint8_t)layer->nhashes);
        break;
    case FORMAT_PARQUET: encode_parquet(layer, &w); break;
    default: encode_redisbloom(filter, &w); break;
    }
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* The header of a single layer, and where its bits begin. */
struct single {
    uint64_t nbits;
    uint32_t nhashes;
    uint32_t bits_per_key; // of `sstable`; 0: the format has none
    struct geometry geometry;
    const uint8_t *bits;
};

static const char *read_portable(struct reader *r, enum scheme scheme, struct single *s) {
    s->nhashes = take_u32(r);
    s->nbits = take_u64(r);
    s->geometry = (struct geometry){LAYOUT_CLASSIC, scheme};
    return r->bad ? "shorter than its header" : NULL;
}

static const char *read_sstable(struct reader *r, enum scheme scheme, struct single *s) {
    s->nbits = take_u64(r);
    s->nhashes = take_u32(r);
    s->bits_per_key = take_u32(r);
    s->geometry = (struct geometry){LAYOUT_CLASSIC, scheme};
    if (r->bad) return "shorter than its header";
    return s->bits_per_key < 1 ? "bits per key" : NULL;
}

static const char *read_leveldb(struct reader *r, struct single *s) {
    if (r->left < 2) return "shorter than one byte of bits and k";
    s->nhashes = r->at[--r->left];
    s->nbits = (uint64_t)r->left * 8;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_LEVELDB};
    return s->nhashes > SIZING_MAX_HASHES ? "k" : NULL;
}

static const char *read_parquet(struct reader *r, struct single *s) {
    uint8_t tail[sizeof(PARQUET_TAIL)];
    if (take_u8(r) != PARQUET_HEAD) return "Thrift header";
    uint64_t zigzag = 0;
    unsigned shift = 0;
    for (uint8_t byte = 128; byte & 128; shift += 7) {
        byte = take_u8(r);
        bool overlong = shift > 0 && byte == 0;
        if (r->bad || shift > 28 || overlong) return "numBytes";
        zigzag |= (uint64_t)(byte & 127) << shift;
    }
    for (size_t i = 0; i < sizeof(tail); i++) tail[i] = take_u8(r);
    if (r->bad || memcmp(tail, PARQUET_TAIL, sizeof(tail)) != 0) return "Thrift header";
    uint64_t nbytes = zigzag / 2;
    if (zigzag % 2 != 0 || nbytes == 0 || nbytes % (BLOCKED_BLOCK_BITS / 8) != 0) return "numBytes";
    s->nbits = nbytes * 8;
    s->nhashes = BLOCKED_HASHES;
    s->geometry = (struct geometry){LAYOUT_BLOCKED, SCHEME_XXH64};
    return NULL;
}

static const char *read_single(enum format format, struct reader *r, enum scheme scheme,
                               struct single *s) {
    const char *fault;
    switch (format) {
    case FORMAT_PORTABLE: fault = read_portable(r, scheme, s); break;
    case FORMAT_SSTABLE: fault = read_sstable(r, scheme, s); break;
    case FORMAT_LEVELDB: fault = read_leveldb(r, s); break;
    default: fault = read_parquet(r, s); break;
    }
    if (fault) return fault;
    if (s->nhashes < 1 || s->nhashes > SIZING_MOST_HASHES) return "k";
    if (s->nbits < 1 || s->nbits > sizing_max_bits(s->geometry)) return "m";
    if (r->left != layer_bytes(s->nbits)) return "length is not that of m bits";
    s->bits = r->at;
    return NULL;
}

/* What the header says, else what the bits are best for: m ln 2 / k. More bits per key than
 * BITSPERKEY can ask for no filter keeps: they are told from m / capacity again, so there the
 * capacity is the one that gives them, one of the two next to m / bits per key. */
static uint64_t default_capacity(const struct single *s) {
    if (s->bits_per_key == 0) {
        double n = floor((double)s->nbits * REAL_LN2 / s->nhashes);
        return n < 1 ? 1 : (uint64_t)n;
    }
    uint64_t n = s->nbits / s->bits_per_key;
    if (n < 1) return 1;
    bool is_next = !limits_is_bits_per_key(s->bits_per_key) &&
                   bits_of_capacity(s->nbits, n) != s->bits_per_key;
    return is_next ? n + 1 : n;
}

/* Whether the header's bits per key will be those of the exported filter. */
static bool can_export_again(const struct single *s, uint64_t capacity) {
    return s->bits_per_key == 0 || limits_is_bits_per_key(s->bits_per_key) ||
           bits_of_capacity(s->nbits, capacity) == s->bits_per_key;
}

/* A rate that the format says nothing of: what the size gives at the capacity. */
static double rate_of(const struct single *s, uint64_t capacity) {
    struct sizing size = {s->nbits, s->nhashes};
    double rate = sizing_error_rate(capacity, size, s->geometry);
    return rate < 0x1p-1000 ? 0x1p-1000 : rate >= 1 ? 1 - 0x1p-53 : rate;
}

static enum status decode_single(const struct single *s, const struct formats_options *options,
                                 struct filter *filter, const char **fault) {
    uint64_t capacity = options->capacity ? options->capacity : default_capacity(s);
    double rate = rate_of(s, capacity);
    *fault = "bits per key";
    if (!can_export_again(s, capacity)) return STATUS_CORRUPT;
    struct layer *layer = &filter->layers[0];
    enum status st =
        layer_init(layer, (struct sizing){s->nbits, s->nhashes}, s->geometry, capacity, rate);
    if (st != STATUS_OK) return st;
    filter->nlayers = 1;
    filter->layout = s->geometry.layout;
    filter->scheme = s->geometry.scheme;
    filter->expansion = options->expansion;
    filter->bits_per_key = limits_is_bits_per_key(s->bits_per_key) ? s->bits_per_key : 0;
    filter->error_rate = filter->bits_per_key != 0 ? 0 : rate;
    filter->is_estimated = true;
    filter->loaded = layer_bytes(s->nbits);
    memcpy(layer->bits, s->bits, (size_t)layer_bytes(s->nbits));
    *fault = "bits beyond m";
    if (!layer_tail_is_zero(layer)) return STATUS_CORRUPT;
    layer->ones = layer_count_ones(layer);
    layer->items = layer_estimate_items(layer);
    layer_advise_pages(layer);
    return STATUS_OK;
}

/* ---- Reading RedisBloom's dump ------------------------------------------------------------ */

const char *formats_obstacle_to_native(const struct filter *filter) {
    if (filter->expansion > LIMITS_MAX_EXPANSION) return "expansion";
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        if (layer->nhashes > SIZING_MOST_HASHES) return "hashes";
        bool possible =
            layer->items <= layer->capacity && layer->items <= layer->ones &&
            (layer->ones == 0 || layer->items >= (layer->ones - 1) / layer->nhashes + 1);
        if (!possible) return "items";
    }
    return NULL;
}

void formats_make_native(struct filter *filter) {
    filter->is_foreign = false;
    filter->growth = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) filter->layers[i].bits_per_item = 0;
}

static enum status fill_redisbloom(struct reader *r, struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        struct layer source = *layer;
        source.bits = (uint8_t *)(uintptr_t)r->at; // only read from
        if (layer_copy(layer, &source) != STATUS_OK) return STATUS_NOMEM;
        r->at += layer_bytes(layer->nbits);
        layer->ones = layer_count_ones(layer);
    }
    return STATUS_OK;
}

static enum status decode_redisbloom(struct reader *r, bool keep_foreign, uint64_t max_bytes,
                                     struct filter **out, const char **fault) {
    struct filter *filter;
    enum status st = redisbloom_decode_header(r, &filter, fault);
    if (st != STATUS_OK) return st;
    *fault = "length is not that of the layers' bits";
    st = STATUS_CORRUPT;
    if (filter_array_bytes(filter) != r->left) goto fail;
    st = STATUS_NOMEM;
    if (filter_size_bytes(filter) > max_bytes) goto fail;
    st = fill_redisbloom(r, filter);
    if (st != STATUS_OK) goto fail;
    if (!keep_foreign) {
        st = STATUS_CORRUPT;
        *fault = formats_obstacle_to_native(filter);
        if (*fault) goto fail;
        formats_make_native(filter);
    }
    *out = filter;
    return STATUS_OK;
fail:
    filter_free(filter);
    return st;
}

enum status formats_decode(enum format format, const uint8_t *bytes, size_t len,
                           const struct formats_options *options, uint64_t max_bytes,
                           struct filter **out, const char **fault) {
    struct reader r = {bytes, len, false};
    if (format == FORMAT_REDISBLOOM) {
        return decode_redisbloom(&r, options->keep_foreign, max_bytes, out, fault);
    }
    struct single single = {0};
    *fault = read_single(format, &r, options->scheme, &single);
    if (*fault) return STATUS_CORRUPT;
    uint64_t size = filter_structure_bytes(1) + layer_bytes(single.nbits);
    if (size > max_bytes) return STATUS_NOMEM;
    struct filter *filter = filter_new_bare(1);
    if (!filter) return STATUS_NOMEM;
    enum status st = decode_single(&single, options, filter, fault);
    if (st != STATUS_OK) {
        filter_free(filter);
        return st;
    }
    *out = filter;
    return STATUS_OK;
}
