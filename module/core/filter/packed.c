/* Packed filters. See packed.h. */

#include "module/core/filter/packed.h"

#include "module/core/measure.h"
#include "module/core/mem.h"

#include <string.h>

/* packed.h draws the bytes. `form` is the first byte of a struct filter too, where it is 0. */
struct packed {
    uint8_t form;
    uint8_t nhashes;
    uint16_t expansion;
    uint16_t nbits;
    uint16_t capacity;
    uint16_t items;
    uint16_t ones;
    float safe_fill;
    double error_rate;
    uint8_t bits[];
};

_Static_assert(sizeof(struct packed) == PACKED_HEAD_BYTES, "packed.h draws the bytes");

static size_t packed_size(uint64_t nbits) {
    return sizeof(struct packed) + (size_t)layer_bytes(nbits);
}

/* struct packed has no field for the layer's error rate, so that must be the rate which follows
 * from the filter's. */
bool packed_fits(const struct filter *f) {
    const struct layer *l = &f->layers[0];
    return packed_is_small(f) && f->layout == LAYOUT_CLASSIC && f->scheme == SCHEME_XXH64 &&
           !f->is_loading && !f->is_estimated && f->bits_per_key == 0 && f->window == 0 &&
           l->capacity <= UINT16_MAX && l->nhashes <= UINT8_MAX &&
           l->error_rate == filter_first_rate(f->error_rate, f->expansion);
}

/* A packed filter with the fields of this one, and any bits. NULL if there is no memory. */
static struct packed *new_head(const struct filter *filter) {
    const struct layer *layer = &filter->layers[0];
    struct packed *packed = mem_alloc(packed_size(layer->nbits));
    if (!packed) return NULL;
    float safe_fill = filter->safe_fill;
    *packed = (struct packed){.form = PACKED_FORM,
                              .nhashes = (uint8_t)layer->nhashes,
                              .expansion = (uint16_t)filter->expansion,
                              .nbits = (uint16_t)layer->nbits,
                              .capacity = (uint16_t)layer->capacity,
                              .items = (uint16_t)layer->items,
                              .ones = (uint16_t)layer->ones,
                              .safe_fill = safe_fill ? safe_fill : measure_safe_fill(filter, NULL),
                              .error_rate = filter->error_rate};
    return packed;
}

void *packed_copy(struct filter *filter) {
    if (filter->safe_fill == 0) measure_settle_fill(filter, NULL);
    struct packed *packed = new_head(filter);
    if (!packed) return NULL;
    memcpy(packed->bits, filter->layers[0].bits, (size_t)layer_array_bytes(&filter->layers[0]));
    return packed;
}

void *packed_pack(struct filter *filter) {
    void *packed = packed_fits(filter) ? packed_copy(filter) : NULL;
    if (!packed) return filter;
    filter_free(filter);
    return packed;
}

enum status packed_new(const struct filter *shape, uint64_t max_bytes, void **out) {
    struct packed *packed = NULL;
    if (packed_fits(shape)) {
        if (filter_size_bytes(shape) > max_bytes) return STATUS_NOMEM;
        packed = new_head(shape);
    }
    if (packed) {
        memset(packed->bits, 0, (size_t)layer_array_bytes(&shape->layers[0]));
        *out = packed;
        return STATUS_OK;
    }
    struct filter *filter;
    enum status st = filter_new_shaped(shape, max_bytes, &filter);
    if (st == STATUS_OK) *out = filter;
    return st;
}

struct filter *packed_open(void *value, struct packed_view *view) {
    if (!packed_is_packed(value)) return value;
    struct packed *packed = value;
    view->layer =
        (struct layer){.bits = packed->bits,
                       .capacity = packed->capacity,
                       .items = packed->items,
                       .ones = packed->ones,
                       .error_rate = filter_first_rate(packed->error_rate, packed->expansion),
                       .nhashes = packed->nhashes,
                       .layout = LAYOUT_CLASSIC};
    layer_set_nbits(&view->layer, packed->nbits);
    view->filter = (struct filter){.layers = &view->layer,
                                   .nlayers = 1,
                                   .expansion = packed->expansion,
                                   .error_rate = packed->error_rate,
                                   .layout = LAYOUT_CLASSIC,
                                   .scheme = SCHEME_XXH64,
                                   .safe_fill = packed->safe_fill,
                                   .loaded = layer_bytes(packed->nbits)};
    return &view->filter;
}

const struct filter *packed_view(const void *value, struct packed_view *view) {
    return packed_open((void *)(uintptr_t)value, view);
}

void packed_close(void *value, const struct filter *filter) {
    if (!packed_is_packed(value)) return;
    struct packed *packed = value;
    packed->items = (uint16_t)filter->layers[0].items;
    packed->ones = (uint16_t)filter->layers[0].ones;
    packed->safe_fill = filter->safe_fill;
}

struct filter *packed_unpack(const void *value) {
    struct packed_view view;
    struct filter *unpacked = NULL;
    return filter_copy(packed_view(value, &view), &unpacked) == STATUS_OK ? unpacked : NULL;
}

void packed_free(void *value) {
    if (packed_is_packed(value)) {
        mem_free(value);
    } else {
        filter_free(value);
    }
}

uint64_t packed_own_bytes(const void *value) {
    return packed_size(((const struct packed *)value)->nbits);
}
