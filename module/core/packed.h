/* Small filters at rest: one allocation, 24 bytes beside the bits, where a struct filter with its
 * layer takes three and 160. A server that keeps a filter per user has millions of them.
 *
 * What a key holds is a *value*: a whole filter, or a packed one. A packed one is opened into a
 * view, a struct filter on the caller's stack whose bits are those of the value itself, so that the
 * rest of the code knows nothing of this. A view must not grow: who wants to add more than there is
 * room for makes it whole first. Packed are filters of one layer, CLASSIC, XXH64, sized by error
 * rate, and at most PACKED_MAX_BITS: what BF.ADD creates by itself. */

#ifndef BLOOMPORT_PACKED_H
#define BLOOMPORT_PACKED_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKED_MAX_BITS 8192
#define PACKED_FORM 1 // the first byte of a packed filter, and 0 is that of a struct filter

struct packed_view {
    struct filter filter;
    struct layer layer;
};

/* Whether it has any chance to be packed. */
static inline bool packed_is_small(const struct filter *filter) {
    return filter->nlayers == 1 && filter->layers[0].nbits <= PACKED_MAX_BITS;
}

/* The value that a filter becomes: itself, or packed, and the filter freed. Never fails. */
void *packed_pack(struct filter *filter);

static inline bool packed_is_packed(const void *value) {
    return *(const uint8_t *)value == PACKED_FORM;
}

/* The filter that a value is, with *view as its memory if it is packed. */
struct filter *packed_open(void *value, struct packed_view *view);

/* The same, only to be looked at. */
const struct filter *packed_view(const void *value, struct packed_view *view);

/* Takes back what adding has changed. */
void packed_close(void *value, const struct filter *filter);

/* A whole filter with the value's contents; the value stays. NULL if the allocator says no. */
struct filter *packed_unpack(const void *value);

void packed_free(void *value);

/* All that was asked of the allocator, for a packed filter and for any value. */
uint64_t packed_own_bytes(const void *value);

static inline uint64_t packed_size_bytes(const void *value) {
    return packed_is_packed(value) ? packed_own_bytes(value) : filter_size_bytes(value);
}

#endif
