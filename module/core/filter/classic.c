/* The CLASSIC layout. See classic.h. */

#include "module/core/filter/classic.h"

#include "module/core/filter/bits.h"
#include "module/core/filter/layer.h"
#include "module/core/math/rate.h"
#include "module/core/math/real.h"

/* The textbook's rate, for a k over RATE_MAX_HASHES, which only layers of others have. */
static double textbook_rate(double items, struct sizing size) {
    double k = size.nhashes;
    return real_pow(1 - real_exp(-k * items / (double)size.nbits), k);
}

double classic_rate_when_full(uint64_t items, struct sizing size, enum scheme scheme) {
    const struct scheme_row *row = scheme_row(scheme);
    uint64_t nlines = size.nbits / SCHEME_LINE_BITS;
    if (row->rule == RULE_LINE) return rate_lines((double)items, nlines, size.nhashes);
    if (row->rule == RULE_LINE4) return rate_lines4((double)items, nlines, size.nhashes);
    size.nbits = scheme_reach(scheme, size.nbits);
    if (size.nhashes > RATE_MAX_HASHES) return textbook_rate((double)items, size);
    return rate_when_full((double)items, size.nbits, size.nhashes, row->wraps);
}

/* LevelDB's words wrap round at 2^32. */
static enum rate_walk walk_kind(const struct layer *layer) {
    if (layer->scheme == SCHEME_DATASKETCHES) return RATE_WALK_HALVED;
    if (layer->scheme == SCHEME_LEVELDB) return RATE_WALK_WRAPS;
    switch ((enum rule)layer->rule) {
    case RULE_SIP13: return RATE_WALK_SPLIT;
    case RULE_FOLD32:
    case RULE_MAGNITUDE: return RATE_WALK_FOLDED;
    case RULE_ALTERNATE: return RATE_WALK_SUMS;
    case RULE_GO: return RATE_WALK_MIXED;
    case RULE_BIP37: return RATE_WALK_FREE;
    default:
        return scheme_row((enum scheme)layer->scheme)->wraps ? RATE_WALK_WRAPS : RATE_WALK_STRAIGHT;
    }
}

double classic_rate_at(const struct layer *layer, double ones) {
    uint64_t reach = scheme_reach((enum scheme)layer->scheme, layer->nbits);
    uint64_t nlines = layer->nbits / SCHEME_LINE_BITS;
    double fill = ones / (double)reach;
    if (layer->rule == RULE_LINE) return rate_lines_now(fill, nlines, layer->nhashes);
    if (layer->rule == RULE_LINE4) return rate_lines4_now(fill, nlines, layer->nhashes);
    return rate_now(ones, reach, layer->nhashes, walk_kind(layer));
}

const struct layout_row CLASSIC_LAYOUT = {
    .unit = "bits",
    .byte_shift = 3,
    .multiple = 1,
    .max_bits = SCHEME_MAX_BITS,
    .max_hashes = SIZING_INCUMBENT_HASHES,
    .takes_imported = true,
    .grows = true,
    .takes_window = true,
    .is_in_v1 = true,
    .flat = LAYOUT_CLASSIC,
    .probes_ahead = 1,
    .ones = bits_count,
    .unite = bits_unite,
    .intersect = bits_intersect,
    .rate_when_full = classic_rate_when_full,
    .rate_at = classic_rate_at,
};
