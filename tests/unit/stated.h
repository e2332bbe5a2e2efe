/* Stated against measured: the false-positive rate that filters state (measure_error_rate) and the
 * one that lookups of absent items find. test_stated.c checks some cells, and the program
 * tests/bench/study_stated.c prints all of them.
 *
 * A cell is a geometry, n items, a rate p to size for, and a state: HALF of the items, FULL, the
 * union of two filters of n/2 items each (MERGED_HALVES) or of n items each (MERGED_FULL). It makes
 * many filters of random items, and compares the mean of what they state with the mean of what
 * lookups find in them.
 *
 * Lookups. In a classic array most random lookups of a strict filter end at the first unset bit. So
 * where the first two positions of an item are independent and uniform, only lookups whose first
 * two bits are set are drawn: two set bits are chosen, and then the words that lead to them. Such
 * lookups are f^2 of all, and what they find is weighted by that. Elsewhere random items are
 * hashed.
 *
 * The bound: stated / measured is within 10 % and 4 sigma of the mean difference over the filters;
 * where these are too few to show their spread, of the hits. */

#ifndef BLOOMPORT_TESTS_STATED_H
#define BLOOMPORT_TESTS_STATED_H

#include "module/core/combine.h"
#include "module/core/measure.h"
#include "module/core/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum stated_state { STATED_HALF, STATED_FULL, STATED_MERGED_HALVES, STATED_MERGED_FULL };

static const char *const STATED_NAMES[] = {"half full", "full", "two halves", "two full"};

struct stated_cell {
    struct geometry geometry;
    uint64_t items;
    struct sizing size;
    enum stated_state state;
};

struct stated_result {
    double filters, lookups, hits;
    double stated, measured; // the mean rates
    double textbook;         // the mean of fill^k
    double sigma;            // of measured - stated
};

struct stated_random {
    uint64_t state;
};

static inline uint64_t stated_next(struct stated_random *r) {
    return hash_splitmix(r->state += 0x9e3779b97f4a7c15U);
}

static inline uint64_t stated_below(struct stated_random *r, uint64_t bound) {
    return stated_next(r) % bound;
}

static const struct seed STATED_SEED = {{11, 22, 33, 44}};

/* ---- Filters ---- */

static struct filter *stated_empty(const struct stated_cell *cell) {
    struct filter *filter = filter_new_bare(1);
    struct layer *layer = &filter->layers[0];
    if (layer_init(layer, cell->size, cell->geometry, cell->items, 0.5) != STATUS_OK) abort();
    filter->nlayers = 1;
    filter->layout = cell->geometry.layout;
    filter->scheme = cell->geometry.scheme;
    filter->seed = STATED_SEED;
    filter->error_rate = 0.5;
    return filter;
}

/* The hash of a random item, which no other has. The item stays until the next one. */
static struct hash stated_item(const struct layer *layer, struct stated_random *r) {
    static uint64_t item;
    item = stated_next(r);
    return layer_hash_as((enum layout)layer->layout, (enum scheme)layer->scheme, &STATED_SEED,
                         &item, sizeof item);
}

static struct filter *stated_filled(const struct stated_cell *cell, uint64_t items,
                                    struct stated_random *r) {
    struct filter *filter = stated_empty(cell);
    struct layer *layer = &filter->layers[0];
    while (layer->items < items && layer->ones < layer->nbits) {
        layer_add(layer, stated_item(layer, r));
    }
    return filter;
}

static struct filter *stated_filter(const struct stated_cell *cell, struct stated_random *r) {
    bool halves = cell->state == STATED_HALF || cell->state == STATED_MERGED_HALVES;
    uint64_t items = halves ? cell->items / 2 : cell->items;
    struct filter *filter = stated_filled(cell, items, r);
    if (cell->state == STATED_HALF || cell->state == STATED_FULL) return filter;
    if (halves) items = cell->items - items;
    struct filter *other = stated_filled(cell, items, r);
    const struct filter *others[] = {other};
    bool changed;
    if (combine_union(filter, others, 1, UINT64_MAX, &changed) != STATUS_OK) abort();
    filter_free(other);
    return filter;
}

/* ---- Lookups ---- */

/* The set bits of a layer: where lookups are drawn from. NULL: they are drawn from all items. */
static uint64_t *stated_positions(const struct layer *layer) {
    const struct scheme_row *scheme = scheme_row((enum scheme)layer->scheme);
    bool wide = scheme->wraps && (scheme->rule == RULE_STRIDE || scheme->rule == RULE_SIP13);
    if (layer->layout == LAYOUT_BLOCKED || !(wide || layer->scheme == SCHEME_FNV1A)) return NULL;
    if (layer->nhashes < 2 || layer->ones == 0) return NULL;
    uint64_t *positions = malloc(layer->ones * sizeof *positions), n = 0;
    for (uint64_t i = 0; i < layer->nbits; i++) {
        bool set = layer->layout == LAYOUT_COUNTING ? layer->bits[i / 2] >> i % 2 * 4 & 15
                                                    : layer->bits[i / 8] >> i % 8 & 1;
        if (set) positions[n++] = i;
    }
    if (n != layer->ones) abort();
    return positions;
}

/* A random word of `bits` bits that is `rest` modulo m. */
static uint64_t stated_word(uint64_t rest, uint64_t m, unsigned bits, struct stated_random *r) {
    uint64_t last = UINT64_MAX >> (64 - bits);
    return rest + stated_below(r, (last - rest) / m + 1) * m;
}

/* The words of a random item whose first two bits are set. */
static struct hash stated_drawn(const struct layer *layer, const uint64_t *positions,
                                struct stated_random *r) {
    uint64_t m = layer->nbits, first = positions[stated_below(r, layer->ones)];
    uint64_t second = positions[stated_below(r, layer->ones)];
    if (layer->scheme == SCHEME_FNV1A) {
        uint64_t stride = second >= first ? second - first : second + m - first;
        return (struct hash){stated_word(first, m, 32, r), stated_word(stride, m, 32, r)};
    }
    uint64_t a = stated_word(first, m, 64 - layer->shift, r) << layer->shift;
    uint64_t b = stated_word(second, m, 64 - layer->shift, r) << layer->shift;
    return (struct hash){a, layer->rule == RULE_SIP13 ? b : b - a};
}

static uint64_t stated_hits(const struct layer *layer, const uint64_t *positions, uint64_t lookups,
                            struct stated_random *r) {
    uint64_t hits = 0;
    for (uint64_t i = 0; i < lookups; i++) {
        struct hash hash = positions ? stated_drawn(layer, positions, r) : stated_item(layer, r);
        struct walk walk = walk_begin((enum rule)layer->rule, hash, layer->nbits);
        bool hit = true;
        if (layer->layout != LAYOUT_CLASSIC) {
            hits += layer_contains(layer, hash);
            continue;
        }
        for (uint32_t j = 0; j < layer->nhashes && hit; j++) {
            uint64_t pos = layer_position(layer, walk_next(&walk));
            hit = layer->bits[pos >> 3] >> (pos & 7) & 1;
        }
        hits += hit;
    }
    return hits;
}

/* ---- The cell ---- */

static double stated_textbook(const struct layer *layer) {
    return pow((double)layer->ones / (double)scheme_reach(layer->scheme, layer->nbits),
               layer->nhashes);
}

/* `lookups` in all, spread over filters so that these take about as long to fill. */
static struct stated_result stated_measure(const struct stated_cell *cell, double lookups) {
    struct stated_random r = {cell->items * 1000003 + cell->size.nbits * 7 + cell->state};
    struct stated_result out = {0};
    double work = (double)cell->items * cell->size.nhashes + (double)cell->size.nbits / 4;
    uint64_t each = (uint64_t)(work > 200 ? work : 200);
    if ((double)each > lookups / 2) each = (uint64_t)(lookups / 2);
    double squares = 0, sampling = 0;
    while (out.lookups < lookups) {
        struct filter *filter = stated_filter(cell, &r);
        const struct layer *layer = &filter->layers[0];
        uint64_t *positions = stated_positions(layer);
        double fill = (double)layer->ones / (double)layer->nbits;
        double weight = positions ? fill * fill : 1;
        uint64_t hits = stated_hits(layer, positions, each, &r);
        double rate = weight * (double)hits / (double)each, stated = measure_error_rate(filter);
        out.filters++;
        out.lookups += (double)each;
        out.hits += (double)hits;
        out.measured += rate;
        out.stated += stated;
        out.textbook += stated_textbook(layer);
        squares += (rate - stated) * (rate - stated);
        sampling += weight * weight * ((double)hits + 1);
        free(positions);
        filter_free(filter);
    }
    double mean = (out.measured - out.stated) / out.filters;
    double spread = squares / out.filters - mean * mean;
    out.sigma = sqrt(sampling) / out.lookups;
    if (out.filters >= 30) out.sigma = fmax(out.sigma, sqrt(spread / (out.filters - 1)));
    out.measured /= out.filters;
    out.stated /= out.filters;
    out.textbook /= out.filters;
    return out;
}

#define STATED_TOLERANCE 0.1
#define STATED_SIGMAS 4

static inline bool stated_is_true(const struct stated_result *r) {
    return fabs(r->stated - r->measured) <=
           STATED_TOLERANCE * r->measured + STATED_SIGMAS * r->sigma;
}

static inline void stated_print(const struct stated_cell *cell, const struct stated_result *r) {
    const char *layout = cell->geometry.layout == LAYOUT_BLOCKED    ? "blocked"
                         : cell->geometry.layout == LAYOUT_COUNTING ? "counting"
                                                                    : "classic";
    printf("%-8s %-12s %8llu %10llu %2u %-11s stated %-10.4g measured %-10.4g ratio %6.3f sigma "
           "%5.3f textbook %6.3f (%g of %g)%s\n",
           layout, scheme_row(cell->geometry.scheme)->word, (unsigned long long)cell->items,
           (unsigned long long)cell->size.nbits, cell->size.nhashes, STATED_NAMES[cell->state],
           r->stated, r->measured, r->stated / r->measured, r->sigma / r->measured,
           r->textbook / r->measured, r->hits, r->lookups, stated_is_true(r) ? "" : "  FALSE");
    fflush(stdout);
}

#endif
