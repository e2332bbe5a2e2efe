/* What the bits of a filter say about it now. See measure.h. */

#include "rdb/tool/measure.h"

uint64_t measure_items(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += layer_estimate_items(&filter->layers[i]);
    return sum;
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

/* As a sum, 1 - (1-r1)(1-r2)... = r1 + (1-r1) * (...), which loses no digits of small rates. */
double measure_error_rate(const struct filter *filter) {
    double rate = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        rate += (1 - rate) * layer_current_error_rate(&filter->layers[i]);
    }
    return rate;
}
