/* bloomport convert and bloomport merge: one or more filters are read, one is written. */

#include "module/core/combine.h"
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

/* Ends the program if an item would set different bits in the two filters. */
static void check_alike(const struct filter *a, const struct filter *b, const char *path) {
    uint32_t i = 0;
    enum difference difference = combine_difference(a, b, &i);
    const struct layer *x = &a->layers[i], *y = &b->layers[i];
    switch (difference) {
    case DIFFERENCE_NONE: return;
    case DIFFERENCE_SCHEME:
        tool_die("%s: cannot merge, its hash is %s and not %s", path, tool_scheme_name(b->scheme),
                 tool_scheme_name(a->scheme));
    case DIFFERENCE_LAYOUT:
        tool_die("%s: cannot merge, its layout is %s and not %s", path, tool_layout_name(b->layout),
                 tool_layout_name(a->layout));
    case DIFFERENCE_BITS:
        tool_die("%s: cannot merge, layer %u has %llu bits and not %llu", path, i + 1,
                 (unsigned long long)y->nbits, (unsigned long long)x->nbits);
    case DIFFERENCE_HASHES:
        tool_die("%s: cannot merge, layer %u has %u hashes and not %u", path, i + 1, y->nhashes,
                 x->nhashes);
    }
}

int merge_run(const struct options *options) {
    options_need_operands(options, 2, INT_MAX, "a second filter's file");
    enum file_format format;
    struct filter *sum = file_load(options->operands[0], options, &format);
    for (int i = 1; i < options->noperands; i++) {
        struct filter *next = file_load(options->operands[i], options, NULL);
        check_alike(sum, next, options->operands[i]);
        bool changed;
        const struct filter *others[] = {next};
        if (combine_union(sum, others, 1, FILTER_NO_LIMIT, &changed) != STATUS_OK) {
            tool_die("%s: cannot merge, not enough memory", options->operands[i]);
        }
        filter_free(next);
    }
    if (options->format != FILE_UNKNOWN) format = options->format;
    file_save(sum, format, options->output);
    filter_free(sum);
    return TOOL_OK;
}
