/* `go`: WriteTo of github.com/bits-and-blooms/bloom v3 (Go), for one CLASSIC layer with its hash.
 *
 *   m u64 | k u64 | m u64 | words of 64 bits          big-endian
 *
 * m is any number of bits; the words are ceil(m / 64). */

#include "module/core/math/real.h"
#include "rdb/formats/row.h"

#include <math.h>

#define HEADER_BYTES 24

static bool go_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_GO;
}

static const char *go_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit(filter);
}

static uint64_t go_size(const struct filter *filter) {
    return HEADER_BYTES + single_words_bytes(filter->layers[0].nbits);
}

static void go_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    put_be(w, layer->nbits, 8);
    put_be(w, layer->nhashes, 8);
    put_be(w, layer->nbits, 8);
    single_put_words(w, layer);
}

static const char *go_take(struct reader *r, const struct formats_options *options,
                           struct single *s) {
    (void)options;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_GO};
    s->order = ORDER_WORDS;
    s->nbits = take_be(r, 8);
    uint64_t k = take_be(r, 8), length = take_be(r, 8);
    if (r->bad) return "shorter than its header";
    if (k > SIZING_MOST_HASHES) return "k";
    s->nhashes = (uint32_t)k;
    return length != s->nbits ? "length of the bit set" : single_take_bits(r, s);
}

/* As NewWithEstimates(n, p). */
static bool go_plan(const struct formats_request *request, struct single *s) {
    double n = (double)request->capacity;
    double bits = ceil(single_textbook_bits(request->capacity, single_requested_rate(request)));
    double k = ceil(REAL_LN2 * bits / n);
    if (!(bits >= 1 && bits <= (double)SIZING_MAX_BITS && k <= SIZING_MOST_HASHES)) return false;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_GO};
    s->nbits = (uint64_t)bits;
    s->nhashes = (uint32_t)k;
    return true;
}

const struct format_row GO_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION,
    .is_home = go_is_home,
    .limit = go_limit,
    .advice = "hash is that of Go's bits-and-blooms, use go",
    .needs = "hash is not that of Go's bits-and-blooms, use portable",
    .size = go_size,
    .encode = go_encode,
    .take = go_take,
    .is_marked = true,
    .plan = go_plan,
};
