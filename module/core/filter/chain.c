/* Lookups of one item in a run of layers. See chain.h. */

#include "module/core/filter/chain.h"

#include "module/core/filter/prefetch.h"

/* Whether each bit of an item can be computed without the others. The layers of a filter agree. */
static inline bool has_single_bits(const struct layer *layer) {
    const struct layout_row *row = layout_row((enum layout)layer->layout);
    return !row->has_blocks && !row->has_counters &&
           (layer->rule == RULE_STRIDE || layer->rule == RULE_SIP13);
}

static inline bool is_set(const struct layer *layer, uint64_t position) {
    return layer->bits[position >> 3] >> (position & 7) & 1;
}

/* Value i of the item's walk, shifted as the scheme says: its position is it modulo m. */
static inline uint64_t value_of(const struct layer *layer, struct hash hash, uint32_t i) {
    uint64_t value = layer->rule == RULE_SIP13 ? scheme_sip13_value(hash, i) : hash.a + i * hash.b;
    return value >> layer->shift;
}

/* The position of a value, whose line is prefetched. */
static inline uint64_t locate(const struct layer *layer, uint64_t value) {
    uint64_t position = layer_modulo(layer, value);
    prefetch_line(layer->bits + (position >> 3));
    return position;
}

/* The positions of the bits 0 and 1, or 2 and 3. Where a layer has fewer bits, bit 0 stands for
 * those that are missing: a layer is looked at again only if that is set. */
static inline void locate_first(const struct layer *layer, const uint64_t values[CHAIN_VALUES],
                                uint64_t positions[2]) {
    positions[0] = locate(layer, values[0]);
    positions[1] = locate(layer, layer->nhashes > 1 ? values[1] : values[0]);
}

static inline void locate_next(const struct layer *layer, const uint64_t values[CHAIN_VALUES],
                               uint64_t positions[2]) {
    positions[0] = locate(layer, layer->nhashes > 2 ? values[2] : values[0]);
    positions[1] = locate(layer, layer->nhashes > 3 ? values[3] : values[0]);
}

static inline bool has_two(const struct layer *layer, const uint64_t positions[2]) {
    return is_set(layer, positions[0]) & is_set(layer, positions[1]);
}

static inline bool has_positions(const struct layer *layer) {
    return layer->nhashes <= PROBE_MAX_HASHES;
}

/* The positions of the other bits, of a layer that has_positions. */
static inline void locate_rest(const struct layer *layer, struct hash hash, uint64_t *positions) {
    for (uint32_t i = CHAIN_VALUES; i < layer->nhashes; i++) {
        positions[i] = locate(layer, value_of(layer, hash, i));
    }
}

static inline bool has_rest(const struct layer *layer, const uint64_t *positions) {
    for (uint32_t i = CHAIN_VALUES; i < layer->nhashes; i++) {
        if (!is_set(layer, positions[i])) return false;
    }
    return true;
}

/* Whether a layer that has the first bits contains the item. */
static bool contains_rest(const struct layer *layer, struct hash hash) {
    uint64_t positions[PROBE_MAX_HASHES];
    if (!has_positions(layer)) return layer_contains(layer, hash);
    locate_rest(layer, hash, positions);
    return has_rest(layer, positions);
}

/* ---- The steps ------------------------------------------------------------------------------ */

/* The newest layer comes first: it is the largest, and holds the items that were added last. */
void chain_first(struct chain_probe *probe, const struct layer *layers, uint32_t nlayers,
                 struct hash hash) {
    probe->hash = hash;
    probe->layers = layers;
    probe->nlayers = nlayers;
    probe->has_single_bits = has_single_bits(layers);
    if (!probe->has_single_bits) {
        for (uint32_t i = nlayers; i-- > 0;) layer_prefetch_first(&layers[i], hash);
        return;
    }
    for (uint32_t i = 0; i < CHAIN_VALUES; i++) probe->values[i] = value_of(layers, hash, i);
    const struct layer *layer = layers + nlayers;
    for (uint32_t j = 0; j < nlayers; j++) locate_first(--layer, probe->values, probe->two[j]);
}

void chain_second(struct chain_probe *probe) {
    uint32_t nleft = 0;
    if (!probe->has_single_bits) return;
    const struct layer *layer = probe->layers + probe->nlayers;
    for (uint32_t j = 0; j < probe->nlayers; j++) {
        probe->left[nleft] = --layer;
        nleft += has_two(layer, probe->two[j]);
    }
    probe->nleft = nleft;
    for (uint32_t j = 0; j < nleft; j++) {
        locate_next(probe->left[j], probe->values, probe->two[j]);
    }
}

void chain_third(struct chain_probe *probe) {
    uint32_t nleft = 0;
    if (!probe->has_single_bits) return;
    for (uint32_t j = 0; j < probe->nleft; j++) {
        const struct layer *layer = probe->left[j];
        probe->left[nleft] = layer;
        nleft += has_two(layer, probe->two[j]);
    }
    probe->nleft = nleft;
    if (nleft > 0 && has_positions(probe->left[0])) {
        locate_rest(probe->left[0], probe->hash, probe->rest);
    }
}

/* The textbook's loop, for layers without single bits. */
static bool any_contains(const struct layer *layers, uint32_t nlayers, struct hash hash) {
    while (nlayers-- > 0) {
        if (layer_contains(&layers[nlayers], hash)) return true;
    }
    return false;
}

bool chain_answer(const struct chain_probe *probe) {
    if (!probe->has_single_bits) return any_contains(probe->layers, probe->nlayers, probe->hash);
    for (uint32_t j = 0; j < probe->nleft; j++) {
        const struct layer *layer = probe->left[j];
        bool is_located = j == 0 && has_positions(layer);
        if (is_located ? has_rest(layer, probe->rest) : contains_rest(layer, probe->hash)) {
            return true;
        }
    }
    return false;
}

/* ---- All steps ------------------------------------------------------------------------------ */

/* Of the items in the older layers of a filter that doubles, three quarters are in the two newest.
 * A single lookup looks at those first, so that these items do not pay for the other layers. */
#define RECENT_LAYERS 2

struct recent {
    uint32_t nlayers;
    uint64_t two[RECENT_LAYERS][2], more[RECENT_LAYERS][2];
};

static void recent_first(struct recent *recent, const struct layer *layers, uint32_t nlayers,
                         struct hash hash) {
    uint64_t values[CHAIN_VALUES];
    for (uint32_t i = 0; i < CHAIN_VALUES; i++) values[i] = value_of(layers, hash, i);
    recent->nlayers = nlayers < RECENT_LAYERS ? nlayers : RECENT_LAYERS;
    for (uint32_t j = 0; j < recent->nlayers; j++) {
        const struct layer *layer = &layers[nlayers - 1 - j];
        locate_first(layer, values, recent->two[j]);
        locate_next(layer, values, recent->more[j]);
    }
}

static bool recent_answer(const struct recent *recent, const struct layer *layers, uint32_t nlayers,
                          struct hash hash) {
    for (uint32_t j = 0; j < recent->nlayers; j++) {
        const struct layer *layer = &layers[nlayers - 1 - j];
        bool hit = has_two(layer, recent->two[j]) & has_two(layer, recent->more[j]);
        if (hit && contains_rest(layer, hash)) return true;
    }
    return false;
}

/* Begins with the last layers, as many as a probe takes. Returns how many these are. */
static uint32_t begin_run(struct chain_probe *probe, const struct layer *layers, uint32_t nlayers,
                          struct hash hash) {
    uint32_t n = nlayers < CHAIN_LAYERS ? nlayers : CHAIN_LAYERS;
    if (n > 0) chain_first(probe, layers + nlayers - n, n, hash);
    return n;
}

bool chain_contains(const struct layer *layers, uint32_t nlayers, struct hash hash) {
    if (nlayers == 0) return false;
    if (!has_single_bits(layers)) return any_contains(layers, nlayers, hash);
    struct recent recent;
    struct chain_probe probe;
    recent_first(&recent, layers, nlayers, hash);
    uint32_t left = nlayers - recent.nlayers, n = begin_run(&probe, layers, left, hash);
    if (recent_answer(&recent, layers, nlayers, hash)) return true;
    while (n > 0) {
        chain_second(&probe);
        chain_third(&probe);
        if (chain_answer(&probe)) return true;
        left -= n;
        n = begin_run(&probe, layers, left, hash);
    }
    return false;
}
