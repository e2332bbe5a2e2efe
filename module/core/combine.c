/* The union and the intersection of filters. See combine.h. */

#include "module/core/combine.h"

#include "module/core/filter/bits.h"
#include "module/core/filter/window.h"
#include "module/core/mem.h"

#include <stdio.h>
#include <string.h>

/* A piece of this size is combined with all others before the next piece. It stays in the
 * first-level cache, and a page that gains no bit is never written to. */
#define PIECE_BYTES ((uint64_t)4096)

/* ---- Generations ----------------------------------------------------------------------------
 *
 * A filter without a window is one generation, of start 0. So is a window that has not begun. */

/* The layers of one generation. */
struct run {
    const struct layer *layers;
    uint32_t n;
};

/* How many layers began before this time. They are sorted by start, and a loaded window may have
 * tens of thousands of them. */
static uint32_t layers_before(const struct filter *filter, uint64_t start) {
    uint32_t from = 0, to = filter->nlayers;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (filter->layers[middle].start < start) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static struct run generation_at(const struct filter *filter, uint64_t start) {
    if (filter->window == 0) return (struct run){filter->layers, filter->nlayers};
    uint32_t first = layers_before(filter, start);
    return (struct run){filter->layers + first, layers_before(filter, start + 1) - first};
}

/* The starts of the generations that a union of filters has, oldest first: those that live when the
 * newest of all begins. Some of them may be in no filter. */
struct starts {
    uint64_t of[LIMITS_MAX_GENERATIONS + 1];
    uint32_t n;
};

static struct starts common_starts(const struct filter *const *filters, size_t n) {
    const struct filter *first = filters[0];
    uint64_t newest = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t start = filter_newest(filters[i])->start;
        if (start > newest) newest = start;
    }
    struct starts starts = {.n = 0};
    if (newest == 0) return (struct starts){.n = 1}; // of[0] is 0
    uint64_t step = window_step(first->window, first->generations);
    for (uint32_t age = first->generations + 1; age-- > 0;) {
        if (newest > age * step) starts.of[starts.n++] = newest - age * step;
    }
    return starts;
}

/* ---- What can be combined ------------------------------------------------------------------- */

static enum difference kinds_differ(const struct filter *a, const struct filter *b) {
    if (a->scheme != b->scheme) return DIFFERENCE_SCHEME;
    if (!scheme_is_same_seed(a->scheme, &a->seed, &b->seed)) return DIFFERENCE_SEED;
    if (a->layout != b->layout) return DIFFERENCE_LAYOUT;
    bool is_equal = a->window == b->window && a->generations == b->generations;
    return is_equal ? DIFFERENCE_NONE : DIFFERENCE_WINDOW;
}

/* Compares two generations layer by layer, as far as both have layers. */
static enum difference runs_differ(struct run a, struct run b, struct mismatch *out) {
    for (uint32_t i = 0; i < a.n && i < b.n; i++) {
        out->layer = i;
        out->a = &a.layers[i];
        out->b = &b.layers[i];
        if (out->a->nbits != out->b->nbits) return DIFFERENCE_BITS;
        if (out->a->nhashes != out->b->nhashes) return DIFFERENCE_HASHES;
    }
    return DIFFERENCE_NONE;
}

/* The first layers decide the size of all later generations, so they must be equal too. */
static enum difference first_layers_differ(const struct filter *a, const struct filter *b,
                                           struct mismatch *out) {
    struct run one = {&a->layers[window_newest(a)], 1}, other = {&b->layers[window_newest(b)], 1};
    return runs_differ(one, other, out);
}

/* Compares each filter's generation of this start with the longest one of the filters before it,
 * which has every layer that any of them has. */
static bool generations_are_alike(const struct filter *const *filters, size_t n, uint64_t start,
                                  struct mismatch *out) {
    struct run longest = {NULL, 0};
    for (size_t i = 0; i < n; i++) {
        struct run run = generation_at(filters[i], start);
        out->difference = runs_differ(run, longest, out);
        out->at = i;
        if (out->difference != DIFFERENCE_NONE) return false;
        if (run.n > longest.n) {
            longest = run;
            out->other = filters[i];
        }
    }
    return true;
}

bool combine_is_possible(const struct filter *const *filters, size_t n, struct mismatch *out) {
    if (n == 0) return true;
    *out = (struct mismatch){.other = filters[0]};
    for (size_t i = 1; i < n; i++) {
        out->at = i;
        out->difference = kinds_differ(filters[i], filters[0]);
        if (out->difference == DIFFERENCE_NONE) {
            out->difference = first_layers_differ(filters[i], filters[0], out);
        }
        if (out->difference != DIFFERENCE_NONE) return false;
    }
    struct starts starts = common_starts(filters, n);
    for (uint32_t i = 0; i < starts.n; i++) {
        if (!generations_are_alike(filters, n, starts.of[i], out)) return false;
    }
    return true;
}

/* ---- Why not ----------------------------------------------------------------------------------
 */

static const char *scheme_text(const struct filter *filter, bool in_words) {
    const struct scheme_row *row = scheme_row(filter->scheme);
    return in_words ? row->word : row->name;
}

static const char *layout_text(const struct filter *filter, bool in_words) {
    return in_words ? layout_word(filter->layout) : layout_name(filter->layout);
}

struct window_text {
    char bytes[48];
};

static struct window_text window_text(const struct filter *filter) {
    struct window_text out = {"none"};
    if (filter->window == 0) return out;
    snprintf(out.bytes, sizeof(out.bytes), "%u s in %u generations", filter->window,
             filter->generations);
    return out;
}

void combine_describe(const struct mismatch *m, const struct filter *filter, bool in_words,
                      char out[COMBINE_TEXT_BYTES]) {
    const size_t size = COMBINE_TEXT_BYTES;
    switch (m->difference) {
    case DIFFERENCE_NONE: out[0] = '\0'; break;
    case DIFFERENCE_SCHEME:
        snprintf(out, size, "its hash is %s and not %s", scheme_text(filter, in_words),
                 scheme_text(m->other, in_words));
        break;
    case DIFFERENCE_SEED: snprintf(out, size, "its seed is another one"); break;
    case DIFFERENCE_LAYOUT:
        snprintf(out, size, "its layout is %s and not %s", layout_text(filter, in_words),
                 layout_text(m->other, in_words));
        break;
    case DIFFERENCE_WINDOW:
        snprintf(out, size, "its window is %s and not %s", window_text(filter).bytes,
                 window_text(m->other).bytes);
        break;
    case DIFFERENCE_BITS:
        snprintf(out, size, "its layer %u has %llu bits and not %llu", m->layer + 1,
                 (unsigned long long)m->a->nbits, (unsigned long long)m->b->nbits);
        break;
    case DIFFERENCE_HASHES:
        snprintf(out, size, "its layer %u has %u hashes and not %u", m->layer + 1, m->a->nhashes,
                 m->b->nhashes);
    }
}

/* ---- Layers --------------------------------------------------------------------------------- */

typedef uint64_t (*combiner)(uint8_t *into, const uint8_t *from, size_t len);

static const struct layout_row *row_of(const struct layer *layer) {
    return layout_row((enum layout)layer->layout);
}

/* Calls `combine` on a layer and the layer of this start and depth of every other filter that has
 * it. Returns the sum of the results: how many bits or counters changed. */
static uint64_t combine_layer(struct layer *layer, uint32_t depth,
                              const struct filter *const *others, size_t n, combiner combine) {
    uint64_t size = layer_array_bytes(layer), sum = 0;
    for (uint64_t at = 0; at < size; at += PIECE_BYTES) {
        size_t piece = (size_t)(size - at < PIECE_BYTES ? size - at : PIECE_BYTES);
        for (size_t i = 0; i < n; i++) {
            struct run run = generation_at(others[i], layer->start);
            if (run.n <= depth) continue;
            sum += combine(layer->bits + at, run.layers[depth].bits + at, piece);
        }
    }
    return sum;
}

/* The files have a count for the newest layer only, of its capacity at most. All others count as
 * full. */
static void keep_counts_savable(struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        bool is_newest = i + 1 == filter->nlayers;
        if (!is_newest || layer->items > layer->capacity) layer->items = layer->capacity;
    }
}

/* How many items two filters share cannot be told. */
static void estimate_items(struct filter *filter) {
    filter_estimate_items(filter);
    if (origin_row(filter->origin)->has_last_count) keep_counts_savable(filter);
}

/* ---- Union ---------------------------------------------------------------------------------- */

/* The layers of a union: for each, where it comes from. */
struct plan {
    const struct layer **from; // in the union's order; a layer of `into`, or one to copy
    uint32_t *depths;          // the layer's index in its generation
    uint32_t n;
    uint32_t nown;    // how many are layers of `into`
    bool mixes_types; // two filters are of different origins
};

static bool is_own(const struct filter *filter, const struct layer *layer) {
    return layer >= filter->layers && layer < filter->layers + filter->nlayers;
}

/* Appends the layers of the generation of this start, up to the longest chain of it. */
static void plan_generation(struct plan *plan, uint64_t start, const struct filter *into,
                            const struct filter *const *others, size_t n) {
    struct run own = generation_at(into, start);
    uint32_t depth = 0;
    for (; depth < own.n; depth++, plan->n++, plan->nown++) {
        plan->from[plan->n] = &own.layers[depth];
        plan->depths[plan->n] = depth;
    }
    for (size_t i = 0; i < n; i++) {
        struct run run = generation_at(others[i], start);
        if (run.n > depth && others[i]->origin != into->origin) plan->mixes_types = true;
        for (; depth < run.n; depth++, plan->n++) {
            plan->from[plan->n] = &run.layers[depth];
            plan->depths[plan->n] = depth;
        }
    }
}

/* The most layers that the union can have. */
static size_t most_layers(const struct filter *into, const struct filter *const *others, size_t n) {
    size_t most = into->nlayers;
    for (size_t i = 0; i < n; i++) {
        bool is_chain = into->window == 0;
        if (!is_chain) {
            most += others[i]->nlayers;
        } else if (others[i]->nlayers > most) {
            most = others[i]->nlayers;
        }
    }
    return most;
}

static void plan_clear(struct plan *plan) {
    mem_free(plan->from);
    mem_free(plan->depths);
}

static enum status plan_union(struct plan *plan, const struct filter *into,
                              const struct filter *const *others, size_t n) {
    size_t most = most_layers(into, others, n);
    *plan = (struct plan){.from = mem_alloc(most * sizeof(*plan->from)),
                          .depths = mem_alloc(most * sizeof(*plan->depths))};
    if (!plan->from || !plan->depths) {
        plan_clear(plan);
        return STATUS_NOMEM;
    }
    struct starts starts = common_starts(others, n), own = common_starts(&into, 1);
    if (own.of[own.n - 1] > starts.of[starts.n - 1]) starts = own; // of the newest
    for (uint32_t i = 0; i < starts.n; i++) {
        plan_generation(plan, starts.of[i], into, others, n);
    }
    return STATUS_OK;
}

static uint64_t plan_bytes(const struct plan *plan) {
    uint64_t bytes = filter_structure_bytes(plan->n);
    for (uint32_t i = 0; i < plan->n; i++) bytes += layer_array_bytes(plan->from[i]);
    return bytes;
}

uint64_t combine_union_bytes(const struct filter *into, const struct filter *const *others,
                             size_t n) {
    struct plan plan;
    if (n == 0) return filter_size_bytes(into);
    if (plan_union(&plan, into, others, n) != STATUS_OK) return 0;
    uint64_t bytes = plan_bytes(&plan);
    plan_clear(&plan);
    return bytes;
}

/* Whether `into` can have the planned layers. The item counts become estimates, each at most the
 * number of bits. Their largest sum must be legal. */
static enum status check_room(const struct plan *plan, uint64_t max_bytes) {
    uint64_t most = 0;
    if (plan->mixes_types) return STATUS_PARAM; // their fields have other ranges
    if (plan->n > LIMITS_MAX_LAYERS) return STATUS_PARAM;
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct layer *layer = plan->from[i];
        most += layer->capacity > layer->nbits ? layer->capacity : layer->nbits;
        if (most > LIMITS_MAX_COUNT) return STATUS_PARAM;
    }
    bool is_larger = plan->n > plan->nown;
    return is_larger && plan_bytes(plan) > max_bytes ? STATUS_NOMEM : STATUS_OK;
}

/* Makes the planned layers: those of `into` are shared with it, the others copied. */
static enum status make_layers(const struct plan *plan, const struct filter *into,
                               struct layer **out) {
    struct layer *layers = mem_alloc(plan->n * sizeof(*layers));
    if (!layers) return STATUS_NOMEM;
    for (uint32_t i = 0; i < plan->n; i++) {
        layers[i] = *plan->from[i];
        if (is_own(into, plan->from[i])) continue;
        if (layer_copy(&layers[i], plan->from[i]) == STATUS_OK) continue;
        while (i-- > 0) {
            if (!is_own(into, plan->from[i])) layer_clear(&layers[i]);
        }
        mem_free(layers);
        return STATUS_NOMEM;
    }
    *out = layers;
    return STATUS_OK;
}

/* Gives `into` the planned layers. Those of its own that the plan lacks are over, and freed. */
static enum status replace_layers(struct filter *into, const struct plan *plan) {
    struct layer *layers;
    enum status st = make_layers(plan, into, &layers);
    if (st != STATUS_OK) return st;
    uint32_t kept = 0; // the plan has the own layers in their order
    for (uint32_t i = 0; i < into->nlayers; i++) {
        while (kept < plan->n && !is_own(into, plan->from[kept])) kept++;
        bool is_kept = kept < plan->n && plan->from[kept] == &into->layers[i];
        if (is_kept) {
            kept++;
        } else {
            layer_clear(&into->layers[i]);
        }
    }
    mem_free(into->layers);
    into->layers = layers;
    filter_forget_place(into);
    into->nlayers = plan->n;
    into->loaded = filter_array_bytes(into);
    return STATUS_OK;
}

/* Unites every layer of `into` with those of the others. Returns how many bits or counters changed.
 */
static uint64_t unite_layers(struct filter *into, const uint32_t *depths,
                             const struct filter *const *others, size_t n) {
    uint64_t changed = 0;
    for (uint32_t i = 0; i < into->nlayers; i++) {
        struct layer *layer = &into->layers[i];
        uint64_t more = combine_layer(layer, depths[i], others, n, row_of(layer)->unite);
        changed += more;
        if (more == 0) continue;
        // A counter that has changed may have been over 0 before.
        layer->ones = row_of(layer)->has_counters ? layer_count_ones(layer) : layer->ones + more;
    }
    return changed;
}

enum status combine_union_check(const struct filter *into, const struct filter *const *others,
                                size_t n, uint64_t max_bytes) {
    struct plan plan;
    if (n == 0) return STATUS_OK;
    enum status st = plan_union(&plan, into, others, n);
    if (st != STATUS_OK) return st;
    st = check_room(&plan, max_bytes);
    plan_clear(&plan);
    return st;
}

enum status combine_union(struct filter *into, const struct filter *const *others, size_t n,
                          uint64_t max_bytes, bool *changed) {
    *changed = false;
    if (n == 0) return STATUS_OK;
    struct plan plan;
    enum status st = plan_union(&plan, into, others, n);
    if (st != STATUS_OK) return st;
    bool differs = plan.n > plan.nown || into->nlayers > plan.nown;
    st = check_room(&plan, max_bytes);
    if (st == STATUS_OK && differs) st = replace_layers(into, &plan);
    if (st == STATUS_OK) {
        uint64_t fresh = unite_layers(into, plan.depths, others, n);
        *changed = differs || fresh > 0;
        if (*changed) estimate_items(into);
    }
    plan_clear(&plan);
    return st;
}

/* ---- Intersection --------------------------------------------------------------------------- */

enum status combine_intersection(const struct filter *const *sources, size_t n, uint64_t max_bytes,
                                 struct filter **out) {
    struct filter *common;
    if (filter_size_bytes(sources[0]) > max_bytes) return STATUS_NOMEM;
    enum status st = filter_copy(sources[0], &common);
    if (st != STATUS_OK) return st;
    struct layer *layer = &common->layers[0];
    const struct layout_row *row = row_of(layer);
    uint64_t lost = combine_layer(layer, 0, sources + 1, n - 1, row->intersect);
    layer->ones = row->has_counters ? layer_count_ones(layer) : layer->ones - lost;
    estimate_items(common);
    *out = common;
    return STATUS_OK;
}

/* ---- One layer of bits ---------------------------------------------------------------------- */

static bool is_one_size(const struct filter *filter) {
    const struct layer *first = &filter->layers[0];
    for (uint32_t i = 1; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        if (layer->start == first->start || layer->start == filter->layers[i - 1].start)
            return false;
        if (layer->nbits != first->nbits || layer->nhashes != first->nhashes) return false;
    }
    return true;
}

static void copy_bits(struct layer *into, const struct filter *from) {
    for (uint32_t i = 0; from && i < from->nlayers; i++) {
        const struct layer *layer = &from->layers[i];
        if (row_of(layer)->to_bits) {
            row_of(layer)->to_bits(layer->bits, layer->nbits, into->bits);
        } else {
            bits_unite(into->bits, layer->bits, (size_t)layer_array_bytes(layer));
        }
    }
    into->ones = layer_count_ones(into);
    into->items = layer_estimate_items(into);
}

enum status combine_flat_shape(const struct filter *filter, const struct filter *whole,
                               struct filter **out) {
    const struct layer *like = &whole->layers[window_newest(whole)];
    if (filter && !is_one_size(filter)) return STATUS_PARAM;
    struct filter *flat = filter_new_bare(1);
    if (!flat) return STATUS_NOMEM;
    flat->nlayers = 1;
    flat->layout = layout_row(whole->layout)->flat;
    flat->scheme = whole->scheme;
    flat->seed = whole->seed;
    flat->error_rate = whole->error_rate;
    flat->bits_per_key = whole->bits_per_key;
    flat->is_estimated = true;
    struct layer *layer = &flat->layers[0];
    layer->capacity = filter_capacity(whole);
    layer->error_rate = like->error_rate;
    layer->nhashes = like->nhashes;
    layer_set_geometry(layer, (struct geometry){flat->layout, flat->scheme});
    layer_set_nbits(layer, like->nbits);
    flat->loaded = filter_array_bytes(flat);
    *out = flat;
    return STATUS_OK;
}

enum status combine_flat_fill(struct filter *flat, const struct filter *filter) {
    enum status st = filter_alloc_bits(flat);
    if (st == STATUS_OK) copy_bits(&flat->layers[0], filter);
    return st;
}

enum status combine_flatten(const struct filter *filter, const struct filter *whole,
                            struct filter **out) {
    struct filter *flat;
    enum status st = combine_flat_shape(filter, whole, &flat);
    if (st != STATUS_OK) return st;
    st = combine_flat_fill(flat, filter);
    if (st == STATUS_OK) {
        *out = flat;
    } else {
        filter_free(flat);
    }
    return st;
}
