/* bloomport convert and bloomport merge: filters in, one filter out. */

#include "rdb/tool/measure.h"
#include "rdb/tool/options.h"
#include "rdb/tool/tool.h"

#include <limits.h>

int convert_run(const struct options *options) {
    options_need_operands(options, 1, 1, "the filter's file");
    if (options->format == FILE_UNKNOWN) tool_die("--to is missing: the format to convert to");
    struct filter *filter = file_load(options->operands[0], options, NULL);
    file_save(filter, options->format, options->output);
    filter_free(filter);
    return TOOL_OK;
}

/* ---- Merging ------------------------------------------------------------------------------ */

/* Ends the program at the first difference that makes the same item set different bits. */
static void check_alike(const struct filter *a, const struct filter *b, const char *path) {
    if (a->scheme != b->scheme) {
        tool_die("%s: cannot merge, its hash is %s and not %s", path, tool_scheme_name(b->scheme),
                 tool_scheme_name(a->scheme));
    }
    if (a->layout != b->layout) {
        tool_die("%s: cannot merge, its layout is %s and not %s", path, tool_layout_name(b->layout),
                 tool_layout_name(a->layout));
    }
    for (uint32_t i = 0; i < a->nlayers && i < b->nlayers; i++) {
        const struct layer *x = &a->layers[i], *y = &b->layers[i];
        if (x->nbits != y->nbits) {
            tool_die("%s: cannot merge, layer %u has %llu bits and not %llu", path, i + 1,
                     (unsigned long long)y->nbits, (unsigned long long)x->nbits);
        }
        if (x->nhashes != y->nhashes) {
            tool_die("%s: cannot merge, layer %u has %u hashes and not %u", path, i + 1, y->nhashes,
                     x->nhashes);
        }
    }
}

static void merge_layer(struct layer *into, const struct layer *from) {
    size_t size = (size_t)layer_bytes(into->nbits);
    for (size_t i = 0; i < size; i++) into->bits[i] |= from->bits[i];
    into->ones = layer_count_ones(into);
    into->items = layer_estimate_items(into);
}

/* The union of two chains; the longer one, with what only it has, becomes the result. */
static struct filter *merge(struct filter *a, struct filter *b) {
    struct filter *into = a->nlayers >= b->nlayers ? a : b;
    struct filter *from = into == a ? b : a;
    for (uint32_t i = 0; i < from->nlayers; i++) merge_layer(&into->layers[i], &from->layers[i]);
    into->is_estimated = true; // common items were counted twice
    filter_free(from);
    return into;
}

int merge_run(const struct options *options) {
    options_need_operands(options, 2, INT_MAX, "a second filter's file");
    enum file_format format;
    struct filter *sum = file_load(options->operands[0], options, &format);
    for (int i = 1; i < options->noperands; i++) {
        struct filter *next = file_load(options->operands[i], options, NULL);
        check_alike(sum, next, options->operands[i]);
        sum = merge(sum, next);
    }
    if (options->format != FILE_UNKNOWN) format = options->format;
    file_save(sum, format, options->output);
    filter_free(sum);
    return TOOL_OK;
}
