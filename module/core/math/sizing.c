/* How large a layer is. See sizing.h. */

#include "module/core/math/sizing.h"

#include "module/core/math/real.h"

#include <math.h>

static uint32_t clamp_hashes(double k) {
    double rounded = floor(k + 0.5);
    if (rounded < 1) return 1;
    return rounded > SIZING_MAX_HASHES ? SIZING_MAX_HASHES : (uint32_t)rounded;
}

static bool round_up_bits(double bits, uint64_t *nbits) {
    double rounded = ceil(bits);
    if (!(rounded >= 1 && rounded <= (double)SIZING_MAX_BITS)) return false;
    *nbits = (uint64_t)rounded;
    return true;
}

uint64_t sizing_max_bits(struct geometry geometry) {
    uint64_t of_layout = layout_row(geometry.layout)->max_bits;
    uint64_t of_scheme = scheme_row(geometry.scheme)->max_bits;
    return of_layout < of_scheme ? of_layout : of_scheme;
}

/* The most bits of a layer that we size: all of them can be set. */
static uint64_t most_bits(struct geometry geometry) {
    return scheme_reach(geometry.scheme, sizing_max_bits(geometry));
}

double sizing_error_rate(uint64_t items, struct sizing size, struct geometry geometry) {
    return layout_row(geometry.layout)->rate_when_full(items, size, geometry.scheme);
}

/* The k of a layer that best has this one. */
static uint32_t choose_hashes(enum layout layout, double best) {
    uint32_t fixed = layout_row(layout)->nhashes;
    return fixed ? fixed : clamp_hashes(best);
}

bool sizing_generation_by_bits(uint64_t capacity, uint32_t generations, double bits_per_key,
                               struct geometry geometry, struct sizing *out) {
    struct sizing size;
    if (!round_up_bits((double)capacity * bits_per_key / generations, &size.nbits)) return false;
    uint64_t multiple = layout_row(geometry.layout)->multiple;
    size.nbits = ((size.nbits - 1) / multiple + 1) * multiple;
    size.nhashes = choose_hashes(geometry.layout, bits_per_key * REAL_LN2);
    if (size.nbits > most_bits(geometry)) return false;
    *out = size;
    return true;
}

bool sizing_by_bits(uint64_t capacity, double bits_per_key, struct geometry geometry,
                    struct sizing *out) {
    return sizing_generation_by_bits(capacity, 1, bits_per_key, geometry, out);
}

/* ---- By error rate ------------------------------------------------------------------------
 *
 * k is -log2 p rounded: the best k for an array of the best size, and near enough for ours. m is
 * the smallest that keeps the promise with that k. The search uses the rate of rate.c, which tends
 * to the textbook's as arrays grow. Small arrays take more bits per item than the textbook says:
 *
 *     items        1      5     10     50    100   1000   10^5   textbook
 *     p = 0.01    21   11.8   10.7    9.8    9.7    9.6    9.6       9.6
 *     p = 1e-4   131   61.4   45.7   25.8   22.1   19.4   19.2      19.2
 *     p = 1e-6  1087    488    349    165    122   48.5   28.9      28.8
 *
 * No choice of k gets m below about sqrt(n/p): a stride that is 0 modulo m (chance 1/m) hits a bit
 * of some item (chance n/m).
 *
 * In CLASSIC m is odd. Then 2^64 has the order m modulo m, wraps always help, and hardly any stride
 * repeats. Primes measured no better than other odd numbers. In BLOCKED m is a number of whole
 * blocks. */

/* The textbook's m. The search starts there. */
static double textbook_bits(double capacity, double error_rate, uint32_t nhashes) {
    double fill = real_pow(error_rate, 1.0 / nhashes);
    return -(double)nhashes * capacity / real_ln(1 - fill);
}

struct target {
    uint64_t capacity;
    double error_rate;
    struct geometry geometry;
    uint32_t nhashes;
};

/* How far apart two sizes of the search are. */
static uint64_t bits_per_step(const struct target *t) {
    uint32_t multiple = layout_row(t->geometry.layout)->multiple;
    return multiple == 1 ? 2 : multiple;
}

/* The size at a step of the search: an odd number of bits, or whole blocks. */
static struct sizing size_at(const struct target *t, uint64_t step) {
    uint64_t per_step = bits_per_step(t);
    return (struct sizing){step * per_step + (per_step == 2), t->nhashes};
}

static bool is_enough(const struct target *t, uint64_t step) {
    return sizing_error_rate(t->capacity, size_at(t, step), t->geometry) <= t->error_rate;
}

/* Searches for the smallest size that is enough, by halving an interval around the step `low`. In
 * CLASSIC the result may be slightly too large: the rate ripples in m by a few per cent, as m gains
 * and loses small factors. */
static bool search(const struct target *t, uint64_t low, struct sizing *out) {
    uint64_t stride = low / 1024 + 1;
    while (low > 0 && is_enough(t, low)) {
        low = low > stride ? low - stride : 0;
        stride *= 2;
    }
    // From here on `low` is too small, or 0, and `high`, once found, is enough.
    stride = low / 1024 + 1;
    uint64_t high = low + stride;
    while (!is_enough(t, high)) {
        if (high > SIZING_MAX_BITS / 4) return false;
        low = high;
        high += stride;
        stride *= 2;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (is_enough(t, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    *out = size_at(t, high);
    return true;
}

static bool compute_by_error(const struct target *t, struct sizing *out) {
    if (t->nhashes == 1) {
        // With one hash a counted add sets exactly one bit, so the rate is n/m for every m.
        out->nhashes = 1;
        return round_up_bits((double)t->capacity / t->error_rate, &out->nbits);
    }
    double start = textbook_bits((double)t->capacity, t->error_rate, t->nhashes);
    // With few hashes and a tiny rate, 1 - fill rounds to 1: then the textbook gives no number.
    if (!(start > 0 && start < (double)SIZING_MAX_BITS / 4)) return false;
    return search(t, (uint64_t)start / bits_per_step(t), out);
}

/* A server creates many filters with equal parameters, and a search takes about ten microseconds.
 * So the last results are cached. */
bool sizing_by_error(uint64_t capacity, double error_rate, struct geometry geometry,
                     struct sizing *out) {
    static struct {
        struct target target;
        struct sizing size;
    } memo[16];
    if (!(error_rate > 0)) return false;
    uint32_t nhashes = choose_hashes(geometry.layout, -real_ln(error_rate) / REAL_LN2);
    struct target t = {capacity, error_rate, geometry, nhashes};
    unsigned slot = (unsigned)((capacity ^ capacity >> 7 ^ t.nhashes) % 16);
    const struct target *cached = &memo[slot].target;
    if (cached->capacity != capacity || cached->error_rate != error_rate ||
        cached->geometry.layout != geometry.layout || cached->geometry.scheme != geometry.scheme) {
        struct sizing size;
        if (!compute_by_error(&t, &size)) return false;
        memo[slot].target = t;
        memo[slot].size = size;
    }
    if (memo[slot].size.nbits > most_bits(geometry)) return false;
    *out = memo[slot].size;
    return true;
}

/* ---- As RedisBloom -------------------------------------------------------------------------
 *
 * RedisBloom's libm and ours may differ in the last bit of the logarithm. k and m depend on that
 * bit only where b*n or b ln 2 is a whole number to 15 digits. The tests compare with recorded
 * dumps. */

double sizing_redisbloom_bits(double error_rate) {
    return -log(error_rate) / 0.480453013918201; // ln(2)^2 to RedisBloom's digits
}

bool sizing_as_redisbloom(uint64_t capacity, double error_rate, struct sizing *out) {
    double bits_per_item = sizing_redisbloom_bits(error_rate);
    double bits = floor((double)capacity * bits_per_item);
    if (!(error_rate > 0 && bits <= (double)SIZING_MAX_BITS)) return false;
    double nhashes = ceil(bits_per_item * REAL_LN2);
    if (!(nhashes >= 1 && nhashes <= SIZING_INCUMBENT_HASHES)) return false;
    uint64_t nbits = ((uint64_t)bits + 63) / 64 * 64;
    *out = (struct sizing){nbits ? nbits : 64, (uint32_t)nhashes};
    return true;
}

/* ---- As valkey-bloom -----------------------------------------------------------------------
 *
 * The power is computed by squaring, as its compiler does; where the two differ in the last bit, m
 * and k could differ in rare cases only, as with RedisBloom's. */

bool sizing_as_valkeybloom(uint64_t capacity, double error_rate, struct sizing *out) {
    double bytes = ceil((double)capacity * log(error_rate) / (-8 * REAL_LN2 * REAL_LN2));
    if (!(error_rate > 0 && bytes >= 1 && 8 * bytes <= (double)SIZING_MAX_BITS)) return false;
    double nhashes = round(8 * bytes / (double)capacity * REAL_LN2);
    if (!(nhashes <= SIZING_INCUMBENT_HASHES)) return false;
    *out = (struct sizing){8 * (uint64_t)bytes, nhashes < 1 ? 1 : (uint32_t)nhashes};
    return true;
}

double sizing_valkeybloom_rate(double error_rate, double ratio, uint32_t i) {
    double power = 1;
    for (double square = ratio; i > 0; i /= 2, square *= square) {
        if (i & 1) power *= square;
    }
    double rate = error_rate * power;
    return rate > 2.2250738585072014e-308 ? rate : 0;
}

/* ---- Growth -------------------------------------------------------------------------------
 *
 * The rates of all layers add up, and the number of layers cannot be foreseen. A scaling filter
 * gives 5/8 of its rate to the first layer (SIZING_FIRST_SHARE). So a user who reserved the right
 * capacity pays one bit per item for the possibility of growth. The other 3/8 are spread over the
 * doublings of the capacity. Each of the first 12 doublings, which reach 4,096 times the capacity,
 * gets 1/15 of that. The later ones share the last 3/15: their parts fall by a factor e every 3.
 * A layer gets the parts of the doublings that it brings: two of them with expansion 4, ever
 * smaller fractions with expansion 1.
 *
 * The parts are even because a layer's cost is the logarithm of its part, and the last layer, at
 * whatever size, matters most. Bits per item at p = 0.01 (`make study` prints the table):
 *
 *                                     reserved   1,000 -> 10^6   -> 10^9
 *     halving (1/2, 1/4, ...)            11.1            23.3       39.2
 *     5/8, then 0.9 times the last       10.6            18.5       21.3
 *     5/8, then this                     10.6            17.8       23.1
 */

/* The part of the growth budget spent on the first x doublings. */
static double growth_spent(double x) {
    return x <= 12 ? x / 15 : 1 - real_exp(-(x - 12) / 3) / 5;
}

double sizing_growth_share(double first, double before, double after) {
    return growth_spent(real_ln(after / first) / REAL_LN2) -
           growth_spent(real_ln(before / first) / REAL_LN2);
}
