/* `datasketches`: Apache DataSketches' BloomFilter (Java, C++, Rust), for one CLASSIC layer with
 * its hash.
 *
 *   longs u8 | 1 u8 | 21 u8 | flags u8 | k u16 | 0 u16 | seed u64 | W u32 | 0 u32
 *   | set bits u64 | W words of 64 bits                            little-endian; m = 64 W
 *
 * longs is 4. An empty filter ends before the second line: longs is 3, and the flags are 4. The set
 * bits are ff..ff if the library has not counted them. */

#include "module/core/filter/bits.h"
#include "module/core/math/real.h"
#include "rdb/formats/row.h"

#include <math.h>

#define HEADER_BYTES 24
#define FLAG_EMPTY 4
#define NOT_COUNTED UINT64_MAX
#define MOST_BITS ((uint64_t)64 * UINT32_MAX)

/* 24 bytes must not take any amount of memory, and be propagated as any number of zeroes: an empty
 * filter is no larger than one that fits into a string of 512 MiB. */
#define MOST_EMPTY_BITS ((uint64_t)1 << 32)

static bool datasketches_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_DATASKETCHES;
}

static const char *datasketches_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit_to(filter, 64, MOST_BITS, SIZING_MOST_HASHES);
}

static bool is_empty(const struct filter *filter) {
    return filter->layers[0].ones == 0;
}

static uint64_t datasketches_size(const struct filter *filter) {
    return HEADER_BYTES + (is_empty(filter) ? 0 : 8 + filter_array_bytes(filter));
}

static void datasketches_encode(const struct filter *filter, enum variant variant,
                                struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    bool is_counted = (filter->seed.keys[1] & 1) != 0;
    put_u8(w, is_empty(filter) ? 3 : 4);
    put_u8(w, 1);
    put_u8(w, 21);
    put_u8(w, is_empty(filter) ? FLAG_EMPTY : 0);
    put_u32(w, layer->nhashes);
    put_u64(w, filter->seed.keys[0]);
    put_u64(w, layer->nbits / 64);
    if (is_empty(filter)) return;
    put_u64(w, is_counted ? layer->ones : NOT_COUNTED);
    single_put_bits(w, layer);
}

/* The first four bytes. NULL, or the fault. */
static const char *take_preamble(struct reader *r, bool *empty) {
    uint8_t longs = take_u8(r), version = take_u8(r), family = take_u8(r), flags = take_u8(r);
    if (r->bad) return "shorter than its header";
    if (version != 1) return "version";
    if (family != 21) return "family";
    if (flags != 0 && flags != FLAG_EMPTY) return "flags";
    *empty = flags == FLAG_EMPTY;
    return longs != (*empty ? 3 : 4) ? "length of the header" : NULL;
}

/* The bits and their count, which may be missing. */
static const char *take_counted(struct reader *r, struct single *s) {
    uint64_t ones = take_u64(r);
    if (r->bad) return "shorter than its header";
    const char *fault = single_take_bits(r, s);
    if (fault) return fault;
    s->seed.keys[1] = ones != NOT_COUNTED;
    return ones == NOT_COUNTED || ones == bits_count(s->bits, s->nbytes) ? NULL
                                                                         : "count of set bits";
}

static const char *datasketches_take(struct reader *r, const struct formats_options *options,
                                     struct single *s) {
    (void)options;
    bool empty;
    const char *fault = take_preamble(r, &empty);
    if (fault) return fault;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_DATASKETCHES};
    s->nhashes = (uint32_t)take_uint(r, 2);
    uint64_t zero = take_uint(r, 2);
    s->seed.keys[0] = take_u64(r);
    s->nbits = 64 * take_uint(r, 4);
    zero |= take_u32(r);
    if (r->bad) return "shorter than its header";
    if (zero != 0) return "header";
    if (!empty) return take_counted(r, s);
    if (r->left > 0) return "length is not that of an empty filter";
    if (s->nhashes < 1 || s->nhashes > SIZING_MOST_HASHES) return "k";
    return s->nbits < 1 || s->nbits > MOST_EMPTY_BITS ? "m" : NULL;
}

static bool datasketches_recognise(const uint8_t *bytes, size_t len) {
    struct reader r = {bytes, len, false};
    bool empty;
    return take_preamble(&r, &empty) == NULL;
}

/* As BloomFilterBuilder.createByAccuracy(n, p, seed 0). */
static bool datasketches_plan(const struct formats_request *request, struct single *s) {
    double n = (double)request->capacity;
    double bits = ceil(single_textbook_bits(request->capacity, single_requested_rate(request)));
    double k = ceil(bits / n * REAL_LN2);
    if (!(bits <= (double)MOST_BITS && k <= SIZING_MOST_HASHES)) return false;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_DATASKETCHES};
    s->nbits = 64 * (uint64_t)ceil(bits / 64);
    s->nhashes = k < 1 ? 1 : (uint32_t)k;
    return true;
}

const struct format_row DATASKETCHES_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION,
    .is_home = datasketches_is_home,
    .limit = datasketches_limit,
    .advice = "hash is that of DataSketches, use datasketches",
    .needs = "hash is not that of DataSketches, use portable",
    .size = datasketches_size,
    .encode = datasketches_encode,
    .take = datasketches_take,
    .recognise = datasketches_recognise,
    .plan = datasketches_plan,
};
