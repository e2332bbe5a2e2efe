/* What the formats of a single layer share. See single.h. */

#include "rdb/formats/single.h"

#include "module/core/math/real.h"

#include <math.h>
#include <string.h>

/* ---- Limits --------------------------------------------------------------------------------- */

const char *single_limit(const struct filter *filter) {
    if (filter->nlayers <= 1) return NULL;
    return "it has more than one layer: BF.SCANDUMP carries any filter, or reserve it larger";
}

const char *single_limit_to(const struct filter *filter, uint64_t unit, uint64_t most_bits,
                            uint32_t most_hashes) {
    const char *layers = single_limit(filter);
    if (layers) return layers;
    const struct layer *layer = &filter->layers[0];
    bool fits = layer->nbits % unit == 0 && layer->nbits <= most_bits;
    if (fits && layer->nhashes <= most_hashes) return NULL;
    return "its size is not one that this format has, use BF.SCANDUMP";
}

/* ---- Bits ----------------------------------------------------------------------------------- */

#define WORD_BYTES 8

uint64_t single_words_bytes(uint64_t nbits) {
    return (nbits / 64 + (nbits % 64 != 0)) * WORD_BYTES;
}

static uint64_t bytes_in_order(const struct single *s) {
    return s->order == ORDER_WORDS ? single_words_bytes(s->nbits) : layer_bytes(s->nbits);
}

void single_put_bits(struct writer *w, const struct layer *layer) {
    size_t size = (size_t)layer_array_bytes(layer);
    memcpy(w->at, layer->bits, size);
    w->at += size;
}

void single_put_words(struct writer *w, const struct layer *layer) {
    struct reader r = {layer->bits, (size_t)layer_array_bytes(layer), false};
    while (r.left > 0)
        put_be(w, take_uint(&r, r.left < WORD_BYTES ? r.left : WORD_BYTES), WORD_BYTES);
}

const char *single_take_bits(struct reader *r, struct single *s) {
    if (s->nhashes < 1 || s->nhashes > SIZING_MOST_HASHES) return "k";
    if (s->nbits < 1 || s->nbits > sizing_max_bits(s->geometry)) return "m";
    bool may_be_short = s->order == ORDER_HIGH; // it ends after the last set bit
    bool fits = may_be_short ? r->left <= bytes_in_order(s) : r->left == bytes_in_order(s);
    if (!fits) return "length is not that of m bits";
    s->bits = r->at;
    s->nbytes = r->left;
    return NULL;
}

/* The last word may have bytes beyond those of m bits. False if they are not 0. */
static bool copy_words(const struct single *s, uint8_t *to) {
    struct reader r = {s->bits, s->nbytes, false};
    struct writer w = {to};
    uint64_t left = layer_bytes(s->nbits), word = 0;
    for (; left >= WORD_BYTES; left -= WORD_BYTES) put_u64(&w, take_be(&r, WORD_BYTES));
    if (left > 0) {
        word = take_be(&r, WORD_BYTES);
        put_uint(&w, word, (size_t)left);
        word >>= 8 * left;
    }
    return word == 0;
}

uint8_t single_turn_bits(uint8_t byte) {
    byte = (uint8_t)(byte >> 4 | byte << 4);
    byte = (uint8_t)((byte >> 2 & 0x33) | (byte & 0x33) << 2);
    return (uint8_t)((byte >> 1 & 0x55) | (byte & 0x55) << 1);
}

/* Copies the bits to an array of zeroes. False if bits beyond m are set. */
static bool copy_bits(const struct single *s, struct layer *layer) {
    if (!s->bits) return true;
    if (s->order == ORDER_WORDS) return copy_words(s, layer->bits) && layer_tail_is_zero(layer);
    memcpy(layer->bits, s->bits, s->nbytes);
    for (size_t i = 0; s->order == ORDER_HIGH && i < s->nbytes; i++) {
        layer->bits[i] = single_turn_bits(layer->bits[i]);
    }
    return layer_tail_is_zero(layer);
}

/* ---- The filter ----------------------------------------------------------------------------- */

/* What the bits are best for. */
static uint64_t best_capacity(const struct single *s) {
    double n = floor((double)s->nbits * REAL_LN2 / s->nhashes);
    return n < 1 ? 1 : (uint64_t)n;
}

/* What the size gives at the capacity. */
static double rate_of(const struct single *s, uint64_t capacity) {
    struct sizing size = {s->nbits, s->nhashes};
    double rate = sizing_error_rate(capacity, size, s->geometry);
    return rate < 0x1p-1000 ? 0x1p-1000 : rate >= 1 ? 1 - 0x1p-53 : rate;
}

/* What a filter promises whose first layer has this rate: the rate itself, or, if it can grow, as
 * much more as leaves the layers to come their share. */
static double promise_of(double rate, uint32_t expansion) {
    double promise = expansion > 0 ? rate / SIZING_FIRST_SHARE : rate;
    return promise < 1 ? promise : 1 - 0x1p-53;
}

/* The fields of the filter, and its one layer. */
static enum status begin(const struct single *s, const struct formats_options *options,
                         struct filter *filter) {
    uint64_t capacity = options->capacity ? options->capacity : s->capacity;
    if (capacity == 0) capacity = best_capacity(s);
    double rate = s->error_rate != 0 ? s->error_rate : rate_of(s, capacity);
    struct sizing size = {s->nbits, s->nhashes};
    enum status st = layer_init(&filter->layers[0], size, s->geometry, capacity, rate);
    if (st != STATUS_OK) return st;
    filter->nlayers = 1;
    filter->layout = s->geometry.layout;
    filter->scheme = s->geometry.scheme;
    filter->seed = s->seed;
    filter->expansion = options->expansion;
    filter->bits_per_key = s->bits_per_key;
    filter->error_rate = s->bits_per_key != 0 ? 0 : promise_of(rate, options->expansion);
    filter->loaded = layer_bytes(s->nbits);
    return STATUS_OK;
}

static enum status fill(const struct single *s, const struct formats_options *options,
                        struct filter *filter, const char **fault) {
    enum status st = begin(s, options, filter);
    if (st != STATUS_OK) return st;
    struct layer *layer = &filter->layers[0];
    *fault = "bits beyond m";
    if (!copy_bits(s, layer)) return STATUS_CORRUPT;
    layer->ones = s->bits ? layer_count_ones(layer) : 0;
    layer->items = layer_estimate_items(layer);
    filter->is_estimated = true;
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

/* ---- Sizes ---------------------------------------------------------------------------------- */

double single_textbook_bits(uint64_t capacity, double error_rate) {
    return -(double)capacity * real_ln(error_rate) / (REAL_LN2 * REAL_LN2);
}

double single_requested_rate(const struct formats_request *request) {
    if (request->error_rate != 0) return request->error_rate;
    return real_exp(-request->bits_per_key * REAL_LN2 * REAL_LN2);
}
