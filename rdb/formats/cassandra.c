/* `cassandra`: Filter.db of Apache Cassandra's tables, for one CLASSIC layer with its hash.
 *
 *   k i32 | W i32 | 8 W bytes of bits          big-endian; m = 64 W
 *
 * The bytes do not say which version wrote them. The name of the file does, by its first letters:
 *
 *   variant   Cassandra    file names     bits                            hash
 *   old       1.2 to 2.2   before ma-     words of 64 bits, big-endian    CASSANDRA2
 *   3.x       3.0 to 3.11  ma- to md-     words of 64 bits, big-endian    CASSANDRA3
 *   4.x       from 4.0 on  from na- on    bytes                           CASSANDRA3 */

#include "module/core/math/real.h"
#include "rdb/formats/row.h"

#include <math.h>

#define HEADER_BYTES 8

static bool cassandra_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_CASSANDRA2 || filter->scheme == SCHEME_CASSANDRA3;
}

static enum scheme scheme_of(enum variant variant) {
    return variant == VARIANT_OLD ? SCHEME_CASSANDRA2 : SCHEME_CASSANDRA3;
}

static const char *cassandra_limit(const struct filter *filter, enum variant variant) {
    if (variant != VARIANT_NONE && scheme_of(variant) != filter->scheme) {
        return filter->scheme == SCHEME_CASSANDRA2
                   ? "hash is that of Cassandra before 3.0, use VARIANT old"
                   : "hash is that of Cassandra 3.0 and later, use VARIANT 3.x or 4.x";
    }
    return single_limit_to(filter, 64, SCHEME_JAVA_BITS, SIZING_MOST_HASHES);
}

static uint64_t cassandra_size(const struct filter *filter) {
    return HEADER_BYTES + filter_array_bytes(filter);
}

/* Without a variant, the newest one that has the hash. */
static void cassandra_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    const struct layer *layer = &filter->layers[0];
    bool has_words = filter->scheme == SCHEME_CASSANDRA2 || variant == VARIANT_3X;
    put_be(w, layer->nhashes, 4);
    put_be(w, layer->nbits / 64, 4);
    if (has_words) {
        single_put_words(w, layer);
    } else {
        single_put_bits(w, layer);
    }
}

static const char *cassandra_take(struct reader *r, const struct formats_options *options,
                                  struct single *s) {
    s->geometry = (struct geometry){LAYOUT_CLASSIC, scheme_of(options->variant)};
    s->order = options->variant == VARIANT_4X ? ORDER_BYTES : ORDER_WORDS;
    s->nhashes = (uint32_t)take_be(r, 4);
    s->nbits = 64 * take_be(r, 4);
    if (r->bad) return "shorter than its header";
    if (s->nbits > SCHEME_JAVA_BITS) return "m";
    return options->variant == VARIANT_NONE ? "VARIANT is missing" : single_take_bits(r, s);
}

/* ---- Cassandra's sizes ---------------------------------------------------------------------- */

#define MOST_BITS_PER_ITEM 20
#define EXTRA_BITS 20 // that Cassandra adds to every filter
#define RATE_OF_ONE_BIT 0.393

/* (1 - e^(-k/b))^k, as it stands in Cassandra's table: with three digits, and once with two. */
static double rate_of(uint32_t bits_per_item, uint32_t k) {
    double rate = real_pow(1 - real_exp(-(double)k / bits_per_item), k), scale = 1;
    if (bits_per_item == 5 && k == 3) return 0.092;
    while (rate * scale < 100) scale *= 10;
    return floor(rate * scale + 0.5) / scale;
}

static bool keeps(uint32_t bits_per_item, uint32_t k, double error_rate) {
    return rate_of(bits_per_item, k) <= error_rate;
}

/* The fewest bits per item that keep the rate, and then the fewest hashes. From the rate of 2 bits
 * and 1 hash on, Cassandra takes 1 bit and 2 hashes, though that does not keep the rate. */
static bool choose(double rate, uint32_t *b, uint32_t *k) {
    *b = 2, *k = 1;
    if (rate >= RATE_OF_ONE_BIT) {
        *b = 1, *k = 2;
        return true;
    }
    while (*b <= MOST_BITS_PER_ITEM && !keeps(*b, (uint32_t)(*b * REAL_LN2 + 0.5), rate)) ++*b;
    if (*b > MOST_BITS_PER_ITEM) return false;
    while (!keeps(*b, *k, rate)) ++*k;
    return true;
}

static bool cassandra_plan(const struct formats_request *request, struct single *s) {
    double rate = single_requested_rate(request), n = (double)request->capacity;
    enum variant variant = request->variant == VARIANT_NONE ? VARIANT_4X : request->variant;
    uint32_t b, k;
    if (!choose(rate, &b, &k)) return false;
    double words = ceil((n * b + EXTRA_BITS) / 64);
    if (!(words <= INT32_MAX)) return false;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, scheme_of(variant)};
    s->nbits = 64 * (uint64_t)words;
    s->nhashes = k;
    return true;
}

const struct format_row CASSANDRA_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION | TAKES_VARIANT,
    .variants = {VARIANT_OLD, VARIANT_4X},
    .bad_variant = "ERR bad VARIANT: it is one of old, 3.x, 4.x",
    .no_variant = "ERR FORMAT cassandra needs VARIANT old, 3.x or 4.x",
    .variant_elsewhere = "ERR VARIANT goes with FORMAT cassandra only",
    .is_home = cassandra_is_home,
    .limit = cassandra_limit,
    .advice = "hash is Cassandra's, use cassandra",
    .needs = "hash is not Cassandra's, use portable",
    .size = cassandra_size,
    .encode = cassandra_encode,
    .take = cassandra_take,
    .plan = cassandra_plan,
};
