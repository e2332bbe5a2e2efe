/* The state of a filter, computed from its set bits: the formulas of BF.STATS and of the tool. Each
 * function takes O(layers). */

#ifndef BLOOMPORT_MEASURE_H
#define BLOOMPORT_MEASURE_H

#include "module/core/filter/filter.h"

/* Sums over all layers. */
uint64_t measure_items(const struct filter *filter); // estimated from the set bits
uint64_t measure_bits(const struct filter *filter);
uint64_t measure_ones(const struct filter *filter); // set bits

/* The false-positive rate now: the probability that at least one layer contains an absent item. It
 * is within 10 % of what lookups find (rate.c; tests/unit/test_stated.c). */
double measure_error_rate(const struct filter *filter);

/* The false-positive rate that the filter promises. A filter sized by bits per key promises the
 * rate that they give, and twice that rate once it has grown. A window sized by bits per key
 * promises twice the rate of each of its g+1 generations. */
double measure_promise(const struct filter *filter);

/* Whether the false-positive rate is over the promised one: by more than a tenth, and by more than
 * chance explains. A full filter of 100 items may have up to 2 times the promised rate by chance,
 * one of 10,000 up to 1.2 times. */
bool measure_is_overfilled(const struct filter *filter);

/* The last safe fill that was found for a filter of one layer, and what it depends on: all zero at
 * first. Small filters mostly have one shape, and finding the fill would take a quarter of the time
 * in which one of them is loaded. It belongs to the caller, who may have none (NULL). */
struct measure_memo {
    double most;
    uint64_t nbits;
    uint32_t nhashes;
    uint8_t layout, scheme;
    float fill;
};

/* A fill of the newest layer up to which the filter is not overfilled, if no other layer changes. A
 * filter that was not overfilled by merges or imports stays under it, and its adds need no further
 * arithmetic. 0 if there is none. */
float measure_safe_fill(const struct filter *filter, struct measure_memo *memo);

/* Sets filter->safe_fill to that; or to MEASURE_OVERFILLED if the filter is overfilled now, since
 * an add never lowers a rate. measure_note_add is enough after adds to the newest layer. */
#define MEASURE_OVERFILLED (-1.0F)
void measure_settle_fill(struct filter *filter, struct measure_memo *memo);
void measure_note_add(struct filter *filter);

/* Whether filter->safe_fill alone tells if the filter is overfilled. */
static inline bool measure_is_settled(const struct filter *filter) {
    const struct layer *newest = filter_newest(filter);
    return filter->safe_fill < 0 ||
           (double)newest->ones < (double)filter->safe_fill * (double)newest->nbits;
}

/* Whether a non-scaling filter holds its capacity, or over 90 % of it. */
static inline bool measure_is_full(const struct filter *filter) {
    const struct layer *newest = filter_newest(filter);
    return filter->expansion == 0 && newest->items >= newest->capacity;
}
bool measure_is_nearly_full(const struct filter *filter);

/* Whether the filter, or a generation of the window, has so many layers that lookups are slow: a
 * lookup of an absent item probes all of them. */
#define MEASURE_MANY_LAYERS 16
bool measure_has_many_layers(const struct filter *filter);

#endif
