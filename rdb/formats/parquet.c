/* `parquet`: the split-block filter of a Parquet column, for one BLOCKED layer.
 *
 *   Thrift header | blocks of 32 bytes
 *
 * The header is in Thrift's compact protocol: field 1, i32 numBytes, as a zigzag varint; then the
 * unions algorithm = BLOCK, hash = XXHASH, compression = UNCOMPRESSED, each a struct in a struct.
 *
 *   0x15 | numBytes | 1c 1c 00 00 | 1c 1c 00 00 | 1c 1c 00 00 | 00 */

#include "module/core/filter/blocked.h"
#include "rdb/formats/row.h"

#include <string.h>

static const uint8_t HEAD = 0x15;
static const uint8_t TAIL[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};

static bool parquet_is_home(const struct filter *filter) {
    return filter->layout == LAYOUT_BLOCKED && filter->scheme != SCHEME_MURMUR;
}

static const char *parquet_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    const char *layers = single_limit(filter);
    if (layers) return layers;
    bool fits = filter->layers[0].nbits / 8 <= INT32_MAX;
    return fits ? NULL : "it is larger than 2 GiB, use BF.SCANDUMP";
}

/* ---- Writing ------------------------------------------------------------------------------ */

static size_t varint_size(uint64_t value) {
    size_t size = 1;
    while (value >>= 7) size++;
    return size;
}

static uint64_t parquet_size(const struct filter *filter) {
    uint64_t bytes = filter_array_bytes(filter);
    return 1 + varint_size(2 * bytes) + sizeof(TAIL) + bytes;
}

static void parquet_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    put_u8(w, HEAD);
    uint64_t zigzag = 2 * layer_array_bytes(layer);
    for (; zigzag >= 128; zigzag >>= 7) put_u8(w, (uint8_t)(zigzag | 128));
    put_u8(w, (uint8_t)zigzag);
    memcpy(w->at, TAIL, sizeof(TAIL));
    w->at += sizeof(TAIL);
    single_put_bits(w, layer);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static const char *parquet_take(struct reader *r, const struct formats_options *options,
                                struct single *s) {
    (void)options;
    uint8_t tail[sizeof(TAIL)];
    if (take_u8(r) != HEAD) return "Thrift header";
    uint64_t zigzag = 0;
    unsigned shift = 0;
    for (uint8_t byte = 128; byte & 128; shift += 7) {
        byte = take_u8(r);
        bool overlong = shift > 0 && byte == 0;
        if (r->bad || shift > 28 || overlong) return "numBytes";
        zigzag |= (uint64_t)(byte & 127) << shift;
    }
    for (size_t i = 0; i < sizeof(tail); i++) tail[i] = take_u8(r);
    if (r->bad || memcmp(tail, TAIL, sizeof(tail)) != 0) return "Thrift header";
    uint64_t nbytes = zigzag / 2;
    if (zigzag % 2 != 0 || nbytes == 0 || nbytes % (BLOCKED_BLOCK_BITS / 8) != 0) return "numBytes";
    s->geometry = (struct geometry){LAYOUT_BLOCKED, SCHEME_XXH64};
    s->nbits = nbytes * 8;
    s->nhashes = BLOCKED_HASHES;
    return single_take_bits(r, s);
}

/* numBytes is over 0, so its first byte is too; that of a portable file with k = 21 is 0. */
static bool parquet_recognise(const uint8_t *bytes, size_t len) {
    return len >= 2 && bytes[0] == HEAD && bytes[1] != 0;
}

const struct format_row PARQUET_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION,
    .is_home = parquet_is_home,
    .limit = parquet_limit,
    .advice = "layout is BLOCKED, use parquet",
    .needs = "layout is not BLOCKED, use portable",
    .size = parquet_size,
    .encode = parquet_encode,
    .take = parquet_take,
    .recognise = parquet_recognise,
};
