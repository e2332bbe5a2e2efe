/* The state of a filter, computed from its set bits. See measure.h. */

#include "module/core/measure.h"

#include "module/core/math/real.h"

uint64_t measure_items(const struct filter *filter) {
    double sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += layer_estimate(&filter->layers[i]);
    return (uint64_t)(sum + 0.5); // at most about 40 times the bits: far below 2^64
}

uint64_t measure_bits(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].nbits;
    return sum;
}

uint64_t measure_ones(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].ones;
    return sum;
}

/* The set bits of n items vary: m bits of which a share u is unset have the variance
 * m u (1 - u + u ln u) (occupancy). The least of them that chance makes as many as there are: six
 * sigma below, which one filter in a billion exceeds. */
#define CHANCE_SIGMAS 6

static double least_ones(const struct layer *layer) {
    double m = (double)layer->nbits, ones = (double)layer->ones, unset = 1 - ones / m;
    if (layer->ones == 0 || layer->ones >= layer->nbits) return ones;
    double variance = m * unset * (1 - unset + unset * real_ln(unset));
    double least = ones - CHANCE_SIGMAS * sqrt(variance > 0 ? variance : 0);
    return least > 0 ? least : 0;
}

/* 1 - (1-r1)(1-r2)... is computed as the sum r1 + (1-r1)r2 + ..., which keeps all digits of small
 * rates. */
static double rate_of_layers(const struct filter *filter, double (*ones)(const struct layer *)) {
    double rate = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        rate += (1 - rate) * layer_error_rate_at(layer, ones(layer));
    }
    return rate;
}

static double counted_ones(const struct layer *layer) {
    return (double)layer->ones;
}

double measure_error_rate(const struct filter *filter) {
    return rate_of_layers(filter, counted_ones);
}

double measure_promise(const struct filter *filter) {
    if (filter->bits_per_key == 0) return filter->error_rate;
    double factor = filter->nlayers > 1 ? 2 : 1;
    if (filter->window) factor = 2 * (filter->generations + 1); // in every generation
    double rate = filter->layers[0].error_rate * factor;
    return rate < 1 ? rate : 1;
}

/* The rate above which a filter is overfilled, if chance alone cannot explain it. The 1.1 is for
 * the models of the full layer and of the layer as it is, which agree within a few per cent. With a
 * tightening ratio the first layer has all of the filter's rate, and those after it add theirs. */
static double most_rate(const struct filter *filter) {
    return 1.1 * (measure_promise(filter) / (1 - filter->ratio)); // the ratio is 0 otherwise
}

bool measure_is_overfilled(const struct filter *filter) {
    return rate_of_layers(filter, least_ones) > most_rate(filter);
}

/* Whether the filter, whose older layers have the rate `before`, keeps within `most` at a fill of
 * its newest layer. */
static bool is_safe(const struct filter *filter, double before, double most, double fill) {
    struct layer newest = *filter_newest(filter);
    newest.ones = (uint64_t)(fill * (double)newest.nbits) + 1;
    if (newest.ones > newest.nbits) newest.ones = newest.nbits;
    return before + (1 - before) * layer_error_rate_at(&newest, least_ones(&newest)) <= most;
}

/* Tries one fill first, which suits most: the textbook's for the rate, as chance and the rare cases
 * of rate.c take about the same in opposite directions. Otherwise halving the interval 8 times
 * finds the fill to 0.4 %. */
static float find_safe_fill(const struct filter *filter, double before, double most) {
    double usual = real_pow(most - before, 1.0 / filter_newest(filter)->nhashes);
    if (usual >= 1) return 1;
    if (is_safe(filter, before, most, usual)) return (float)usual;
    double low = 0, high = usual;
    for (int i = 0; i < 8; i++) {
        double middle = (low + high) / 2;
        if (is_safe(filter, before, most, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (float)low;
}

static bool is_remembered(const struct measure_memo *memo, const struct layer *layer, double most) {
    return memo->most == most && memo->nbits == layer->nbits && memo->nhashes == layer->nhashes &&
           memo->layout == layer->layout && memo->scheme == layer->scheme;
}

static float safe_fill_of_one(const struct filter *filter, double most, struct measure_memo *memo) {
    const struct layer *layer = &filter->layers[0];
    if (!memo) return find_safe_fill(filter, 0, most);
    if (!is_remembered(memo, layer, most)) {
        *memo = (struct measure_memo){.most = most,
                                      .nbits = layer->nbits,
                                      .nhashes = layer->nhashes,
                                      .layout = layer->layout,
                                      .scheme = layer->scheme,
                                      .fill = find_safe_fill(filter, 0, most)};
    }
    return memo->fill;
}

/* The 0.999 is for rounding, which is far smaller. */
float measure_safe_fill(const struct filter *filter, struct measure_memo *memo) {
    double most = 0.999 * most_rate(filter);
    if (filter->nlayers == 1) return safe_fill_of_one(filter, most, memo);
    struct filter older = *filter;
    older.nlayers--;
    double before = rate_of_layers(&older, least_ones);
    return before < most ? find_safe_fill(filter, before, most) : 0;
}

void measure_settle_fill(struct filter *filter, struct measure_memo *memo) {
    filter->safe_fill = measure_safe_fill(filter, memo);
    measure_note_add(filter);
}

void measure_note_add(struct filter *filter) {
    if (!measure_is_settled(filter) && measure_is_overfilled(filter)) {
        filter->safe_fill = MEASURE_OVERFILLED;
    }
}

/* Under a tenth of the capacity is free. Rounded up, a tenth that is no integer compares the same.
 */
bool measure_is_nearly_full(const struct filter *filter) {
    const struct layer *newest = filter_newest(filter);
    if (filter->expansion != 0 || newest->items >= newest->capacity) return false;
    return newest->capacity - newest->items < newest->capacity / 10 + (newest->capacity % 10 != 0);
}

bool measure_has_many_layers(const struct filter *filter) {
    uint32_t longest = 0, n = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        bool continues = i > 0 && filter->layers[i].start == filter->layers[i - 1].start;
        n = continues ? n + 1 : 1;
        if (n > longest) longest = n;
    }
    return longest > MEASURE_MANY_LAYERS;
}
