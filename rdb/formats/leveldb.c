/* `leveldb`: the filter block of LevelDB and of what descends from it, for one CLASSIC layer with
 * LevelDB's hash.
 *
 *   bits | k u8 */

#include "rdb/formats/row.h"
#include "rdb/formats/single.h"

static bool leveldb_is_home(const struct filter *filter) {
    return filter->layout == LAYOUT_CLASSIC && filter->scheme == SCHEME_LEVELDB;
}

static const char *leveldb_limit(const struct filter *filter) {
    const char *layers = single_limit(filter);
    if (layers) return layers;
    const struct layer *layer = &filter->layers[0];
    bool fits = layer->nbits % 8 == 0 && layer->nhashes <= SIZING_MAX_HASHES;
    return fits ? NULL : "its size is not one that LevelDB has, use BF.SCANDUMP";
}

static uint64_t leveldb_size(const struct filter *filter) {
    return filter_array_bytes(filter) + 1;
}

static void leveldb_encode(const struct filter *filter, struct writer *w) {
    const struct layer *layer = &filter->layers[0];
    single_put_bits(w, layer);
    put_u8(w, (uint8_t)layer->nhashes);
}

static const char *leveldb_take(struct reader *r, struct single *s) {
    if (r->left < 2) return "shorter than one byte of bits and k";
    s->nhashes = r->at[--r->left];
    s->nbits = (uint64_t)r->left * 8;
    return s->nhashes > SIZING_MAX_HASHES ? "k" : single_take_bits(r, s);
}

static enum status leveldb_decode(struct reader *r, const struct formats_options *options,
                                  uint64_t max_bytes, struct filter **out, const char **fault) {
    struct single s = {.geometry = {LAYOUT_CLASSIC, SCHEME_LEVELDB}};
    *fault = leveldb_take(r, &s);
    return *fault ? STATUS_CORRUPT : single_decode(&s, options, max_bytes, out, fault);
}

const struct format_row LEVELDB_ROW = {
    .name = "leveldb",
    .is_home = leveldb_is_home,
    .limit = leveldb_limit,
    .advice = "hash is LEVELDB, use leveldb",
    .needs = "hash is not LEVELDB, use portable",
    .size = leveldb_size,
    .encode = leveldb_encode,
    .decode = leveldb_decode,
};
