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
           p->scheme < SCHEME_COUNT;
}

/* The size and the promised rate of the first layer. */
static enum status size_first_layer(const struct filter_params *p, struct sizing *size,
                                    double *rate) {
    if (p->bits_per_key != 0) {
        if (!sizing_by_bits(p->capacity, p->bits_per_key, size)) return STATUS_NOMEM;
        *rate = sizing_error_rate(p->capacity, *size, p->scheme);
    } else {
        *rate = p->expansion ? p->error_rate * SIZING_FIRST_SHARE : p->error_rate;
        if (!sizing_by_error(p->capacity, *rate, p->scheme, size)) return STATUS_NOMEM;
    }
    return size->nbits > hash_max_bits(p->scheme) ? STATUS_PARAM : STATUS_OK;
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
    struct sizing size;
    double rate;
    enum status st = size_first_layer(params, &size, &rate);
    if (st != STATUS_OK) return st;
    if (filter_structure_bytes(1) + layer_bytes(size.nbits) > max_bytes) return STATUS_NOMEM;

    struct filter *filter = filter_new_bare(1);
    if (!filter) return STATUS_NOMEM;
    st = layer_init(&filter->layers[0], size, params->capacity, rate);
    if (st != STATUS_OK) {
        filter_free(filter);
        return st;
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

bool filter_contains(const struct filter *filter, struct hash hash) {
    // The newest layer first: it is the largest, and holds what was added last.
    for (uint32_t i = filter->nlayers; i-- > 0;) {
        if (layer_contains(&filter->layers[i], hash)) return true;
    }
    return false;
}

/* The error rate left for the layer that comes next. */
static double next_layer_rate(const struct filter *filter, uint64_t capacity) {
    const struct layer *first = &filter->layers[0];
    double before = (double)filter_capacity(filter);
    double share = sizing_growth_share((double)first->capacity, before, before + (double)capacity);
    // By bits per key the growth may cost as much again as the first layer's rate.
    double budget = filter->bits_per_key != 0 ? first->error_rate
                                              : filter->error_rate * (1 - SIZING_FIRST_SHARE);
    return budget * share;
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
    if (!sizing_by_error(capacity, rate, filter->scheme, &size)) return STATUS_NOMEM;
    if (size.nbits > hash_max_bits(filter->scheme)) return STATUS_NOMEM;
    uint64_t more = layer_bytes(size.nbits) + sizeof(struct layer);
    if (filter_size_bytes(filter) + more > max_bytes) return STATUS_NOMEM;

    struct layer fresh;
    enum status st = layer_init(&fresh, size, capacity, rate);
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

enum status filter_add(struct filter *filter, struct hash hash, uint64_t max_bytes, bool *added) {
    if (filter_contains(filter, hash)) {
        *added = false;
        return STATUS_OK;
    }
    struct layer *newest = &filter->layers[filter->nlayers - 1];
    if (newest->items >= newest->capacity) {
        if (filter->expansion == 0) return STATUS_FULL;
        enum status st = grow(filter, max_bytes);
        if (st != STATUS_OK) return st;
        newest = &filter->layers[filter->nlayers - 1];
    }
    *added = layer_add(newest, hash);
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
