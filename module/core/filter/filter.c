/* The scalable filter. See filter.h. */

#include "module/core/filter/filter.h"

#include "module/core/filter/chain.h"
#include "module/core/filter/window.h"
#include "module/core/math/sizing.h"
#include "module/core/mem.h"

#include <string.h>

static bool params_are_valid(const struct filter_params *p) {
    double error_rate = p->bits_per_key != 0 ? 0 : p->error_rate;
    return limits_is_promise(error_rate, p->bits_per_key) && limits_is_capacity(p->capacity) &&
           limits_is_geometry((struct geometry){p->layout, p->scheme}) &&
           (p->expansion <= LIMITS_MAX_EXPANSION || origin_row(p->origin)->is_foreign) &&
           limits_is_forgetting(p->layout, p->expansion, p->window, p->generations);
}

bool filter_params_are_equal(const struct filter_params *a, const struct filter_params *b) {
    return a->capacity == b->capacity && a->error_rate == b->error_rate &&
           a->bits_per_key == b->bits_per_key && a->expansion == b->expansion &&
           a->layout == b->layout && a->scheme == b->scheme &&
           memcmp(&a->seed, &b->seed, sizeof(a->seed)) == 0 && a->origin == b->origin &&
           a->ratio == b->ratio && a->window == b->window && a->generations == b->generations;
}

static struct geometry filter_geometry(const struct filter *filter) {
    return (struct geometry){filter->layout, filter->scheme};
}

double filter_first_rate(double error_rate, uint32_t expansion) {
    return expansion ? error_rate * SIZING_FIRST_SHARE : error_rate;
}

/* The capacity of the first layer. Each generation of a window expects its share of the items. */
static uint64_t first_capacity(const struct filter_params *p) {
    return p->window ? (p->capacity - 1) / p->generations + 1 : p->capacity;
}

/* A generation's part of the error rate of a window: g+1 of them live at a time. */
static double generation_rate(double error_rate, uint32_t generations) {
    return error_rate / (generations + 1);
}

/* The size and the error rate of a window's first layer. */
static bool size_generation(const struct filter_params *p, struct sizing *size, double *rate) {
    struct geometry geometry = {p->layout, p->scheme};
    uint64_t capacity = first_capacity(p);
    if (p->bits_per_key != 0) {
        if (!sizing_generation_by_bits(p->capacity, p->generations, p->bits_per_key, geometry,
                                       size)) {
            return false;
        }
        *rate = sizing_error_rate(capacity, *size, geometry);
        return true;
    }
    *rate = generation_rate(p->error_rate, p->generations) * SIZING_WINDOW_SHARE;
    return sizing_by_error(capacity, *rate, geometry, size);
}

bool filter_first_layer(const struct filter_params *p, struct sizing *size, double *rate) {
    struct geometry geometry = {p->layout, p->scheme};
    if (p->window) return size_generation(p, size, rate);
    if (p->bits_per_key != 0) {
        if (!sizing_by_bits(p->capacity, p->bits_per_key, geometry, size)) return false;
        *rate = sizing_error_rate(p->capacity, *size, geometry);
        return true;
    }
    const struct origin_row *rules = origin_rules(p->origin, p->scheme);
    *rate = rules->first_rate(p->error_rate, p->expansion);
    return rules->size(p->capacity, *rate, geometry, size);
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

/* Fills in the fields that the parameters give. */
static void set_params(struct filter *filter, const struct filter_params *params) {
    filter->expansion = params->expansion;
    filter->bits_per_key = params->bits_per_key;
    filter->error_rate = params->bits_per_key != 0 ? 0 : params->error_rate;
    filter->layout = params->layout;
    filter->scheme = params->scheme;
    filter->seed = params->seed;
    filter->origin = params->origin;
    filter->ratio = params->ratio;
    filter->kept = params->expansion ? 0 : origin_row(params->origin)->kept;
    filter->window = params->window;
    filter->generations = params->generations;
    filter->window_capacity = params->window ? params->capacity : 0;
}

enum status filter_shape(const struct filter_params *params, struct filter *shape,
                         struct layer *layer) {
    if (!params_are_valid(params)) return STATUS_PARAM;
    struct geometry geometry = {params->layout, params->scheme};
    struct sizing size;
    double rate;
    if (!filter_first_layer(params, &size, &rate)) {
        return sizing_max_bits(geometry) != SIZING_MAX_BITS ? STATUS_PARAM : STATUS_NOMEM;
    }
    *layer = (struct layer){
        .capacity = first_capacity(params), .error_rate = rate, .nhashes = size.nhashes};
    layer_set_geometry(layer, geometry);
    layer_set_nbits(layer, size.nbits);
    *shape = (struct filter){.layers = layer, .nlayers = 1};
    set_params(shape, params);
    shape->loaded = filter_array_bytes(shape);
    const struct origin_row *row = origin_row(params->origin);
    if (row->bits_per_item) layer->bits_per_item = row->bits_per_item(rate);
    return STATUS_OK;
}

/* The bytes of a filter, or of a window all of whose generations are as its only one. */
static uint64_t bytes_of_shape(const struct filter *shape) {
    uint64_t bytes = filter_size_bytes(shape), base = filter_structure_bytes(0), all;
    if (shape->window == 0) return bytes;
    bool is_over = __builtin_mul_overflow(bytes - base, shape->generations + 1, &all);
    return is_over || all > UINT64_MAX - base ? UINT64_MAX : base + all;
}

uint64_t filter_new_bytes(const struct filter_params *params) {
    struct filter shape;
    struct layer layer;
    if (filter_shape(params, &shape, &layer) != STATUS_OK) return UINT64_MAX;
    return bytes_of_shape(&shape);
}

enum status filter_new_shaped(const struct filter *shape, uint64_t max_bytes, struct filter **out) {
    if (bytes_of_shape(shape) > max_bytes) return STATUS_NOMEM;
    struct filter *filter = filter_new_bare(1);
    if (!filter) return STATUS_NOMEM;
    struct layer *layer = filter->layers;
    *layer = shape->layers[0];
    *filter = *shape;
    filter->layers = layer;
    layer->bits = mem_alloc_zeroed((size_t)layer_array_bytes(layer));
    if (!layer->bits) {
        filter_free(filter);
        return STATUS_NOMEM;
    }
    *out = filter;
    return STATUS_OK;
}

enum status filter_new(const struct filter_params *params, uint64_t max_bytes,
                       struct filter **out) {
    struct filter shape;
    struct layer layer;
    enum status st = filter_shape(params, &shape, &layer);
    return st == STATUS_OK ? filter_new_shaped(&shape, max_bytes, out) : st;
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

void filter_estimate_items(struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        filter->layers[i].items = layer_estimate_items(&filter->layers[i]);
    }
    filter->is_estimated = filter_items(filter) > 0;
}

void filter_settle_items(struct filter *filter) {
    if (!limits_items_are_exact(filter)) filter_estimate_items(filter);
}

enum status filter_alloc_bits(struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        layer->bits = mem_alloc_zeroed((size_t)layer_array_bytes(layer));
        if (!layer->bits) return STATUS_NOMEM;
        layer_advise_pages(layer);
    }
    return STATUS_OK;
}

/* The place is a hint, so that it changes also where the filter is only read. */
struct layer *filter_locate(const struct filter *filter, uint64_t offset, uint64_t *within) {
    struct filter *hinted = (struct filter *)(uintptr_t)filter;
    if (offset < filter->before) filter_forget_place(hinted);
    while (filter->place < filter->nlayers) {
        struct layer *layer = &filter->layers[filter->place];
        uint64_t size = layer_array_bytes(layer);
        if (offset - filter->before < size) {
            *within = offset - filter->before;
            return layer;
        }
        if (filter->place + 1 == filter->nlayers) break;
        hinted->place++;
        hinted->before += size;
    }
    return NULL;
}

enum status filter_empty(struct filter *filter, bool *changed) {
    struct layer *first = &filter->layers[0];
    // A foreign filter may count items whose bits are not there.
    *changed = filter->nlayers > 1 || first->ones > 0 || first->items > 0 || first->start > 0 ||
               filter->is_estimated;
    if (!*changed) return STATUS_OK; // nothing is written
    if (filter->nlayers > 1) {
        struct layer *alone = mem_alloc(sizeof(*alone));
        if (!alone) return STATUS_NOMEM;
        *alone = *first;
        for (uint32_t i = 1; i < filter->nlayers; i++) layer_clear(&filter->layers[i]);
        mem_free(filter->layers);
        filter->layers = first = alone;
        filter_forget_place(filter);
        filter->nlayers = 1;
        filter->loaded = layer_array_bytes(first);
    }
    mem_zero(first->bits, (size_t)layer_array_bytes(first));
    first->items = first->ones = first->start = 0;
    layer_advise_pages(first);
    filter->is_estimated = false;
    return STATUS_OK;
}

/* ---- Items ---------------------------------------------------------------------------------- */

bool filter_contains(const struct filter *filter, struct hash hash) {
    return chain_contains(filter->layers, filter->nlayers, hash);
}

bool filter_older_contains(const struct filter *filter, struct hash hash) {
    return chain_contains(filter->layers, filter->nlayers - 1, hash);
}

bool filter_probed_contains(const struct filter *filter, const struct probe *probe, size_t i) {
    return layer_probed_contains(filter_newest(filter), probe, i) ||
           filter_older_contains(filter, probe->hashes[i]);
}

enum status filter_add_newest(struct filter *filter, const struct probe *probe, size_t i,
                              struct older older, struct outcome *outcome) {
    struct layer *newest = filter_newest(filter);
    *outcome = (struct outcome){false, false};
    if (older.is_in_generation) return STATUS_OK;
    if (newest->items >= newest->capacity && !layer_probed_contains(newest, probe, i)) {
        return filter->expansion == 0 ? STATUS_FULL : STATUS_GROW;
    }
    *outcome = layer_probed_add(newest, probe, i);
    // A window's older generations decide the answer, not whether the item is added.
    if (older.is_before) outcome->answer = false;
    return STATUS_OK;
}

enum status filter_probed_add(struct filter *filter, const struct probe *probe, size_t i,
                              struct outcome *outcome) {
    struct older older = {false, false};
    if (filter->nlayers > 1) {
        uint32_t first = window_newest(filter), nolder = filter->nlayers - 1;
        struct hash hash = probe->hashes[i];
        older.is_in_generation = chain_contains(filter->layers + first, nolder - first, hash);
        older.is_before = chain_contains(filter->layers, first, hash);
    }
    return filter_add_newest(filter, probe, i, older, outcome);
}

struct outcome filter_probed_force(struct filter *filter, const struct probe *probe, size_t i) {
    return layer_probed_add(filter_newest(filter), probe, i);
}

bool filter_probed_remove(struct filter *filter, const struct probe *probe, size_t i,
                          bool *changed) {
    struct layer *only = filter_newest(filter);
    bool is_present = layer_probed_contains(only, probe, i);
    *changed = is_present && layer_probed_remove(only, probe, i);
    return is_present;
}

/* A probe of one item in the newest layer. */
static void probe_one(const struct filter *filter, struct hash hash, struct probe *out) {
    out->n = 1;
    out->hashes[0] = hash;
    layer_probe_all(filter_newest(filter), out);
}

enum status filter_add(struct filter *filter, struct hash hash, struct outcome *outcome) {
    struct probe item;
    probe_one(filter, hash, &item);
    return filter_probed_add(filter, &item, 0, outcome);
}

bool filter_remove(struct filter *filter, struct hash hash, bool *changed) {
    struct probe item;
    probe_one(filter, hash, &item);
    return filter_probed_remove(filter, &item, 0, changed);
}

unsigned filter_count(const struct filter *filter, struct hash hash) {
    struct probe item;
    probe_one(filter, hash, &item);
    return layer_probed_count(filter_newest(filter), &item, 0);
}

/* ---- Growth --------------------------------------------------------------------------------- */

/* Up to this many layers, the expansion alone decides the capacity of a new layer. From then on a
 * new layer has at least the capacity of all layers before it, so that the total doubles. So a
 * chain runs out of memory before it has 64 layers, even one that began small with expansion 1. */
#define SLOW_LAYERS 16

/* The chain that grows: the newest generation of a window, or the whole filter. */
struct chain {
    const struct layer *first;
    uint32_t nlayers;
    uint64_t capacity; // of all its layers
};

static struct chain growing_chain(const struct filter *filter) {
    uint32_t first = window_newest(filter);
    struct chain chain = {&filter->layers[first], filter->nlayers - first, 0};
    for (uint32_t i = 0; i < chain.nlayers; i++) chain.capacity += chain.first[i].capacity;
    return chain;
}

/* The capacity of the next layer. False if it exceeds 64 bits. */
static bool next_capacity(const struct filter *filter, const struct chain *chain, uint64_t *out) {
    uint64_t last = filter_newest(filter)->capacity, capacity;
    if (__builtin_mul_overflow(last, filter->expansion, &capacity)) return false;
    bool is_bounded = chain->nlayers >= SLOW_LAYERS && !filter_is_foreign(filter);
    *out = is_bounded && chain->capacity > capacity ? chain->capacity : capacity;
    return true;
}

/* The part of the error rate that is left for growth. Sized by bits per key, a filter promises
 * twice its first layer's rate: growth gets one half. */
static double growth_budget(const struct filter *filter, const struct layer *first) {
    if (filter->bits_per_key != 0) return first->error_rate;
    if (filter->window == 0) return filter->error_rate * (1 - SIZING_FIRST_SHARE);
    return generation_rate(filter->error_rate, filter->generations) * (1 - SIZING_WINDOW_SHARE);
}

/* What the error rate of a next layer of this capacity follows from. */
static struct growth growth_by(const struct filter *filter, const struct chain *chain,
                               uint64_t capacity) {
    double before = (double)chain->capacity;
    return (struct growth){
        .error_rate = filter->error_rate,
        .ratio = filter->ratio,
        .last_rate = filter_newest(filter)->error_rate,
        .nlayers = filter->nlayers,
        .budget = growth_budget(filter, chain->first),
        .first = (double)chain->first->capacity,
        .before = before,
        .after = before + (double)capacity,
    };
}

/* Appends a layer that the caller has made. On failure the filter is unchanged. */
static enum status append_layer(struct filter *filter, const struct layer *fresh) {
    struct layer *layers = mem_alloc((filter->nlayers + 1) * sizeof(*layers));
    if (!layers) return STATUS_NOMEM;
    memcpy(layers, filter->layers, filter->nlayers * sizeof(*layers));
    layers[filter->nlayers] = *fresh;
    mem_free(filter->layers);
    filter->layers = layers;
    filter->nlayers++;
    filter->loaded += layer_array_bytes(fresh);
    return STATUS_OK;
}

/* What the next layer will be. */
struct plan {
    uint64_t capacity;
    double rate;
    struct sizing size;
};

/* False if the filter cannot have another layer, whatever the caller allows. */
static bool plan_layer(const struct filter *filter, struct plan *plan) {
    struct chain chain = growing_chain(filter);
    if (filter->expansion == 0 || !next_capacity(filter, &chain, &plan->capacity)) return false;
    const struct origin_row *rules = origin_rules(filter->origin, filter->scheme);
    struct growth growth = growth_by(filter, &chain, plan->capacity);
    plan->rate = rules->next_rate(&growth);
    struct geometry geometry = filter_geometry(filter);
    if (!rules->size(plan->capacity, plan->rate, geometry, &plan->size)) return false;
    return limits_has_room(filter, plan->capacity, layer_bytes(plan->size.nbits));
}

static uint64_t bytes_with(const struct filter *filter, const struct plan *plan) {
    return filter_size_bytes(filter) + sizeof(struct layer) + layer_bytes(plan->size.nbits);
}

/* Grows a filter without bits, or the only generation of a window, until it has the capacity. False
 * if it cannot. */
static bool grow_without_bits(struct filter *shape, uint64_t items) {
    while (growing_chain(shape).capacity < items) {
        struct plan plan;
        if (!plan_layer(shape, &plan)) return false;
        struct layer next = {.capacity = plan.capacity, .error_rate = plan.rate};
        layer_set_geometry(&next, filter_geometry(shape));
        layer_set_nbits(&next, plan.size.nbits);
        next.nhashes = plan.size.nhashes;
        if (append_layer(shape, &next) != STATUS_OK) return false;
    }
    return true;
}

uint64_t filter_scaled_bytes(const struct filter_params *params, uint64_t items) {
    struct filter *shape = filter_new_bare(1);
    if (!shape) return UINT64_MAX;
    uint64_t bytes = UINT64_MAX;
    if (filter_shape(params, shape, shape->layers) == STATUS_OK) {
        if (params->window) items = (items - 1) / params->generations + 1; // a generation's share
        if (grow_without_bits(shape, items)) bytes = bytes_of_shape(shape);
    }
    filter_free(shape);
    return bytes;
}

uint64_t filter_grown_bytes(const struct filter *filter) {
    struct plan plan;
    return plan_layer(filter, &plan) ? bytes_with(filter, &plan) : UINT64_MAX;
}

/* Makes a layer of the filter's, without its time. */
static enum status make_layer(const struct filter *filter, const struct plan *plan,
                              struct layer *out) {
    const struct origin_row *row = origin_row(filter->origin);
    enum status st =
        layer_init(out, plan->size, filter_geometry(filter), plan->capacity, plan->rate);
    if (st == STATUS_OK && row->bits_per_item) out->bits_per_item = row->bits_per_item(plan->rate);
    return st;
}

enum status filter_grow(struct filter *filter, uint64_t max_bytes, uint32_t max_layers) {
    struct plan plan;
    if (filter_is_foreign(filter) && filter->nlayers >= max_layers) return STATUS_NOMEM;
    if (!plan_layer(filter, &plan) || bytes_with(filter, &plan) > max_bytes) return STATUS_NOMEM;

    struct layer fresh;
    enum status st = make_layer(filter, &plan, &fresh);
    if (st != STATUS_OK) return st;
    fresh.start = filter_newest(filter)->start;
    st = append_layer(filter, &fresh);
    if (st != STATUS_OK) layer_clear(&fresh);
    return st;
}
