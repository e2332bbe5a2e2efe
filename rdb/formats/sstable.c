/* `sstable`: what `portable` holds, with the bits per key it was sized by, to the nearest integer.
 *
 *   m u64 | k u32 | bits per key u32 | bits */

#include "module/core/limits.h"
#include "rdb/formats/row.h"

#include <math.h>

#define HEADER_BYTES 16

/* ---- Writing ------------------------------------------------------------------------------ */

static uint64_t sstable_size(const struct filter *filter) {
    return HEADER_BYTES + filter_array_bytes(filter);
}

/* The header's field: to the nearest, at least 1. */
static uint32_t rounded(double bits_per_key) {
    double bits = floor(bits_per_key + 0.5);
    return bits < 1 ? 1 : bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
}

static uint32_t bits_of_capacity(uint64_t nbits, uint64_t capacity) {
    return rounded((double)nbits / (double)capacity);
}

static void sstable_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    put_u64(w, layer->nbits);
    put_u32(w, layer->nhashes);
    put_u32(w, filter->bits_per_key != 0 ? rounded(filter->bits_per_key)
                                         : bits_of_capacity(layer->nbits, layer->capacity));
    single_put_bits(w, layer);
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* m / bits per key. A filter cannot keep more bits per key than BITSPERKEY accepts: they are
 * computed from m / capacity again. There the capacity is the one that gives them, one of the two
 * next to m / bits per key. */
static uint64_t capacity_of(uint64_t nbits, uint32_t bits_per_key) {
    uint64_t n = nbits / bits_per_key;
    if (n < 1) return 1;
    bool is_next =
        !limits_is_bits_per_key(bits_per_key) && bits_of_capacity(nbits, n) != bits_per_key;
    return is_next ? n + 1 : n;
}

/* Whether the header's bits per key will be those of the exported filter. */
static bool can_export_again(uint64_t nbits, uint64_t capacity, uint32_t bits_per_key) {
    return limits_is_bits_per_key(bits_per_key) ||
           bits_of_capacity(nbits, capacity) == bits_per_key;
}

static const char *take_header(struct reader *r, uint32_t *bits_per_key, struct single *s) {
    s->nbits = take_u64(r);
    s->nhashes = take_u32(r);
    *bits_per_key = take_u32(r);
    if (r->bad) return "shorter than its header";
    return *bits_per_key < 1 ? "bits per key" : single_take_bits(r, s);
}

static const char *sstable_take(struct reader *r, const struct formats_options *options,
                                struct single *s) {
    uint32_t bits_per_key;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, options->scheme};
    const char *fault = take_header(r, &bits_per_key, s);
    if (fault) return fault;
    s->capacity = capacity_of(s->nbits, bits_per_key);
    s->bits_per_key = limits_is_bits_per_key(bits_per_key) ? bits_per_key : 0;
    uint64_t capacity = options->capacity ? options->capacity : s->capacity;
    return can_export_again(s->nbits, capacity, bits_per_key) ? NULL : "bits per key";
}

const struct format_row SSTABLE_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION | TAKES_HASH,
    .size = sstable_size,
    .encode = sstable_encode,
    .take = sstable_take,
    .is_marked = true,
};
