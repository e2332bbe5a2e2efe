/* bloomport size: the calculator. Two of items, bits (or memory) and quality (an error rate or bits
 * per key) give the rest, by the module's own sizing. */

#include "rdb/tool/options.h"
#include "rdb/tool/tool.h"

#include <math.h>
#include <stdio.h>

struct answer {
    uint64_t items;
    struct sizing size;
};

static void refuse_size(void) {
    tool_die("that is more bits than this layout and hash can address");
}

/* ---- The three questions -------------------------------------------------------------------- */

static struct sizing size_for(uint64_t items, const struct options *o, struct geometry geometry) {
    struct sizing size;
    bool fits = o->bits_per_key != 0 ? sizing_by_bits(items, o->bits_per_key, geometry, &size)
                                     : sizing_by_error(items, o->error_rate, geometry, &size);
    if (!fits) refuse_size();
    return size;
}

/* Items and bits are given: finds the best number of hashes. */
static struct sizing size_of(uint64_t items, uint64_t nbits, struct geometry geometry) {
    struct sizing size;
    double bits_per_key = (double)nbits / (double)items;
    if (nbits > sizing_max_bits(geometry)) refuse_size();
    // Beyond the range of bits per key, k stays as it is.
    if (bits_per_key < LIMITS_MIN_BITS_PER_KEY) bits_per_key = LIMITS_MIN_BITS_PER_KEY;
    if (bits_per_key > LIMITS_MAX_BITS_PER_KEY) bits_per_key = LIMITS_MAX_BITS_PER_KEY;
    if (!sizing_by_bits(items, bits_per_key, geometry, &size)) refuse_size();
    uint64_t block = geometry.layout == LAYOUT_BLOCKED ? 256 : 1;
    size.nbits = nbits < block ? block : nbits / block * block;
    return size;
}

static bool fits(uint64_t items, const struct options *o, struct geometry geometry) {
    struct sizing size;
    bool possible = o->bits_per_key != 0 ? sizing_by_bits(items, o->bits_per_key, geometry, &size)
                                         : sizing_by_error(items, o->error_rate, geometry, &size);
    return possible && size.nbits <= o->nbits;
}

/* Finds the most items that fit into the bits, by bisection: more items never need fewer bits. */
static uint64_t most_items(const struct options *o, struct geometry geometry) {
    if (o->nbits > SIZING_MAX_BITS) refuse_size();
    uint64_t low = 0, high = 1;
    while (high < SIZING_MAX_BITS && fits(high, o, geometry)) low = high, high *= 2;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (fits(middle, o, geometry)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (low == 0) tool_die("not one item fits into that");
    return low;
}

static struct answer solve(const struct options *o, struct geometry geometry) {
    bool has_quality = o->error_rate != 0 || o->bits_per_key != 0;
    int given = (o->items != 0) + (o->nbits != 0) + has_quality;
    if (given != 2) {
        tool_die("size takes two of: --items, --bits or --memory, --error or --bits-per-key");
    }
    if (o->nbits == 0) return (struct answer){o->items, size_for(o->items, o, geometry)};
    if (has_quality) {
        uint64_t items = most_items(o, geometry);
        return (struct answer){items, size_for(items, o, geometry)};
    }
    return (struct answer){o->items, size_of(o->items, o->nbits, geometry)};
}

/* ---- Printing ----------------------------------------------------------------------------- */

static void print_memory(uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++) value /= 1024;
    printf("memory        %llu bytes", (unsigned long long)bytes);
    if (unit > 0) printf(" (%.1f %s)", value, units[unit]);
    putchar('\n');
}

static void print_table(const struct answer *a, struct geometry geometry) {
    double rate = sizing_error_rate(a->items, a->size, geometry);
    printf("items         %llu\n", (unsigned long long)a->items);
    printf("error rate    %.6g", rate);
    if (rate > 0) printf(" (1 in %.0f)", 1 / rate);
    printf("\nbits          %llu\n", (unsigned long long)a->size.nbits);
    print_memory(layer_bytes(a->size.nbits));
    printf("bits per key  %.4f\n", (double)a->size.nbits / (double)a->items);
    printf("hashes        %u\n", a->size.nhashes);
    printf("layout        %s\n", tool_layout_name(geometry.layout));
    printf("hash          %s\n", tool_scheme_name(geometry.scheme));
}

#define PLOT_WIDTH 48
#define PLOT_STEPS 8 // rows up to the capacity, and as many beyond

/* Error rates span many powers of ten, so the bars are logarithmic: the full width is 1, an empty
 * bar is the rate at the first row or less. */
static void print_plot(const struct answer *a, struct geometry geometry) {
    double rates[2 * PLOT_STEPS], counts[2 * PLOT_STEPS];
    for (int i = 0; i < 2 * PLOT_STEPS; i++) {
        counts[i] = floor((double)a->items * (i + 1) / PLOT_STEPS);
        if (counts[i] < 1) counts[i] = 1;
        rates[i] = sizing_error_rate((uint64_t)counts[i], a->size, geometry);
        if (!(rates[i] > 1e-300)) rates[i] = 1e-300;
    }
    double decades = ceil(-log10(rates[0]));
    if (decades < 1) decades = 1;
    printf("\nerror rate of this size, by items (log scale, 1e-%.0f to 1)\n", decades);
    for (int i = 0; i < 2 * PLOT_STEPS; i++) {
        int length = (int)(PLOT_WIDTH * (1 + log10(rates[i]) / decades) + 0.5);
        printf("%16.0f %c %9.3g  ", counts[i], i == PLOT_STEPS - 1 ? '>' : ' ', rates[i]);
        for (int j = 0; j < length; j++) putchar('#');
        putchar('\n');
    }
}

int size_run(const struct options *options) {
    options_need_operands(options, 0, 0, "");
    struct geometry geometry = {options->layout, options->scheme};
    struct answer answer = solve(options, geometry);
    print_table(&answer, geometry);
    print_plot(&answer, geometry);
    return TOOL_OK;
}
