/* `rocksdb`: the full filter block of a RocksDB table, for one CLASSIC layer whose items have all
 * their bits in one line of 64 bytes. The tool takes the block out of an .sst file.
 *
 *   from format_version 5 on   lines | ff 00 k 00 00           k u8 in 5 bits; the other 3 are 0
 *   before                     lines | k u8 | lines u32        little-endian */

#include "rdb/formats/row.h"

#include <math.h>

#define LINE_BYTES 64
#define TRAILER_BYTES 5
#define NEW_MARK 0xff // in the place of k

static bool rocksdb_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_ROCKSDB || filter->scheme == SCHEME_ROCKSDB4;
}

static const char *rocksdb_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit_to(filter, (uint64_t)LINE_BYTES * 8, (uint64_t)UINT32_MAX * LINE_BYTES * 8,
                           SIZING_MAX_HASHES);
}

static uint64_t rocksdb_size(const struct filter *filter) {
    return filter_array_bytes(filter) + TRAILER_BYTES;
}

static void rocksdb_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    single_put_bits(w, layer);
    if (filter->scheme == SCHEME_ROCKSDB) {
        put_u8(w, NEW_MARK);
        put_uint(w, layer->nhashes << 8, 4);
    } else {
        put_u8(w, (uint8_t)layer->nhashes);
        put_u32(w, (uint32_t)(layer->nbits / 8 / LINE_BYTES));
    }
}

/* The fields of the newer kind, after its mark. */
static const char *take_new(struct reader *trailer, struct single *s) {
    s->geometry.scheme = SCHEME_ROCKSDB;
    if (take_u8(trailer) != 0) return "kind of filter";
    uint8_t code = take_u8(trailer);
    if (code >> 5 != 0) return "size of a line";
    s->nhashes = code;
    return take_uint(trailer, 2) != 0 ? "trailer" : NULL;
}

static const char *take_old(struct reader *trailer, struct single *s) {
    s->geometry.scheme = SCHEME_ROCKSDB4;
    return take_u32(trailer) != s->nbits / 8 / LINE_BYTES ? "number of lines" : NULL;
}

static const char *rocksdb_take(struct reader *r, const struct formats_options *options,
                                struct single *s) {
    (void)options;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_ROCKSDB};
    if (r->left < LINE_BYTES + TRAILER_BYTES) return "shorter than a line and its trailer";
    r->left -= TRAILER_BYTES;
    s->nbits = (uint64_t)r->left * 8;
    if (r->left % LINE_BYTES != 0) return "length is not that of whole lines";
    struct reader trailer = {r->at + r->left, TRAILER_BYTES, false};
    s->nhashes = take_u8(&trailer);
    bool is_new = s->nhashes == NEW_MARK;
    const char *fault = is_new ? take_new(&trailer, s) : take_old(&trailer, s);
    if (fault) return fault;
    return s->nhashes > SIZING_MAX_HASHES ? "k" : single_take_bits(r, s);
}

/* ---- RocksDB's sizes ------------------------------------------------------------------------ */

/* The k that RocksDB takes for so many thousandths of a bit per key. */
static uint32_t hashes_of(uint32_t millibits) {
    static const uint32_t BOUNDS[] = {2080,  3580,  5100,  6640,  8300,  10070,
                                      11720, 14001, 16050, 18300, 22001, 25501};
    for (uint32_t i = 0; i < sizeof(BOUNDS) / sizeof(BOUNDS[0]); i++) {
        if (millibits <= BOUNDS[i]) return i + 1;
    }
    return millibits > 50000 ? 24 : (millibits - 1) / 2000 - 1;
}

static bool size_by_bits(uint64_t capacity, uint32_t millibits, struct single *s) {
    double lines = ceil((double)capacity * millibits / (1000 * SCHEME_LINE_BITS));
    if (!(lines <= UINT32_MAX)) return false;
    s->nbits = (lines < 1 ? 1 : (uint64_t)lines) * SCHEME_LINE_BITS;
    s->nhashes = hashes_of(millibits);
    return true;
}

/* RocksDB itself is given bits per key. For an error rate, the fewest tenths of a bit that keep it.
 */
static bool rocksdb_plan(const struct formats_request *request, struct single *s) {
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_ROCKSDB};
    if (request->bits_per_key != 0) {
        return size_by_bits(request->capacity, (uint32_t)(request->bits_per_key * 1000 + 0.5), s);
    }
    for (uint32_t millibits = 1000; millibits <= 100000; millibits += 100) {
        if (!size_by_bits(request->capacity, millibits, s)) return false;
        struct sizing size = {s->nbits, s->nhashes};
        if (sizing_error_rate(request->capacity, size, s->geometry) <= request->error_rate) {
            return true;
        }
    }
    return false;
}

const struct format_row ROCKSDB_ROW = {
    .takes = TAKES_CAPACITY,
    .is_home = rocksdb_is_home,
    .limit = rocksdb_limit,
    .advice = "hash is RocksDB's, use rocksdb",
    .needs = "hash is not RocksDB's, use portable",
    .size = rocksdb_size,
    .encode = rocksdb_encode,
    .take = rocksdb_take,
    .is_marked = true,
    .plan = rocksdb_plan,
};
