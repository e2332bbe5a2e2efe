/* The scalable filter. See filter.h. */

#include "module/core/filter.h"

#include "module/core/mem.h"
#include "module/core/sizing.h"

#include <string.h>

static bool params_are_valid(const struct filter_params *p) {
    bool by_bits = p->bits_per_key != 0;
    // Written so that a NaN fails.
    bool rate_ok = by_bits ? p->bits_per_key >= SIZING_MIN_BITS_PER_KEY &&
                                 p->bits_per_key <= SIZING_MAX_BITS_PER_KEY
                           : p->error_rate > 0 && p->error_rate < 1;
    return rate_ok && p->capacity >= 1 && p->capacity <= FILTER_MAX_CAPACITY &&
           p->expansion <= FILTER_MAX_EXPANSION && p->layout < LAYOUT_COUNT &&
           hash_is_scheme(p->scheme) && (p->layout == LAYOUT_CLASSIC || p->scheme == SCHEME_XXH64);
}

static struct geometry filter_geometry(const struct filter *filter) {
    return (struct geometry){filter->layout, filter->scheme};
}

double filter_first_rate(double error_rate, uint32_t expansion) {
    return expansion ? error_rate * SIZING_FIRST_SHARE : error_rate;
}

/* The size and the promised rate of the first layer. */
static bool size_first_layer(const struct filter_params *p, struct sizing *size, double *rate) {
    struct geometry geometry = {p->layout, p->scheme};
    if (p->bits_per_key != 0) {
        if (!sizing_by_bits(p->capacity, p->bits_per_key, geometry, size)) return false;
        *rate = sizing_error_rate(p->capacity, *size, geometry);
        return true;
    }
    *rate = filter_first_rate(p->error_rate, p->expansion);
    return sizing_by_error(p->capacity, *rate, geometry, size);
}

struct filter *filter_new_bare(uint32_t nlayers) {
    struct filter *filter = mem_alloc_zeroed(sizeof(*filter));
    if (!filter) return NULL;
    filter->layers = mem_alloc_zeroed(nlayers * sizeof(struct layer));
    if (!filter->layers) {
        mem_free(filter);
        return NULL;
    }
    return filter;
}

enum status filter_new(const struct filter_params *params, uint64_t max_bytes,
                       struct filter **out) {
    if (!params_are_valid(params)) return STATUS_PARAM;
    struct geometry geometry = {params->layout, params->scheme};
    struct sizing size;
    double rate;
    if (!size_first_layer(params, &size, &rate)) {
        return sizing_max_bits(geometry) != SIZING_MAX_BITS ? STATUS_PARAM : STATUS_NOMEM;
    }
    if (filter_structure_bytes(1) + layer_bytes(size.nbits) > max_bytes) return STATUS_NOMEM;

    struct filter *filter = filter_new_bare(1);
    if (!filter) return STATUS_NOMEM;
    if (layer_init(&filter->layers[0], size, geometry, params->capacity, rate) != STATUS_OK) {
        filter_free(filter);
        return STATUS_NOMEM;
    }
    filter->nlayers = 1;
    filter->expansion = params->expansion;
    filter->bits_per_key = params->bits_per_key;
    filter->error_rate = params->bits_per_key != 0 ? 0 : params->error_rate;
    filter->layout = params->layout;
    filter->scheme = params->scheme;
    filter->loaded = layer_bytes(size.nbits);
    *out = filter;
    return STATUS_OK;
}

enum status filter_copy(const struct filter *from, struct filter **out) {
    struct filter *filter = filter_new_bare(from->nlayers);
    if (!filter) return STATUS_NOMEM;
    struct layer *layers = filter->layers;
    *filter = *from;
    filter->layers = layers;
    for (filter->nlayers = 0; filter->nlayers < from->nlayers; filter->nlayers++) {
        uint32_t i = filter->nlayers;
        if (layer_copy(&layers[i], &from->layers[i]) != STATUS_OK) {
            filter_free(filter);
            return STATUS_NOMEM;
        }
    }
    *out = filter;
    return STATUS_OK;
}

void filter_free(struct filter *filter) {
    if (!filter) return;
    for (uint32_t i = 0; i < filter->nlayers; i++) layer_clear(&filter->layers[i]);
    mem_free(filter->layers);
    mem_free(filter);
}

/* Whether any of the layers `from` to `to` - 1 contains the item. The newest first: it is the
 * largest, and holds what was added last. */
static bool any_contains(const struct layer *layers, uint32_t from, uint32_t to, struct hash hash) {
    for (uint32_t i = to; i-- > from;) {
        if (layer_contains(&layers[i], hash)) return true;
    }
    return false;
}

bool filter_contains(const struct filter *filter, struct hash hash) {
    return any_contains(filter->layers, 0, filter->nlayers, hash);
}

/* contained[i] for all n items, as far as layers 0 to nlayers - 1 know. */
static void contained_in(const struct layer *layers, uint32_t nlayers, const struct hash *hashes,
                         size_t n, bool *contained) {
    uint8_t absent[LAYER_WINDOW];
    size_t nabsent = n;
    for (size_t i = 0; i < n; i++) absent[i] = (uint8_t)i;
    for (uint32_t i = nlayers; i-- > 0 && nabsent > 0;) {
        nabsent = layer_keep_absent(&layers[i], hashes, absent, nabsent);
    }
    memset(contained, true, n * sizeof(*contained));
    for (size_t i = 0; i < nabsent; i++) contained[absent[i]] = false;
}

void filter_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                          bool *contained) {
    contained_in(filter->layers, filter->nlayers, hashes, n, contained);
}

/* The error rate left for the layer that comes next. RedisBloom's filters grow by its own rules, so
 * that they can go back. */
static double next_layer_rate(const struct filter *filter, uint64_t capacity) {
    if (filter->scheme == SCHEME_MURMUR) return filter->layers[filter->nlayers - 1].error_rate / 2;
    const struct layer *first = &filter->layers[0];
    double before = (double)filter_capacity(filter);
    double share = sizing_growth_share((double)first->capacity, before, before + (double)capacity);
    // By bits per key the growth may cost as much again as the first layer's rate.
    double budget = filter->bits_per_key != 0 ? first->error_rate
                                              : filter->error_rate * (1 - SIZING_FIRST_SHARE);
    return budget * share;
}

static bool size_next_layer(const struct filter *filter, uint64_t capacity, double rate,
                            struct sizing *size) {
    if (filter->scheme == SCHEME_MURMUR) return sizing_as_redisbloom(capacity, rate, size);
    return sizing_by_error(capacity, rate, filter_geometry(filter), size);
}

/* Puts a new layer behind the last. On any failure the filter is as before. */
static enum status grow(struct filter *filter, uint64_t max_bytes) {
    const struct layer *last = &filter->layers[filter->nlayers - 1];
    uint64_t capacity;
    struct sizing size;
    if (filter->nlayers == UINT32_MAX) return STATUS_NOMEM;
    if (__builtin_mul_overflow(last->capacity, filter->expansion, &capacity)) return STATUS_NOMEM;
    if (capacity > FILTER_MAX_CAPACITY - filter_capacity(filter)) return STATUS_NOMEM;
    double rate = next_layer_rate(filter, capacity);
    if (!size_next_layer(filter, capacity, rate, &size)) return STATUS_NOMEM;
    uint64_t more = layer_bytes(size.nbits) + sizeof(struct layer);
    if (filter_size_bytes(filter) + more > max_bytes) return STATUS_NOMEM;

    struct layer fresh;
    enum status st = layer_init(&fresh, size, filter_geometry(filter), capacity, rate);
    if (st != STATUS_OK) return st;
    struct layer *layers = mem_alloc((filter->nlayers + 1) * sizeof(*layers));
    if (!layers) {
        layer_clear(&fresh);
        return STATUS_NOMEM;
    }
    memcpy(layers, filter->layers, filter->nlayers * sizeof(*layers));
    layers[filter->nlayers] = fresh;
    mem_free(filter->layers);
    filter->layers = layers;
    filter->nlayers++;
    filter->loaded += layer_bytes(size.nbits);
    return STATUS_OK;
}

static bool layer_is_full(const struct layer *layer) {
    return layer->items >= layer->capacity;
}

/* Adds an item that layers 0 to `known` - 1 do not contain. */
static enum status add_behind(struct filter *filter, uint32_t known, struct hash hash,
                              uint64_t max_bytes, bool *added) {
    bool is_full = layer_is_full(&filter->layers[filter->nlayers - 1]);
    // Adding tells by itself whether the newest layer had the item, unless that is full.
    uint32_t to_ask = is_full ? filter->nlayers : filter->nlayers - 1;
    if (any_contains(filter->layers, known, to_ask, hash)) {
        *added = false;
        return STATUS_OK;
    }
    if (is_full) {
        if (filter->expansion == 0) return STATUS_FULL;
        enum status st = grow(filter, max_bytes);
        if (st != STATUS_OK) return st;
    }
    *added = layer_add(&filter->layers[filter->nlayers - 1], hash);
    return STATUS_OK;
}

enum status filter_add(struct filter *filter, struct hash hash, uint64_t max_bytes, bool *added) {
    return add_behind(filter, 0, hash, max_bytes, added);
}

enum status filter_add_many(struct filter *filter, const struct hash *hashes, size_t n,
                            uint64_t max_bytes, bool *added, size_t *done) {
    // Full layers do not change any more, whatever happens below: ask them all at once.
    uint32_t older =
        layer_is_full(&filter->layers[filter->nlayers - 1]) ? filter->nlayers : filter->nlayers - 1;
    bool contained[LAYER_WINDOW];
    contained_in(filter->layers, older, hashes, n, contained);
    size_t asked = 0;
    for (*done = 0; *done < n; ++*done) {
        size_t i = *done;
        for (; asked < n && asked <= i + LAYER_DISTANCE; asked++) {
            const struct layer *newest = &filter->layers[filter->nlayers - 1];
            if (!contained[asked] && !layer_is_full(newest)) layer_prefetch(newest, hashes[asked]);
        }
        added[i] = false;
        if (contained[i]) continue;
        enum status st = add_behind(filter, older, hashes[i], max_bytes, &added[i]);
        if (st != STATUS_OK) return st;
    }
    return STATUS_OK;
}

uint64_t filter_capacity(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].capacity;
    return sum;
}

uint64_t filter_items(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].items;
    return sum;
}

uint64_t filter_array_bytes(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += layer_bytes(filter->layers[i].nbits);
    return sum;
}

uint64_t filter_structure_bytes(uint64_t nlayers) {
    return sizeof(struct filter) + nlayers * sizeof(struct layer);
}

uint64_t filter_size_bytes(const struct filter *filter) {
    return filter_structure_bytes(filter->nlayers) + filter_array_bytes(filter);
}
