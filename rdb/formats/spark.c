/* `spark`: BloomFilter.writeTo of Apache Spark's sketch library, for one CLASSIC layer with the
 * hash of either of its versions.
 *
 *   V1   1 i32 | k i32 |            L i32 | L words of 64 bits          big-endian; m = 64 L
 *   V2   2 i32 | k i32 | seed i32 | L i32 | L words of 64 bits
 *
 * Spark writes V1 up to 4.0, and V2 by default from 4.1 on. */

#include "module/core/math/real.h"
#include "rdb/formats/row.h"

#include <math.h>

static bool spark_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_SPARK1 || filter->scheme == SCHEME_SPARK2;
}

static const char *spark_limit(const struct filter *filter, enum variant variant) {
    enum variant own = filter->scheme == SCHEME_SPARK1 ? VARIANT_V1 : VARIANT_V2;
    if ((variant == VARIANT_V1 || variant == VARIANT_V2) && variant != own) {
        return own == VARIANT_V1 ? "hash is that of Spark's version 1, use v1"
                                 : "hash is that of Spark's version 2, use v2";
    }
    return single_limit_to(filter, 64, SCHEME_JAVA_BITS, SIZING_MOST_HASHES);
}

static uint64_t spark_size(const struct filter *filter) {
    return (filter->scheme == SCHEME_SPARK2 ? 16 : 12) + filter_array_bytes(filter);
}

static void spark_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    put_be(w, filter->scheme == SCHEME_SPARK2 ? 2 : 1, 4);
    put_be(w, layer->nhashes, 4);
    if (filter->scheme == SCHEME_SPARK2) put_be(w, filter->seed.keys[0], 4);
    put_be(w, layer->nbits / 64, 4);
    single_put_words(w, layer);
}

static const char *spark_take(struct reader *r, const struct formats_options *options,
                              struct single *s) {
    (void)options;
    uint64_t version = take_be(r, 4);
    s->geometry = (struct geometry){LAYOUT_CLASSIC, version == 2 ? SCHEME_SPARK2 : SCHEME_SPARK1};
    s->order = ORDER_WORDS;
    s->nhashes = (uint32_t)take_be(r, 4);
    if (version == 2) s->seed.keys[0] = take_be(r, 4);
    s->nbits = 64 * take_be(r, 4);
    if (r->bad) return "shorter than its header";
    if (version < 1 || version > 2) return "version";
    return s->nbits > SCHEME_JAVA_BITS ? "m" : single_take_bits(r, s);
}

/* As BloomFilter.create(n, p), with seed 0. Every Spark reads V1. Its positions end at 2^31, so a
 * larger filter is V2. */
static bool spark_plan(const struct formats_request *request, struct single *s) {
    double n = (double)request->capacity;
    double bits = floor(single_textbook_bits(request->capacity, single_requested_rate(request)));
    double k = floor(bits / n * REAL_LN2 + 0.5);
    if (!(bits <= (double)SCHEME_JAVA_BITS && k <= SIZING_MOST_HASHES)) return false;
    s->nbits = 64 * (uint64_t)ceil(bits / 64);
    bool is_small = s->nbits <= scheme_reach(SCHEME_SPARK1, s->nbits);
    bool is_v1 = request->variant == VARIANT_NONE ? is_small : request->variant == VARIANT_V1;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, is_v1 ? SCHEME_SPARK1 : SCHEME_SPARK2};
    s->nhashes = k < 1 ? 1 : (uint32_t)k;
    return true;
}

const struct format_row SPARK_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION,
    .variants = {VARIANT_V1, VARIANT_V2},
    .is_home = spark_is_home,
    .limit = spark_limit,
    .advice = "hash is Spark's, use spark",
    .needs = "hash is not Spark's, use portable",
    .size = spark_size,
    .encode = spark_encode,
    .take = spark_take,
    .is_marked = true,
    .plan = spark_plan,
};
