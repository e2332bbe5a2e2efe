/* What the formats of a single layer share: its header, once read, and its bits become a filter.
 * Only the files of this directory include it. */

#ifndef BLOOMPORT_FORMATS_SINGLE_H
#define BLOOMPORT_FORMATS_SINGLE_H

#include "module/core/filter.h"
#include "rdb/bytes.h"
#include "rdb/formats/formats.h"

/* A header, and where the layer's bits begin. */
struct single {
    uint64_t nbits;
    uint32_t nhashes;
    struct geometry geometry;
    uint64_t capacity;   // unless the caller has one; 0: what the bits are best for, m ln 2 / k
    double bits_per_key; // what the filter was sized by; 0: it has a rate, that of its capacity
    const uint8_t *bits;
};

/* Why a filter cannot be written as one layer; NULL if it can. */
const char *single_limit(const struct filter *filter);

/* Appends a layer's bits. */
void single_put_bits(struct writer *w, const struct layer *layer);

/* Checks k and m, and that what is left are the bits: sets s->bits. NULL, or the fault. */
const char *single_take_bits(struct reader *r, struct single *s);

/* The filter. Statuses and *fault are those of formats_decode. */
enum status single_decode(const struct single *s, const struct formats_options *options,
                          uint64_t max_bytes, struct filter **out, const char **fault);

#endif
