/* Packed filters: how small filters are stored between commands. A packed filter is one allocation
 * with 24 bytes before the bits. A struct filter with its layer is three allocations with 208 bytes
 * besides the bits. A server that keeps a filter per user has millions of them.
 *
 * A key holds a *value*: a struct filter (unpacked), or a packed filter. The first byte tells
 * which.
 *
 *   packed    byte 0   form         PACKED_FORM
 *                  1   nhashes      k
 *                  2   expansion
 *                  4   nbits        m
 *                  6   capacity
 *                  8   items
 *                 10   ones
 *                 12   safe_fill    the filter's, as a float
 *                 16   error_rate   the filter's; the layer's follows from it
 *                 24   bits         ceil(m / 8) bytes
 *
 * A packed filter is opened into a *view*: a struct filter on the caller's stack whose layer uses
 * the value's own bits. So the rest of the code only sees struct filter:
 *
 *   struct packed_view (stack)                 value (heap)
 *   +--------+     +-------------+             +---------------------+------+
 *   | filter | --> | layer: bits | ----------> | form ... error_rate | bits |
 *   +--------+     +-------------+             +---------------------+------+
 *
 * A view must not grow: a filter that has to grow is unpacked first. A filter is packed if it has
 * one layer, CLASSIC, XXH64, no window, is sized by error rate, and has PACKED_MAX_BITS at most.
 * BF.ADD on a missing key creates such filters. */

#ifndef BLOOMPORT_PACKED_H
#define BLOOMPORT_PACKED_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKED_MAX_BITS 8192
#define PACKED_FORM 1 // the first byte of a packed filter; the first byte of a struct filter is 0

struct packed_view {
    struct filter filter;
    struct layer layer;
};

/* Whether the filter is small enough to be packed. packed_fits checks the other conditions. */
static inline bool packed_is_small(const struct filter *filter) {
    return filter->nlayers == 1 && filter->layers[0].nbits <= PACKED_MAX_BITS;
}

/* Whether a packed filter can store every field of this one. */
bool packed_fits(const struct filter *filter);

/* Makes a packed copy of a filter that packed_fits. Settles filter->safe_fill if that is unknown
 * (measure.h). NULL if there is no memory. */
void *packed_copy(struct filter *filter);

/* Packs the filter, frees it and returns the packed one. If it cannot be packed, or there is no
 * memory, returns the filter itself. The result is a value in either case. */
void *packed_pack(struct filter *filter);

/* Makes an empty filter of this shape, packed if it can be: filter_new_shaped and packed_pack in
 * one step. Statuses as of filter_new_shaped. */
enum status packed_new(const struct filter *shape, uint64_t max_bytes, void **out);

static inline bool packed_is_packed(const void *value) {
    return *(const uint8_t *)value == PACKED_FORM;
}

/* Opens a value for adding: fills in *view if the value is packed, and returns view->filter. An
 * unpacked value is returned as it is. packed_close must follow. */
struct filter *packed_open(void *value, struct packed_view *view);

/* Opens a value for reading; no packed_close is needed. */
const struct filter *packed_view(const void *value, struct packed_view *view);

/* Stores the counts of an opened filter in its packed value. The bits are the value's already. */
void packed_close(void *value, const struct filter *filter);

/* Makes an unpacked copy; the value is unchanged. NULL if there is no memory. */
struct filter *packed_unpack(const void *value);

/* Frees a value. */
void packed_free(void *value);

/* The allocated bytes of a packed filter, and of any value. */
uint64_t packed_own_bytes(const void *value);

#define PACKED_HEAD_BYTES 24 // what stands before the bits

/* What a value takes besides its bit arrays. */
static inline uint64_t packed_structure_bytes(const void *value) {
    if (packed_is_packed(value)) return PACKED_HEAD_BYTES;
    return filter_structure_bytes(((const struct filter *)value)->nlayers);
}

static inline uint64_t packed_size_bytes(const void *value) {
    return packed_is_packed(value) ? packed_own_bytes(value) : filter_size_bytes(value);
}

#endif
