/* `bip37`: the payload of a Bitcoin filterload message, for one CLASSIC layer with the hash of
 * BIP 37.
 *
 *   n | n bytes of bits | k u32 | tweak u32 | flags u8          little-endian; m = 8 n
 *
 * n is a CompactSize: one byte below 0xfd, or 0xfd and a u16. The tweak is part of the hash. The
 * flags tell a Bitcoin node what to do with a match; no lookup depends on them. */

#include "module/core/math/real.h"
#include "rdb/formats/row.h"

#include <math.h>

#define MOST_BYTES 36000
#define MOST_HASHES 50
#define TRAILER_BYTES 9

static bool bip37_is_home(const struct filter *filter) {
    return filter->scheme == SCHEME_BIP37;
}

static const char *bip37_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit_to(filter, 8, (uint64_t)MOST_BYTES * 8, MOST_HASHES);
}

static uint64_t bip37_size(const struct filter *filter) {
    uint64_t nbytes = filter_array_bytes(filter);
    return (nbytes < 0xfd ? 1 : 3) + nbytes + TRAILER_BYTES;
}

static void bip37_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    uint64_t nbytes = layer_array_bytes(layer);
    if (nbytes >= 0xfd) put_u8(w, 0xfd);
    put_uint(w, nbytes, nbytes < 0xfd ? 1 : 2);
    single_put_bits(w, layer);
    put_u32(w, layer->nhashes);
    put_u32(w, (uint32_t)filter->seed.keys[0]);       // tweak
    put_u8(w, (uint8_t)(filter->seed.keys[0] >> 32)); // flags
}

/* The bytes of bits. 0 if they are none, too many, or not written in the shortest form. */
static uint64_t take_length(struct reader *r) {
    uint64_t n = take_u8(r);
    bool is_long = n == 0xfd;
    if (is_long) n = take_uint(r, 2);
    bool is_shortest = is_long == (n >= 0xfd);
    return is_shortest && n <= MOST_BYTES ? n : 0;
}

static const char *bip37_take(struct reader *r, const struct formats_options *options,
                              struct single *s) {
    (void)options;
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_BIP37};
    uint64_t nbytes = take_length(r);
    s->nbits = nbytes * 8;
    if (r->bad || r->left < TRAILER_BYTES) return "shorter than its fields";
    if (nbytes == 0) return "length of the bits";
    if (r->left - TRAILER_BYTES != nbytes) return "length is not that of m bits";
    struct reader trailer = {r->at + nbytes, TRAILER_BYTES, false};
    r->left = (size_t)nbytes;
    s->nhashes = take_u32(&trailer);
    s->seed.keys[0] = take_uint(&trailer, 5); // tweak and flags
    return s->nhashes > MOST_HASHES ? "k" : single_take_bits(r, s);
}

/* BIP 37 has three values of the flags. */
static bool bip37_recognise(const uint8_t *bytes, size_t len) {
    return len > 0 && bytes[len - 1] <= 2;
}

/* As bitcoinj: n = min(-N ln p / ln(2)^2, 288000) / 8 bytes, rounded down, with tweak 0 and flags
 * 0.
 */
static bool bip37_plan(const struct formats_request *request, struct single *s) {
    double most = MOST_BYTES * 8;
    double bits = single_textbook_bits(request->capacity, single_requested_rate(request));
    uint64_t nbytes = (uint64_t)(bits < most ? bits : most) / 8;
    if (nbytes < 1) nbytes = 1; // before k, as bitcoinj does it
    double k = floor(8 * (double)nbytes / (double)request->capacity * REAL_LN2);
    s->geometry = (struct geometry){LAYOUT_CLASSIC, SCHEME_BIP37};
    s->nbits = 8 * nbytes;
    s->nhashes = k < 1 ? 1 : k > MOST_HASHES ? MOST_HASHES : (uint32_t)k;
    return true;
}

const struct format_row BIP37_ROW = {
    .takes = TAKES_CAPACITY,
    .is_home = bip37_is_home,
    .limit = bip37_limit,
    .advice = "hash is that of BIP 37, use bip37",
    .needs = "hash is not that of BIP 37, use portable",
    .size = bip37_size,
    .encode = bip37_encode,
    .take = bip37_take,
    .is_marked = true,
    .recognise = bip37_recognise,
    .plan = bip37_plan,
};
