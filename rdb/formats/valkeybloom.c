/* valkey-bloom's filters, and the format `valkeybloom`: the string of BF.LOAD. See valkeybloom.h.
 */

#include "rdb/formats/valkeybloom.h"

#include "module/core/limits.h"
#include "rdb/formats/row.h"
#include "rdb/formats/single.h"
#include "rdb/header.h"

#include <string.h>

#define VERSION 1 // of the arrays, of BF.LOAD's string and of the chunks' header
#define MAGIC_BYTES HEADER_MAGIC_BYTES
#define FIXED_BYTES 72 // of the chunks' header, before the layers
#define LAYER_BYTES 32 // each
#define CHECKSUM_BYTES 8
#define NATIVE_RATIO 0.5 // valkey-bloom's default, for the filters of our own
#define LOAD_FIXED 30    // bytes of BF.LOAD's string before the layers
#define LOAD_BEFORE 8    // of a layer, before the array: its length
#define LOAD_AFTER 16    // of a layer, after the array: items, capacity
#define LOAD_LAYER (LOAD_BEFORE + VALKEYBLOOM_ARRAY_HEADER + LOAD_AFTER) // and the bits

/* The bytes 59 0f f5 22 ... 33 83, as little-endian words. */
const struct seed VALKEYBLOOM_FIXED_SEED = {
    {0xda1178ea22f50f59U, 0xd97b3e3b09d814a7U, 0x8788983e738a891dU, 0x83330728cd977f30U}};

const char VALKEYBLOOM_UNKNOWN_VERSION[] = "version";

static bool same_seed(const struct seed *a, const struct seed *b) {
    return memcmp(a->keys, b->keys, sizeof(a->keys)) == 0;
}

bool valkeybloom_is_fixed_seed(const struct seed *seed) {
    return same_seed(seed, &VALKEYBLOOM_FIXED_SEED);
}

static void put_seed(struct writer *w, const struct seed *seed) {
    for (size_t i = 0; i < 4; i++) put_u64(w, seed->keys[i]);
}

static struct seed take_seed(struct reader *r) {
    struct seed seed;
    for (size_t i = 0; i < 4; i++) seed.keys[i] = take_u64(r);
    return seed;
}

/* ---- Fields out of a filter ----------------------------------------------------------------- */

/* A filter of our own has its first layer's error rate as its own here: all of the rate belongs to
 * the first layer. */
struct valkeybloom_fixed valkeybloom_fixed_of(const struct filter *filter) {
    bool is_foreign = filter->origin == ORIGIN_VALKEYBLOOM;
    return (struct valkeybloom_fixed){
        .nlayers = filter->nlayers,
        .expansion = filter->expansion,
        .flag = filter->kept || !valkeybloom_is_fixed_seed(&filter->seed),
        .error_rate = is_foreign ? filter->error_rate : filter->layers[0].error_rate,
        .ratio = is_foreign ? filter->ratio : NATIVE_RATIO,
    };
}

struct valkeybloom_layer valkeybloom_layer_of(const struct filter *filter,
                                              const struct layer *layer) {
    return (struct valkeybloom_layer){
        .capacity = layer->capacity,
        .items = layer->items,
        .nbits = layer->nbits,
        .nhashes = layer->nhashes,
        .seed = filter->seed,
    };
}

/* ---- Fields into a filter ------------------------------------------------------------------- */

static const char *check_fixed(const struct valkeybloom_fixed *fixed) {
    if (fixed->nlayers < 1 || fixed->nlayers > LIMITS_MAX_LAYERS) return "number of layers";
    if (fixed->expansion > UINT32_MAX) return "expansion";
    if (!limits_is_error_rate(fixed->error_rate)) return "error rate";
    if (!(fixed->ratio > 0 && fixed->ratio < 1)) return "tightening ratio";
    return fixed->flag > 1 ? "seed flag" : NULL;
}

struct filter *valkeybloom_new_bare(const struct valkeybloom_fixed *fixed, const char **fault) {
    *fault = check_fixed(fixed);
    if (*fault) return NULL;
    struct filter *filter = filter_new_bare((uint32_t)fixed->nlayers);
    if (!filter) return NULL;
    filter->origin = ORIGIN_VALKEYBLOOM;
    filter->kept = (uint32_t)fixed->flag;
    filter->layout = LAYOUT_CLASSIC;
    filter->scheme = SCHEME_SIP13;
    filter->expansion = (uint32_t)fixed->expansion;
    filter->error_rate = fixed->error_rate;
    filter->ratio = fixed->ratio;
    return filter;
}

/* The error rate of layer i. The first layer may have a subnormal one, the others not. */
static double rate_of(const struct filter *filter, uint32_t i) {
    if (i == 0) return filter->error_rate;
    return sizing_valkeybloom_rate(filter->error_rate, filter->ratio, i);
}

const char *valkeybloom_put_layer(struct filter *filter, const struct valkeybloom_layer *from) {
    if (from->nhashes > UINT32_MAX) return "hashes";
    if (filter->nlayers == 0) filter->seed = from->seed;
    if (!same_seed(&filter->seed, &from->seed)) return "seed";
    struct layer layer = {
        .capacity = from->capacity,
        .items = from->items,
        .error_rate = rate_of(filter, filter->nlayers),
        .nhashes = (uint32_t)from->nhashes,
    };
    layer_set_geometry(&layer, (struct geometry){LAYOUT_CLASSIC, SCHEME_SIP13});
    if (from->nbits > 0) layer_set_nbits(&layer, from->nbits);
    const char *fault = limits_layer_fault(filter, &layer);
    if (!fault) filter->layers[filter->nlayers++] = layer;
    return fault;
}

/* Whether every layer but the last is full, and the last holds its capacity at most. */
static bool items_are_legal(const struct filter *filter) {
    for (uint32_t i = 0; i + 1 < filter->nlayers; i++) {
        if (filter->layers[i].items != filter->layers[i].capacity) return false;
    }
    return filter_newest(filter)->items <= filter_newest(filter)->capacity;
}

/* The flag says whether the seed is the fixed one. Only with the fixed seed can it be either, so
 * only there is it kept. */
const char *valkeybloom_check_sums(struct filter *filter) {
    bool is_fixed = valkeybloom_is_fixed_seed(&filter->seed);
    if (!filter->kept && !is_fixed) return "seed";
    if (!is_fixed) filter->kept = 0;
    const char *fault = limits_fault(filter);
    if (fault) return fault;
    if (!items_are_legal(filter)) return "items";
    filter->loaded = filter_array_bytes(filter);
    return NULL;
}

/* ---- The array of a layer ------------------------------------------------------------------- */

void valkeybloom_encode_array_header(const struct filter *filter, const struct layer *layer,
                                     uint8_t out[VALKEYBLOOM_ARRAY_HEADER]) {
    struct writer w = {out};
    put_u8(&w, VERSION);
    put_u64(&w, layer_array_bytes(layer));
    put_u32(&w, layer->nhashes);
    put_seed(&w, &filter->seed);
}

const char *valkeybloom_decode_array_header(const uint8_t *bytes, size_t len, uint64_t *nbits,
                                            uint64_t *nhashes, struct seed *seed) {
    struct reader r = {bytes, len, false};
    uint8_t version = take_u8(&r);
    uint64_t nbytes = take_u64(&r);
    uint32_t k = take_u32(&r);
    struct seed read = take_seed(&r);
    if (r.bad) return "array is shorter than its header";
    if (version != VERSION) return "version of an array";
    if (nbytes != r.left || nbytes < 1 || nbytes > SIZING_MAX_BITS / 8) return "bits";
    if (k == 0) return "hashes";
    *nbits = 8 * nbytes;
    *nhashes = k;
    *seed = read;
    return NULL;
}

void valkeybloom_reverse_bits(uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) bytes[i] = single_turn_bits(bytes[i]);
}

/* ---- The string of BF.LOAD ------------------------------------------------------------------ */

uint64_t valkeybloom_load_size(const struct filter *filter) {
    return LOAD_FIXED + (uint64_t)LOAD_LAYER * filter->nlayers + filter_array_bytes(filter);
}

void valkeybloom_encode_load(const struct filter *filter, uint8_t *out) {
    struct valkeybloom_fixed fixed = valkeybloom_fixed_of(filter);
    struct writer w = {out};
    put_u8(&w, VERSION);
    put_u32(&w, (uint32_t)fixed.expansion);
    put_f64(&w, fixed.error_rate);
    put_f64(&w, fixed.ratio);
    put_u8(&w, (uint8_t)fixed.flag);
    put_u64(&w, fixed.nlayers);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        put_u64(&w, VALKEYBLOOM_ARRAY_HEADER + layer_array_bytes(layer));
        valkeybloom_encode_array_header(filter, layer, w.at);
        w.at += VALKEYBLOOM_ARRAY_HEADER;
        single_put_bits(&w, layer);
        put_u64(&w, layer->items);
        put_u64(&w, layer->capacity);
    }
}

/* Reads one layer and passes over its bits. */
static const char *take_loaded_layer(struct reader *r, struct filter *filter) {
    uint64_t len = take_u64(r);
    if (r->bad || len > r->left) return "length of an array";
    struct valkeybloom_layer layer;
    const char *fault = valkeybloom_decode_array_header(r->at, (size_t)len, &layer.nbits,
                                                        &layer.nhashes, &layer.seed);
    if (fault) return fault;
    r->at += len;
    r->left -= (size_t)len;
    layer.items = take_u64(r);
    layer.capacity = take_u64(r);
    return r->bad ? "shorter than its layers" : valkeybloom_put_layer(filter, &layer);
}

/* Reads all fields: the layers' bits are still NULL. */
static enum status take_loaded(struct reader *r, struct filter **out, const char **fault) {
    struct valkeybloom_fixed fixed;
    *fault = VALKEYBLOOM_UNKNOWN_VERSION;
    if (r->left > 0 && take_u8(r) != VERSION) return STATUS_CORRUPT;
    fixed.expansion = take_u32(r);
    fixed.error_rate = take_f64(r);
    fixed.ratio = take_f64(r);
    fixed.flag = take_u8(r);
    fixed.nlayers = take_u64(r);
    *fault = "shorter than its header";
    if (r->bad) return STATUS_CORRUPT;
    *fault = "number of layers";
    if (fixed.nlayers > r->left / LOAD_LAYER) return STATUS_CORRUPT;
    struct filter *filter = valkeybloom_new_bare(&fixed, fault);
    if (!filter) return *fault ? STATUS_CORRUPT : STATUS_NOMEM;
    for (uint64_t i = 0; i < fixed.nlayers && !*fault; i++) *fault = take_loaded_layer(r, filter);
    if (!*fault && r->left > 0) *fault = "bytes after the last layer";
    if (!*fault) *fault = valkeybloom_check_sums(filter);
    if (*fault) {
        filter_free(filter);
        return STATUS_CORRUPT;
    }
    *out = filter;
    return STATUS_OK;
}

/* Copies the bits out of the string, whose fields have been read. */
static enum status fill(struct filter *filter, const uint8_t *bytes) {
    const uint8_t *at = bytes + LOAD_FIXED;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        struct layer source = *layer;
        at += LOAD_BEFORE + VALKEYBLOOM_ARRAY_HEADER;
        source.bits = (uint8_t *)(uintptr_t)at; // only read from
        source.ones = layer_count_ones(&source);
        if (layer_copy(layer, &source) != STATUS_OK) return STATUS_NOMEM;
        at += layer_array_bytes(layer) + LOAD_AFTER;
    }
    return STATUS_OK;
}

enum status valkeybloom_decode_load(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                                    struct filter **out, const char **fault) {
    struct reader r = {bytes, len, false};
    struct filter *filter;
    enum status st = take_loaded(&r, &filter, fault);
    if (st != STATUS_OK) return st;
    bool fits = filter_size_bytes(filter) <= max_bytes;
    st = fits ? fill(filter, bytes) : STATUS_NOMEM;
    if (st == STATUS_OK) {
        *out = filter;
    } else {
        filter_free(filter);
    }
    return st;
}

/* ---- The header of chunks ------------------------------------------------------------------- */

static size_t header_size(uint64_t nlayers) {
    return FIXED_BYTES + LAYER_BYTES * (size_t)nlayers + CHECKSUM_BYTES;
}

static size_t valkeybloom_header_size(const struct filter *filter) {
    return header_size(filter->nlayers);
}

static void valkeybloom_encode_header(const struct filter *filter, uint8_t *out) {
    struct valkeybloom_fixed fixed = valkeybloom_fixed_of(filter);
    struct writer w = {out + MAGIC_BYTES};
    memcpy(out, VALKEYBLOOM_MAGIC, MAGIC_BYTES);
    put_u32(&w, VERSION);
    put_u32(&w, (uint32_t)fixed.expansion);
    put_u32(&w, (uint32_t)fixed.nlayers);
    put_u32(&w, (uint32_t)fixed.flag); // one byte and three zeroes
    put_f64(&w, fixed.error_rate);
    put_f64(&w, fixed.ratio);
    put_seed(&w, &filter->seed);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        put_u64(&w, layer->capacity);
        put_u64(&w, layer->items);
        put_u64(&w, layer->nbits);
        put_u64(&w, layer->nhashes); // four bytes and four zeroes
    }
    put_u64(&w, hash_checksum(out, (size_t)(w.at - out)));
}

/* The length of the header at the beginning of these bytes, as its number of layers says. 0 if they
 * do not begin with VALKEYBLOOM_MAGIC, or are too short. */
static size_t valkeybloom_header_length(const uint8_t *bytes, size_t len) {
    if (len < FIXED_BYTES || memcmp(bytes, VALKEYBLOOM_MAGIC, MAGIC_BYTES) != 0) return 0;
    struct reader r = {bytes + MAGIC_BYTES, len - MAGIC_BYTES, false};
    take_u64(&r); // version, expansion
    size_t size = header_size(take_u32(&r));
    return size <= len ? size : 0;
}

static const char *take_layers(struct reader *r, const struct seed *seed, uint64_t nlayers,
                               struct filter *filter) {
    for (uint64_t i = 0; i < nlayers; i++) {
        struct valkeybloom_layer layer = {.seed = *seed};
        layer.capacity = take_u64(r);
        layer.items = take_u64(r);
        layer.nbits = take_u64(r);
        layer.nhashes = take_u64(r); // refused if the four zeroes are none
        const char *fault = valkeybloom_put_layer(filter, &layer);
        if (fault) return fault;
    }
    return valkeybloom_check_sums(filter);
}

/* Reads the fields before the layers. NULL, or the one that is wrong. */
static const char *take_fixed(struct reader *r, struct valkeybloom_fixed *fixed,
                              struct seed *seed) {
    const uint8_t *start = r->at;
    size_t size = valkeybloom_header_length(start, r->left);
    if (size == 0) return "shorter than its header";
    struct reader tail = {start + size - CHECKSUM_BYTES, CHECKSUM_BYTES, false};
    if (take_u64(&tail) != hash_checksum(start, size - CHECKSUM_BYTES)) return "checksum";
    take_u64(r); // the magic
    if (take_u32(r) != VERSION) return VALKEYBLOOM_UNKNOWN_VERSION;
    fixed->expansion = take_u32(r);
    fixed->nlayers = take_u32(r);
    fixed->flag = take_u32(r); // refused if the three zeroes are none
    fixed->error_rate = take_f64(r);
    fixed->ratio = take_f64(r);
    *seed = take_seed(r);
    return NULL;
}

static enum status valkeybloom_decode_header(struct reader *r, struct filter **out,
                                             const char **fault) {
    struct valkeybloom_fixed fixed;
    struct seed seed;
    *fault = take_fixed(r, &fixed, &seed);
    if (*fault) return STATUS_CORRUPT;
    struct filter *filter = valkeybloom_new_bare(&fixed, fault);
    if (!filter) return *fault ? STATUS_CORRUPT : STATUS_NOMEM;
    *fault = take_layers(r, &seed, fixed.nlayers, filter);
    if (*fault) {
        filter_free(filter);
        return STATUS_CORRUPT;
    }
    take_u64(r); // the checksum
    *out = filter;
    return STATUS_OK;
}

/* ---- Filters of our own out of valkey-bloom's ----------------------------------------------- */

/* The rate of a scaling filter whose first layers have these rates and leave our share for growth:
 * the layers that are there take the place of the first one. Under 1, as every rate. */
static double rate_with_growth(const struct filter *filter) {
    double sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].error_rate;
    double rate = sum / SIZING_FIRST_SHARE;
    return rate < 1 ? rate : 1 - 0x1p-53;
}

/* Makes it one of our own. It keeps hash and seed, and grows by our rules from now on. A scaling
 * one has a higher error rate than was asked for: valkey-bloom gives all of that to the first
 * layer, and we promise the sum over all layers. */
static void valkeybloom_make_native(struct filter *filter) {
    if (filter->expansion) filter->error_rate = rate_with_growth(filter);
    filter->origin = ORIGIN_OWN;
    filter->kept = 0;
    filter->ratio = 0;
}

const struct header_row HEADER_VALKEYBLOOM = {
    .magic = VALKEYBLOOM_MAGIC,
    .size = valkeybloom_header_size,
    .encode = valkeybloom_encode_header,
    .decode = valkeybloom_decode_header,
    .make_native = valkeybloom_make_native,
    .format = FORMAT_VALKEYBLOOM,
};

/* ---- The format ----------------------------------------------------------------------------- */

static bool valkeybloom_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_SIP13 && filter->layout == LAYOUT_CLASSIC;
}

/* What we size has any number of bits; what came from valkey-bloom has whole bytes. */
static bool is_valkeybloom_layer(const struct filter *filter, uint32_t i) {
    double first = filter->layers[0].error_rate;
    double rate = i == 0 ? first : sizing_valkeybloom_rate(first, NATIVE_RATIO, i);
    return limits_is_error_rate(rate) && filter->layers[i].nbits % 8 == 0;
}

static const char *valkeybloom_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    if (filter->origin == ORIGIN_VALKEYBLOOM) return NULL;
    if (!items_are_legal(filter)) return "a layer is not as valkey-bloom fills it, use BF.SCANDUMP";
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        if (is_valkeybloom_layer(filter, i)) continue;
        return "a layer is not as valkey-bloom sizes it, use BF.SCANDUMP";
    }
    return NULL;
}

static void valkeybloom_encode(const struct filter *filter, enum variant variant,
                               struct writer *w) {
    (void)variant;
    valkeybloom_encode_load(filter, w->at);
    w->at += valkeybloom_load_size(filter);
}

static enum status valkeybloom_decode(struct reader *r, const struct formats_options *options,
                                      uint64_t max_bytes, struct filter **out, const char **fault) {
    struct filter *filter;
    enum status st = valkeybloom_decode_load(r->at, r->left, max_bytes, &filter, fault);
    if (st != STATUS_OK) return st;
    if (!options->keep_foreign) {
        *fault = header_make_native(filter);
        if (*fault) {
            filter_free(filter);
            return STATUS_CORRUPT;
        }
    }
    *out = filter;
    return STATUS_OK;
}

/* By the fields before the layers, which have narrow ranges. */
static bool valkeybloom_recognise(const uint8_t *bytes, size_t len) {
    struct reader r = {bytes, len, false};
    uint8_t version = take_u8(&r);
    take_u32(&r); // any expansion
    double error_rate = take_f64(&r), ratio = take_f64(&r);
    uint8_t flag = take_u8(&r);
    uint64_t nlayers = take_u64(&r);
    bool has_rates = error_rate > 0 && error_rate < 1 && ratio > 0 && ratio < 1;
    return !r.bad && version == 1 && has_rates && flag <= 1 && nlayers <= LIMITS_MAX_LAYERS;
}

const struct format_row VALKEYBLOOM_ROW = {
    .own_sizes = "ERR a valkeybloom string brings its own capacity and expansion",
    .is_home = valkeybloom_is_home,
    .limit = valkeybloom_limit,
    .advice = "hash is SIP13, use valkeybloom",
    .needs = "hash is not SIP13: only filters with HASH SIP13 can go to valkey-bloom, use portable",
    .size = valkeybloom_load_size,
    .encode = valkeybloom_encode,
    .decode = valkeybloom_decode,
    .recognise = valkeybloom_recognise,
};
