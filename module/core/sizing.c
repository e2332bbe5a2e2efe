/* How large a layer is. See sizing.h. */

#include "module/core/sizing.h"

#include "module/core/rate.h"
#include "module/core/real.h"

static uint32_t clamp_hashes(double k) {
    double whole = floor(k + 0.5);
    if (whole < 1) return 1;
    return whole > SIZING_MAX_HASHES ? SIZING_MAX_HASHES : (uint32_t)whole;
}

static bool round_up_bits(double bits, uint64_t *nbits) {
    double whole = ceil(bits);
    if (!(whole >= 1 && whole <= (double)SIZING_MAX_BITS)) return false;
    *nbits = (uint64_t)whole;
    return true;
}

double sizing_error_rate(uint64_t items, struct sizing size, enum scheme scheme) {
    return rate_when_full((double)items, size.nbits, size.nhashes, hash_wraps(scheme));
}

bool sizing_by_bits(uint64_t capacity, double bits_per_key, struct sizing *out) {
    uint64_t nbits;
    if (!round_up_bits((double)capacity * bits_per_key, &nbits)) return false;
    *out = (struct sizing){nbits, clamp_hashes(bits_per_key * REAL_LN2)};
    return true;
}

/* ---- By error rate ------------------------------------------------------------------------
 *
 * k = -log2 p rounded: the best k for an array of the best size, and near enough for ours. Then m
 * is the smallest that keeps the promise for that k, found with the rate of rate.c, which tends to
 * the textbook's as arrays grow. What small ones cost more than the textbook says (bits per item):
 *
 *     items        1      5     10     50    100   1000   10^5   textbook
 *     p = 0.01    21   11.8   10.7    9.8    9.7    9.6    9.6       9.6
 *     p = 1e-4   131   61.4   45.7   25.8   22.1   19.4   19.2      19.2
 *     p = 1e-6  1087    488    349    165    122   48.5   28.9      28.8
 *
 * The floor is about m = sqrt(n/p), and no choice of k gets below it: a stride that is 0 modulo m
 * (chance 1/m) hits a bit of some item (chance n/m).
 *
 * m is odd: then 2^64 has the order m modulo m, wraps always help, and hardly any stride repeats.
 * Primes measured no better than other odd numbers. */

/* Where the textbook would put m: the search starts there. */
static double textbook_bits(double capacity, double error_rate, uint32_t nhashes) {
    double fill = real_pow(error_rate, 1.0 / nhashes);
    return -(double)nhashes * capacity / real_ln(1 - fill);
}

struct target {
    uint64_t capacity;
    double error_rate;
    uint32_t nhashes;
    enum scheme scheme;
};

static bool is_enough(const struct target *t, uint64_t half) {
    struct sizing size = {2 * half + 1, t->nhashes};
    return sizing_error_rate(t->capacity, size, t->scheme) <= t->error_rate;
}

/* The smallest odd m, as far as halving an interval finds it: the rate ripples in m by a few per
 * cent, as m gains and loses small factors. */
static bool search_odd(const struct target *t, uint64_t *nbits) {
    double guess = textbook_bits((double)t->capacity, t->error_rate, t->nhashes);
    if (!(guess < (double)SIZING_MAX_BITS / 4)) return false;
    // In halves, so that 2*half + 1 is odd: `low` is too small (or 0), `high` is enough.
    uint64_t low = (uint64_t)guess / 2;
    uint64_t step = low / 1024 + 1;
    while (low > 0 && is_enough(t, low)) low = low > step ? low - step : 0, step *= 2;
    uint64_t high = low + (low / 1024 + 1);
    for (step = low / 1024 + 1; !is_enough(t, high); step *= 2) {
        if (high > SIZING_MAX_BITS / 4) return false;
        low = high;
        high += step;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (is_enough(t, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    *nbits = 2 * high + 1;
    return true;
}

static bool compute_by_error(const struct target *t, uint64_t *nbits) {
    // With one hash a counted add sets exactly one bit, so the rate is n/m, whatever m.
    if (t->nhashes == 1) return round_up_bits((double)t->capacity / t->error_rate, nbits);
    return search_odd(t, nbits);
}

/* A server creates many filters alike, and the search takes some ten microseconds: the last answers
 * are remembered. */
bool sizing_by_error(uint64_t capacity, double error_rate, enum scheme scheme, struct sizing *out) {
    static struct {
        struct target target;
        uint64_t nbits;
    } memo[16];
    if (!(error_rate > 0)) return false;
    struct target t = {capacity, error_rate, clamp_hashes(-real_ln(error_rate) / REAL_LN2), scheme};
    unsigned slot = (unsigned)((capacity ^ capacity >> 7 ^ t.nhashes) % 16);
    const struct target *known = &memo[slot].target;
    if (known->capacity != capacity || known->error_rate != error_rate || known->scheme != scheme) {
        uint64_t nbits;
        if (!compute_by_error(&t, &nbits)) return false;
        memo[slot].target = t;
        memo[slot].nbits = nbits;
    }
    *out = (struct sizing){memo[slot].nbits, t.nhashes};
    return true;
}

/* ---- Growth -------------------------------------------------------------------------------
 *
 * The rates of all layers add up, and nobody knows how many there will be. A scaling filter gives
 * 5/8 of its rate to the first layer (SIZING_FIRST_SHARE: whoever reserved the right capacity pays
 * one bit per item for the possibility of growth) and spreads the rest over the doublings of its
 * capacity: evenly, 1/15 each, over the first 12 (a growth to 4,096 times the capacity), and ever
 * thinner, by a factor e every 3 doublings, over the infinitely many behind. A layer gets the part
 * of the doublings it brings: with expansion 4 two of them, with expansion 1 ever smaller
 * fractions.
 *
 * Even, because what a layer costs is the logarithm of its part, and the layer that matters is the
 * last, wherever that is. Bits per item at p = 0.01 (`make study` prints the table):
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
