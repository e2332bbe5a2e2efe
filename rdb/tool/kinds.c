/* The filters that BF.RESERVE makes. See kinds.h. */

#include "rdb/tool/kinds.h"

#include "rdb/tool/json.h"
#include "rdb/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_EXPANSION 2
#define DEFAULT_WINDOW 86400 // seconds; the size does not depend on it
#define DEFAULT_GENERATIONS 4

typedef unsigned long long number; // the type that printf prints portably

/* ---- Sizes -------------------------------------------------------------------------------- */

/* What BF.RESERVE makes of these options, but for a window. */
static struct filter_params params_of(const struct options *o, struct geometry geometry,
                                      uint32_t expansion) {
    return (struct filter_params){.capacity = o->items,
                                  .error_rate = o->error_rate,
                                  .bits_per_key = o->bits_per_key,
                                  .expansion = expansion,
                                  .layout = geometry.layout,
                                  .scheme = geometry.scheme};
}

bool kinds_generation(const struct options *o, struct geometry geometry, struct generation *out) {
    struct filter_params params = params_of(o, geometry, DEFAULT_EXPANSION);
    params.window = o->window;
    params.generations = o->generations;
    double rate;
    if (!filter_first_layer(&params, &out->size, &rate)) return false;
    out->promise = o->bits_per_key != 0 ? 2 * (o->generations + 1) * rate : o->error_rate;
    return true;
}

/* ---- Commands ----------------------------------------------------------------------------- */

/* A number with as few digits as give the same number again. */
static void print_exactly(double value, char out[32]) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
}

void kinds_reserve(char out[KINDS_LINE], const struct options *o, const char *words) {
    bool is_default = o->layout == LAYOUT_DEFAULT;
    char quality[32];
    print_exactly(o->bits_per_key != 0 ? o->bits_per_key : o->error_rate, quality);
    snprintf(out, KINDS_LINE, "BF.RESERVE key %s%s %llu%s%s%s%s",
             o->bits_per_key != 0 ? "BITSPERKEY " : "", quality, (number)o->items, words,
             is_default ? "" : " LAYOUT ", is_default ? "" : layout_name(o->layout),
             o->scheme == SCHEME_FNV1A ? " HASH FNV1A" : "");
}

/* ---- The kinds ---------------------------------------------------------------------------- */

static struct kind plain(const struct options *o, struct geometry geometry, uint32_t expansion) {
    const struct layout_row *row = layout_row(geometry.layout);
    struct kind kind = {.name = "NONSCALING", .word = "nonscaling"};
    kind.when_full = row->removes ? "it takes no new items" : "it takes no more items";
    if (!row->grows) kind.name = layout_name(geometry.layout);
    if (expansion) {
        kind = (struct kind){"scaling (the default)", "scaling", "it grows", {0}, 0, ""};
    }
    struct filter_params params = params_of(o, geometry, expansion);
    double rate;
    if (!filter_first_layer(&params, &kind.size, &rate)) return kind;
    kind.bytes = layout_bytes(geometry.layout, kind.size.nbits);
    kinds_reserve(kind.reserve, o, expansion || !row->grows ? "" : " NONSCALING");
    return kind;
}

static struct kind window(const struct options *given, struct geometry geometry) {
    struct options o = *given;
    if (o.window == 0) o.window = DEFAULT_WINDOW;
    if (o.generations == 0) o.generations = DEFAULT_GENERATIONS;
    struct kind kind = {"WINDOW", "window", "it grows, and forgets what is old", {0}, 0, ""};
    struct generation one;
    if (!kinds_generation(&o, geometry, &one)) return kind;
    kind.size = one.size;
    kind.bytes = (o.generations + 1) * layout_bytes(geometry.layout, one.size.nbits);
    char words[64];
    snprintf(words, sizeof(words), " WINDOW %u GENERATIONS %u", o.window, o.generations);
    kinds_reserve(kind.reserve, &o, words);
    return kind;
}

size_t kinds_of(const struct options *options, struct geometry geometry,
                struct kind out[KINDS_MAX]) {
    size_t n = 0;
    const struct layout_row *row = layout_row(geometry.layout);
    if (row->grows) out[n++] = plain(options, geometry, DEFAULT_EXPANSION);
    out[n++] = plain(options, geometry, 0);
    if (row->takes_window) out[n++] = window(options, geometry);
    return n;
}

/* ---- Printing ----------------------------------------------------------------------------- */

static double bits_per_item(const struct kind *kind, const struct options *options) {
    return 8 * (double)kind->bytes / (double)options->items;
}

void kinds_print(const struct kind *kinds, size_t n, const struct options *options) {
    printf("\n%-22s %16s %13s %7s  %s\n", "BF.RESERVE makes", "bytes", "bits per item", "hashes",
           "when it is full");
    for (size_t i = 0; i < n; i++) {
        if (kinds[i].bytes == 0) continue; // more bits than can be addressed
        printf("%-22s %16llu %13.4f %7u  %s\n", kinds[i].name, (number)kinds[i].bytes,
               bits_per_item(&kinds[i], options), kinds[i].size.nhashes, kinds[i].when_full);
    }
    putchar('\n');
    for (size_t i = 0; i < n; i++) {
        if (kinds[i].bytes != 0) puts(kinds[i].reserve);
    }
}

void kinds_print_json(const struct kind *kinds, size_t n, const struct options *options) {
    for (size_t i = 0; i < n; i++) {
        if (kinds[i].bytes == 0) continue;
        json_open(kinds[i].word, '{');
        json_count("bits", kinds[i].size.nbits);
        json_count("hashes", kinds[i].size.nhashes);
        json_count("bytes", kinds[i].bytes);
        json_real("bits_per_item", bits_per_item(&kinds[i], options));
        json_text("reserve", kinds[i].reserve);
        json_close('{');
    }
}
