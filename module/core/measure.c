/* The state of a filter, computed from its set bits. See measure.h. */

#include "module/core/measure.h"

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

/* 1 - (1-r1)(1-r2)... is computed as the sum r1 + (1-r1)r2 + ..., which keeps all digits of small
 * rates. */
double measure_error_rate(const struct filter *filter) {
    double rate = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        rate += (1 - rate) * layer_current_error_rate(&filter->layers[i]);
    }
    return rate;
}

double measure_promise(const struct filter *filter) {
    if (filter->bits_per_key == 0) return filter->error_rate;
    double factor = filter->nlayers > 1 ? 2 : 1;
    if (filter->window) factor = 2 * (filter->generations + 1); // in every generation
    double rate = filter->layers[0].error_rate * factor;
    return rate < 1 ? rate : 1;
}

/* The rate above which a filter is overfilled. By GROWTH_RATIO the first layer has all of the
 * filter's rate, and those after it add theirs. */
static double most_rate(const struct filter *filter) {
    double promise = measure_promise(filter);
    if (filter->growth == GROWTH_RATIO) promise /= 1 - filter->ratio;
    return 2 * promise;
}

bool measure_is_overfilled(const struct filter *filter) {
    return measure_error_rate(filter) > most_rate(filter);
}

/* Whether the filter, whose older layers have the rate `before`, keeps within `most` at a fill of
 * its newest layer. */
static bool is_safe(const struct filter *filter, double before, double most, float fill) {
    struct layer newest = *filter_newest(filter);
    newest.ones = (uint64_t)((double)fill * (double)newest.nbits) + 1;
    if (newest.ones > newest.nbits) newest.ones = newest.nbits;
    return before + (1 - before) * layer_current_error_rate(&newest) <= most;
}

/* Creating a filter computes this, so it tries one fill first, which suits most: k hashes that were
 * rounded from a rate give a full layer a fill of 2^(0.5/k) / 2 at most, a little less than
 * (1 + 0.5/k) / 2. Otherwise halving the interval 8 times finds the fill to 0.4 %. The 0.999 is for
 * rounding, which is far smaller. */
float measure_safe_fill(const struct filter *filter) {
    struct filter older = *filter;
    older.nlayers--;
    double before = measure_error_rate(&older), most = 0.999 * most_rate(filter);
    if (before > most) return 0;
    float usual = 0.5f + 0.25f / (float)filter_newest(filter)->nhashes;
    if (is_safe(filter, before, most, usual)) return usual;
    float low = 0, high = usual;
    for (int i = 0; i < 8; i++) {
        float middle = (low + high) / 2;
        if (is_safe(filter, before, most, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
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
