/* `leveldb`: the filter block of LevelDB and of what descends from it, for one CLASSIC layer with
 * LevelDB's hash.
 *
 *   bits | k u8 */

#include "rdb/formats/row.h"

#define LEAST_BITS 64

static bool leveldb_is_home(const struct filter *filter) {
    return filter->layout == LAYOUT_CLASSIC && filter->scheme == SCHEME_LEVELDB;
}

static const char *leveldb_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit_to(filter, 8, SIZING_MAX_BITS, SIZING_MAX_HASHES);
}

static uint64_t leveldb_size(const struct filter *filter) {
    return filter_array_bytes(filter) + 1;
}

static void leveldb_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    single_put_bits(w, layer);
    put_u8(w, (uint8_t)layer->nhashes);
}

static const char *leveldb_take(struct reader *r, const struct formats_options *options,
                                struct single *s) {
    (void)options;
    if (r->left < 2) return "shorter than one byte of bits and k";
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_LEVELDB};
    s->nhashes = r->at[--r->left];
    s->nbits = (uint64_t)r->left * 8;
    return s->nhashes > SIZING_MAX_HASHES ? "k" : single_take_bits(r, s);
}

/* LevelDB's arrays are whole bytes, 8 or more, and it computes k from bits per key in its own way.
 */
static bool leveldb_plan(const struct formats_request *request, struct single *s) {
    struct sizing size;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_LEVELDB};
    double b = request->bits_per_key;
    bool fits = b != 0
                    ? sizing_by_bits(request->capacity, b, s->geometry, &size)
                    : sizing_by_error(request->capacity, request->error_rate, s->geometry, &size);
    if (!fits) return false;
    s->nbits = size.nbits > LEAST_BITS ? layer_bytes(size.nbits) * 8 : LEAST_BITS;
    s->nhashes = size.nhashes;
    if (b != 0) {
        double k = b * 0.69; // LevelDB's ln 2
        s->nhashes = k < 1 ? 1 : k > SIZING_MAX_HASHES ? SIZING_MAX_HASHES : (uint32_t)k;
    }
    return true;
}

const struct format_row LEVELDB_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION,
    .is_home = leveldb_is_home,
    .limit = leveldb_limit,
    .advice = "hash is LEVELDB, use leveldb",
    .needs = "hash is not LEVELDB, use portable",
    .size = leveldb_size,
    .encode = leveldb_encode,
    .take = leveldb_take,
    .plan = leveldb_plan,
};
