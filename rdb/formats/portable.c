/* `portable`: one CLASSIC layer, hashed by XXH64 or FNV-1a, for readers in any language.
 *
 *   k u32 | m u64 | bits */

#include "rdb/codec.h"
#include "rdb/formats/row.h"
#include "rdb/formats/single.h"

static bool portable_is_home(const struct filter *filter) {
    bool is_ours = filter->scheme == SCHEME_XXH64 || filter->scheme == SCHEME_FNV1A;
    return filter->layout == LAYOUT_CLASSIC && is_ours;
}

static uint64_t portable_size(const struct filter *filter) {
    return CODEC_PORTABLE_BYTES + filter_array_bytes(filter);
}

static void portable_encode(const struct filter *filter, struct writer *w) {
    const struct layer *layer = &filter->layers[0];
    codec_encode_portable(layer, w->at);
    w->at += CODEC_PORTABLE_BYTES;
    single_put_bits(w, layer);
}

static const char *portable_take(struct reader *r, struct single *s) {
    s->nhashes = take_u32(r);
    s->nbits = take_u64(r);
    return r->bad ? "shorter than its header" : single_take_bits(r, s);
}

static enum status portable_decode(struct reader *r, const struct formats_options *options,
                                   uint64_t max_bytes, struct filter **out, const char **fault) {
    struct single s = {.geometry = {LAYOUT_CLASSIC, options->scheme}};
    *fault = portable_take(r, &s);
    return *fault ? STATUS_CORRUPT : single_decode(&s, options, max_bytes, out, fault);
}

const struct format_row PORTABLE_ROW = {
    .name = "portable",
    .is_home = portable_is_home,
    .limit = single_limit,
    .size = portable_size,
    .encode = portable_encode,
    .decode = portable_decode,
};
