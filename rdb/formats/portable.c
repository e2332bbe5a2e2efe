/* `portable`: one CLASSIC layer, hashed by XXH64 or FNV-1a, for readers in any language.
 *
 *   k u32 | m u64 | bits */

#include "rdb/codec.h"
#include "rdb/formats/row.h"

static bool portable_is_home(const struct filter *filter) {
    bool is_ours = filter->scheme == SCHEME_XXH64 || filter->scheme == SCHEME_FNV1A;
    return filter->layout == LAYOUT_CLASSIC && is_ours;
}

static const char *portable_limit(const struct filter *filter, enum variant variant) {
    (void)variant;
    return single_limit(filter);
}

static uint64_t portable_size(const struct filter *filter) {
    return CODEC_PORTABLE_BYTES + filter_array_bytes(filter);
}

static void portable_encode(const struct filter *filter, enum variant variant, struct writer *w) {
    (void)variant;
    const struct layer *layer = &filter->layers[0];
    codec_encode_portable(layer, w->at);
    w->at += CODEC_PORTABLE_BYTES;
    single_put_bits(w, layer);
}

static const char *portable_take(struct reader *r, const struct formats_options *options,
                                 struct single *s) {
    s->geometry = (struct geometry){LAYOUT_CLASSIC, options->scheme};
    s->nhashes = take_u32(r);
    s->nbits = take_u64(r);
    return r->bad ? "shorter than its header" : single_take_bits(r, s);
}

const struct format_row PORTABLE_ROW = {
    .takes = TAKES_CAPACITY | TAKES_EXPANSION | TAKES_HASH,
    .is_home = portable_is_home,
    .limit = portable_limit,
    .size = portable_size,
    .encode = portable_encode,
    .take = portable_take,
    .is_marked = true,
};
