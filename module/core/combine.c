/* The union and the intersection of filters. See combine.h. */

#include "module/core/combine.h"

#include "module/core/bits.h"
#include "module/core/mem.h"

#include <string.h>

/* A piece of this size is combined with all others before the next piece. It stays in the
 * first-level cache, and a page that gains no bit is never written to. */
#define PIECE_BYTES ((uint64_t)4096)

enum difference combine_difference(const struct filter *a, const struct filter *b,
                                   uint32_t *layer) {
    if (a->scheme != b->scheme) return DIFFERENCE_SCHEME;
    if (a->layout != b->layout) return DIFFERENCE_LAYOUT;
    for (uint32_t i = 0; i < a->nlayers && i < b->nlayers; i++) {
        *layer = i;
        if (a->layers[i].nbits != b->layers[i].nbits) return DIFFERENCE_BITS;
        if (a->layers[i].nhashes != b->layers[i].nhashes) return DIFFERENCE_HASHES;
    }
    return DIFFERENCE_NONE;
}

/* Calls `combine` on one layer of `into` and the same layer of every other filter that has it.
 * Returns the sum of the results. */
static uint64_t combine_layer(struct filter *into, uint32_t layer,
                              const struct filter *const *others, size_t n,
                              uint64_t (*combine)(uint8_t *, const uint8_t *, size_t)) {
    uint8_t *bits = into->layers[layer].bits;
    uint64_t size = layer_bytes(into->layers[layer].nbits), sum = 0;
    for (uint64_t at = 0; at < size; at += PIECE_BYTES) {
        size_t piece = (size_t)(size - at < PIECE_BYTES ? size - at : PIECE_BYTES);
        for (size_t i = 0; i < n; i++) {
            if (others[i]->nlayers <= layer) continue;
            sum += combine(bits + at, others[i]->layers[layer].bits + at, piece);
        }
    }
    return sum;
}

/* How many items two filters share cannot be told, so the counts become estimates. Only the count
 * of an empty filter is exact: 0. */
static void estimate_items(struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        filter->layers[i].items = layer_estimate_items(&filter->layers[i]);
    }
    filter->is_estimated = filter_items(filter) > 0;
}

/* ---- Union ---------------------------------------------------------------------------------- */

/* The first of the filters with the most layers. */
static const struct filter *longest(const struct filter *into, const struct filter *const *others,
                                    size_t n) {
    const struct filter *most = into;
    for (size_t i = 0; i < n; i++) {
        if (others[i]->nlayers > most->nlayers) most = others[i];
    }
    return most;
}

static const struct filter *first_with(const struct filter *const *others, uint32_t layer) {
    while ((*others)->nlayers <= layer) others++;
    return *others;
}

/* Whether `into` can have `nlayers` layers: its own, and copies of those that it lacks. The item
 * counts become estimates, each at most the number of bits. Their largest sum must be legal. */
static enum status check_room(const struct filter *into, const struct filter *const *others,
                              uint32_t nlayers, uint64_t max_bytes) {
    uint64_t bytes = filter_structure_bytes(nlayers), most = 0;
    for (uint32_t i = 0; i < nlayers; i++) {
        const struct filter *from = i < into->nlayers ? into : first_with(others, i);
        const struct layer *layer = &from->layers[i];
        if (from->is_foreign != into->is_foreign)
            return STATUS_PARAM; // their fields have other ranges
        bytes += layer_bytes(layer->nbits);
        most += layer->capacity > layer->nbits ? layer->capacity : layer->nbits;
        if (most > LIMITS_MAX_COUNT) return STATUS_PARAM;
    }
    return bytes > max_bytes && nlayers > into->nlayers ? STATUS_NOMEM : STATUS_OK;
}

/* Gives `into` copies of the layers that it lacks. On failure `into` is unchanged. */
static enum status extend(struct filter *into, const struct filter *const *others,
                          uint32_t nlayers) {
    struct layer *layers = mem_alloc(nlayers * sizeof(*layers));
    if (!layers) return STATUS_NOMEM;
    memcpy(layers, into->layers, into->nlayers * sizeof(*layers));
    uint32_t i = into->nlayers;
    for (; i < nlayers; i++) {
        if (layer_copy(&layers[i], &first_with(others, i)->layers[i]) != STATUS_OK) break;
    }
    if (i < nlayers) {
        while (i-- > into->nlayers) layer_clear(&layers[i]);
        mem_free(layers);
        return STATUS_NOMEM;
    }
    mem_free(into->layers);
    into->layers = layers;
    into->nlayers = nlayers;
    into->loaded = filter_array_bytes(into);
    return STATUS_OK;
}

enum status combine_union(struct filter *into, const struct filter *const *others, size_t n,
                          uint64_t max_bytes, bool *changed) {
    uint32_t nlayers = longest(into, others, n)->nlayers;
    bool grows = nlayers > into->nlayers;
    enum status st = check_room(into, others, nlayers, max_bytes);
    if (st == STATUS_OK && grows) st = extend(into, others, nlayers);
    if (st != STATUS_OK) return st;
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < into->nlayers; i++) {
        uint64_t more = combine_layer(into, i, others, n, bits_unite);
        into->layers[i].ones += more;
        fresh += more;
    }
    *changed = grows || fresh > 0;
    if (*changed) estimate_items(into);
    return STATUS_OK;
}

/* ---- Intersection --------------------------------------------------------------------------- */

enum status combine_intersection(const struct filter *const *sources, size_t n, uint64_t max_bytes,
                                 struct filter **out) {
    struct filter *common;
    if (filter_size_bytes(sources[0]) > max_bytes) return STATUS_NOMEM;
    enum status st = filter_copy(sources[0], &common);
    if (st != STATUS_OK) return st;
    common->layers[0].ones -= combine_layer(common, 0, sources + 1, n - 1, bits_intersect);
    estimate_items(common);
    *out = common;
    return STATUS_OK;
}
