/* bloomport push: a filter from a file to a server, in the pieces of BF.LOADCHUNK (rdb/FORMAT.md,
 * section 4), so that a filter may have any size. stage.h says how it takes its place. */

#include "rdb/tool/push.h"

#include "module/core/measure.h"
#include "module/core/mem.h"
#include "rdb/codec.h"
#include "rdb/tool/options.h"
#include "rdb/tool/report.h"
#include "rdb/tool/stage.h"
#include "rdb/tool/tool.h"

static void send_arrays(struct stage *stage, const struct filter *filter) {
    const uint8_t *bytes;
    size_t len;
    for (uint64_t at = 0; (len = codec_piece_at(filter, at, CODEC_PIECE_BYTES, &bytes)) > 0;) {
        at += len;
        stage_put(stage, at, bytes, len);
        progress_show(stage->progress, at);
    }
    progress_end(stage->progress);
}

static void send_to_key(struct server *server, const struct filter *filter,
                        const struct options *options) {
    struct progress progress;
    struct stage stage;
    size_t len = codec_header_size(filter);
    uint8_t *header = tool_alloc(len);
    codec_encode_header(filter, header);
    progress_begin(&progress, "pushing", filter_array_bytes(filter));
    stage_begin(&stage, server, options->key, header, len, &progress);
    send_arrays(&stage, filter);
    stage_take_place(&stage, options, 0);
    stage_free(&stage);
    mem_free(header);
}

/* ---- Room --------------------------------------------------------------------------------- */

/* A filter that was sized for one layer gives it the whole error rate: what it grows by comes on
 * top, as after BF.IMPORT with EXPANSION. */
void push_set_expansion(struct filter *filter, const struct options *options, const char *path) {
    if (!options->has_expansion || options->expansion == filter->expansion) return;
    if (filter_is_foreign(filter))
        tool_die("%s: --expansion: another program's filter keeps its own", path);
    if (!layout_row(filter->layout)->grows) {
        tool_die("%s: --expansion: a %s filter never grows", path, layout_word(filter->layout));
    }
    if (filter->window && options->expansion == 0)
        tool_die("%s: --expansion: a window must grow", path);
    if (filter->expansion == 0 && filter->nlayers == 1) {
        double promise = measure_promise(filter);
        report_note("'%s' was sized without growth: grown, its error rate may reach %.3g (build "
                    "--expansion keeps it at %.3g)",
                    options->key ? options->key : path, promise * (2 - SIZING_FIRST_SHARE),
                    promise);
    }
    filter->expansion = options->expansion;
}

/* The last percent counts as none: it is gone with the next few adds. */
static void note_room(const struct filter *filter, const char *key) {
    uint64_t items = filter_items(filter), capacity = filter_capacity(filter);
    if (filter->expansion != 0 || items < capacity - capacity / 100) return;
    char a[REPORT_COUNT], b[REPORT_COUNT];
    report_note(
        "'%s' has no room for more items (it holds %s, its capacity is %s): push --expansion "
        "2 lets it grow",
        key, report_count(items, a), report_count(capacity, b));
}

void push_check_key(struct server *server, const struct options *options) {
    bool exists = false;
    const char *error = server_exists(server, options->key, &exists);
    if (error) server_die(server, options->key, error);
    if (exists && !options->replace && !options->merge) {
        tool_die("the key '%s' exists: --replace replaces it%s", options->key,
                 options->redisson ? "" : ", --merge unites them");
    }
}

void push_filter(struct server *server, const struct filter *filter,
                 const struct options *options) {
    send_to_key(server, filter, options);
    report_filter(options->merge ? "merged: " : "pushed: ", filter, filter_items(filter));
    if (options->merge) return; // the room is that of both
    note_room(filter, options->key);
    if (measure_is_overfilled(filter)) {
        report_overfilled(options->key, false, measure_error_rate(filter), measure_promise(filter));
    }
}

int push_run(const struct options *options) {
    options_need_operands(options, 1, 1, "the filter's file");
    if (!options->key) tool_die("--key is missing");
    if (options->merge && options->replace) {
        tool_die("--merge and --replace exclude each other, give one");
    }
    struct server *server = server_open(&options->server);
    push_check_key(server, options);
    struct filter *filter = file_load(options->operands[0], options, NULL);
    push_set_expansion(filter, options, options->operands[0]);
    push_filter(server, filter, options);
    filter_free(filter);
    server_close(server);
    return TOOL_OK;
}
