/* What the formats of a single layer share. See single.h. */

#include "rdb/formats/single.h"

#include "module/core/real.h"

#include <math.h>
#include <string.h>

const char *single_limit(const struct filter *filter) {
    if (filter->nlayers <= 1) return NULL;
    return "it has more than one layer: BF.SCANDUMP carries any filter, or reserve it larger";
}

void single_put_bits(struct writer *w, const struct layer *layer) {
    size_t size = (size_t)layer_array_bytes(layer);
    memcpy(w->at, layer->bits, size);
    w->at += size;
}

const char *single_take_bits(struct reader *r, struct single *s) {
    if (s->nhashes < 1 || s->nhashes > SIZING_MOST_HASHES) return "k";
    if (s->nbits < 1 || s->nbits > sizing_max_bits(s->geometry)) return "m";
    if (r->left != layer_bytes(s->nbits)) return "length is not that of m bits";
    s->bits = r->at;
    return NULL;
}

/* What the bits are best for. */
static uint64_t best_capacity(const struct single *s) {
    double n = floor((double)s->nbits * REAL_LN2 / s->nhashes);
    return n < 1 ? 1 : (uint64_t)n;
}

/* No format of one layer states a rate: this is what the size gives at the capacity. */
static double rate_of(const struct single *s, uint64_t capacity) {
    struct sizing size = {s->nbits, s->nhashes};
    double rate = sizing_error_rate(capacity, size, s->geometry);
    return rate < 0x1p-1000 ? 0x1p-1000 : rate >= 1 ? 1 - 0x1p-53 : rate;
}

static enum status fill(const struct single *s, const struct formats_options *options,
                        struct filter *filter, const char **fault) {
    uint64_t capacity = options->capacity ? options->capacity : s->capacity;
    if (capacity == 0) capacity = best_capacity(s);
    double rate = rate_of(s, capacity);
    struct layer *layer = &filter->layers[0];
    enum status st =
        layer_init(layer, (struct sizing){s->nbits, s->nhashes}, s->geometry, capacity, rate);
    if (st != STATUS_OK) return st;
    filter->nlayers = 1;
    filter->layout = s->geometry.layout;
    filter->scheme = s->geometry.scheme;
    filter->expansion = options->expansion;
    filter->bits_per_key = s->bits_per_key;
    filter->error_rate = s->bits_per_key != 0 ? 0 : rate;
    filter->is_estimated = true;
    filter->loaded = layer_bytes(s->nbits);
    memcpy(layer->bits, s->bits, (size_t)layer_bytes(s->nbits));
    *fault = "bits beyond m";
    if (!layer_tail_is_zero(layer)) return STATUS_CORRUPT;
    layer->ones = layer_count_ones(layer);
    layer->items = layer_estimate_items(layer);
    layer_advise_pages(layer);
    return STATUS_OK;
}

enum status single_decode(const struct single *s, const struct formats_options *options,
                          uint64_t max_bytes, struct filter **out, const char **fault) {
    uint64_t size = filter_structure_bytes(1) + layer_bytes(s->nbits);
    if (size > max_bytes) return STATUS_NOMEM;
    struct filter *filter = filter_new_bare(1);
    if (!filter) return STATUS_NOMEM;
    enum status st = fill(s, options, filter, fault);
    if (st != STATUS_OK) {
        filter_free(filter);
        return st;
    }
    *out = filter;
    return STATUS_OK;
}
