/* `guava`: BloomFilter.writeTo of Google's Guava (Java), for one CLASSIC layer with the hash of
 * either of its strategies.
 *
 *   strategy i8 | k u8 | L i32 | L words of 64 bits          big-endian; m = 64 L
 *
 * Strategy 0 is MURMUR128_MITZ_32, which only old filters have; strategy 1 is MURMUR128_MITZ_64. */

#include "module/core/math/real.h"
#include "rdb/formats/row.h"

#include <math.h>

#define HEADER_BYTES 6

static bool guava_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_GUAVA32 || filter->scheme == SCHEME_GUAVA64;
}

static const char *guava_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit_to(filter, 64, SCHEME_JAVA_BITS, UINT8_MAX);
}

static uint64_t guava_size(const struct filter *filter) {
    return HEADER_BYTES + filter_array_bytes(filter);
}

static void guava_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    put_u8(w, filter->scheme == SCHEME_GUAVA64);
    put_u8(w, (uint8_t)layer->nhashes);
    put_be(w, layer->nbits / 64, 4);
    single_put_words(w, layer);
}

static const char *guava_take(struct reader *r, const struct formats_options *options,
                              struct single *s) {
    (void)options;
    uint8_t strategy = take_u8(r);
    s->geometry = (struct geometry){LAYOUT_CLASSIC, strategy ? SCHEME_GUAVA64 : SCHEME_GUAVA32};
    s->order = ORDER_WORDS;
    s->nhashes = take_u8(r);
    s->nbits = 64 * take_be(r, 4);
    if (r->bad) return "shorter than its header";
    if (strategy > 1) return "strategy";
    return s->nbits > SCHEME_JAVA_BITS ? "m" : single_take_bits(r, s);
}

/* As Guava 33.4.0 and later create it. */
static bool guava_plan(const struct formats_request *request, struct single *s) {
    double rate = single_requested_rate(request);
    double bits = floor(single_textbook_bits(request->capacity, rate));
    double k = floor(-real_ln(rate) / REAL_LN2 + 0.5);
    if (!(bits <= (double)SCHEME_JAVA_BITS && k <= UINT8_MAX)) return false;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_GUAVA64};
    s->nbits = 64 * (uint64_t)ceil(bits / 64);
    s->nhashes = k < 1 ? 1 : (uint32_t)k;
    return true;
}

const struct format_row GUAVA_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION,
    .is_home = guava_is_home,
    .limit = guava_limit,
    .advice = "hash is Guava's, use guava",
    .needs = "hash is not Guava's, use portable",
    .size = guava_size,
    .encode = guava_encode,
    .take = guava_take,
    .is_marked = true,
    .plan = guava_plan,
};
