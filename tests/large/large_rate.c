/* Positions have 64 bits throughout: a filter of 5,000,000,000 bits (625 MB), filled with
 * 500,000,000 items, has the rate that sizing computes, and no false negatives. Positions cut to 32
 * bits would leave 14 % of the array empty and give 1.3 % instead of 0.82 %.
 *
 *     large_rate [items]     default 500000000; minutes, and 1.25 bytes of memory per item
 *
 * Prints what it measures; exit status 1 if a claim does not hold. */

#include "tests/unit/growing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct geometry CLASSIC = {LAYOUT_CLASSIC, SCHEME_XXH64};

#define BITS_PER_KEY 10
#define PROBES 2000000 // expected rate 0.0083: 16,500 hits, 4 sigma are 3.1 % of it
#define SIGMAS 4

static struct hash item_hash(uint64_t i) {
    char text[24];
    size_t len = 0;
    do {
        text[len++] = (char)('0' + i % 10); // digits backwards: as good an item as any
        i /= 10;
    } while (i > 0);
    return scheme_hash(SCHEME_XXH64, NULL, text, len);
}

/* As many adds as the filter has room for; one in a few hundred does not count. */
static bool fill(struct filter *filter, uint64_t items) {
    time_t start = time(NULL);
    for (uint64_t i = 0; i < items; i++) {
        bool added;
        if (add_growing(filter, item_hash(i), FILTER_NO_LIMIT, &added) != STATUS_OK) return false;
        if (i % (items / 10) == items / 10 - 1) {
            printf("%llu items after %.0f s\n", (unsigned long long)i + 1,
                   difftime(time(NULL), start));
            fflush(stdout);
        }
    }
    return true;
}

static bool has_no_false_no(const struct filter *filter, uint64_t items) {
    uint64_t step = items > PROBES ? items / PROBES : 1, missing = 0;
    for (uint64_t i = 0; i < items; i += step) missing += !filter_contains(filter, item_hash(i));
    printf("false negatives: %llu of %llu\n", (unsigned long long)missing,
           (unsigned long long)(items / step));
    return missing == 0;
}

/* The rate is within 4 sigma of the computed one, on either side. */
static bool has_the_right_rate(const struct filter *filter, uint64_t items) {
    const struct layer *layer = &filter->layers[0];
    struct sizing size = {layer->nbits, layer->nhashes};
    double expected = sizing_error_rate(layer->items, size, CLASSIC), hits = 0;
    for (uint64_t i = items; i < items + PROBES; i++) hits += filter_contains(filter, item_hash(i));
    double rate = hits / PROBES, sigma = sqrt(expected * (1 - expected) / PROBES);
    printf("false-positive rate: %.6f, expected %.6f +- %.6f (%d sigma, %d probes)\n", rate,
           expected, SIGMAS * sigma, SIGMAS, PROBES);
    return fabs(rate - expected) <= SIGMAS * sigma;
}

static bool has_the_right_count(const struct filter *filter) {
    const struct layer *layer = &filter->layers[0];
    uint64_t ones = layer_count_ones(layer);
    printf("set bits: %llu kept, %llu counted anew, of %llu\n", (unsigned long long)layer->ones,
           (unsigned long long)ones, (unsigned long long)layer->nbits);
    return ones == layer->ones;
}

int main(int argc, char **argv) {
    uint64_t items = argc > 1 ? strtoull(argv[1], NULL, 10) : 500000000;
    if (items < 1000) {
        fprintf(stderr, "usage: large_rate [items, 1000 or more]\n");
        return 2;
    }
    struct filter_params params = {.capacity = items, .bits_per_key = BITS_PER_KEY};
    struct filter *filter = NULL;
    if (filter_new(&params, FILTER_NO_LIMIT, &filter) != STATUS_OK) {
        fprintf(stderr, "no memory for %llu items\n", (unsigned long long)items);
        return 1;
    }
    bool ok = filter->layers[0].nbits == BITS_PER_KEY * items;
    ok &= fill(filter, items);
    ok &= has_no_false_no(filter, items);
    ok &= has_the_right_rate(filter, items);
    ok &= has_the_right_count(filter);
    filter_free(filter);
    puts(ok ? "1 passed, 0 failed" : "0 passed, 1 failed");
    return ok ? 0 : 1;
}
