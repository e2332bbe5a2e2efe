/* One fixed-size Bloom filter. See layer.h. */

#include "module/core/layer.h"

#include "module/core/blocked.h"
#include "module/core/mem.h"
#include "module/core/real.h"

#include <string.h>

/* ---- Life ----------------------------------------------------------------------------------- */

void layer_set_nbits(struct layer *layer, uint64_t nbits) {
    layer->nbits = nbits;
    layer->inverse = UINT64_MAX / nbits;
}

enum status layer_init(struct layer *layer, struct sizing size, struct geometry geometry,
                       uint64_t capacity, double error_rate) {
    uint8_t *bits = mem_alloc_zeroed((size_t)layer_bytes(size.nbits));
    if (!bits) return STATUS_NOMEM;
    *layer = (struct layer){.bits = bits,
                            .capacity = capacity,
                            .error_rate = error_rate,
                            .nhashes = size.nhashes,
                            .layout = (uint8_t)geometry.layout,
                            .shift = (uint8_t)hash_shift(geometry.scheme)};
    layer_set_nbits(layer, size.nbits);
    return STATUS_OK;
}

enum status layer_copy(struct layer *to, const struct layer *from) {
    size_t size = (size_t)layer_bytes(from->nbits);
    uint8_t *bits = mem_alloc(size);
    if (!bits) return STATUS_NOMEM;
    memcpy(bits, from->bits, size);
    *to = *from;
    to->bits = bits;
    return STATUS_OK;
}

void layer_clear(struct layer *layer) {
    mem_free(layer->bits);
    layer->bits = NULL;
}

/* ---- Positions ------------------------------------------------------------------------------ */

/* An item on its way: its positions, computed once, and whether all bits seen so far are set. */
#define MAX_PROBES 32 // more, as imported layers may have, are walked one by one

struct probe {
    struct hash hash;
    uint64_t pos[MAX_PROBES];
    unsigned hit;
};

static inline void probe_ask(const struct layer *layer, struct probe *probe, uint32_t from,
                             uint32_t to) {
    uint64_t walk = probe->hash.a + from * probe->hash.b;
    for (uint32_t i = from; i < to; i++, walk += probe->hash.b) {
        probe->pos[i] = layer_position(layer, walk);
        __builtin_prefetch(layer->bits + (probe->pos[i] >> 3));
    }
}

static inline void probe_look(const struct layer *layer, struct probe *probe, uint32_t from,
                              uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        uint64_t pos = probe->pos[i];
        probe->hit &= (unsigned)layer->bits[pos >> 3] >> (pos & 7);
    }
}

/* ---- One item ------------------------------------------------------------------------------- */

/* For the k that no struct probe has room for. */
static bool walk_contains(const struct layer *layer, struct hash hash) {
    uint64_t walk = hash.a;
    for (uint32_t i = 0; i < layer->nhashes; i++, walk += hash.b) {
        uint64_t pos = layer_position(layer, walk);
        if (!(layer->bits[pos >> 3] & (1U << (pos & 7)))) return false;
    }
    return true;
}

bool layer_contains(const struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) return blocked_contains(layer->bits, layer->nbits, hash.a);
    if (layer->nhashes > MAX_PROBES) return walk_contains(layer, hash);
    // All lines are on their way before the first is looked at.
    struct probe probe;
    probe.hash = hash;
    probe.hit = 1;
    probe_ask(layer, &probe, 0, layer->nhashes);
    for (uint32_t i = 0; i < layer->nhashes && probe.hit; i++) probe_look(layer, &probe, i, i + 1);
    return probe.hit;
}

void layer_prefetch(const struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) {
        blocked_prefetch(layer->bits, layer->nbits, hash.a);
    } else {
        uint64_t walk = hash.a;
        for (uint32_t i = 0; i < layer->nhashes; i++, walk += hash.b) {
            __builtin_prefetch(layer->bits + (layer_position(layer, walk) >> 3), 1);
        }
    }
}

static inline uint64_t set_bit(struct layer *layer, uint64_t pos) {
    uint8_t mask = (uint8_t)(1U << (pos & 7));
    uint8_t *byte = &layer->bits[pos >> 3];
    uint64_t fresh = !(*byte & mask);
    *byte |= mask;
    return fresh;
}

/* Sets the bits and returns how many were not set. Nothing is written for an item whose bits are
 * all there: its lines stay clean, and its pages are not copied while a child is saving. */
static uint64_t set_bits(struct layer *layer, struct hash hash) {
    uint64_t fresh = 0;
    if (layer->nhashes > MAX_PROBES) {
        uint64_t walk = hash.a;
        for (uint32_t i = 0; i < layer->nhashes; i++, walk += hash.b) {
            fresh += set_bit(layer, layer_position(layer, walk));
        }
        return fresh;
    }
    struct probe probe;
    probe.hash = hash;
    probe.hit = 1;
    probe_ask(layer, &probe, 0, layer->nhashes);
    probe_look(layer, &probe, 0, layer->nhashes);
    if (probe.hit) return 0;
    for (uint32_t i = 0; i < layer->nhashes; i++) fresh += set_bit(layer, probe.pos[i]);
    return fresh;
}

bool layer_add(struct layer *layer, struct hash hash) {
    uint64_t fresh = layer->layout == LAYOUT_BLOCKED
                         ? blocked_add(layer->bits, layer->nbits, hash.a)
                         : set_bits(layer, hash);
    layer->ones += fresh;
    layer->items += fresh != 0;
    return fresh != 0;
}

/* ---- Many items ----------------------------------------------------------------------------- */

/* In a layer that is half full three probes find seven absent items out of eight, so only the first
 * three lines are asked for at first, and the rest of those that pass. */
#define FIRST_PROBES 3
/* Three items are in hand at a time: one whose first lines are asked for, one that is looked at
 * there and, if it passes, asks for the rest, and one that is decided. */
static size_t keep_absent(const struct layer *layer, const struct hash *hashes, uint8_t *index,
                          size_t n) {
    uint32_t k = layer->nhashes;
    uint32_t first = k < FIRST_PROBES ? k : FIRST_PROBES;
    struct probe ring[2 * LAYER_DISTANCE];
    size_t kept = 0;
    for (size_t i = 0; i < n + 2 * LAYER_DISTANCE; i++) {
        if (i >= 2 * LAYER_DISTANCE) {
            struct probe *probe = &ring[i % (2 * LAYER_DISTANCE)];
            if (probe->hit) probe_look(layer, probe, first, k);
            index[kept] = index[i - 2 * LAYER_DISTANCE];
            kept += !probe->hit;
        }
        if (i >= LAYER_DISTANCE && i - LAYER_DISTANCE < n) {
            struct probe *probe = &ring[(i - LAYER_DISTANCE) % (2 * LAYER_DISTANCE)];
            probe_look(layer, probe, 0, first);
            if (probe->hit) probe_ask(layer, probe, first, k);
        }
        if (i < n) {
            struct probe *probe = &ring[i % (2 * LAYER_DISTANCE)];
            probe->hash = hashes[index[i]];
            probe->hit = 1;
            probe_ask(layer, probe, 0, first);
        }
    }
    return kept;
}

static size_t keep_absent_one_by_one(const struct layer *layer, const struct hash *hashes,
                                     uint8_t *index, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool hit = layer_contains(layer, hashes[index[i]]);
        index[kept] = index[i];
        kept += !hit;
    }
    return kept;
}

size_t layer_keep_absent(const struct layer *layer, const struct hash *hashes, uint8_t *index,
                         size_t n) {
    if (layer->layout == LAYOUT_BLOCKED) {
        return blocked_keep_absent(layer->bits, layer->nbits, hashes, index, n);
    }
    if (layer->nhashes > MAX_PROBES) return keep_absent_one_by_one(layer, hashes, index, n);
    return keep_absent(layer, hashes, index, n);
}

/* ---- The bits as a whole -------------------------------------------------------------------- */

uint64_t layer_count_ones(const struct layer *layer) {
    uint64_t size = layer_bytes(layer->nbits);
    uint64_t ones = 0;
    uint64_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, layer->bits + i, 8);
        ones += (uint64_t)__builtin_popcountll(word);
    }
    for (; i < size; i++) ones += (uint64_t)__builtin_popcount(layer->bits[i]);
    return ones;
}

bool layer_tail_is_zero(const struct layer *layer) {
    uint64_t used = layer->nbits % 8;
    return used == 0 || layer->bits[layer->nbits / 8] >> used == 0;
}

uint64_t layer_estimate_items(const struct layer *layer) {
    if (layer->ones == 0 || layer->ones == layer->nbits) return layer->ones;
    uint64_t least = (layer->ones - 1) / layer->nhashes + 1;
    double m = (double)layer->nbits;
    double items = floor(-m / layer->nhashes * real_ln(1 - (double)layer->ones / m) + 0.5);
    if (items <= (double)least) return least;
    return items >= (double)layer->ones ? layer->ones : (uint64_t)items;
}

double layer_current_error_rate(const struct layer *layer) {
    double fill = (double)layer->ones / (double)layer->nbits;
    double rate = 1;
    for (uint32_t i = 0; i < layer->nhashes; i++) rate *= fill;
    return rate;
}
