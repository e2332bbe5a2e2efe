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

/* By GROWTH_RATIO the first layer has all of the filter's rate, and those after it add theirs. */
bool measure_is_overfilled(const struct filter *filter) {
    double promise = measure_promise(filter);
    if (filter->growth == GROWTH_RATIO) promise /= 1 - filter->ratio;
    return measure_error_rate(filter) > 2 * promise;
}
