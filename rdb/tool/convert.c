/* bloomport convert and bloomport merge: one or more filters are read, one is written. */

#define _GNU_SOURCE // stat
#include "module/core/combine.h"
#include "module/core/measure.h"
#include "module/core/mem.h"
#include "rdb/tool/options.h"
#include "rdb/tool/recognise.h"
#include "rdb/tool/report.h"
#include "rdb/tool/tool.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* A Cassandra filter is written in the variant that the name of its file tells, unless --variant
 * names one. */
static struct options keep_variant(const struct options *given) {
    struct options options = *given;
    if (options.variant_of == FILE_UNKNOWN) {
        options.variant = recognise_variant(options.operands[0]);
        options.variant_of = FILE_CASSANDRA;
    }
    return options;
}

int convert_run(const struct options *options) {
    options_need_operands(options, 1, 1, "the filter's file");
    if (options->format == FILE_UNKNOWN) tool_die("--to is missing: the format to convert to");
    struct filter *filter = file_load(options->operands[0], options, NULL);
    const struct options writing = keep_variant(options);
    file_save(filter, options->format, &writing);
    report_filter("", filter, filter_items(filter));
    filter_free(filter);
    return TOOL_OK;
}

/* ---- Merging ------------------------------------------------------------------------------ */

/* Ends the program if an item would set different bits in the two filters. */
static void check_alike(const struct filter *a, const struct filter *b, const char *path) {
    const struct filter *both[] = {a, b};
    struct mismatch mismatch;
    if (combine_is_possible(both, 2, &mismatch)) return;
    char what[COMBINE_TEXT_BYTES];
    combine_describe(&mismatch, b, true, what);
    tool_die("%s: cannot merge, %s", path, what);
}

static void add_file(struct filter *sum, const char *path, const struct options *options) {
    struct filter *next = file_load(path, options, NULL);
    check_alike(sum, next, path);
    bool changed;
    const struct filter *others[] = {next};
    enum status st = combine_union(sum, others, 1, FILTER_NO_LIMIT, &changed);
    if (st == STATUS_NOMEM) tool_die("%s: cannot merge, not enough memory", path);
    if (st != STATUS_OK)
        tool_die("%s: cannot merge, the union would exceed a filter's limits", path);
    filter_free(next);
}

/* Whether a file is one of those before it. BF.MERGE counts a repeated key once, and so do we: a
 * counting filter that is added to itself would count every item twice. */
static bool is_repeated(struct stat *files, int at, const char *path) {
    bool is_file = stat(path, &files[at]) == 0 && S_ISREG(files[at].st_mode);
    if (!is_file) files[at].st_ino = 0;
    for (int i = 0; is_file && i < at; i++) {
        if (files[i].st_ino == files[at].st_ino && files[i].st_dev == files[at].st_dev) return true;
    }
    return false;
}

int merge_run(const struct options *options) {
    options_need_operands(options, 2, INT_MAX, "a second filter's file");
    enum file_format format;
    struct stat *files = tool_alloc((size_t)options->noperands * sizeof(*files));
    is_repeated(files, 0, options->operands[0]);
    struct filter *sum = file_load(options->operands[0], options, &format);
    for (int i = 1; i < options->noperands; i++) {
        const char *path = options->operands[i];
        if (!is_repeated(files, i, path)) add_file(sum, path, options);
    }
    mem_free(files);
    if (format == FILE_SST) format = (enum file_format)FORMAT_ROCKSDB; // what is inside a table
    if (options->format != FILE_UNKNOWN) format = options->format;
    const struct options writing = keep_variant(options);
    file_save(sum, format, &writing);
    report_filter("", sum, filter_items(sum));
    if (measure_is_overfilled(sum)) {
        report_overfilled(options->output ? options->output : "standard output", true,
                          measure_error_rate(sum), measure_promise(sum));
    }
    filter_free(sum);
    return TOOL_OK;
}
