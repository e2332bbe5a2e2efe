/* RedisBloom's filters. See redisbloom.h. */

#include "rdb/redisbloom.h"

#include "module/core/real.h"

#include <math.h>

#define FIXED_BYTES 20
#define LAYER_BYTES 53
#define OPTIONS 5U // sizes as given, 64-bit hash: every filter made since 2.0
#define OPTION_NONSCALING 8U
#define NONSCALING_GROWTH 2U // what a non-scaling one carries if nothing was asked for

/* ---- Fields out of a filter ----------------------------------------------------------------- */

struct redisbloom_fixed redisbloom_fixed_of(const struct filter *filter) {
    uint32_t expansion = filter->expansion ? filter->expansion : NONSCALING_GROWTH;
    return (struct redisbloom_fixed){
        .items = filter_items(filter),
        .nlayers = filter->nlayers,
        .options = OPTIONS | (filter->expansion ? 0 : OPTION_NONSCALING),
        .growth = filter->is_foreign ? filter->growth : expansion,
    };
}

struct redisbloom_layer redisbloom_layer_of(const struct layer *layer) {
    double bits_per_item = layer->bits_per_item;
    if (bits_per_item == 0) bits_per_item = sizing_redisbloom_bits(layer->error_rate);
    return (struct redisbloom_layer){
        .nbytes = layer_bytes(layer->nbits),
        .nbits = layer->nbits,
        .items = layer->items,
        .nhashes = layer->nhashes,
        .capacity = layer->capacity,
        .error_rate = layer->error_rate,
        .bits_per_item = bits_per_item,
    };
}

/* ---- Fields into a filter ------------------------------------------------------------------- */

/* Old filters (1.x) have other options, a power of two as modulus and a 32-bit hash. */
static const char *check_fixed(const struct redisbloom_fixed *fixed) {
    if ((fixed->options & ~(uint64_t)OPTION_NONSCALING) != OPTIONS) {
        return "options: only 5 and 13 are known, what RedisBloom has written since 2.0";
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
    filter->is_foreign = true;
    filter->layout = LAYOUT_CLASSIC;
    filter->scheme = SCHEME_MURMUR;
    filter->growth = (uint32_t)fixed->growth;
    filter->expansion = fixed->options & OPTION_NONSCALING ? 0 : filter->growth;
    return filter;
}

/* What only this format has; the layer as such is checked by limits.h. */
static const char *check_layer(const struct redisbloom_layer *l) {
    if (l->nhashes > UINT32_MAX || (double)l->nhashes != ceil(l->bits_per_item * REAL_LN2)) {
        return "hashes";
    }
    if (l->nbits < 1 || l->nbytes != l->nbits / 8) return "bits";
    return l->n2 != 0 ? "n2: only 0 is known, what RedisBloom has written since 2.0" : NULL;
}

const char *redisbloom_put_layer(struct filter *filter, const struct redisbloom_layer *from) {
    struct layer layer = {
        .capacity = from->capacity,
        .items = from->items,
        .error_rate = from->error_rate,
        .bits_per_item = from->bits_per_item,
        .nhashes = (uint32_t)from->nhashes,
    };
    layer_set_geometry(&layer, (struct geometry){LAYOUT_CLASSIC, SCHEME_MURMUR});
    if (from->nbits > 0) layer_set_nbits(&layer, from->nbits);
    const char *fault = limits_layer_fault(filter, &layer);
    if (!fault) fault = check_layer(from);
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

size_t redisbloom_header_size(const struct filter *filter) {
    return FIXED_BYTES + LAYER_BYTES * (size_t)filter->nlayers;
}

void redisbloom_encode_header(const struct filter *filter, uint8_t *out) {
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

enum status redisbloom_decode_header(struct reader *r, struct filter **out, const char **fault) {
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
