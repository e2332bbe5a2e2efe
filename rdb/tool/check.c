/* bloomport check: reads items and prints those that the filter may contain, or, with --absent,
 * those that it surely does not. It needs memory for the filter and one buffer, however long the
 * input is. */

#include "module/core/filter/batch.h"
#include "rdb/tool/items.h"
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/report.h"
#include "rdb/tool/stream.h"
#include "rdb/tool/tool.h"

#include <stdio.h>
#include <string.h>

/* A larger buffer than stdio's own makes fewer writes. */
#define OUTPUT_BYTES ((size_t)256 * 1024)

static void print_item(const struct item *item, char separator) {
    fwrite(item->line, 1, item->line_len, stdout);
    putchar(separator);
}

/* Returns how many items of the batch are selected, and prints them unless only the count is
 * wanted. */
static uint64_t check_batch(const struct filter *filter, const struct item *batch, size_t n,
                            const struct options *options) {
    struct hash hashes[ITEMS_BATCH];
    bool contained[ITEMS_BATCH];
    for (size_t i = 0; i < n; i++) hashes[i] = filter_hash(filter, batch[i].bytes, batch[i].len);
    struct filter view;
    const struct filter *live = file_live(filter, &view); // a pipe may outlast a generation
    if (live) {
        batch_contains_many(live, hashes, n, contained);
    } else {
        memset(contained, 0, n * sizeof(contained[0]));
    }
    uint64_t selected = 0;
    for (size_t i = 0; i < n; i++) {
        if (contained[i] == options->absent) continue;
        selected++;
        if (!options->count) print_item(&batch[i], options->how.nul ? '\0' : '\n');
    }
    return selected;
}

static uint64_t check_all(const struct filter *filter, struct items *items,
                          const struct options *options, uint64_t bytes) {
    struct item batch[ITEMS_BATCH];
    struct progress progress;
    uint64_t selected = 0;
    progress_begin(&progress, "checking", bytes);
    for (size_t n; (n = items_next(items, batch)) > 0;) {
        selected += check_batch(filter, batch, n, options);
        // A caller that writes line by line reads the answers line by line.
        if (!options->count && items_are_drained(items)) fflush(stdout);
        if (ferror(stdout)) report_lost_output();
        progress_show(&progress, items->bytes_read);
    }
    progress_end(&progress);
    return selected;
}

/* ---- A filter on a server ------------------------------------------------------------------ */

struct selection {
    const struct options *options;
    uint64_t selected;
};

static void take_answer(void *context, const uint8_t *line, size_t len, bool is_there) {
    struct selection *selection = context;
    if (is_there == selection->options->absent) return;
    selection->selected++;
    if (selection->options->count) return;
    const struct item item = {.line = line, .line_len = len};
    print_item(&item, selection->options->how.nul ? '\0' : '\n');
    if (ferror(stdout)) report_lost_output();
}

static uint64_t check_server(struct items *items, const struct options *options, uint64_t bytes) {
    if (!options->key) tool_die("--key is missing");
    static struct stream stream;
    struct selection selection = {.options = options};
    struct server *server = server_open(&options->server);
    bool exists = false;
    const char *error = server_exists(server, options->key, &exists);
    if (error) server_die(server, options->key, error);
    if (!exists) tool_die("key '%s': there is no such key", options->key);
    stream_open(&stream, server, options, false);
    stream.wants_lines = options->how.hex || options->how.column;
    stream.answer = take_answer;
    stream.context = &selection;
    stream_run(&stream, items, bytes);
    stream_close(&stream);
    server_close(server);
    return selection.selected;
}

/* ---- Both --------------------------------------------------------------------------------- */

int check_run(const struct options *options) {
    bool is_remote = options->on_server || options->key;
    if (!is_remote && target_is_given(&options->server)) {
        tool_die(
            "the filter is a file, and a server was named: --server --key names a filter there");
    }
    if (!is_remote) options_need_operands(options, 1, 1 << 30, "the filter's file");
    char **paths = options->operands + !is_remote;
    int npaths = options->noperands - !is_remote;
    if (!is_remote && npaths == 0 && strcmp(options->operands[0], "-") == 0) {
        tool_die("filter and items cannot both come from standard input");
    }
    static char buffer[OUTPUT_BYTES];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    struct filter *filter = is_remote ? NULL : file_load(options->operands[0], options, NULL);
    struct items items;
    uint64_t bytes = 0;
    items_are_files(paths, npaths, &bytes);
    report_waiting(paths, npaths);
    items_open(&items, paths, npaths, &options->how);
    uint64_t selected = is_remote ? check_server(&items, options, bytes)
                                  : check_all(filter, &items, options, bytes);
    if (items.bytes_read == 0) report_note("the input is empty: there is nothing to check");
    items_close(&items);
    if (filter) filter_free(filter);
    if (options->count) printf("%llu\n", (unsigned long long)selected);
    return selected ? TOOL_FOUND : TOOL_NONE;
}
