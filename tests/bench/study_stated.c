/* Is the error rate that filters state the one that lookups find? A row for each layout, hash and
 * number of items, a column for each rate that the filter was made for: stated / measured, the
 * least and the most of half full, full, the union of two halves and of two full filters.
 *
 *   0.98-1.01   within 10 % and 4 sigma (tests/unit/stated.h)
 *   0.87-1.20*  not all of them
 *   .           too few false positives to tell: sigma is over a tenth
 *
 * Usage: study_stated [millions of lookups per cell, 4] [hash] [layout] [smallest n] [largest n]
 * With CELLS=1 in the environment it prints a line for each cell. */

#include "tests/unit/stated.h"

#include <strings.h>

static const uint64_t ITEMS[] = {1, 5, 10, 100, 1000, 10000, 100000, 1000000};
static const double RATES[] = {0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6};

static const char *const LAYOUTS[] = {"classic", "blocked", "counting"};

/* The size that BF.RESERVE gives. Where filters come from other programs, the textbook's in whole
 * words, or in an odd number of lines. */
static bool size_of(struct geometry geometry, uint64_t n, double p, struct sizing *size) {
    const struct scheme_row *scheme = scheme_row(geometry.scheme);
    bool is_ours = !scheme->is_imported && geometry.scheme != SCHEME_MURMUR;
    if (is_ours) return sizing_by_error(n, p, geometry, size);
    double bits = -(double)n * log(p) / (log(2) * log(2));
    bool has_lines = scheme->rule == RULE_LINE || scheme->rule == RULE_LINE4;
    size->nbits = has_lines ? SCHEME_LINE_BITS * ((uint64_t)ceil(bits / SCHEME_LINE_BITS) | 1)
                            : 64 * (uint64_t)ceil(bits / 64);
    size->nhashes = (uint32_t)floor(0.5 - log2(p));
    return size->nbits <= scheme->max_bits;
}

static void study_column(struct geometry geometry, uint64_t n, double p, double lookups) {
    struct stated_cell cell = {.geometry = geometry, .items = n};
    double least = INFINITY, most = 0;
    bool is_true = true;
    if (!size_of(geometry, n, p, &cell.size)) {
        printf("  %-10s", "-");
        return;
    }
    for (int state = 0; state <= STATED_MERGED_FULL; state++) {
        if (n == 1 && (state == STATED_HALF || state == STATED_MERGED_HALVES)) continue;
        cell.state = (enum stated_state)state;
        struct stated_result r = stated_measure(&cell, lookups);
        if (getenv("CELLS")) stated_print(&cell, &r);
        if (!stated_is_true(&r)) is_true = false;
        if (!(r.sigma <= 0.1 * r.measured)) continue;
        least = fmin(least, r.stated / r.measured);
        most = fmax(most, r.stated / r.measured);
    }
    char text[32] = ".";
    if (most > 0) snprintf(text, sizeof text, "%.2f-%.2f%s", least, most, is_true ? "" : "*");
    printf("  %-10s", text);
    fflush(stdout);
}

static void study_scheme(struct geometry geometry, double lookups, double from, double to) {
    for (size_t i = 0; i < sizeof ITEMS / sizeof *ITEMS; i++) {
        if ((double)ITEMS[i] < from || (double)ITEMS[i] > to) continue;
        printf("%-8s %-12s %8llu", LAYOUTS[geometry.layout], scheme_row(geometry.scheme)->word,
               (unsigned long long)ITEMS[i]);
        for (size_t j = 0; j < sizeof RATES / sizeof *RATES; j++) {
            study_column(geometry, ITEMS[i], RATES[j], lookups);
        }
        printf("\n");
    }
}

int main(int argc, char **argv) {
    double lookups = 1e6 * (argc > 1 ? atof(argv[1]) : 4);
    double from = argc > 4 ? atof(argv[4]) : 1, to = argc > 5 ? atof(argv[5]) : 1e6;
    printf("%-8s %-12s %8s", "layout", "hash", "items");
    for (size_t j = 0; j < sizeof RATES / sizeof *RATES; j++) printf("  %-10g", RATES[j]);
    printf("\n");
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        if (argc > 3 && strcasecmp(argv[3], LAYOUTS[layout]) != 0) continue;
        // the other layouts differ from CLASSIC by their own rules, not by the hash
        for (int s = 0; s < (layout == LAYOUT_CLASSIC ? SCHEME_COUNT : 1); s++) {
            struct geometry geometry = {(enum layout)layout, (enum scheme)s};
            if (argc > 2 && strcasecmp(argv[2], scheme_row(geometry.scheme)->word) != 0) continue;
            study_scheme(geometry, lookups, from, to);
        }
    }
    return 0;
}
