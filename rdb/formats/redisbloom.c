/* RedisBloom's filters, and the format `redisbloom`: the header of its dump, then the bits of all
 * layers. See redisbloom.h. */

#include "rdb/formats/redisbloom.h"

#include "module/core/limits.h"
#include "module/core/math/real.h"
#include "rdb/formats/row.h"
#include "rdb/formats/single.h"
#include "rdb/header.h"

#include <math.h>

#define FIXED_BYTES 20
#define LAYER_BYTES 53
#define OPTIONS 5U // sizes as given, 64-bit hash: every filter made since 2.0
#define OPTION_NONSCALING 8U

/* ---- Fields out of a filter ----------------------------------------------------------------- */

/* A non-scaling filter carries a growth all the same, which `kept` has. */
struct redisbloom_fixed redisbloom_fixed_of(const struct filter *filter) {
    bool is_foreign = filter->origin == ORIGIN_REDISBLOOM;
    uint32_t kept = is_foreign ? filter->kept : origin_row(ORIGIN_REDISBLOOM)->kept;
    return (struct redisbloom_fixed){
        .items = filter_items(filter),
        .nlayers = filter->nlayers,
        .options = OPTIONS | (filter->expansion ? 0 : OPTION_NONSCALING),
        .growth = filter->expansion ? filter->expansion : kept,
    };
}

struct redisbloom_layer redisbloom_layer_of(const struct layer *layer) {
    double bits_per_item = layer->bits_per_item;
    if (bits_per_item == 0) bits_per_item = sizing_redisbloom_bits(layer->error_rate);
    return (struct redisbloom_layer){
        .nbytes = layer_array_bytes(layer),
        .nbits = layer->nbits,
        .items = layer->items,
        .nhashes = layer->nhashes,
        .capacity = layer->capacity,
        .error_rate = layer->error_rate,
        .bits_per_item = bits_per_item,
    };
}

/* ---- Fields into a filter ------------------------------------------------------------------- */

/* Filters from before 2.2 have other options, a power of two as modulus and a 32-bit hash. */
static const char *check_fixed(const struct redisbloom_fixed *fixed) {
    if ((fixed->options & ~(uint64_t)OPTION_NONSCALING) != OPTIONS) {
        return "options: only 5 and 13 are known, what RedisBloom has written since 2.2";
    }
    if (fixed->nlayers < 1 || fixed->nlayers > LIMITS_MAX_LAYERS) return "number of layers";
    bool scales = !(fixed->options & OPTION_NONSCALING);
    return fixed->growth > UINT32_MAX || (scales && fixed->growth < 1) ? "expansion" : NULL;
}

struct filter *redisbloom_new_bare(const struct redisbloom_fixed *fixed, const char **fault) {
    *fault = check_fixed(fixed);
    if (*fault) return NULL;
    struct filter *filter = filter_new_bare((uint32_t)fixed->nlayers);
    if (!filter) return NULL;
    bool scales = !(fixed->options & OPTION_NONSCALING);
    filter->origin = ORIGIN_REDISBLOOM;
    filter->layout = LAYOUT_CLASSIC;
    filter->scheme = SCHEME_MURMUR;
    filter->expansion = scales ? (uint32_t)fixed->growth : 0;
    filter->kept = scales ? 0 : (uint32_t)fixed->growth;
    return filter;
}

/* What only this format has; the layer as such is checked by limits.h. */
static const char *check_layer(const struct redisbloom_layer *l) {
    if (l->nhashes > UINT32_MAX || (double)l->nhashes != ceil(l->bits_per_item * REAL_LN2)) {
        return "hashes";
    }
    if (l->nbits < 1 || l->nbytes != l->nbits / 8) return "bits";
    return l->n2 != 0 ? "n2: only 0 is known, what RedisBloom has written since 2.2" : NULL;
}

/* Reads the fields of a layer. NULL, or the name of the field that is wrong. */
static const char *read_layer(const struct filter *filter, const struct redisbloom_layer *from,
                              struct layer *out) {
    *out = (struct layer){
        .capacity = from->capacity,
        .items = from->items,
        .error_rate = from->error_rate,
        .bits_per_item = from->bits_per_item,
        .nhashes = (uint32_t)from->nhashes,
    };
    layer_set_geometry(out, (struct geometry){LAYOUT_CLASSIC, SCHEME_MURMUR});
    if (from->nbits > 0) layer_set_nbits(out, from->nbits);
    const char *fault = limits_layer_fault(filter, out);
    return fault ? fault : check_layer(from);
}

const char *redisbloom_put_layer(struct filter *filter, const struct redisbloom_layer *from) {
    struct layer layer;
    const char *fault = read_layer(filter, from, &layer);
    if (!fault) filter->layers[filter->nlayers++] = layer;
    return fault;
}

const char *redisbloom_check_sums(struct filter *filter, uint64_t items) {
    // The first layer of a scaling filter got half of what was asked for.
    double first = filter->layers[0].error_rate;
    filter->error_rate = filter->expansion && first < 0.5 ? 2 * first : first;
    const char *fault = limits_fault(filter);
    if (fault) return fault;
    if (filter_items(filter) != items) return "items";
    filter->loaded = filter_array_bytes(filter);
    return NULL;
}

/* ---- The header of a dump ------------------------------------------------------------------- */

static size_t redisbloom_header_size(const struct filter *filter) {
    return FIXED_BYTES + LAYER_BYTES * (size_t)filter->nlayers;
}

static void redisbloom_encode_header(const struct filter *filter, uint8_t *out) {
    struct writer w = {out};
    struct redisbloom_fixed fixed = redisbloom_fixed_of(filter);
    put_u64(&w, fixed.items);
    put_u32(&w, (uint32_t)fixed.nlayers);
    put_u32(&w, (uint32_t)fixed.options);
    put_u32(&w, (uint32_t)fixed.growth);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct redisbloom_layer layer = redisbloom_layer_of(&filter->layers[i]);
        put_u64(&w, layer.nbytes);
        put_u64(&w, layer.nbits);
        put_u64(&w, layer.items);
        put_f64(&w, layer.error_rate);
        put_f64(&w, layer.bits_per_item);
        put_u32(&w, (uint32_t)layer.nhashes);
        put_u64(&w, layer.capacity);
        put_u8(&w, (uint8_t)layer.n2);
    }
}

static const char *take_layers(struct reader *r, uint64_t nlayers, struct filter *filter) {
    for (uint64_t i = 0; i < nlayers; i++) {
        struct redisbloom_layer layer;
        layer.nbytes = take_u64(r);
        layer.nbits = take_u64(r);
        layer.items = take_u64(r);
        layer.error_rate = take_f64(r);
        layer.bits_per_item = take_f64(r);
        layer.nhashes = take_u32(r);
        layer.capacity = take_u64(r);
        layer.n2 = take_u8(r);
        const char *fault = redisbloom_put_layer(filter, &layer);
        if (fault) return fault;
    }
    return NULL;
}

static enum status redisbloom_decode_header(struct reader *r, struct filter **out,
                                            const char **fault) {
    struct redisbloom_fixed fixed = {0};
    fixed.items = take_u64(r);
    fixed.nlayers = take_u32(r);
    fixed.options = take_u32(r);
    fixed.growth = take_u32(r);
    *fault = "shorter than its header";
    if (r->bad) return STATUS_CORRUPT;
    *fault = "number of layers";
    if (fixed.nlayers > r->left / LAYER_BYTES) return STATUS_CORRUPT;
    struct filter *filter = redisbloom_new_bare(&fixed, fault);
    if (!filter) return *fault ? STATUS_CORRUPT : STATUS_NOMEM;
    *fault = take_layers(r, fixed.nlayers, filter);
    if (!*fault) *fault = redisbloom_check_sums(filter, fixed.items);
    if (*fault) {
        filter_free(filter);
        return STATUS_CORRUPT;
    }
    *out = filter;
    return STATUS_OK;
}

/* ---- Filters of our own out of RedisBloom's ------------------------------------------------- */

/* Makes it one of our own, with RedisBloom's hash and rules of growth. */
static void redisbloom_make_native(struct filter *filter) {
    filter->origin = ORIGIN_OWN;
    filter->kept = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) filter->layers[i].bits_per_item = 0;
}

const struct header_row HEADER_REDISBLOOM = {
    .size = redisbloom_header_size,
    .encode = redisbloom_encode_header,
    .decode = redisbloom_decode_header,
    .make_native = redisbloom_make_native,
    .format = FORMAT_REDISBLOOM,
};

/* ---- The whole dump ------------------------------------------------------------------------- */

static bool redisbloom_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_MURMUR;
}

/* Whether a dump with this layer of our own is one that BF.IMPORT takes, by the same checks. */
static bool is_redisbloom_layer(const struct filter *filter, const struct layer *layer) {
    struct filter foreign = *filter; // only its fields are looked at
    struct redisbloom_layer fields = redisbloom_layer_of(layer);
    struct layer read;
    foreign.origin = ORIGIN_REDISBLOOM;
    return read_layer(&foreign, &fields, &read) == NULL;
}

static const char *redisbloom_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    if (filter->origin == ORIGIN_REDISBLOOM) return NULL;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        if (is_redisbloom_layer(filter, &filter->layers[i])) continue;
        return "a layer is not as RedisBloom sizes it, use BF.SCANDUMP";
    }
    return NULL;
}

static uint64_t redisbloom_size(const struct filter *filter) {
    return redisbloom_header_size(filter) + filter_array_bytes(filter);
}

static void redisbloom_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    redisbloom_encode_header(filter, w->at);
    w->at += redisbloom_header_size(filter);
    for (uint32_t i = 0; i < filter->nlayers; i++) single_put_bits(w, &filter->layers[i]);
}

static enum status redisbloom_fill(struct reader *r, struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        struct layer source = *layer;
        source.bits = (uint8_t *)(uintptr_t)r->at; // only read from
        source.ones = layer_count_ones(&source);
        if (layer_copy(layer, &source) != STATUS_OK) return STATUS_NOMEM;
        r->at += layer_array_bytes(layer);
    }
    return STATUS_OK;
}

static enum status redisbloom_decode(struct reader *r, const struct formats_options *options,
                                     uint64_t max_bytes, struct filter **out, const char **fault) {
    struct filter *filter;
    enum status st = redisbloom_decode_header(r, &filter, fault);
    if (st != STATUS_OK) return st;
    *fault = "length is not that of the layers' bits";
    st = STATUS_CORRUPT;
    if (filter_array_bytes(filter) != r->left) goto fail;
    st = STATUS_NOMEM;
    if (filter_size_bytes(filter) > max_bytes) goto fail;
    st = redisbloom_fill(r, filter);
    if (st != STATUS_OK) goto fail;
    if (!options->keep_foreign) {
        st = STATUS_CORRUPT;
        *fault = header_make_native(filter);
        if (*fault) goto fail;
    }
    *out = filter;
    return STATUS_OK;
fail:
    filter_free(filter);
    return st;
}

static bool redisbloom_recognise(const uint8_t *bytes, size_t len) {
    struct reader r = {bytes, len, false};
    struct filter *filter;
    const char *fault;
    if (redisbloom_decode_header(&r, &filter, &fault) != STATUS_OK) return false;
    bool fits = filter_array_bytes(filter) == r.left;
    filter_free(filter);
    return fits;
}

const struct format_row REDISBLOOM_ROW = {
    .own_sizes = "ERR a redisbloom dump brings its own capacity and expansion",
    .is_home = redisbloom_is_home,
    .limit = redisbloom_limit,
    .advice = "hash is MURMUR, use redisbloom",
    .needs = "hash is not MURMUR: only filters that came from RedisBloom can go back, use portable",
    .size = redisbloom_size,
    .encode = redisbloom_encode,
    .decode = redisbloom_decode,
    .recognise = redisbloom_recognise,
};
