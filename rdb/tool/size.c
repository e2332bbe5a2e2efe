/* bloomport size: the calculator. Two of items, bits (or memory) and quality (an error rate or bits
 * per key) give the rest, by the module's own sizing, first for a layer that is filled to its
 * capacity, then for the filters that BF.RESERVE makes. Of a window, items and quality do. */

#include "module/core/filter/window.h"
#include "rdb/tool/json.h"
#include "rdb/tool/kinds.h"
#include "rdb/tool/options.h"
#include "rdb/tool/tool.h"

#include <math.h>
#include <stdio.h>

typedef unsigned long long number; // the type that printf prints portably

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
    uint64_t multiple = layout_row(geometry.layout)->multiple;
    size.nbits = nbits < multiple ? multiple : nbits / multiple * multiple;
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

static bool has_quality(const struct options *o) {
    return o->error_rate != 0 || o->bits_per_key != 0;
}

static struct answer solve(const struct options *o, struct geometry geometry) {
    int given = (o->items != 0) + (o->nbits != 0) + has_quality(o);
    if (given != 2) {
        tool_die("size takes two of: --items, --bits or --memory, --error or --bits-per-key");
    }
    if (o->nbits == 0) return (struct answer){o->items, size_for(o->items, o, geometry)};
    if (has_quality(o)) {
        uint64_t items = most_items(o, geometry);
        return (struct answer){items, size_for(items, o, geometry)};
    }
    return (struct answer){o->items, size_of(o->items, o->nbits, geometry)};
}

/* ---- Printing ----------------------------------------------------------------------------- */

static void print_bytes(const char *name, uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++) value /= 1024;
    printf("%-13s %llu bytes", name, (number)bytes);
    if (unit > 0) printf(" (%.1f %s)", value, units[unit]);
}

static void print_rate(double rate) {
    printf("error rate    %.6g", rate);
    if (rate > 0) printf(" (1 in %.0f)", 1 / rate);
}

static void print_geometry(struct geometry geometry) {
    printf("layout        %s\n", layout_word(geometry.layout));
    printf("hash          %s\n", tool_scheme_name(geometry.scheme));
}

static void print_json_geometry(struct geometry geometry) {
    json_text("layout", layout_word(geometry.layout));
    json_text("hash", tool_scheme_name(geometry.scheme));
}

static void print_table(const struct answer *a, struct geometry geometry) {
    double rate = sizing_error_rate(a->items, a->size, geometry);
    double bits = (double)a->size.nbits * layout_position_bits(geometry.layout);
    printf("items         %llu\n", (number)a->items);
    print_rate(rate);
    printf("\n%-13s %llu\n", layout_row(geometry.layout)->unit, (number)a->size.nbits);
    print_bytes("memory", layout_bytes(geometry.layout, a->size.nbits));
    printf("\nbits per key  %.4f\n", bits / (double)a->items);
    printf("hashes        %u\n", a->size.nhashes);
    print_geometry(geometry);
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

/* ---- Windows ------------------------------------------------------------------------------ */

#define DEFAULT_GENERATIONS 4

static void reserve_window(char out[KINDS_LINE], const struct options *o) {
    char words[64];
    snprintf(words, sizeof(words), " WINDOW %u GENERATIONS %u", o->window, o->generations);
    kinds_reserve(out, o, words);
}

static void print_window_rate(double promise) {
    if (promise < 1) {
        print_rate(promise);
        puts(", promised for all generations together");
    } else {
        puts("error rate    none: so few bits promise no rate");
    }
}

/* Prints seconds, and beside them the largest unit of which there are two. */
static void print_duration(const char *name, double seconds) {
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}};
    printf("%-13s %.13g seconds", name, seconds);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (seconds < 2 * units[i].seconds) continue;
        printf(" (%.4g %s)", seconds / units[i].seconds, units[i].name);
        break;
    }
    puts(" after its last add");
}

static void print_window(const struct generation *one, const struct options *o,
                         struct geometry geometry) {
    uint32_t live = o->generations + 1;
    uint64_t bytes = layout_bytes(geometry.layout, one->size.nbits),
             step = window_step(o->window, o->generations);
    printf("items         %llu in a window\n", (number)o->items);
    printf("window        %u seconds in %u generations\n", o->window, o->generations);
    print_duration("surely found", o->window);
    print_duration("surely gone", (double)(live * step) / 1000);
    print_window_rate(one->promise);
    printf("bits          %llu in a generation\n", (number)one->size.nbits);
    printf("hashes        %u\n", one->size.nhashes);
    print_bytes("generation", bytes);
    putchar('\n');
    print_bytes("memory", live * bytes);
    printf(", all %u generations\nbits per item %.4f of a window\n", live,
           8 * (double)(live * bytes) / (double)o->items);
    print_geometry(geometry);
}

static void print_window_json(const struct generation *one, const struct options *o,
                              struct geometry geometry) {
    char reserve[KINDS_LINE];
    reserve_window(reserve, o);
    uint32_t live = o->generations + 1;
    uint64_t bytes = layout_bytes(geometry.layout, one->size.nbits),
             step = window_step(o->window, o->generations);
    json_open(NULL, '{');
    json_count("items", o->items);
    json_real("promised_error_rate", one->promise);
    print_json_geometry(geometry);
    json_open("window", '{');
    json_count("seconds", o->window);
    json_count("generations", o->generations);
    json_seconds("surely_gone_seconds", live * step);
    json_count("bits", one->size.nbits);
    json_count("hashes", one->size.nhashes);
    json_count("generation_bytes", bytes);
    json_count("bytes", live * bytes);
    json_real("bits_per_item", 8 * (double)(live * bytes) / (double)o->items);
    json_text("reserve", reserve);
    json_close('{');
    json_close('{');
    json_end();
}

static int size_window(const struct options *given) {
    struct options o = *given;
    if (!layout_row(o.layout)->takes_window) {
        tool_die("layout %s cannot have a window", layout_word(o.layout));
    }
    if (o.items == 0 || o.nbits != 0 || !has_quality(&o)) {
        tool_die("size --window takes --items, and --error or --bits-per-key");
    }
    if (o.generations == 0) o.generations = DEFAULT_GENERATIONS;
    struct geometry geometry = {o.layout, o.scheme};
    struct generation one;
    if (!kinds_generation(&o, geometry, &one)) refuse_size();
    if (o.json) {
        print_window_json(&one, &o, geometry);
        return TOOL_OK;
    }
    char reserve[KINDS_LINE];
    reserve_window(reserve, &o);
    print_window(&one, &o, geometry);
    printf("\n%s\n", reserve);
    return TOOL_OK;
}

/* ---- Other filters ------------------------------------------------------------------------ */

static void print_json(const struct answer *a, struct geometry geometry, const struct kind *kinds,
                       size_t n, const struct options *o) {
    json_open(NULL, '{');
    json_count("items", a->items);
    json_real("error_rate", sizing_error_rate(a->items, a->size, geometry));
    print_json_geometry(geometry);
    json_count(layout_row(geometry.layout)->unit, a->size.nbits);
    json_count("hashes", a->size.nhashes);
    json_count("bytes", layout_bytes(geometry.layout, a->size.nbits));
    kinds_print_json(kinds, n, o);
    json_close('{');
    json_end();
}

static int size_plain(struct options *options, struct geometry geometry) {
    if (options->is_memory) options->nbits /= layout_position_bits(geometry.layout);
    struct answer answer = solve(options, geometry);
    struct kind kinds[KINDS_MAX];
    options->items = answer.items;
    size_t n = has_quality(options) ? kinds_of(options, geometry, kinds) : 0;
    if (options->json) {
        print_json(&answer, geometry, kinds, n, options);
        return TOOL_OK;
    }
    print_table(&answer, geometry);
    if (n > 0) kinds_print(kinds, n, options);
    print_plot(&answer, geometry);
    return TOOL_OK;
}

int size_run(const struct options *given) {
    struct options options = *given;
    options_need_operands(&options, 0, 0, "");
    if (options.window) return size_window(&options);
    if (options.generations) tool_die("--generations goes with --window only");
    return size_plain(&options, (struct geometry){options.layout, options.scheme});
}
