/* Does a full filter keep the rate that sizing promises? Fills real filters with random hashes by
 * the module's scheme, pos_i = ((h1 + i*h2) mod 2^64) mod m, and measures. Two tables:
 *   by error:  n, p -> k, m; measured rate, its ratio to p and to the model; the least m nearby
 *              that would do, extrapolated (the model scaled to the measured rate, solved for p),
 *              not measured itself;
 *   by bits:   n, b -> k, m = ceil(n*b); measured rate and its ratio to the model.
 * Usage: study_sizing [work per cell in millions of probes, default 200] [largest n, 100000]
 */
#include "module/core/math/sizing.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct geometry CLASSIC = {LAYOUT_CLASSIC, SCHEME_XXH64};

__extension__ typedef unsigned __int128 wide;

struct rng {
    uint64_t state;
};

static uint64_t rng_next(struct rng *rng) {
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The array is kept twice in a row, so that any rotation is a plain unaligned read. */
struct filter {
    uint64_t m;
    unsigned k;
    uint64_t *words;
    size_t word_count;
};

#define BLOCK_WORDS 8u

static void filter_open(struct filter *filter, uint64_t m, unsigned k) {
    filter->m = m;
    filter->k = k;
    filter->word_count = (size_t)(2u * m / 64u) + 2u * BLOCK_WORDS + 2u;
    filter->words = calloc(filter->word_count, sizeof(uint64_t));
    if (filter->words == NULL) {
        abort();
    }
}

static int set_bit(struct filter *filter, uint64_t position) {
    uint64_t mask = (uint64_t)1 << (position & 63u);
    uint64_t *word = &filter->words[position >> 6];
    int changed = (*word & mask) == 0;
    *word |= mask;
    return changed;
}

/* Fill with random items until n of them counted; 0 if every bit is set before that. */
static int filter_fill(struct filter *filter, uint64_t n, struct rng *rng) {
    uint64_t bits_set = 0;
    memset(filter->words, 0, filter->word_count * sizeof(uint64_t));
    for (uint64_t counted = 0; counted < n && bits_set < filter->m;) {
        uint64_t at = rng_next(rng);
        uint64_t stride = rng_next(rng);
        uint64_t fresh = 0;
        for (unsigned i = 0; i < filter->k; i++, at += stride) {
            uint64_t position = at % filter->m;
            fresh += (uint64_t)set_bit(filter, position);
            set_bit(filter, position + filter->m);
        }
        counted += fresh != 0;
        bits_set += fresh;
    }
    return bits_set < filter->m;
}

static unsigned block_hits(const struct filter *filter, const uint64_t *offsets, uint64_t start) {
    uint64_t all[BLOCK_WORDS];
    memset(all, 0xff, sizeof(all));
    for (unsigned i = 0; i < filter->k; i++) {
        uint64_t from = start + offsets[i];
        const uint64_t *words = filter->words + (from >> 6);
        unsigned shift = (unsigned)(from & 63u);
        uint64_t any = 0;
        for (unsigned j = 0; j < BLOCK_WORDS; j++) {
            all[j] &= (words[j] >> shift) | ((words[j + 1] << 1) << (63u - shift));
            any |= all[j];
        }
        if (any == 0) {
            return 0;
        }
    }
    unsigned hits = 0;
    for (unsigned j = 0; j < BLOCK_WORDS; j++) {
        uint64_t left = start + 64u * j < filter->m ? filter->m - start - 64u * j : 0;
        uint64_t mask = left >= 64u ? UINT64_MAX : ((uint64_t)1 << left) - 1u;
        hits += (unsigned)__builtin_popcountll(all[j] & mask);
    }
    return hits;
}

/* Share of the m possible starts whose probes, at these offsets, are all set. */
static double starts_rate(const struct filter *filter, const uint64_t *offsets) {
    uint64_t hits = 0;
    for (uint64_t start = 0; start < filter->m; start += 64u * BLOCK_WORDS) {
        hits += block_hits(filter, offsets, start);
    }
    return (double)hits / (double)filter->m;
}

/* Offsets of the probes from the first one; returns how many pairs of probes coincide. */
static unsigned probe_offsets(const struct filter *filter, uint64_t at, uint64_t stride,
                              uint64_t *offsets) {
    unsigned equal_pairs = 0;
    uint64_t first = at % filter->m;
    for (unsigned i = 0; i < filter->k; i++, at += stride) {
        uint64_t position = at % filter->m;
        offsets[i] = position >= first ? position - first : position + filter->m - first;
        for (unsigned j = 0; j < i; j++) {
            equal_pairs += offsets[j] == offsets[i];
        }
    }
    return equal_pairs;
}

static uint64_t multiply_mod(uint64_t a, uint64_t b, uint64_t m) {
    return (uint64_t)((wide)a * b % m);
}

/* Number of s in 0..m-1 with step * s = target (mod m), step <= 63; *s is a random one of them. */
static uint64_t solve_stride(uint64_t step, uint64_t target, uint64_t m, struct rng *rng,
                             uint64_t *s) {
    uint64_t a = step, common = m;
    while (a != 0) {
        uint64_t rest = common % a;
        common = a;
        a = rest;
    }
    if (target % common != 0) {
        return 0;
    }
    uint64_t part = m / common;
    uint64_t quotient = step / common;
    uint64_t multiple = target / common;
    for (uint64_t lap = 0; lap < quotient; lap++) { /* (target + lap*m) / step, when whole */
        uint64_t rest = (multiple % quotient + lap * (part % quotient)) % quotient;
        if (rest == 0) {
            *s = (multiple + lap * part) / quotient % part + rng_next(rng) % common * part;
            return common;
        }
    }
    abort();
}

/* The stride, changed in its residue modulo m only (so that its wraps stay) to s. */
static uint64_t with_residue(uint64_t stride, uint64_t s, uint64_t m) {
    stride -= stride % m;
    return stride > UINT64_MAX - s ? stride - m + s : stride + s;
}

/*
 * Queries with two equal probes are rare (1/m for each pair) and heavy, so they are drawn apart:
 * pick a pair i < j, solve for the stride that makes it coincide, weigh by the chance of that
 * stride and by 1 / (number of pairs that coincide), which counts every such query once.
 */
static double repeating_draw(const struct filter *filter, struct rng *rng) {
    uint64_t m = filter->m;
    uint64_t offsets[64];
    uint64_t at = rng_next(rng);
    uint64_t stride = rng_next(rng);
    unsigned step = 1;
    unsigned pairs = filter->k * (filter->k - 1u) / 2u;
    unsigned pair = (unsigned)(rng_next(rng) % pairs);
    for (; pair >= filter->k - step; step++) { /* there are k - step pairs at distance step */
        pair -= filter->k - step;
    }
    uint64_t before = (uint64_t)(((wide)at + (wide)stride * pair) >> 64);
    uint64_t after = (uint64_t)(((wide)at + (wide)stride * (pair + step)) >> 64);
    uint64_t shift = multiply_mod(after - before, (UINT64_MAX % m + 1u) % m, m);
    uint64_t s = 0;
    uint64_t solutions = solve_stride(step, shift, m, rng, &s);
    if (solutions == 0) {
        return 0.0;
    }
    unsigned equal_pairs = probe_offsets(filter, at, with_residue(stride, s, m), offsets);
    double weight = pairs * (double)solutions / (double)m / equal_pairs;
    return weight * starts_rate(filter, offsets);
}

static double plain_draw(const struct filter *filter, struct rng *rng) {
    uint64_t offsets[64];
    uint64_t at = rng_next(rng);
    uint64_t stride = rng_next(rng);
    return probe_offsets(filter, at, stride, offsets) == 0 ? starts_rate(filter, offsets) : 0.0;
}

static double draw_rate(const struct filter *filter, struct rng *rng) {
    double rate = plain_draw(filter, rng);
    return filter->k > 1 ? rate + repeating_draw(filter, rng) : rate;
}

struct measure {
    double rate;
    double sigma;
};

static double filter_rate(struct filter *filter, uint64_t n, unsigned draws, struct rng *rng) {
    if (!filter_fill(filter, n, rng)) {
        return 1.0;
    }
    double rate = 0.0;
    for (unsigned draw = 0; draw < draws; draw++) {
        rate += draw_rate(filter, rng);
    }
    return rate / draws;
}

/* Filters until the standard error is 0.4% or the work is done; at least 8 of them. */
static struct measure measure_rate(uint64_t n, uint64_t m, unsigned k, double work) {
    struct rng rng = {n * 1000003u + m * 31u + k};
    struct filter filter;
    struct measure result = {0.0, 0.0};
    double fill_work = 4.0 * (double)n * k + (double)m / 32.0;
    double draw_work = 2.0 * k * k + (double)m / 4.0;
    unsigned draws = (unsigned)fmin(1000.0, 10.0 + fill_work / draw_work);
    double sum = 0.0;
    double squares = 0.0;
    filter_open(&filter, m, k);
    for (double count = 1.0; count <= 8.0 || (result.sigma > 0.004 * result.rate && work > 0.0);
         count += 1.0) {
        double rate = filter_rate(&filter, n, draws, &rng);
        sum += rate;
        squares += rate * rate;
        work -= fill_work + draws * draw_work;
        result.rate = sum / count;
        double variance = (squares / count - result.rate * result.rate) / fmax(count - 1.0, 1.0);
        result.sigma = count < 64.0 && work > 0.0 ? 1.0 : sqrt(fmax(variance, 0.0));
    }
    free(filter.words);
    return result;
}

static double model_rate(uint64_t n, uint64_t m, unsigned k) {
    return sizing_error_rate(n, (struct sizing){m, k}, CLASSIC);
}

/* The least m at which the model, scaled by measured/model, would be at most p. */
static uint64_t least_bits(uint64_t n, double p, unsigned k, uint64_t m, double scale) {
    while (m > 1 && model_rate(n, m - 1u - (m > 2 && k > 1), k) * scale <= p) {
        m -= 1u + (m > 2 && k > 1);
    }
    uint64_t step = k > 1 ? 2u : 1u;
    while (model_rate(n, m, k) * scale > p) {
        m += step;
    }
    return m;
}

static void study_error(uint64_t n, double p, double work) {
    struct sizing size;
    if (!sizing_by_error(n, p, CLASSIC, &size)) {
        return;
    }
    unsigned k = size.nhashes;
    uint64_t m = size.nbits;
    double textbook = ceil(-(double)n * log(p) / (log(2.0) * log(2.0)));
    struct measure measure = measure_rate(n, m, k, work);
    double model = model_rate(n, m, k);
    uint64_t least = n <= 1000 ? least_bits(n, p, k, m, measure.rate / model) : 0;
    printf("%7llu %8g %2u %9.0f %9llu %8.3f %11.4g %7.4f %7.4f %6.4f %9llu\n",
           (unsigned long long)n, p, k, textbook, (unsigned long long)m, (double)m / (double)n,
           measure.rate, measure.rate / p, measure.rate / model, measure.sigma / p,
           (unsigned long long)least);
    fflush(stdout);
}

static void study_bits(uint64_t n, double bits, double work) {
    struct sizing size;
    if (!sizing_by_bits(n, bits, CLASSIC, &size)) {
        return;
    }
    unsigned k = size.nhashes;
    uint64_t m = size.nbits;
    double model = model_rate(n, m, k);
    if (model < 1e-6) {
        return;
    }
    struct measure measure = measure_rate(n, m, k, work);
    printf("%7llu %8g %2u %9llu %11.4g %11.4g %7.4f %6.4f\n", (unsigned long long)n, bits, k,
           (unsigned long long)m, model, measure.rate, measure.rate / model, measure.sigma / model);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const uint64_t capacities[] = {1,   2,   3,   5,    7,    10,    20,     50,
                                          100, 200, 500, 1000, 1024, 10000, 100000, 1000000};
    static const double rates[] = {0.9,     0.5,   0.3,    0.25, 0.1,  0.05, 0.01,
                                   0.00625, 0.001, 2.3e-4, 1e-4, 1e-5, 1e-6};
    static const double bits[] = {1, 4, 7, 8, 10, 12, 16, 20, 24, 32};
    double work = 1e6 * (argc > 1 ? atof(argv[1]) : 200.0);
    double largest = argc > 2 ? atof(argv[2]) : 100000.0;
    printf("%7s %8s %2s %9s %9s %8s %11s %7s %7s %6s %9s\n", "n", "p", "k", "textbook", "m",
           "bits/key", "measured", "/p", "/model", "sigma", "least m");
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        for (size_t j = 0; j < sizeof(rates) / sizeof(rates[0]); j++) {
            if ((double)capacities[i] <= largest) {
                study_error(capacities[i], rates[j], work);
            }
        }
    }
    printf("\n%7s %8s %2s %9s %11s %11s %7s %6s\n", "n", "bits", "k", "m", "model", "measured",
           "/model", "sigma");
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        for (size_t j = 0; j < sizeof(bits) / sizeof(bits[0]); j++) {
            if ((double)capacities[i] <= largest) {
                study_bits(capacities[i], bits[j], work);
            }
        }
    }
    return 0;
}
