/* Every limit of a filter. See limits.h. Every comparison of doubles refuses a NaN. */

#include "module/core/limits.h"

#include "module/core/filter/filter.h"
#include "module/core/filter/window.h"

#include <math.h>

bool limits_is_capacity(uint64_t capacity) {
    return capacity >= 1 && capacity <= LIMITS_MAX_COUNT;
}

bool limits_is_error_rate(double rate) {
    return rate > 0 && rate < 1;
}

bool limits_is_bits_per_key(double bits) {
    return bits >= LIMITS_MIN_BITS_PER_KEY && bits <= LIMITS_MAX_BITS_PER_KEY;
}

uint32_t limits_max_hashes(struct geometry g) {
    bool is_incumbents = scheme_row(g.scheme)->is_incumbents;
    uint32_t of_scheme = is_incumbents ? SIZING_INCUMBENT_HASHES : SIZING_MOST_HASHES;
    uint32_t of_layout = layout_row(g.layout)->max_hashes;
    return of_layout < of_scheme ? of_layout : of_scheme;
}

uint32_t limits_max_expansion(enum scheme scheme) {
    return scheme_row(scheme)->is_incumbents ? UINT32_MAX : LIMITS_MAX_EXPANSION;
}

bool limits_is_geometry(struct geometry g) {
    return layout_takes(g.layout, g.scheme);
}

/* A seed of zeroes is legal in every scheme. Nearly all filters have none, and loading small ones
 * would spend a tenth of its time on the bytes. */
bool limits_is_seed(enum scheme scheme, const struct seed *seed) {
    if ((seed->keys[0] | seed->keys[1] | seed->keys[2] | seed->keys[3]) == 0) return true;
    const struct scheme_row *row = scheme_row(scheme);
    uint8_t bytes[HASH_SEED_BYTES];
    hash_seed_bytes(seed, bytes);
    for (size_t i = row->seed_bytes + row->extra_bytes; i < HASH_SEED_BYTES; i++) {
        if (bytes[i] != 0) return false;
    }
    return scheme != SCHEME_DATASKETCHES || bytes[8] <= 1; // a flag
}

bool limits_is_forgetting(enum layout layout, uint32_t expansion, uint32_t window,
                          uint32_t generations) {
    if (expansion != 0 && !layout_row(layout)->grows) return false;
    if (window != 0 && !layout_row(layout)->takes_window) return false;
    if (window == 0) return generations == 0;
    return window <= LIMITS_MAX_WINDOW && generations >= 1 &&
           generations <= LIMITS_MAX_GENERATIONS && expansion > 0;
}

static bool is_plain_zero(double x) {
    return x == 0 && !signbit(x);
}

bool limits_is_promise(double error_rate, double bits_per_key) {
    if (is_plain_zero(bits_per_key)) return limits_is_error_rate(error_rate);
    return is_plain_zero(error_rate) && limits_is_bits_per_key(bits_per_key);
}

/* ---- One layer ------------------------------------------------------------------------------ */

/* In a layer of our own, every counted item has set at least one bit, and k at most. Where items
 * can be removed, present items count too, beyond the capacity, and removals may leave any set bits
 * for any count. */
static const char *native_items_fault(const struct filter *f, const struct layer *l) {
    if (l->ones > l->nbits) return "set bits";
    if (layout_row(f->layout)->removes) return l->items > LIMITS_MAX_COUNT ? "items" : NULL;
    if (l->items > l->capacity && !f->is_estimated) return "items";
    if (l->items > l->ones) return "items";
    return l->ones > 0 && l->items < (l->ones - 1) / l->nhashes + 1 ? "items" : NULL;
}

static const char *native_fault(const struct filter *f, const struct layer *l) {
    const struct layout_row *row = layout_row(f->layout);
    if (l->nbits > sizing_max_bits((struct geometry){f->layout, f->scheme})) return "bits";
    if (l->nbits % row->multiple != 0) return "bits";
    bool has_lines = l->rule == RULE_LINE || l->rule == RULE_LINE4;
    if (has_lines && l->nbits % SCHEME_LINE_BITS != 0) return "bits";
    if (row->nhashes && l->nhashes != row->nhashes) return "hashes";
    if (!(l->error_rate > 0 && l->error_rate <= 1)) return "error rate";
    return native_items_fault(f, l);
}

/* In a foreign layer any count of items is legal, since its bits may arrive in any order and at any
 * time. */
static const char *foreign_fault(const struct filter *f, const struct layer *l) {
    if (!limits_is_error_rate(l->error_rate)) return "error rate";
    bool has_bits = l->bits_per_item > 0 && l->bits_per_item < 10000;
    if (origin_row(f->origin)->bits_per_item && !has_bits) return "bits per item";
    if (l->nbits > SIZING_MAX_BITS || l->nbits % 8 != 0) return "bits";
    return l->items > LIMITS_MAX_COUNT ? "items" : NULL;
}

const char *limits_layer_fault(const struct filter *filter, const struct layer *layer) {
    if (layer->nbits < 1) return "bits";
    uint32_t most = limits_max_hashes((struct geometry){filter->layout, filter->scheme});
    if (layer->nhashes < 1 || layer->nhashes > most) return "hashes";
    if (!limits_is_capacity(layer->capacity)) return "capacity";
    return filter_is_foreign(filter) ? foreign_fault(filter, layer) : native_fault(filter, layer);
}

/* ---- The filter ----------------------------------------------------------------------------- */

/* The most items that the layer will ever count. */
static uint64_t most_items(const struct layer *layer) {
    return layer->items > layer->capacity ? layer->items : layer->capacity;
}

/* Checks the sums over the layers. They cannot overflow: each term is at most 2^63, and the loop
 * ends when a sum is too large. */
static const char *sums_fault(const struct filter *filter) {
    uint64_t items = 0, bytes = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        const char *fault = limits_layer_fault(filter, layer);
        if (fault) return fault;
        items += most_items(layer);
        bytes += layer_array_bytes(layer);
        if (items > LIMITS_MAX_COUNT) return layer->items > layer->capacity ? "items" : "capacity";
        if (bytes > SIZING_MAX_BITS) return "bits";
    }
    return NULL;
}

/* Checks the times of the layers. All generations of a window live when the newest begins; the only
 * one of a window that has not begun has the start 0. */
static const char *times_fault(const struct filter *filter) {
    uint64_t newest = filter_newest(filter)->start, before = newest == 0 ? 0 : 1;
    if (newest > LIMITS_MAX_COUNT || (filter->window == 0 && newest != 0)) return "start";
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        uint64_t start = filter->layers[i].start;
        if (start < before || start > newest) return "start";
        before = start;
        if (start == 0) continue;
        if (start % window_step(filter->window, filter->generations) != 0) return "start";
        if (window_end(filter, start) <= newest) return "start";
    }
    return NULL;
}

/* The capacity of a window is that of all its generations. */
static const char *window_fault(const struct filter *filter) {
    if (!limits_is_forgetting(filter->layout, filter->expansion, filter->window,
                              filter->generations)) {
        return "window";
    }
    bool has_capacity = limits_is_capacity(filter->window_capacity);
    if (filter->window ? !has_capacity : filter->window_capacity != 0) return "window capacity";
    if (filter->nlayers > 1 && !layout_row(filter->layout)->grows) return "number of layers";
    return times_fault(filter);
}

const char *limits_fault(const struct filter *filter) {
    if (filter->nlayers < 1 || filter->nlayers > LIMITS_MAX_LAYERS) return "number of layers";
    if (!layout_exists(filter->layout)) return "layout";
    if (!limits_is_geometry((struct geometry){filter->layout, filter->scheme})) return "hash";
    if (filter->expansion > limits_max_expansion(filter->scheme)) return "expansion";
    bool can_grow = filter->expansion > 0 || filter->nlayers > 1;
    if (can_grow && !scheme_row(filter->scheme)->grows) return "expansion";
    if (filter->window && scheme_row(filter->scheme)->is_imported) return "window";
    if (!limits_is_seed(filter->scheme, &filter->seed)) return "seed";
    if (!limits_is_promise(filter->error_rate, filter->bits_per_key)) return "error rate";
    bool has_ratio = filter->ratio > 0 && filter->ratio < 1;
    if (origin_row(filter->origin)->has_ratio && !has_ratio) return "tightening ratio";
    const char *fault = window_fault(filter);
    return fault ? fault : sums_fault(filter);
}

bool limits_items_are_exact(const struct filter *filter) {
    struct filter native = *filter; // only its fields are looked at
    native.is_estimated = false;
    for (uint32_t i = 0; i < native.nlayers; i++) {
        if (native_items_fault(&native, &native.layers[i])) return false;
    }
    return true;
}

const char *limits_obstacle_to_native(const struct filter *filter) {
    struct filter native = *filter; // only its fields are looked at
    native.origin = ORIGIN_OWN;
    return sums_fault(&native);
}

bool limits_has_room(const struct filter *filter, uint64_t capacity, uint64_t bytes) {
    if (filter->nlayers >= LIMITS_MAX_LAYERS || !limits_is_capacity(capacity)) return false;
    if (bytes > SIZING_MAX_BITS - filter_array_bytes(filter)) return false;
    uint64_t items = 0; // at most LIMITS_MAX_COUNT, by limits_fault
    for (uint32_t i = 0; i < filter->nlayers; i++) items += most_items(&filter->layers[i]);
    return capacity <= LIMITS_MAX_COUNT - items;
}
