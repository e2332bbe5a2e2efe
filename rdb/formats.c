/* Filters in the formats of other programs. See formats.h. */

#include "rdb/formats.h"

#include "module/core/blocked.h"
#include "module/core/real.h"
#include "rdb/bytes.h"

#include <math.h>
#include <string.h>

#define MAX_HASHES SIZING_MOST_HASHES
#define PORTABLE_HEADER 12
#define SSTABLE_HEADER 16
#define REDISBLOOM_FIXED 20
#define REDISBLOOM_LAYER 53
#define REDISBLOOM_OPTIONS 5U // sizes as given, 64-bit hash: every filter made since 2.0
#define REDISBLOOM_NONSCALING 8U
#define REDISBLOOM_GROWTH 2U // what a non-scaling one carries

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

static const char *redisbloom_obstacle(const struct filter *filter) {
    if (filter->scheme != SCHEME_MURMUR) {
        return "hash is not MURMUR: only filters imported from RedisBloom can go back, use "
               "portable";
    }
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        if (!is_redisbloom_layer(&filter->layers[i]))
            return "a layer is not as RedisBloom sizes it";
    }
    return NULL;
}

const char *formats_obstacle(const struct filter *filter, enum format format) {
    bool is_xxh64 = filter->scheme == SCHEME_XXH64, is_fnv1a = filter->scheme == SCHEME_FNV1A;
    if (format == FORMAT_REDISBLOOM) return redisbloom_obstacle(filter);
    if (filter->nlayers > 1) {
        return "it has more than one layer: BF.SCANDUMP carries any filter, or reserve it larger";
    }
    const struct layer *layer = &filter->layers[0];
    switch (format) {
    case FORMAT_PARQUET:
        if (filter->layout != LAYOUT_BLOCKED) return "layout is not BLOCKED, use portable";
        return layer->nbits / 8 > INT32_MAX ? "it is larger than 2 GiB, use BF.SCANDUMP" : NULL;
    case FORMAT_LEVELDB:
        if (filter->scheme != SCHEME_LEVELDB) return "hash is not LEVELDB, use portable";
        return layer->nbits % 8 != 0 || layer->nhashes > SIZING_MAX_HASHES
                   ? "its size is not one that LevelDB has"
                   : NULL;
    default:
        if (filter->layout == LAYOUT_BLOCKED) return "layout is BLOCKED, use parquet";
        if (filter->scheme == SCHEME_LEVELDB) return "hash is LEVELDB, use leveldb";
        if (filter->scheme == SCHEME_MURMUR) return "hash is MURMUR, use redisbloom";
        return is_xxh64 || is_fnv1a ? NULL : "its hash is not one of this format";
    }
}

uint64_t formats_size(const struct filter *filter, enum format format) {
    uint64_t bits = filter_array_bytes(filter);
    switch (format) {
    case FORMAT_PORTABLE: return PORTABLE_HEADER + bits;
    case FORMAT_SSTABLE: return SSTABLE_HEADER + bits;
    case FORMAT_LEVELDB: return bits + 1;
    case FORMAT_PARQUET: return 1 + varint_size(2 * bits) + sizeof(PARQUET_TAIL) + bits;
    default: return REDISBLOOM_FIXED + REDISBLOOM_LAYER * (uint64_t)filter->nlayers + bits;
    }
}

static void put_bits(struct writer *w, const struct layer *layer) {
    size_t size = (size_t)layer_bytes(layer->nbits);
    memcpy(w->at, layer->bits, size);
    w->at += size;
}

static uint32_t rounded_bits_per_key(const struct layer *layer) {
    double bits = floor((double)layer->nbits / (double)layer->capacity + 0.5);
    return bits < 1 ? 1 : bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
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
    put_u64(w, filter_items(filter));
    put_u32(w, filter->nlayers);
    put_u32(w, REDISBLOOM_OPTIONS | (filter->expansion ? 0 : REDISBLOOM_NONSCALING));
    put_u32(w, filter->expansion ? filter->expansion : REDISBLOOM_GROWTH);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        put_u64(w, layer->nbits / 8);
        put_u64(w, layer->nbits);
        put_u64(w, layer->items);
        put_f64(w, layer->error_rate);
        put_f64(w, sizing_redisbloom_bits(layer->error_rate));
        put_u32(w, layer->nhashes);
        put_u64(w, layer->capacity);
        put_u8(w, 0);
    }
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
    case FORMAT_SSTABLE:
        put_u64(&w, layer->nbits);
        put_u32(&w, layer->nhashes);
        put_u32(&w, rounded_bits_per_key(layer));
        put_bits(&w, layer);
        break;
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
    uint32_t bits_per_key = take_u32(r);
    s->geometry = (struct geometry){LAYOUT_CLASSIC, scheme};
    if (r->bad) return "shorter than its header";
    return bits_per_key < 1 ? "bits per key" : NULL;
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
    if (s->nhashes < 1 || s->nhashes > MAX_HASHES) return "k";
    if (s->nbits < 1 || s->nbits > sizing_max_bits(s->geometry)) return "m";
    if (r->left != layer_bytes(s->nbits)) return "length is not that of m bits";
    s->bits = r->at;
    return NULL;
}

static uint64_t best_capacity(const struct single *s) {
    double n = floor((double)s->nbits * REAL_LN2 / s->nhashes);
    return n < 1 ? 1 : (uint64_t)n;
}

/* A rate that the format says nothing of: what the size gives at the capacity. */
static double rate_of(const struct single *s, uint64_t capacity) {
    struct sizing size = {s->nbits, s->nhashes};
    double rate = sizing_error_rate(capacity, size, s->geometry);
    return rate < 0x1p-1000 ? 0x1p-1000 : rate >= 1 ? 1 - 0x1p-53 : rate;
}

static enum status decode_single(const struct single *s, const struct formats_options *options,
                                 struct filter *filter, const char **fault) {
    uint64_t capacity = options->capacity ? options->capacity : best_capacity(s);
    double rate = rate_of(s, capacity);
    struct layer *layer = &filter->layers[0];
    enum status st =
        layer_init(layer, (struct sizing){s->nbits, s->nhashes}, s->geometry, capacity, rate);
    if (st != STATUS_OK) return st;
    filter->nlayers = 1;
    filter->layout = s->geometry.layout;
    filter->scheme = s->geometry.scheme;
    filter->expansion = options->expansion;
    filter->error_rate = rate;
    filter->is_estimated = true;
    filter->loaded = layer_bytes(s->nbits);
    memcpy(layer->bits, s->bits, (size_t)layer_bytes(s->nbits));
    layer->ones = layer_count_ones(layer);
    layer->items = layer_estimate_items(layer);
    *fault = "bits beyond m";
    return layer_tail_is_zero(layer) ? STATUS_OK : STATUS_CORRUPT;
}

/* ---- Reading RedisBloom's dump ------------------------------------------------------------ */

static const char *read_redisbloom_layer(struct reader *r, struct layer *layer) {
    uint64_t nbytes = take_u64(r), nbits = take_u64(r);
    layer->items = take_u64(r);
    layer->error_rate = take_f64(r);
    double bits_per_item = take_f64(r);
    layer->nhashes = take_u32(r);
    layer->capacity = take_u64(r);
    uint8_t n2 = take_u8(r);
    layer->layout = LAYOUT_CLASSIC;
    if (!(layer->error_rate > 0 && layer->error_rate < 1)) return "error rate";
    if (!(bits_per_item > 0 && bits_per_item < 10000)) return "bits per item";
    if (layer->nhashes < 1 || layer->nhashes > MAX_HASHES ||
        layer->nhashes != (uint32_t)ceil(bits_per_item * REAL_LN2)) {
        return "hashes";
    }
    if (nbits < 1 || nbits > SIZING_MAX_BITS || nbits % 8 != 0 || nbytes != nbits / 8)
        return "bits";
    if (layer->capacity < 1 || layer->capacity > FILTER_MAX_CAPACITY) return "capacity";
    if (layer->items > layer->capacity) return "items";
    layer_set_nbits(layer, nbits);
    return n2 != 0 ? "n2" : NULL;
}

struct redisbloom {
    uint64_t items;
    uint32_t nlayers, options, growth;
};

static const char *read_redisbloom_fixed(struct reader *r, struct redisbloom *h) {
    h->items = take_u64(r);
    h->nlayers = take_u32(r);
    h->options = take_u32(r);
    h->growth = take_u32(r);
    if (r->bad) return "shorter than its header";
    if ((h->options & ~REDISBLOOM_NONSCALING) != REDISBLOOM_OPTIONS) return "options";
    if (h->nlayers == 0 || h->nlayers > r->left / REDISBLOOM_LAYER) return "number of layers";
    bool scales = !(h->options & REDISBLOOM_NONSCALING);
    return scales && (h->growth < 1 || h->growth > FILTER_MAX_EXPANSION) ? "expansion" : NULL;
}

/* The layers' fields, each by itself and together. Their bits must be all that is left. */
static const char *read_redisbloom_layers(struct reader *r, const struct redisbloom *h,
                                          struct layer *layers) {
    uint64_t items = 0, capacity = 0, bytes = 0;
    for (uint32_t i = 0; i < h->nlayers; i++) {
        const char *fault = read_redisbloom_layer(r, &layers[i]);
        if (fault) return fault;
        items += layers[i].items; // each at most its capacity
        capacity += layers[i].capacity;
        bytes += layers[i].nbits / 8;
        if (capacity > FILTER_MAX_CAPACITY) return "capacity";
        if (bytes > r->left) return "length is not that of the layers' bits";
    }
    if (items != h->items) return "items";
    return bytes != r->left ? "length is not that of the layers' bits" : NULL;
}

static enum status fill_redisbloom(struct reader *r, uint32_t nlayers, struct filter *filter,
                                   const char **fault) {
    for (filter->nlayers = 0; filter->nlayers < nlayers; filter->nlayers++) {
        struct layer *layer = &filter->layers[filter->nlayers];
        struct layer source = *layer;
        source.bits = (uint8_t *)(uintptr_t)r->at; // only read from
        if (layer_copy(layer, &source) != STATUS_OK) return STATUS_NOMEM;
        r->at += layer_bytes(layer->nbits);
        layer->ones = layer_count_ones(layer);
        *fault = "items";
        bool possible =
            layer->items <= layer->ones &&
            (layer->ones == 0 || layer->items >= (layer->ones - 1) / layer->nhashes + 1);
        if (!possible) {
            filter->nlayers++;
            return STATUS_CORRUPT;
        }
    }
    return STATUS_OK;
}

static enum status decode_redisbloom(struct reader *r, uint64_t max_bytes, struct filter **out,
                                     const char **fault) {
    struct redisbloom h;
    *fault = read_redisbloom_fixed(r, &h);
    if (*fault) return STATUS_CORRUPT;
    struct filter *filter = filter_new_bare(h.nlayers);
    if (!filter) return STATUS_NOMEM;
    enum status st = STATUS_CORRUPT;
    *fault = read_redisbloom_layers(r, &h, filter->layers);
    if (*fault) goto fail;
    st = STATUS_NOMEM;
    if (r->left > max_bytes || filter_structure_bytes(h.nlayers) > max_bytes - r->left) goto fail;
    filter->scheme = SCHEME_MURMUR;
    filter->expansion = h.options & REDISBLOOM_NONSCALING ? 0 : h.growth;
    filter->loaded = r->left;
    // The first layer of a scaling filter got half of what was asked for.
    double first = filter->layers[0].error_rate;
    filter->error_rate = filter->expansion && first < 0.5 ? 2 * first : first;
    st = fill_redisbloom(r, h.nlayers, filter, fault);
    if (st != STATUS_OK) goto fail;
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
    if (format == FORMAT_REDISBLOOM) return decode_redisbloom(&r, max_bytes, out, fault);
    struct single single;
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
