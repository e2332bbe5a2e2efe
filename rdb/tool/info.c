/* bloomport info: a filter's numbers, for people or as JSON. They are those of the whole file: also
 * of a window's generations that are over by now. */

#define _GNU_SOURCE // gmtime_r
#include "module/core/filter/window.h"
#include "module/core/measure.h"
#include "rdb/tool/json.h"
#include "rdb/tool/options.h"
#include "rdb/tool/report.h"
#include "rdb/tool/tool.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

typedef unsigned long long number; // the type that printf prints portably

static double fill_of(const struct filter *filter) {
    return (double)measure_ones(filter) / (double)measure_bits(filter);
}

/* What an array has m of. */
static const char *unit_of(const struct filter *filter) {
    return layout_row(filter->layout)->unit;
}

/* ---- For people --------------------------------------------------------------------------- */

static void print_sizes(const struct filter *filter) {
    bool has_counters = layout_row(filter->layout)->has_counters;
    char unit[24];
    snprintf(unit, sizeof(unit), "%s (m)", unit_of(filter));
    printf("layers              %u\n", filter->nlayers);
    if (filter->nlayers == 1) printf("hashes per item (k) %u\n", filter->layers[0].nhashes);
    printf("%-19s %llu\n", unit, (number)measure_bits(filter));
    printf("bytes               %llu\n", (number)filter_array_bytes(filter));
    printf("%-19s %llu\n", has_counters ? "counters over 0" : "ones", (number)measure_ones(filter));
}

static void print_layers(const struct filter *filter) {
    printf("\n%5s %16s %5s %16s %10s %16s\n", "layer", unit_of(filter), "k", "capacity", "fill",
           "items");
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        printf("%5u %16llu %5u %16llu %10.6f %16llu\n", i + 1, (number)layer->nbits, layer->nhashes,
               (number)layer->capacity, (double)layer->ones / (double)layer->nbits,
               (number)layer->items);
    }
}

/* Writes a time as 2026-11-17T08:00:00.000Z. The year of the latest time there is has 9 digits, and
 * musl's strftime would put a plus sign before it. */
static const char *print_time(uint64_t ms, char out[48]) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t len = (size_t)snprintf(out, 16, "%d", 1900 + utc.tm_year);
    len += strftime(out + len, 24, "-%m-%dT%H:%M:%S", &utc);
    snprintf(out + len, 8, ".%03uZ", (unsigned)(ms % 1000));
    return out;
}

/* One row for the layers from `first` to `end` - 1, which began together. */
static void print_generation(const struct filter *filter, uint32_t first, uint32_t end) {
    uint64_t start = filter->layers[first].start, items = 0;
    char begins[48], ends[48];
    for (uint32_t i = first; i < end; i++) items += filter->layers[i].items;
    printf("%-24s %15llu %-24s %6u %16llu\n", start ? print_time(start, begins) : "not begun",
           (number)start, start ? print_time(window_end(filter, start), ends) : "-", end - first,
           (number)items);
}

static void print_generations(const struct filter *filter) {
    printf("\n%-24s %15s %-24s %6s %16s\n", "generation from (UTC)", "from (ms)", "until (UTC)",
           "layers", "items");
    for (uint32_t first = 0, end; first < filter->nlayers; first = end) {
        uint64_t start = filter->layers[first].start;
        for (end = first; end < filter->nlayers && filter->layers[end].start == start;) end++;
        print_generation(filter, first, end);
    }
}

/* Only a dump has counts; other formats have nothing but the bits. */
static void print_text(const struct filter *filter, enum file_format format) {
    printf("format              %s\n", file_format_name(format));
    printf("layout              %s\n", layout_word(filter->layout));
    printf("hash                %s\n", tool_scheme_name(filter->scheme));
    if (filter->window) {
        printf("window              %u s in %u generations\n", filter->window, filter->generations);
    }
    print_sizes(filter);
    printf("fill                %.6f\n", fill_of(filter));
    if (!filter->is_estimated) printf("items               %llu\n", (number)filter_items(filter));
    printf("estimated items     %llu\n", (number)measure_items(filter));
    printf("capacity            %llu\n", (number)filter_capacity(filter));
    printf("expansion           %u\n", filter->expansion);
    printf("current error rate  %.6g\n", measure_error_rate(filter));
    if (filter->window) print_generations(filter);
    if (filter->nlayers > 1) print_layers(filter);
}

/* ---- As JSON ------------------------------------------------------------------------------ */

static void print_json_window(const struct filter *filter) {
    if (filter->window == 0) {
        json_null("window");
        return;
    }
    json_open("window", '{');
    json_count("seconds", filter->window);
    json_count("generations", filter->generations);
    json_count("capacity", filter->window_capacity);
    json_close('{');
}

static void print_json_layer(const struct filter *filter, const struct layer *layer) {
    json_open(NULL, '{');
    json_count("start", layer->start);
    json_count(unit_of(filter), layer->nbits);
    json_count("hashes", layer->nhashes);
    json_count("capacity", layer->capacity);
    json_count("items", layer->items);
    json_count("ones", layer->ones);
    json_real("fill", (double)layer->ones / (double)layer->nbits);
    json_real("current_error_rate", layer_current_error_rate(layer));
    json_close('{');
}

/* A line. `name` is that of the file where there are several, else NULL. */
static void print_json(const struct filter *filter, enum file_format format, const char *name) {
    json_open(NULL, '{');
    if (name) json_text("file", name);
    json_text("format", file_format_name(format));
    json_text("layout", layout_word(filter->layout));
    json_text("hash", tool_scheme_name(filter->scheme));
    print_json_window(filter);
    json_count("hashes", filter->layers[0].nhashes);
    json_count(unit_of(filter), measure_bits(filter));
    json_count("bytes", filter_array_bytes(filter));
    json_count("ones", measure_ones(filter));
    json_real("fill", fill_of(filter));
    json_count("items", filter_items(filter));
    json_bool("items_are_estimated", filter->is_estimated);
    json_count("estimated_items", measure_items(filter));
    json_count("capacity", filter_capacity(filter));
    json_count("expansion", filter->expansion);
    json_real("current_error_rate", measure_error_rate(filter));
    json_open("layers", '[');
    for (uint32_t i = 0; i < filter->nlayers; i++) print_json_layer(filter, &filter->layers[i]);
    json_close('[');
    json_close('{');
    json_end();
}

/* ---- Many files --------------------------------------------------------------------------- */

static void print_heading(void) {
    printf("%-12s %-12s %6s %5s %16s %10s %16s %12s  %s\n", "format", "hash", "layers", "k", "bits",
           "fill", "estimated items", "error rate", "file");
}

/* k is that of the first layer. */
static void print_row(const struct filter *filter, enum file_format format, const char *name) {
    printf("%-12s %-12s %6u %5u %16llu %10.6f %16llu %12.6g  %s\n", file_format_name(format),
           tool_scheme_name(filter->scheme), filter->nlayers, filter->layers[0].nhashes,
           (number)measure_bits(filter), fill_of(filter), (number)measure_items(filter),
           measure_error_rate(filter), name);
}

/* A file that has no filter does not end the list: its line says why. */
static void print_fault(const char *name, const char *fault, bool json) {
    if (!json) {
        printf("%-12s %s: %s\n", "-", name, fault);
        return;
    }
    json_open(NULL, '{');
    json_text("file", name);
    json_text("error", fault);
    json_close('{');
    json_end();
}

static bool print_one_of_many(const char *path, const struct options *options) {
    enum file_format format;
    char fault[FILE_FAULT], name[PATH_MAX];
    struct filter *filter = file_try(path, options, &format, fault);
    snprintf(name, sizeof(name), "%s", path);
    report_make_printable(name);
    if (!filter) {
        print_fault(name, fault, options->json);
    } else if (options->json) {
        print_json(filter, format, name);
    } else {
        print_row(filter, format, name);
    }
    bool is_shown = filter != NULL;
    filter_free(filter);
    return is_shown;
}

static int list_files(const struct options *options) {
    int nbad = 0;
    if (!options->json) print_heading();
    for (int i = 0; i < options->noperands; i++) {
        if (!print_one_of_many(options->operands[i], options)) nbad++;
    }
    if (nbad > 0) tool_die("%d of %d files have no filter to show", nbad, options->noperands);
    return TOOL_OK;
}

int info_run(const struct options *options) {
    options_need_operands(options, 1, INT_MAX, "the filter's file");
    if (options->noperands > 1) return list_files(options);
    enum file_format format;
    struct filter *filter = file_load(options->operands[0], options, &format);
    if (options->json) {
        print_json(filter, format, NULL);
    } else {
        print_text(filter, format);
    }
    filter_free(filter);
    return TOOL_OK;
}
