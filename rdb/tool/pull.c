/* bloomport pull: a filter from a server to a file, in the pieces of BF.SCANDUMP (rdb/FORMAT.md,
 * section 4), so that a filter may have any size. */

#include "rdb/tool/pull.h"
#include "module/core/mem.h"
#include "rdb/codec.h"
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/push.h"
#include "rdb/tool/redisson.h"
#include "rdb/tool/report.h"
#include "rdb/tool/server.h"
#include "rdb/tool/tool.h"

#include <string.h>

struct filter *pull_header(struct server *server, const char *key) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    const char *error = server_scan(server, key, 0, &next, &bytes, &len);
    if (error) server_die(server, key, error);
    struct filter *filter;
    enum status st = codec_decode_header(bytes, len, FILTER_NO_LIMIT, &filter);
    if (st == STATUS_NOMEM) tool_die("no memory for a filter of this size");
    if (st != STATUS_OK || next != 1 || filter->is_loading) {
        tool_die("'%s' on the server is not a filter that this version can pull", key);
    }
    filter->is_loading = !filter->is_foreign;
    if (filter->is_loading) filter->loaded = 0;
    return filter;
}

static const char CHANGED[] =
    "the filter changed while it was pulled: try again, or pull a copy (COPY)";

/* The decoder takes the last piece of bloomport's own filters only if the set bits are as many as
 * the header states. */
static void take_piece(struct filter *filter, uint64_t at, uint64_t next, const uint8_t *bytes,
                       size_t len) {
    if (len == 0 || next != at + 1 + len) tool_die("the filter became shorter");
    enum codec_piece result = codec_put_piece(filter, next - 1, bytes, len);
    bool is_known = filter->is_foreign && result == CODEC_PIECE_PRESENT; // zeroes, as they were
    if (result != CODEC_PIECE_STORED && !is_known) tool_die(CHANGED);
}

/* The headers of foreign filters have counts of items, but none of set bits: the header at the end
 * must equal the one at the beginning. */
static void check_header(struct server *server, const char *key, const struct filter *filter) {
    size_t expected = codec_header_size(filter), len;
    uint8_t *header = tool_alloc(expected);
    codec_encode_header(filter, header);
    uint64_t next;
    const uint8_t *bytes;
    const char *error = server_scan(server, key, 0, &next, &bytes, &len);
    if (error) server_die(server, key, error);
    if (len != expected || memcmp(bytes, header, len) != 0) tool_die(CHANGED);
    mem_free(header);
}

static struct filter *receive_filter(struct server *server, const char *key) {
    struct filter *filter = pull_header(server, key);
    struct progress progress;
    uint64_t total = filter_array_bytes(filter);
    progress_begin(&progress, "pulling", total);
    for (uint64_t at = 0; at < total;) {
        uint64_t next;
        const uint8_t *bytes;
        size_t len;
        const char *error = server_scan(server, key, at + 1, &next, &bytes, &len);
        if (error) server_die(server, key, error);
        take_piece(filter, at, next, bytes, len);
        at += len;
        progress_show(&progress, at);
    }
    progress_end(&progress);
    if (filter->is_foreign) check_header(server, key, filter);
    return filter;
}

static void check_options(const struct options *options) {
    options_need_operands(options, 0, 0, "");
    if (!options->key && !options->redisson) tool_die("--key is missing");
    bool is_pushed = options->redisson && options->key;
    if (options->replace && !is_pushed) tool_die("--replace goes with --redisson and --key");
    if (options->has_expansion && !options->redisson) tool_die("--expansion goes with --redisson");
    if (is_pushed && (options->output || options->format != FILE_UNKNOWN)) {
        tool_die("--redisson with --key writes no file: --output and --format do not go with it");
    }
}

static void save_filter(const struct filter *filter, const struct options *options) {
    bool is_chosen = options->format != FILE_UNKNOWN;
    file_save(filter, is_chosen ? options->format : file_default_format(filter), options);
    report_filter("pulled: ", filter, filter_items(filter));
}

int pull_run(const struct options *options) {
    check_options(options);
    bool is_pushed = options->redisson && options->key;
    struct server *server = server_open(&options->server);
    if (is_pushed) push_check_key(server, options);
    struct filter *filter = options->redisson ? redisson_pull(server, options->redisson)
                                              : receive_filter(server, options->key);
    if (options->redisson) push_set_expansion(filter, options, options->redisson);
    if (is_pushed) push_filter(server, filter, options);
    server_close(server);
    if (!is_pushed) save_filter(filter, options);
    filter_free(filter);
    return TOOL_OK;
}
