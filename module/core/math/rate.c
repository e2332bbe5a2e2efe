/* The false-positive rate of a full layer. See rate.h.
 *
 * The textbook's formula, (1 - e^(-kn/m))^k, assumes that the k positions of an item are
 * independent. With double hashing they are not: position i is (a + i*b mod 2^64) mod m. On large
 * arrays the difference vanishes, and this file gives the textbook's value. On small arrays it is
 * most of the rate. At 100 items and p = 1e-4 a textbook-sized filter is 3.6 times worse than
 * promised; at 5 items, 80 times. The rate here is a sum:
 *
 *   fill^k               the textbook's term, at the fill that n *counted* adds leave
 *   repeating queries    a stride of small order modulo m visits few positions
 *   aligned items        another item runs along the query's own progression
 *   both at once         an item runs along a repeating query
 *   common factors       strides that share a factor with m crowd into classes
 *
 * The last term hardly matters for filters sized by error rate, whose m is odd.
 *
 * Wraps. When a + i*b passes 2^64 the position jumps by c = 2^64 mod m. The jumps help: two items
 * with equal a mod m and equal b mod m still differ if their wraps differ. Write m as two_part *
 * odd_part; c has the order odd_part modulo m. If m is a power of two, c is 0 and wraps do not
 * help. Hash words of 32 bits never wrap, which is the case of m = two_part.
 *
 * Where theory gives no term, the term is "fitted" to the experiment named beside it. `make study`
 * repeats the experiments: wherever the measured rate is at least 1e-7, the sum is within 5 % of it
 * or above it. */

#include "module/core/math/rate.h"

#include "module/core/math/real.h"

/* The shape of the layer, which every term needs, and powers[i] = fill^i for i = 0..k. */
struct shape {
    double n;
    double m;
    uint32_t k;
    uint64_t nbits;    // m as an integer
    uint64_t two_part; // m = two_part * odd_part; 2^64 has the order odd_part modulo m
    uint64_t odd_part;
    double powers[RATE_MAX_HASHES + 1];
};

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* How many numbers below d share no factor with d: the number of elements of order d. */
static double totient(uint64_t d) {
    static const uint8_t VALUES[RATE_MAX_HASHES + 1] = {0,  1,  1,  2,  2,  4,  2,  6,  4,  6, 4,
                                                        10, 4,  12, 6,  8,  8,  16, 6,  18, 8, 12,
                                                        10, 22, 8,  20, 12, 18, 12, 28, 8};
    return VALUES[d];
}

/* ---- Items and queries that visit few positions ------------------------------------------- */

/* Positions are i*s - w_i*c (s the stride modulo m, w_i the wraps so far). If b*s = a*c (mod m)
 * with a/b in lowest terms, and the real slope h2/2^64 is within e of a/b, then i*a - b*w_i takes b
 * values plus one more for each 1/(b(k-b)) of e. Integrating over e on both sides gives exactly b
 * values with probability 1/(b(k-b)), and each further count with twice that. There are totient(b)
 * such strides, each of probability 1/m. Adding to s an element of order d | m multiplies the
 * visits: they are lcm(b, d) positions, in steps of lcm(b, d)/b. A b that shares an odd factor with
 * m has no solution of its own. `limit` caps the visits. */
static double repeat_family(const double *weights, uint32_t k, uint32_t b, uint32_t visits,
                            uint32_t limit) {
    uint32_t step = visits / b;
    double sum = weights[visits];
    for (uint32_t count = visits + step; count < limit; count += step) sum += 2 * weights[count];
    return sum / ((double)b * (k - visits));
}

static double repeating_by_wraps(const struct shape *s, const double *weights) {
    double sum = 0;
    for (uint32_t d = 1; d < s->k && d <= s->nbits; d++) {
        if (s->nbits % d != 0) continue;
        uint64_t most = gcd(d, s->two_part) * s->odd_part;
        uint32_t limit = most < s->k ? (uint32_t)most : s->k;
        for (uint32_t b = 1; b < limit; b++) {
            uint32_t visits = b / (uint32_t)gcd(b, d) * d;
            if (visits >= limit || gcd(b, s->odd_part) != 1) continue;
            sum += totient(b) * totient(d) * repeat_family(weights, s->k, b, visits, limit);
        }
    }
    return sum / s->m;
}

/* If the order of 2^64 is below k, the wraps themselves run in a circle: a stride of order d modulo
 * two_part visits at most d * odd_part positions, whatever its wraps are. */
static double repeating_in_circles(const struct shape *s, const double *weights) {
    double sum = 0;
    for (uint64_t d = 1; d <= s->two_part && d < s->k && d * s->odd_part < s->k; d++) {
        if (s->two_part % d == 0) sum += totient(d) * weights[d * s->odd_part];
    }
    return sum / (double)s->two_part;
}

/* The mean of weights[visits] over all strides, where weights[k] is 0. */
static double repeating(const struct shape *s, const double *weights) {
    return repeating_by_wraps(s, weights) + repeating_in_circles(s, weights);
}

/* What repeating queries add to the rate: they have fill^visits in place of fill^k. */
static double repeating_queries(const struct shape *s) {
    double weights[RATE_MAX_HASHES + 1];
    for (uint32_t i = 0; i <= s->k; i++) weights[i] = s->powers[i] - s->powers[s->k];
    return repeating(s, weights);
}

/* The mean number of distinct positions of an item: k, less those that a repeating item lacks. */
static double distinct_positions(const struct shape *s) {
    double weights[RATE_MAX_HASHES + 1];
    for (uint32_t i = 0; i <= s->k; i++) weights[i] = s->k - i;
    return s->k - repeating(s, weights);
}

/* ---- The fill ----------------------------------------------------------------------------- */

/* The share of bits set when n adds have counted. An add that changes nothing does not count, so a
 * counted add sets d(1-f)/(1-f^k) bits on average, where d is the number of distinct positions of
 * an item. Summing n steps gives:
 *     F(f) - (d/2m) ln F'(f) = dn/m,   F(f) = sum_{i=1..k} f^i / i,   F' = (1-f^k)/(1-f),
 * where the logarithm is the Euler-Maclaurin term for steps of finite size. For k = 1 this is
 * f = n/m exactly; for k -> infinity F = -ln(1-f), the textbook. */
static double fill_sum(uint32_t k, double f, double *slope) {
    double sum = 0, power = 1;
    *slope = 0;
    for (uint32_t i = 1; i <= k; i++) {
        *slope += power;
        power *= f;
        sum += power / i;
    }
    return sum;
}

static double fill_excess(const struct shape *s, double distinct, double f) {
    double slope, sum = fill_sum(s->k, f, &slope);
    return sum - distinct / s->m * (0.5 * real_ln(slope) + s->n);
}

static double fill_when_full(const struct shape *s) {
    double distinct = distinct_positions(s);
    double low = 0, high = 1;
    for (int step = 0; step < 50; step++) {
        double middle = 0.5 * (low + high);
        if (fill_excess(s, distinct, middle) < 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

/* The counted adds that leave the fill f. In large arrays hardly any item has fewer positions than
 * k. */
static double items_of_fill(const struct shape *s, double f) {
    double slope, sum = fill_sum(s->k, f, &slope);
    double distinct = s->m < 100.0 * s->k ? distinct_positions(s) : s->k;
    double items = sum * s->m / distinct - 0.5 * real_ln(slope);
    return items > 0 ? items : 0;
}

/* ---- Items along the query ---------------------------------------------------------------- */

/* An item covers j of the query's positions at once in N_j/m^2 of all cases. Compared with
 * independent bits this adds, per item, N_j f^(k-j) P(Bin(j, 1-f) >= 3) for j >= 3. It subtracts
 * C(k,2) k f^(k-2) (1-f)^2, since an item never sets one bit twice. Without wraps N_k = 2 (either
 * direction) and N_(k-j) = 4. With wraps their patterns must agree too: N_(k-j) = C(j+2, 2) N_k.
 * Fitted (10^4..10^5 random pairs of wrap patterns for each k, all strides (r s + e c)/q with
 * r, q <= 3): N_k = (3 + 14/k)/k^2, and for strides 2, 1/2, 3, ... together 2.2 (k-3) f^(k/2),
 * without wraps 5 (k-3) f^(k/2). */
static double aligned_weight(const struct shape *s, double f) {
    double k = s->k;
    bool wraps = s->odd_part > 1;
    double full = wraps ? (3 + 14 / k) / (k * k) : 2;
    double sum = full;
    for (uint32_t j = 1; j + 3 <= s->k; j++) {
        sum += s->powers[j] * (wraps ? full * (j + 1.0) * (j + 2.0) / 2 : 4);
    }
    return sum + (wraps ? 2.2 : 5.0) * (k - 3) * real_pow(f, k / 2);
}

/* The chance that just two of the query's bits are unset, or, of one pair of them, both. */
static double two_unset(const struct shape *s, double f) {
    double k = s->k;
    return k * (k - 1) / 2 * s->powers[s->k - 2] * (1 - f) * (1 - f);
}

/* What the items along the query add, for each item and m^2: those that cover three unset bits. */
static double aligned_gain(const struct shape *s, double f) {
    if (s->k < 3) return 0;
    double at_most_two = s->powers[s->k] + two_unset(s, f) + s->k * s->powers[s->k - 1] * (1 - f);
    return aligned_weight(s, f) * (1 - at_most_two);
}

static double aligned_items(const struct shape *s, double f) {
    if (s->k < 2) return 0;
    double sum = -(double)s->k * two_unset(s, f);
    sum += aligned_gain(s, f);
    return s->n / (s->m * s->m) * sum;
}

/* An item runs along the few positions of a repeating query in n k^2/m^3 of all cases. Fitted (to
 * what the other terms leave, k = 7..20, n = 1..100, m = 37..3001): the constant is 0.2/(1-f)^2,
 * and nothing is left at k <= 3. */
static double aligned_repeats(const struct shape *s, double f) {
    double k = s->k;
    double empty = 1 - f > 0.3 ? 1 - f : 0.3;
    double cases = k > 3 ? (k * k - 9) * 0.2 / (empty * empty) : 0;
    return cases * s->n / (s->m * s->m * s->m);
}

/* ---- Factors that strides share with m ---------------------------------------------------- */

/* A stride that shares 2^j with an even m stays in one class of positions modulo 2^j, as 2^64
 * modulo m does. So do the items with such a stride, which then overlap far more. Without wraps the
 * same holds for every factor of m.
 *  - An item of order d | m, d <= k (chance totient(d)/m) fills a coset of d positions and covers
 *    every query of an order dividing d (d/m) that starts in it (d/m). Fitted: 0.7 of that sum,
 *    since the rest is lost to wraps or is in fill^visits; 0.2 where wraps leave the coset.
 *  - Strides that differ by m/2, m/4... share every 2nd, 4th... position, which gives the f^(k/2)
 *    of aligned_weight again. Fitted: 5.5 (k-2.5).
 * Both are fitted to the measured excess at 56 even m = 4..32768, k = 3..22, n = 1..1024. */
static double crowded_cosets(const struct shape *s) {
    double sum = 0;
    for (uint32_t d = 2; d <= s->k; d++) {
        if (s->nbits % d != 0) continue;
        uint32_t odd = d / (d & (0U - d));
        bool stays = odd == 1 || odd == s->odd_part || s->odd_part == 1;
        sum += (stays ? 0.7 : 0.2) * totient(d) * d * d;
    }
    return s->n / (s->m * s->m * s->m) * sum;
}

static double common_factors(const struct shape *s, double f) {
    bool is_even = s->nbits % 2 == 0, wraps = s->odd_part > 1;
    if (s->k < 3 || (!is_even && wraps)) return 0;
    double k = s->k;
    double strides = is_even ? 5.5 * (k - 2.5) * real_pow(f, k / 2) : 0;
    return crowded_cosets(s) + s->n / (s->m * s->m) * strides;
}

/* The terms fill^k and repeating queries, at the given fill. Sets s->powers. */
static double visiting_rate(struct shape *s, double f) {
    s->powers[0] = 1;
    for (uint32_t i = 1; i <= s->k; i++) s->powers[i] = s->powers[i - 1] * f;
    return s->powers[s->k] + repeating_queries(s);
}

/* Strides that g = 2^j divides (chance 1/g) stay in a class of m/g bits. One item of exactly that g
 * (chance 1/2g, for the last g 1/g) in the same class (chance 1/g) fills much of the class if m/g
 * is little above k. Such a class acts as a filter of its own with a higher fill. The mean fill
 * stays the same, so the tangent at it is subtracted. If m/g is above 2.5 k the term is lost in the
 * others; up to k it is the cosets above. */
static double crowded_class(const struct shape *s, double f) {
    uint64_t twos = s->nbits & (0 - s->nbits);
    uint64_t g = twos;
    while (g > 1 && s->nbits / g <= s->k) g /= 2;
    uint64_t nbits = s->nbits / g;
    if (g == 1 || (double)nbits > 2.5 * s->k) return 0;
    struct shape class = {.n = 1, .m = (double)nbits, .k = s->k, .nbits = nbits};
    class.odd_part = s->odd_part;
    class.two_part = nbits / class.odd_part;
    double more = (1 - f) * distinct_positions(&class) / class.m;
    double above = visiting_rate(&class, f + more) - visiting_rate(&class, f) -
                   s->k * s->powers[s->k - 1] * more;
    double chance = (g < twos ? 0.5 : 1.0) / ((double)g * (double)g * (double)g);
    return above * s->n * chance;
}

/* ---- The sum ------------------------------------------------------------------------------ */

static struct shape shape_of(uint64_t nbits, uint32_t nhashes, bool wraps) {
    struct shape s = {.m = (double)nbits, .k = nhashes, .nbits = nbits};
    s.two_part = wraps ? nbits & (0 - nbits) : nbits;
    s.odd_part = nbits / s.two_part;
    return s;
}

double rate_when_full(double items, uint64_t nbits, uint32_t nhashes, bool wraps) {
    struct shape s = shape_of(nbits, nhashes, wraps);
    s.n = items;
    double f = fill_when_full(&s);
    double rate = visiting_rate(&s, f); // called first: it sets the powers that the others use
    rate += aligned_items(&s, f) + aligned_repeats(&s, f);
    rate += common_factors(&s, f) + crowded_class(&s, f);
    return rate < 1 ? rate : 1;
}

/* ---- The rate of a layer whose set bits are counted
 * ----------------------------------------------
 *
 * The sum above is for full layers at their mean fill. Where the fill is known, n follows from it,
 * and three terms are simpler:
 *  - k different positions are all set with the chance of drawing k set bits one by one. So the
 *    bits that an item never sets twice are in that term.
 *  - Items along repeating queries, and crowded cosets, depend on n and m alone. Fitted: 0.25 and
 *    0.6. Of the cosets those count whose order is a power of two, as wraps do not leave them; of
 *    crowded classes one half.
 *  - In an array of few bits all these cases coincide, which takes (k/m)^2 of them away.
 * Fitted to the rates measured in arrays of 4k bits and more, n = 1..100, half full to twice full.
 * `make study T=study_stated` measures again, up to a million items.
 *
 * In other walks the rare cases are fewer. With SipHash's rule one position is off the progression:
 * the walk has k - 1, and a set bit more. Where values fold or are halved, a share is left. Fitted
 * to textbook-sized arrays of n = 1..10: within 10 % of the rate from 100 items on. */

static const double SHARES[] = {
    [RATE_WALK_WRAPS] = 1,    [RATE_WALK_STRAIGHT] = 1,  [RATE_WALK_SPLIT] = 1,
    [RATE_WALK_HALVED] = 0.8, [RATE_WALK_FOLDED] = 0.35, [RATE_WALK_MIXED] = 0.2,
    [RATE_WALK_SUMS] = 0.2,   [RATE_WALK_FREE] = 0};

static void set_drawn_powers(struct shape *s, double ones) {
    s->powers[0] = 1;
    for (uint32_t i = 0; i < s->k; i++) {
        bool possible = ones > i && s->m > i;
        s->powers[i + 1] = possible ? s->powers[i] * (ones - i) / (s->m - i) : 0;
    }
}

static double crowded_now(const struct shape *s, double f) {
    if (s->k < 3) return 0;
    double sum = 0;
    for (uint32_t d = 2; d <= s->k; d++) {
        bool stays = s->odd_part == 1 || (d & (d - 1)) == 0;
        if (s->nbits % d == 0 && stays) sum += totient(d) * d * d;
    }
    return 0.6 * sum * s->n / (s->m * s->m * s->m) + 0.5 * crowded_class(s, f);
}

static double rare_cases(const struct shape *s, double f) {
    double k = s->k, per_item = aligned_gain(s, f), few = k / s->m;
    if (s->k > 3) per_item += 0.25 * (k * k - 9) / s->m;
    double sum = repeating_queries(s) + s->n / (s->m * s->m) * per_item + crowded_now(s, f);
    return few < 1 ? (1 - few * few) * sum : 0;
}

/* k independent positions. For more hashes than the model has, too: no such filter is small. */
static double independent_rate(double fill, uint32_t nhashes) {
    double rate = 1;
    for (uint32_t i = 0; i < nhashes; i++) rate *= fill;
    return rate;
}

/* Redisson: positions 1, 3, 5, ... are s, 2s, 3s, ..., s being the sum of the words. An item whose
 * s is the query's modulo m (chance 1/m) covers all of them at once. Wraps spare some of these
 * queries, and items whose s is a multiple of the query's make up for them. What an item covers
 * alone is in the fill. Fitted: the sum is 1 within 20 % at k = 3..13. */
static double equal_sums(uint32_t k, double f) {
    uint32_t covered = k / 2;
    if (covered < 2) return 0;
    double all = independent_rate(f, k), left = independent_rate(f, k - covered);
    return left - all - covered * independent_rate(f, k - 1) * (1 - f);
}

double rate_now(double ones, uint64_t nbits, uint32_t nhashes, enum rate_walk walk) {
    struct shape s = shape_of(nbits, nhashes, walk != RATE_WALK_STRAIGHT);
    double f = ones / s.m;
    if (f >= 1 || f <= 0) return f >= 1;
    if (walk == RATE_WALK_FREE || nhashes > RATE_MAX_HASHES) return independent_rate(f, nhashes);
    s.n = items_of_fill(&s, f);
    bool is_split = walk == RATE_WALK_SPLIT && nhashes > 1;
    if (is_split) s.k--;
    set_drawn_powers(&s, ones);
    double rate = s.powers[s.k] + SHARES[walk] * rare_cases(&s, f);
    if (is_split) rate *= f;
    if (walk == RATE_WALK_SUMS) rate += equal_sums(nhashes, f) * s.n / s.m;
    return rate < 1 ? rate : 1;
}

/* ---- Items that stay in one block -----------------------------------------------------------
 *
 * In BLOCKED an item has one of 32 bits in each of its block's 8 words. So a block to which j items
 * were offered gives a false positive with probability w_j = (1 - (31/32)^j)^8. In RocksDB's
 * filters an item has k of the 512 bits of a line: w_j = (1 - (511/512)^(kj))^k. j is binomial: N
 * items, each with chance 1/blocks. An add that changes nothing does not count, so n counted items
 * took N >= n offers. Each offer counts with probability 1 minus the rate so far, which gives
 * n = N - blocks * sum_j P(more than j) w_j (the integral of a binomial over its rate is its tail).
 */

struct block_kind {
    double miss;     // the chance that an item leaves a given bit of its block unset
    uint32_t checks; // bits that a lookup reads
};

static const struct block_kind BLOCKED = {31.0 / 32, 8};

struct block_load {
    double rate;      // of false positives
    double uncounted; // offers per block that did not count
};

static double block_hit(const struct block_kind *kind, double misses) {
    double bit = 1 - misses, two = bit * bit, hit = kind->checks % 2 ? bit : 1;
    for (uint32_t i = 0; i < kind->checks / 2; i++) hit *= two;
    return hit;
}

/* The load when `offers` items are spread over `nblocks` blocks. */
static struct block_load block_load(const struct block_kind *kind, double offers, double nblocks) {
    struct block_load load = {0, 0};
    if (nblocks < 2) { // every item is in the one block
        double misses = 1;
        for (double j = 0; j < offers && misses > 1e-20; j++, misses *= kind->miss) {
            load.uncounted += block_hit(kind, misses);
        }
        load.rate = block_hit(kind, misses);
        return load;
    }
    double odds = 1 / (nblocks - 1);
    double chance = real_exp(offers * real_ln(1 - 1 / nblocks)); // of exactly j items
    double above = 1, misses = 1;
    double mean = offers / nblocks;
    for (double j = 0; j <= offers && (j <= mean || chance > 1e-20); j++) {
        load.rate += chance * block_hit(kind, misses);
        above -= chance;
        load.uncounted += above > 0 ? above * block_hit(kind, misses) : 0;
        chance *= (offers - j) / (j + 1) * odds;
        misses *= kind->miss;
    }
    return load;
}

double rate_blocked_when_full(double items, uint64_t nblocks) {
    double blocks = (double)nblocks;
    if (items >= blocks * 256) return 1; // every counted item has set a bit: all bits are set
    double low = items, high = items;
    for (int i = 0; i < 64; i++) {
        if (high - block_load(&BLOCKED, high, blocks).uncounted * blocks >= items) break;
        low = high;
        high *= 2;
        if (high > items * 16) return 1; // saturated: hardly anything counts any more
    }
    for (int i = 0; i < 40 && high > low; i++) {
        double middle = 0.5 * (low + high);
        if (middle - block_load(&BLOCKED, middle, blocks).uncounted * blocks >= items) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return block_load(&BLOCKED, high, blocks).rate;
}

/* The rate at a mean of over 640 items a block is 1 to 8 digits: nearly every bit is set. There
 * e^-mean would be too small for a double. */
static double rate_of_load(const struct block_kind *kind, double offers, uint64_t nblocks) {
    double blocks = (double)nblocks;
    return offers > 640 * blocks ? 1 : block_load(kind, offers, blocks).rate;
}

#define LINE_BITS 512

static struct block_kind line_of(uint32_t nhashes) {
    return (struct block_kind){real_pow(1 - 1.0 / LINE_BITS, nhashes), nhashes};
}

double rate_lines(double offers, uint64_t nlines, uint32_t nhashes) {
    struct block_kind line = line_of(nhashes);
    return rate_of_load(&line, offers, nlines);
}

/* A line with j items is a small CLASSIC layer whose words do not wrap; j is binomial. A chance
 * below 1e-12 does not show in any rate that such lines can have: a stride of 0 alone gives about
 * 1/1000. */
double rate_lines4(double offers, uint64_t nlines, uint32_t nhashes) {
    double lines = (double)nlines, mean = offers / lines, rate = 0;
    if (mean > 640 || nhashes > RATE_MAX_HASHES) return rate_lines(offers, nlines, nhashes);
    if (nlines < 2) return offers > 0 ? rate_when_full(offers, LINE_BITS, nhashes, false) : 0;
    double chance = real_exp(offers * real_ln(1 - 1 / lines)); // of exactly j items
    for (double j = 0; j <= offers && (j <= mean || chance > 1e-12); j++) {
        if (j > 0 && chance > 1e-12) {
            rate += chance * rate_when_full(j, LINE_BITS, nhashes, false);
        }
        chance *= (offers - j) / (j + 1) / (lines - 1);
    }
    return rate;
}

/* ---- The same for blocks and lines whose set bits are counted
 * ------------------------------------
 *
 * An item leaves a bit of its own block unset with the chance `miss`, one of another block always.
 * So N items leave (1 - (1 - miss) / blocks)^N of all bits unset, which gives N. With one block the
 * fill says more than N. */

static double offers_of_fill(const struct block_kind *kind, double fill, double nblocks) {
    return real_ln(1 - fill) / real_ln(1 - (1 - kind->miss) / nblocks);
}

static double blocks_now(const struct block_kind *kind, double fill, uint64_t nblocks) {
    if (fill >= 1) return 1;
    if (nblocks < 2) return independent_rate(fill, kind->checks);
    return rate_of_load(kind, offers_of_fill(kind, fill, (double)nblocks), nblocks);
}

double rate_blocked_now(double fill, uint64_t nblocks) {
    return blocks_now(&BLOCKED, fill, nblocks);
}

double rate_lines_now(double fill, uint64_t nlines, uint32_t nhashes) {
    struct block_kind line = line_of(nhashes);
    return blocks_now(&line, fill, nlines);
}

double rate_lines4_now(double fill, uint64_t nlines, uint32_t nhashes) {
    struct block_kind line = line_of(nhashes);
    double lines = (double)nlines, rate = 0, misses = 1;
    if (fill >= 1) return 1;
    if (nlines < 2) return rate_now(fill * LINE_BITS, LINE_BITS, nhashes, RATE_WALK_STRAIGHT);
    double offers = offers_of_fill(&line, fill, lines), mean = offers / lines;
    if (mean > 640) return 1;
    double chance = real_exp(offers * real_ln(1 - 1 / lines)); // of exactly j items
    for (double j = 0; j <= offers && (j <= mean || chance > 1e-12); j++) {
        if (chance > 1e-12) {
            double ones = LINE_BITS * (1 - misses);
            rate += chance * rate_now(ones, LINE_BITS, nhashes, RATE_WALK_STRAIGHT);
        }
        chance *= (offers - j) / (j + 1) / (lines - 1);
        misses *= line.miss;
    }
    return rate;
}
