/* One fixed-size Bloom filter. See layer.h. */

#include "module/core/layer.h"

#include "module/core/bits.h"
#include "module/core/blocked.h"
#include "module/core/mem.h"
#include "module/core/prefetch.h"
#include "module/core/rate.h"
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
    *to = *from;
    to->bits = bits;
    layer_advise_pages(to);
    memcpy(bits, from->bits, size);
    return STATUS_OK;
}

/* From here on there are lookups enough that miss the TLB: it reaches over 8 MiB on current CPUs.
 */
#define HUGE_BYTES ((uint64_t)32 * 1024 * 1024)

/* With one bit in 256 set, a page of 4 KiB has 128: none is left that nothing was written to. */
static uint64_t dense_ones(const struct layer *layer) {
    return layer->nbits / 256;
}

void layer_advise_pages(struct layer *layer) {
    uint64_t size = layer_bytes(layer->nbits);
    if (size < HUGE_BYTES) return;
    if (layer->ones >= dense_ones(layer)) {
        mem_use_huge_pages(layer->bits, (size_t)size);
    } else {
        mem_use_small_pages(layer->bits, (size_t)size);
    }
}

void layer_clear(struct layer *layer) {
    uint64_t size = layer_bytes(layer->nbits);
    if (layer->bits && size >= HUGE_BYTES) mem_use_small_pages(layer->bits, (size_t)size);
    mem_free(layer->bits);
    layer->bits = NULL;
}

/* ---- One item ------------------------------------------------------------------------------- */

static inline bool bit_is_set(const struct layer *layer, uint64_t pos) {
    return layer->bits[pos >> 3] >> (pos & 7) & 1;
}

/* Computes the positions `from` to `to` - 1 and asks for their lines. */
static inline void ask(const struct layer *layer, struct hash hash, uint64_t *pos, uint32_t from,
                       uint32_t to) {
    uint64_t walk = hash.a + from * hash.b;
    for (uint32_t i = from; i < to; i++, walk += hash.b) {
        pos[i] = layer_position(layer, walk);
        prefetch_line(layer->bits + (pos[i] >> 3));
    }
}

static inline bool all_set(const struct layer *layer, const uint64_t *pos, uint32_t from,
                           uint32_t to) {
    bool hit = true;
    for (uint32_t i = from; i < to; i++) hit &= bit_is_set(layer, pos[i]);
    return hit;
}

/* For the k that no list of positions has room for. */
static bool walk_contains(const struct layer *layer, struct hash hash) {
    uint64_t walk = hash.a;
    for (uint32_t i = 0; i < layer->nhashes; i++, walk += hash.b) {
        if (!bit_is_set(layer, layer_position(layer, walk))) return false;
    }
    return true;
}

static bool has_list(const struct layer *layer) {
    return layer->layout == LAYOUT_CLASSIC && layer->nhashes <= LAYER_MAX_PROBES;
}

/* Of a layer that has no list of positions. */
static bool plain_contains(const struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) return blocked_contains(layer->bits, layer->nbits, hash.a);
    return walk_contains(layer, hash);
}

/* Of one item, whose lines may yet arrive: the first that says no is enough. */
static bool are_set(const struct layer *layer, const uint64_t *pos) {
    for (uint32_t i = 0; i < layer->nhashes; i++) {
        if (!bit_is_set(layer, pos[i])) return false;
    }
    return true;
}

bool layer_contains(const struct layer *layer, struct hash hash) {
    if (!has_list(layer)) return plain_contains(layer, hash);
    uint64_t pos[LAYER_MAX_PROBES];
    ask(layer, hash, pos, 0, layer->nhashes); // all lines are on their way before one is looked at
    return are_set(layer, pos);
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
static uint64_t set_listed(struct layer *layer, const uint64_t *pos) {
    if (all_set(layer, pos, 0, layer->nhashes)) return 0;
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < layer->nhashes; i++) fresh += set_bit(layer, pos[i]);
    return fresh;
}

static uint64_t set_walked(struct layer *layer, struct hash hash) {
    uint64_t fresh = 0, walk = hash.a;
    for (uint32_t i = 0; i < layer->nhashes; i++, walk += hash.b) {
        fresh += set_bit(layer, layer_position(layer, walk));
    }
    return fresh;
}

static bool count_fresh(struct layer *layer, uint64_t fresh) {
    bool was_sparse = layer->ones < dense_ones(layer);
    layer->ones += fresh;
    layer->items += fresh != 0;
    if (was_sparse && layer->ones >= dense_ones(layer)) layer_advise_pages(layer);
    return fresh != 0;
}

bool layer_add(struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) {
        return count_fresh(layer, blocked_add(layer->bits, layer->nbits, hash.a));
    }
    if (!has_list(layer)) return count_fresh(layer, set_walked(layer, hash));
    uint64_t pos[LAYER_MAX_PROBES];
    ask(layer, hash, pos, 0, layer->nhashes);
    return count_fresh(layer, set_listed(layer, pos));
}

/* ---- A group -------------------------------------------------------------------------------- */

/* In a layer that is half full three probes find seven absent items out of eight, so only the first
 * three lines are asked for at first, and the rest of those that pass. */
#define FIRST_PROBES 3

static uint32_t first_probes(const struct layer *layer) {
    return layer->nhashes < FIRST_PROBES ? layer->nhashes : FIRST_PROBES;
}

static void ask_blocks(const struct layer *layer, const struct group *group) {
    for (size_t i = 0; i < group->n; i++) {
        blocked_prefetch(layer->bits, layer->nbits, group->hashes[i].a);
    }
}

/* The positions 0 to `to` - 1 of each item. */
static void ask_group(const struct layer *layer, struct group *group, uint32_t to) {
    if (layer->layout == LAYOUT_BLOCKED) {
        ask_blocks(layer, group);
    } else if (has_list(layer)) {
        for (size_t i = 0; i < group->n; i++) {
            ask(layer, group->hashes[i], group->pos[i], 0, to);
        }
    }
}

void layer_ask(const struct layer *layer, struct group *group) {
    ask_group(layer, group, first_probes(layer));
}

/* Looks at the first lines. Whether an item passes nobody can foresee, least of all the core: so it
 * is written down, not branched on. (Half of the branches were guessed wrong, and what is asked for
 * after a wrong guess is asked for late: 60 ns an item at 238 MiB instead of 51.) */
static void note_passing(const struct layer *layer, struct group *group) {
    group->npassing = 0;
    for (size_t i = 0; i < group->n; i++) {
        group->hits[i] = all_set(layer, group->pos[i], 0, first_probes(layer));
        group->passing[group->npassing] = (uint8_t)i;
        group->npassing += group->hits[i];
    }
}

/* Asks for the rest once more. Of the lines it is asked for while it waits for as many as it can, a
 * core forgets some; those on their way cost nothing. (64 ns a present item instead of 76.) */
static void ask_again(const struct layer *layer, const uint64_t *pos) {
    for (uint32_t i = first_probes(layer); i < layer->nhashes; i++) {
        prefetch_line(layer->bits + (pos[i] >> 3));
    }
}

void layer_ask_on(const struct layer *layer, struct group *group) {
    if (!has_list(layer)) {
        memset(group->hits, false, sizeof(group->hits)); // not known before the answer
        return;
    }
    note_passing(layer, group);
    for (size_t j = 0; j < group->npassing; j++) {
        size_t i = group->passing[j];
        ask(layer, group->hashes[i], group->pos[i], first_probes(layer), layer->nhashes);
    }
    for (size_t j = 0; j < group->npassing; j++) ask_again(layer, group->pos[group->passing[j]]);
}

void layer_answer(const struct layer *layer, struct group *group, bool *contained) {
    if (layer->layout == LAYOUT_BLOCKED) {
        blocked_contains_many(layer->bits, layer->nbits, group->hashes, group->n, contained);
        return;
    }
    if (!has_list(layer)) {
        for (size_t i = 0; i < group->n; i++) contained[i] = walk_contains(layer, group->hashes[i]);
        return;
    }
    memset(contained, false, group->n);
    for (size_t j = 0; j < group->npassing; j++) {
        size_t i = group->passing[j];
        contained[i] = all_set(layer, group->pos[i], first_probes(layer), layer->nhashes);
    }
}

void layer_ask_all(const struct layer *layer, struct group *group) {
    ask_group(layer, group, layer->nhashes);
}

bool layer_asked_contains(const struct layer *layer, const struct group *group, size_t i) {
    if (!has_list(layer)) return plain_contains(layer, group->hashes[i]);
    return are_set(layer, group->pos[i]);
}

bool layer_asked_add(struct layer *layer, const struct group *group, size_t i) {
    if (!has_list(layer)) return layer_add(layer, group->hashes[i]);
    return count_fresh(layer, set_listed(layer, group->pos[i]));
}

static void add_blocks(struct layer *layer, const struct group *group, bool *added) {
    unsigned fresh[LAYER_GROUP];
    blocked_add_many(layer->bits, layer->nbits, group->hashes, group->n, fresh);
    for (size_t i = 0; i < group->n; i++) added[i] = count_fresh(layer, fresh[i]);
}

void layer_ask_and_add(struct layer *layer, struct group *asking, const struct group *group,
                       bool *added) {
    if (layer->layout == LAYOUT_BLOCKED) {
        ask_blocks(layer, asking);
        add_blocks(layer, group, added);
        return;
    }
    for (size_t i = 0; i < asking->n || i < group->n; i++) {
        if (i < asking->n && has_list(layer)) {
            ask(layer, asking->hashes[i], asking->pos[i], 0, layer->nhashes);
        }
        if (i < group->n) added[i] = layer_asked_add(layer, group, i);
    }
}

void layer_prefetch_first(const struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) {
        blocked_prefetch(layer->bits, layer->nbits, hash.a);
        return;
    }
    uint64_t walk = hash.a;
    for (uint32_t i = 0; i < first_probes(layer); i++, walk += hash.b) {
        prefetch_line(layer->bits + (layer_position(layer, walk) >> 3));
    }
}

/* ---- The bits as a whole -------------------------------------------------------------------- */

uint64_t layer_ones_in(const uint8_t *bytes, uint64_t size) {
    return bits_count(bytes, (size_t)size);
}

uint64_t layer_count_ones(const struct layer *layer) {
    return layer_ones_in(layer->bits, layer_bytes(layer->nbits));
}

bool layer_tail_is_zero(const struct layer *layer) {
    uint64_t used = layer->nbits % 8;
    return used == 0 || layer->bits[layer->nbits / 8] >> used == 0;
}

double layer_estimate(const struct layer *layer) {
    if (layer->ones == layer->nbits) return (double)layer->nbits;
    double m = (double)layer->nbits;
    return -m / layer->nhashes * real_ln(1 - (double)layer->ones / m);
}

uint64_t layer_estimate_items(const struct layer *layer) {
    if (layer->ones == 0) return 0;
    uint64_t least = (layer->ones - 1) / layer->nhashes + 1;
    double items = floor(layer_estimate(layer) + 0.5);
    if (items <= (double)least) return least;
    return items >= (double)layer->ones ? layer->ones : (uint64_t)items;
}

double layer_current_error_rate(const struct layer *layer) {
    if (layer->ones == layer->nbits) return 1;
    if (layer->layout == LAYOUT_BLOCKED) {
        return rate_blocked(layer_estimate(layer), layer->nbits / BLOCKED_BLOCK_BITS);
    }
    double fill = (double)layer->ones / (double)layer->nbits;
    double rate = 1;
    for (uint32_t i = 0; i < layer->nhashes; i++) rate *= fill;
    return rate;
}
