/* One fixed-size Bloom filter. See layer.h. */

#include "module/core/layer.h"

#include "module/core/bits.h"
#include "module/core/blocked.h"
#include "module/core/counting.h"
#include "module/core/limits.h"
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

void layer_set_geometry(struct layer *layer, struct geometry geometry) {
    layer->layout = (uint8_t)geometry.layout;
    layer->scheme = (uint8_t)geometry.scheme;
    layer->rule = (uint8_t)scheme_row(geometry.scheme)->rule;
    layer->shift = scheme_row(geometry.scheme)->shift;
}

enum status layer_init(struct layer *layer, struct sizing size, struct geometry geometry,
                       uint64_t capacity, double error_rate) {
    uint8_t *bits = mem_alloc_zeroed((size_t)layer_bytes_as(size.nbits, geometry.layout));
    if (!bits) return STATUS_NOMEM;
    *layer = (struct layer){
        .bits = bits, .capacity = capacity, .error_rate = error_rate, .nhashes = size.nhashes};
    layer_set_geometry(layer, geometry);
    layer_set_nbits(layer, size.nbits);
    return STATUS_OK;
}

/* A TLB of current CPUs covers about 8 MiB of small pages: beyond that most lookups miss it. (Five
 * layers of 18 MiB: 190 ns a lookup in batches instead of 275.) */
#define HUGE_BYTES ((uint64_t)8 * 1024 * 1024)

/* A layer is dense from this many set bits on. With one bit in 256 set, a page of 4 KiB has 128 on
 * average, and a larger page has more: practically every page has been written to. */
static uint64_t dense_ones(const struct layer *layer) {
    return layer->nbits / 256;
}

void layer_advise_pages(struct layer *layer) {
    uint64_t size = layer_array_bytes(layer);
    if (size < HUGE_BYTES) return;
    if (layer->ones >= dense_ones(layer)) {
        mem_use_huge_pages(layer->bits, (size_t)size);
    } else {
        mem_use_small_pages(layer->bits, (size_t)size);
    }
}

/* Copies the pieces that have a set bit to memory that is all zero. Writing to a page makes it
 * resident; reading one that was never written to does not. A piece is a page, or part of one where
 * pages have 16 or 64 KiB. */
static void copy_set_pieces(uint8_t *to, const uint8_t *from, size_t size) {
    const size_t piece = 4096;
    for (size_t at = 0; at < size; at += piece) {
        size_t len = size - at < piece ? size - at : piece;
        if (bits_count(from + at, len) > 0) memcpy(to + at, from + at, len);
    }
}

enum status layer_copy(struct layer *to, const struct layer *from) {
    size_t size = (size_t)layer_array_bytes(from);
    bool is_sparse = from->ones < dense_ones(from);
    uint8_t *bits = is_sparse ? mem_alloc_zeroed(size) : mem_alloc(size);
    if (!bits) return STATUS_NOMEM;
    *to = *from;
    to->bits = bits;
    layer_advise_pages(to);
    if (is_sparse) {
        copy_set_pieces(bits, from->bits, size);
    } else {
        memcpy(bits, from->bits, size);
    }
    return STATUS_OK;
}

void layer_clear(struct layer *layer) {
    uint64_t size = layer_array_bytes(layer);
    if (layer->bits && size >= HUGE_BYTES) mem_use_small_pages(layer->bits, (size_t)size);
    mem_free(layer->bits);
    layer->bits = NULL;
}

/* ---- One item ------------------------------------------------------------------------------- */

static inline bool bit_is_set(const struct layer *layer, uint64_t pos) {
    return layer->bits[pos >> 3] >> (pos & 7) & 1;
}

static inline uint64_t set_bit(struct layer *layer, uint64_t pos) {
    uint8_t mask = (uint8_t)(1U << (pos & 7));
    uint8_t *byte = &layer->bits[pos >> 3];
    uint64_t fresh = !(*byte & mask);
    *byte |= mask;
    return fresh;
}

static inline struct walk walk_of(const struct layer *layer, struct hash hash) {
    return walk_begin((enum rule)layer->rule, hash, layer->nbits);
}

/* The definition of CLASSIC. It serves layers whose k exceeds PROBE_MAX_HASHES. */
static bool classic_contains(const struct layer *layer, struct hash hash) {
    struct walk walk = walk_of(layer, hash);
    for (uint32_t i = 0; i < layer->nhashes; i++) {
        if (!bit_is_set(layer, layer_position(layer, walk_next(&walk)))) return false;
    }
    return true;
}

static uint64_t classic_add(struct layer *layer, struct hash hash) {
    struct walk walk = walk_of(layer, hash);
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < layer->nhashes; i++) {
        fresh += set_bit(layer, layer_position(layer, walk_next(&walk)));
    }
    return fresh;
}

/* Counts `fresh` new set bits. */
static inline void count_ones(struct layer *layer, uint64_t fresh) {
    bool was_sparse = layer->ones < dense_ones(layer);
    layer->ones += fresh;
    if (was_sparse && layer->ones >= dense_ones(layer)) layer_advise_pages(layer);
}

/* Counts an add that set `fresh` new bits. */
static inline struct outcome count_fresh(struct layer *layer, uint64_t fresh) {
    layer->items += fresh != 0;
    count_ones(layer, fresh);
    return (struct outcome){fresh != 0, fresh != 0};
}

/* ---- Positions ------------------------------------------------------------------------------ */

/* Whether a probe has room for an item's positions. If not, the item is probed bit by bit. A
 * COUNTING layer always has room: its k is 30 at most (limits.c). */
static bool has_positions(const struct layer *layer) {
    return layer->layout != LAYOUT_BLOCKED && layer->nhashes <= PROBE_MAX_HASHES;
}

/* Position p is in byte p >> this. */
static inline unsigned byte_shift(const struct layer *layer) {
    return layer->layout == LAYOUT_COUNTING ? 1 : 3;
}

/* locate for RULE_SIP13. (Through a walk, a lookup in a batch took 1.29 times CLASSIC's time, and
 * not 1.1.) */
static void locate_keyed(const struct layer *layer, struct hash hash, uint64_t *pos, uint32_t from,
                         uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        pos[i] = layer_position(layer, scheme_sip13_value(hash, i));
        prefetch_line(layer->bits + (pos[i] >> byte_shift(layer)));
    }
}

/* locate for the other rules but RULE_STRIDE. */
static void locate_by_rule(const struct layer *layer, struct hash hash, uint64_t *pos,
                           uint32_t from, uint32_t to) {
    if (layer->rule == RULE_SIP13) {
        locate_keyed(layer, hash, pos, from, to);
        return;
    }
    struct walk walk = walk_of(layer, hash);
    for (uint32_t i = 0; i < from; i++) walk_next(&walk);
    for (uint32_t i = from; i < to; i++) {
        pos[i] = layer_position(layer, walk_next(&walk));
        prefetch_line(layer->bits + (pos[i] >> byte_shift(layer)));
    }
}

/* Computes the positions `from` to `to` - 1 and prefetches their lines. */
static inline void locate(const struct layer *layer, struct hash hash, uint64_t *pos, uint32_t from,
                          uint32_t to) {
    uint64_t value = hash.a + from * hash.b;
    const unsigned shift = byte_shift(layer);
    if (layer->rule != RULE_STRIDE) {
        locate_by_rule(layer, hash, pos, from, to);
        return;
    }
    for (uint32_t i = from; i < to; i++, value += hash.b) {
        pos[i] = layer_position(layer, value);
        prefetch_line(layer->bits + (pos[i] >> shift));
    }
}

/* Reads without a branch, for lines that have arrived. */
static inline bool all_set(const struct layer *layer, const uint64_t *pos, uint32_t from,
                           uint32_t to) {
    if (layer->layout == LAYOUT_COUNTING) return counting_all(layer->bits, pos, from, to);
    bool hit = true;
    for (uint32_t i = from; i < to; i++) hit &= bit_is_set(layer, pos[i]);
    return hit;
}

/* Stops at the first bit that is not set, for one item whose lines may not have arrived. */
static bool are_set(const struct layer *layer, const uint64_t *pos) {
    if (layer->layout == LAYOUT_COUNTING) {
        return counting_least(layer->bits, pos, layer->nhashes) > 0;
    }
    for (uint32_t i = 0; i < layer->nhashes; i++) {
        if (!bit_is_set(layer, pos[i])) return false;
    }
    return true;
}

/* Sets the bits and returns how many were not set before. If all were set, nothing is written: the
 * lines stay clean, and the pages are not copied while a child process is saving. */
static uint64_t set_all(struct layer *layer, const uint64_t *pos) {
    if (all_set(layer, pos, 0, layer->nhashes)) return 0;
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < layer->nhashes; i++) fresh += set_bit(layer, pos[i]);
    return fresh;
}

/* COUNTING: increments the counters. Every add of an item counts, so that each can be removed. */
static struct outcome count_add(struct layer *layer, const uint64_t *pos) {
    uint32_t crossed;
    bool was_present = counting_least(layer->bits, pos, layer->nhashes) > 0;
    uint32_t changed = counting_increment(layer->bits, pos, layer->nhashes, &crossed);
    if (changed > 0 && layer->items < LIMITS_MAX_COUNT) layer->items++;
    count_ones(layer, crossed);
    return (struct outcome){.answer = !was_present, .changed = changed > 0};
}

static struct outcome add_at(struct layer *layer, const uint64_t *pos) {
    if (layer->layout == LAYOUT_COUNTING) return count_add(layer, pos);
    return count_fresh(layer, set_all(layer, pos));
}

struct outcome layer_add(struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) {
        return count_fresh(layer, blocked_add(layer->bits, layer->nbits, hash.a));
    }
    if (layer->layout == LAYOUT_CLASSIC) return count_fresh(layer, classic_add(layer, hash));
    uint64_t pos[PROBE_MAX_HASHES];
    locate(layer, hash, pos, 0, layer->nhashes);
    return count_add(layer, pos);
}

bool layer_contains(const struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) return blocked_contains(layer->bits, layer->nbits, hash.a);
    if (!has_positions(layer)) return classic_contains(layer, hash);
    uint64_t pos[PROBE_MAX_HASHES];
    locate(layer, hash, pos, 0, layer->nhashes); // prefetches all lines before one is read
    return are_set(layer, pos);
}

/* ---- Probes --------------------------------------------------------------------------------- */

/* In a layer whose bits are half set, three bits reject seven of eight absent items. So three lines
 * are prefetched first, and the others only for the items that pass. */
#ifndef FIRST_HASHES
#define FIRST_HASHES 3
#endif

static uint32_t first_hashes(const struct layer *layer) {
    return layer->nhashes < FIRST_HASHES ? layer->nhashes : FIRST_HASHES;
}

static void prefetch_blocks(const struct layer *layer, const struct probe *probe) {
    for (size_t i = 0; i < probe->n; i++) {
        blocked_prefetch(layer->bits, layer->nbits, probe->hashes[i].a);
    }
}

/* Computes the positions 0 to `to` - 1 of each item and prefetches their lines. */
static void locate_each(const struct layer *layer, struct probe *probe, uint32_t to) {
    if (layer->layout == LAYOUT_BLOCKED) {
        prefetch_blocks(layer, probe);
    } else if (has_positions(layer)) {
        for (size_t i = 0; i < probe->n; i++) {
            locate(layer, probe->hashes[i], probe->positions[i], 0, to);
        }
    }
}

void layer_probe_first(const struct layer *layer, struct probe *probe) {
    locate_each(layer, probe, first_hashes(layer));
}

/* Reads the first bits and lists the items that pass. The core cannot predict which items pass, so
 * the loop has no branch on it. (Half of the branches were mispredicted, and the prefetches after
 * them came late: 60 ns an item at 238 MiB instead of 51.) */
static void note_passing(const struct layer *layer, struct probe *probe) {
    probe->npassing = 0;
    for (size_t i = 0; i < probe->n; i++) {
        probe->passes[i] = all_set(layer, probe->positions[i], 0, first_hashes(layer));
        probe->passing[probe->npassing] = (uint8_t)i;
        probe->npassing = (uint8_t)(probe->npassing + probe->passes[i]);
    }
}

/* Prefetches the other lines a second time. A core drops prefetches while it waits for as many
 * lines as it can; lines that are on their way cost nothing. (64 ns a present item instead of 76.)
 */
static void prefetch_again(const struct layer *layer, const uint64_t *pos) {
    for (uint32_t i = first_hashes(layer); i < layer->nhashes; i++) {
        prefetch_line(layer->bits + (pos[i] >> byte_shift(layer)));
    }
}

void layer_probe_rest(const struct layer *layer, struct probe *probe) {
    if (!has_positions(layer)) {
        memset(probe->passes, false, sizeof(probe->passes)); // layer_probe_contains reads the bits
        return;
    }
    note_passing(layer, probe);
    for (size_t j = 0; j < probe->npassing; j++) {
        size_t i = probe->passing[j];
        locate(layer, probe->hashes[i], probe->positions[i], first_hashes(layer), layer->nhashes);
    }
    for (size_t j = 0; j < probe->npassing; j++) {
        prefetch_again(layer, probe->positions[probe->passing[j]]);
    }
}

void layer_probe_contains(const struct layer *layer, const struct probe *probe, bool *contained) {
    if (layer->layout == LAYOUT_BLOCKED) {
        blocked_contains_many(layer->bits, layer->nbits, probe->hashes, probe->n, contained);
        return;
    }
    if (!has_positions(layer)) {
        for (size_t i = 0; i < probe->n; i++) {
            contained[i] = classic_contains(layer, probe->hashes[i]);
        }
        return;
    }
    memset(contained, false, probe->n);
    for (size_t j = 0; j < probe->npassing; j++) {
        size_t i = probe->passing[j];
        contained[i] = all_set(layer, probe->positions[i], first_hashes(layer), layer->nhashes);
    }
}

static inline void note_layer(const struct layer *layer, struct probe *probe) {
    probe->bits = layer->bits;
    probe->nbits = layer->nbits;
    probe->nhashes = layer->nhashes;
    probe->layout = layer->layout;
    probe->scheme = layer->scheme;
}

void layer_probe_all(const struct layer *layer, struct probe *probe) {
    note_layer(layer, probe);
    locate_each(layer, probe, layer->nhashes);
}

bool layer_probed_contains(const struct layer *layer, const struct probe *probe, size_t i) {
    if (!has_positions(layer)) return layer_contains(layer, probe->hashes[i]);
    return are_set(layer, probe->positions[i]);
}

struct outcome layer_probed_add(struct layer *layer, const struct probe *probe, size_t i) {
    if (!has_positions(layer)) return layer_add(layer, probe->hashes[i]);
    return add_at(layer, probe->positions[i]);
}

bool layer_probed_remove(struct layer *layer, const struct probe *probe, size_t i) {
    uint32_t crossed;
    uint32_t changed =
        counting_decrement(layer->bits, probe->positions[i], layer->nhashes, &crossed);
    layer->ones -= crossed;
    // The count may be an estimate, or one of version 0.2.0: it must not fall below 0.
    if (changed > 0 && layer->items > 0) layer->items--;
    return changed > 0;
}

unsigned layer_probed_count(const struct layer *layer, const struct probe *probe, size_t i) {
    return counting_least(layer->bits, probe->positions[i], layer->nhashes);
}

static void add_blocks(struct layer *layer, const struct probe *probe, struct outcome *outcomes) {
    unsigned fresh[PROBE_ITEMS];
    blocked_add_many(layer->bits, layer->nbits, probe->hashes, probe->n, fresh);
    for (size_t i = 0; i < probe->n; i++) outcomes[i] = count_fresh(layer, fresh[i]);
}

void layer_probe_and_add(struct layer *layer, struct probe *coming, const struct probe *probe,
                         struct outcome *outcomes) {
    note_layer(layer, coming);
    if (layer->layout == LAYOUT_BLOCKED) {
        prefetch_blocks(layer, coming);
        add_blocks(layer, probe, outcomes);
        return;
    }
    for (size_t i = 0; i < coming->n || i < probe->n; i++) {
        if (i < coming->n && has_positions(layer)) {
            locate(layer, coming->hashes[i], coming->positions[i], 0, layer->nhashes);
        }
        if (i < probe->n) outcomes[i] = layer_probed_add(layer, probe, i);
    }
}

void layer_prefetch_first(const struct layer *layer, struct hash hash) {
    if (layer->layout == LAYOUT_BLOCKED) {
        blocked_prefetch(layer->bits, layer->nbits, hash.a);
        return;
    }
    uint64_t pos[FIRST_HASHES];
    locate(layer, hash, pos, 0, first_hashes(layer));
}

/* ---- All bits ------------------------------------------------------------------------------- */

uint64_t layer_ones_in(const struct layer *layer, const uint8_t *bytes, uint64_t size) {
    if (layer->layout == LAYOUT_COUNTING) return counting_ones(bytes, (size_t)size);
    return bits_count(bytes, (size_t)size);
}

uint64_t layer_count_ones(const struct layer *layer) {
    return layer_ones_in(layer, layer->bits, layer_array_bytes(layer));
}

bool layer_tail_is_zero(const struct layer *layer) {
    if (layer->layout == LAYOUT_COUNTING) {
        return layer->nbits % 2 == 0 || layer->bits[layer->nbits / 2] >> 4 == 0;
    }
    uint64_t used = layer->nbits % 8;
    return used == 0 || layer->bits[layer->nbits / 8] >> used == 0;
}

/* The bits that an add can set: all but in schemes whose words are narrow. */
static uint64_t reach(const struct layer *layer) {
    return scheme_reach((enum scheme)layer->scheme, layer->nbits);
}

/* The items that leave so many set bits: -(m/k) ln(1 - ones/m). */
static double items_of_ones(const struct layer *layer, double ones) {
    double m = (double)reach(layer);
    return -m / layer->nhashes * real_ln(1 - ones / m);
}

double layer_estimate(const struct layer *layer) {
    if (layer->ones >= reach(layer)) return (double)reach(layer);
    return items_of_ones(layer, (double)layer->ones);
}

uint64_t layer_estimate_items(const struct layer *layer) {
    if (layer->ones == 0) return 0;
    uint64_t least = (layer->ones - 1) / layer->nhashes + 1;
    double items = floor(layer_estimate(layer) + 0.5);
    if (items <= (double)least) return least;
    return items >= (double)layer->ones ? layer->ones : (uint64_t)items;
}

/* LevelDB's words wrap round at 2^32. */
static enum rate_walk walk_kind(const struct layer *layer) {
    if (layer->scheme == SCHEME_DATASKETCHES) return RATE_WALK_HALVED;
    if (layer->scheme == SCHEME_LEVELDB) return RATE_WALK_WRAPS;
    switch ((enum rule)layer->rule) {
    case RULE_SIP13: return RATE_WALK_SPLIT;
    case RULE_FOLD32:
    case RULE_MAGNITUDE: return RATE_WALK_FOLDED;
    case RULE_ALTERNATE: return RATE_WALK_SUMS;
    case RULE_GO: return RATE_WALK_MIXED;
    case RULE_BIP37: return RATE_WALK_FREE;
    default:
        return scheme_row((enum scheme)layer->scheme)->wraps ? RATE_WALK_WRAPS : RATE_WALK_STRAIGHT;
    }
}

/* The rate of items by their positions. */
static double rate_by_positions(const struct layer *layer, double ones) {
    double fill = ones / (double)reach(layer);
    uint64_t nlines = layer->nbits / SCHEME_LINE_BITS;
    if (layer->layout == LAYOUT_BLOCKED) {
        return rate_blocked_now(fill, layer->nbits / BLOCKED_BLOCK_BITS);
    }
    if (layer->rule == RULE_LINE) return rate_lines_now(fill, nlines, layer->nhashes);
    if (layer->rule == RULE_LINE4) return rate_lines4_now(fill, nlines, layer->nhashes);
    return rate_now(ones, reach(layer), layer->nhashes, walk_kind(layer));
}

/* Where an item's words follow from 32 bits, another item has the same words once in 2^32. */
double layer_error_rate_at(const struct layer *layer, double ones) {
    double rate = rate_by_positions(layer, ones);
    bool is_narrow = layer->scheme == SCHEME_LEVELDB || layer->scheme == SCHEME_ROCKSDB4;
    if (!is_narrow || rate >= 1 || ones <= 0) return rate;
    rate += (1 - rate) * items_of_ones(layer, ones) / 4294967296.0;
    return rate < 1 ? rate : 1;
}

double layer_current_error_rate(const struct layer *layer) {
    return layer_error_rate_at(layer, (double)layer->ones);
}
