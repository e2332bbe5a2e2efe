/* Is the stated error rate the measured one? See tests/unit/stated.h.
 * Usage: study_stated [millions of lookups per cell, 4] [scheme] [layout] [largest n] */
#include "tests/unit/stated.h"

#include <strings.h>

static const uint64_t ITEMS[] = {1, 5, 10, 100, 1000, 10000, 100000, 1000000};
static const double RATES[] = {0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6};

static const char *const LAYOUTS[] = {"classic", "blocked", "counting"};

/* The size that BF.RESERVE gives, or of imported filters the textbook's in whole words. */
static bool size_of(struct geometry geometry, uint64_t n, double p, struct sizing *size) {
    if (!scheme_row(geometry.scheme)->is_imported && geometry.scheme != SCHEME_MURMUR)
        return sizing_by_error(n, p, geometry, size);
    double bits = -(double)n * log(p) / (log(2) * log(2));
    uint64_t unit =
        geometry.scheme == SCHEME_ROCKSDB || geometry.scheme == SCHEME_ROCKSDB4 ? 512 : 64;
    size->nbits = unit * ((uint64_t)ceil(bits / (double)unit) | (unit == 512));
    size->nhashes = (uint32_t)floor(0.5 - log2(p));
    return size->nbits <= scheme_row(geometry.scheme)->max_bits;
}

int main(int argc, char **argv) {
    double lookups = 1e6 * (argc > 1 ? atof(argv[1]) : 4);
    uint64_t largest = argc > 4 ? (uint64_t)atof(argv[4]) : 1000000;
    uint64_t smallest = argc > 5 ? (uint64_t)atof(argv[5]) : 1;
    for (int l = 0; l < LAYOUT_COUNT; l++) {
        if (argc > 3 && strcasecmp(argv[3], LAYOUTS[l]) != 0) continue;
        for (int s = 0; s < SCHEME_COUNT; s++) {
            const struct scheme_row *row = scheme_row((enum scheme)s);
            if (argc > 2 && strcasecmp(argv[2], row->word) != 0) continue;
            for (size_t i = 0; i < sizeof ITEMS / sizeof *ITEMS; i++) {
                for (size_t j = 0; j < sizeof RATES / sizeof *RATES; j++) {
                    struct stated_cell cell = {
                        {(enum layout)l, (enum scheme)s}, ITEMS[i], {0, 0}, 0};
                    if (ITEMS[i] > largest || ITEMS[i] < smallest ||
                        !size_of(cell.geometry, ITEMS[i], RATES[j], &cell.size))
                        continue;
                    for (int state = ITEMS[i] == 1; state < 4; state++) {
                        cell.state = (enum stated_state)state;
                        if (ITEMS[i] == 1 && state == STATED_MERGED_HALVES) continue;
                        struct stated_result r = stated_measure(&cell, lookups);
                        stated_print(&cell, &r);
                    }
                }
            }
        }
    }
    return 0;
}
