/* `redisson`: the string of a Redisson RBloomFilter, for one CLASSIC layer with its hash.
 *
 *   bits          bit p is in byte p / 8, counted from the highest; the string ends after the last
 *                 byte with a set bit
 *
 * m, k, capacity and error rate are in a hash beside it, {name}:config. So BF.IMPORT cannot read
 * it: the tool reads both from the server. */

#include "rdb/formats/row.h"

#define MOST_BITS ((uint64_t)UINT32_MAX - 1) // Redisson's own limit

static bool redisson_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_REDISSON;
}

static const char *redisson_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit_to(filter, 1, MOST_BITS, SIZING_MOST_HASHES);
}

static uint64_t redisson_size(const struct filter *filter) {
    uint64_t size = filter_array_bytes(filter);
    while (size > 0 && filter->layers[0].bits[size - 1] == 0) size--;
    return size;
}

static void redisson_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    uint64_t size = redisson_size(filter);
    for (uint64_t i = 0; i < size; i++) put_u8(w, single_turn_bits(filter->layers[0].bits[i]));
}

static const char *redisson_take(struct reader *r, const struct formats_options *options,
                                 struct single *s) {
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_REDISSON};
    s->order = ORDER_HIGH;
    s->nbits = options->nbits;
    s->nhashes = options->nhashes;
    s->error_rate = options->error_rate;
    return s->nbits > MOST_BITS ? "m" : single_take_bits(r, s);
}

const struct format_row REDISSON_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION,
    .is_home = redisson_is_home,
    .limit = redisson_limit,
    .advice = "hash is Redisson's, use redisson",
    .needs = "hash is not Redisson's, use portable",
    .no_import = "ERR FORMAT redisson has no m and k, which are in {name}:config: use the tool, "
                 "bloomport pull --redisson name",
    .size = redisson_size,
    .encode = redisson_encode,
    .take = redisson_take,
};
