/* Windows: filters that forget by age. See window.h. */

#include "module/core/filter/window.h"

#include "module/core/mem.h"

#include <string.h>

/* ---- Time ----------------------------------------------------------------------------------- */

uint32_t window_newest(const struct filter *filter) {
    if (filter->window == 0) return 0;
    uint32_t first = filter->nlayers - 1;
    while (first > 0 && filter->layers[first - 1].start == filter->layers[first].start) first--;
    return first;
}

uint64_t window_due(const struct filter *filter, uint64_t now) {
    uint64_t step = window_step(filter->window, filter->generations);
    uint64_t due = now < step ? step : now / step * step;
    uint64_t newest = filter_newest(filter)->start;
    return newest > due ? newest : due;
}

/* The index of the first layer that is not over at the filter time `time`. */
static uint32_t first_live(const struct filter *filter, uint64_t time) {
    uint32_t i = 0;
    while (i < filter->nlayers) {
        uint64_t start = filter->layers[i].start;
        if (start != 0 && window_end(filter, start) > time) break;
        i++;
    }
    return i;
}

const struct filter *window_live(const struct filter *filter, uint64_t now, struct filter *view) {
    if (filter->window == 0) return filter;
    uint64_t newest = filter_newest(filter)->start;
    uint32_t first = first_live(filter, now > newest ? now : newest);
    if (first == filter->nlayers) return NULL;
    *view = *filter;
    view->layers += first;
    view->nlayers -= first;
    filter_forget_place(view);
    return view;
}

/* ---- The next generation -------------------------------------------------------------------- */

/* Whether the window has not begun, and is empty: then its generation begins as it is. */
static bool is_fresh(const struct filter *filter) {
    const struct layer *only = &filter->layers[0];
    return filter->nlayers == 1 && only->start == 0 && only->ones == 0 && only->items == 0;
}

/* Whether the counts stay legal when the layers from `first` on stay and one like `fresh` comes. */
static bool has_room(const struct filter *filter, uint32_t first, const struct layer *like) {
    struct filter rest = *filter;
    rest.layers += first;
    rest.nlayers -= first;
    filter_forget_place(&rest);
    return limits_has_room(&rest, like->capacity, layer_array_bytes(like));
}

static uint64_t bytes_after(const struct filter *filter, uint32_t first, const struct layer *like) {
    uint64_t bytes = filter_structure_bytes(filter->nlayers - first + 1) + layer_array_bytes(like);
    for (uint32_t i = first; i < filter->nlayers; i++) {
        bytes += layer_array_bytes(&filter->layers[i]);
    }
    return bytes;
}

/* The layer that a new generation begins with is like the first one of the newest generation. */
static const struct layer *model_layer(const struct filter *filter) {
    return &filter->layers[window_newest(filter)];
}

uint64_t window_rotated_bytes(const struct filter *filter, uint64_t start) {
    if (is_fresh(filter)) return filter_size_bytes(filter);
    uint32_t first = first_live(filter, start);
    const struct layer *like = model_layer(filter);
    return has_room(filter, first, like) ? bytes_after(filter, first, like) : UINT64_MAX;
}

static enum status new_layer(const struct layer *like, uint64_t start, struct layer *out) {
    struct sizing size = {like->nbits, like->nhashes};
    struct geometry geometry = {(enum layout)like->layout, (enum scheme)like->scheme};
    enum status st = layer_init(out, size, geometry, like->capacity, like->error_rate);
    if (st == STATUS_OK) out->start = start;
    return st;
}

/* Gives the filter the layers from `first` on and, unless it is NULL, another one. The old array of
 * layers, cut off at `first`, goes into *old. */
static enum status replace_layers(struct filter *filter, uint32_t first, const struct layer *fresh,
                                  struct filter **old) {
    uint32_t kept = filter->nlayers - first, nlayers = kept + (fresh ? 1 : 0);
    struct layer *layers = mem_alloc(nlayers * sizeof(*layers));
    struct filter *rest = mem_alloc_zeroed(sizeof(*rest));
    if (!layers || !rest) {
        mem_free(layers);
        mem_free(rest);
        return STATUS_NOMEM;
    }
    memcpy(layers, filter->layers + first, kept * sizeof(*layers));
    if (fresh) layers[kept] = *fresh;
    rest->layers = filter->layers;
    rest->nlayers = first;
    filter->layers = layers;
    filter_forget_place(filter);
    filter->nlayers = nlayers;
    filter->loaded = filter_array_bytes(filter);
    if (kept == 0) filter->is_estimated = false; // what was estimated is gone
    *old = rest;
    return STATUS_OK;
}

enum status window_rotate(struct filter *filter, uint64_t start, uint64_t max_bytes,
                          struct filter **dropped) {
    *dropped = NULL;
    if (is_fresh(filter)) {
        filter->layers[0].start = start;
        return STATUS_OK;
    }
    uint64_t bytes = window_rotated_bytes(filter, start);
    if (bytes == UINT64_MAX || bytes > max_bytes) return STATUS_NOMEM;
    uint32_t first = first_live(filter, start);
    struct layer fresh;
    enum status st = new_layer(model_layer(filter), start, &fresh);
    if (st != STATUS_OK) return st;
    st = replace_layers(filter, first, &fresh, dropped);
    if (st != STATUS_OK) layer_clear(&fresh);
    return st;
}

/* ---- Generations that are over -------------------------------------------------------------- */

uint64_t window_over(const struct filter *filter, uint64_t now) {
    uint64_t newest = filter_newest(filter)->start;
    if (newest == 0) return 0; // it has not begun
    uint32_t first = first_live(filter, now > newest ? now : newest);
    return first > 0 ? filter->layers[first - 1].start : 0;
}

/* Drops everything: the first layer stays, empty. */
static enum status drop_all(struct filter *filter, struct filter **dropped) {
    bool changed;
    uint32_t last = filter->nlayers - 1;
    if (last > 0) {
        // The last layer changes places with the first one, which alone is kept.
        struct layer first = filter->layers[0];
        filter->layers[0] = filter->layers[last];
        filter->layers[last] = first;
        enum status st = replace_layers(filter, last, NULL, dropped);
        if (st != STATUS_OK) {
            filter->layers[last] = filter->layers[0];
            filter->layers[0] = first;
            return st;
        }
    }
    return filter_empty(filter, &changed); // of one layer, which takes no memory
}

enum status window_drop(struct filter *filter, uint64_t start, struct filter **dropped) {
    *dropped = NULL;
    uint32_t first = 0;
    while (first < filter->nlayers && filter->layers[first].start <= start) first++;
    if (first == filter->nlayers) return drop_all(filter, dropped);
    return first == 0 ? STATUS_OK : replace_layers(filter, first, NULL, dropped);
}
