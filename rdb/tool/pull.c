/* bloomport pull: a filter from a server to a file, in the pieces of BF.SCANDUMP (rdb/FORMAT.md,
 * section 4), so that a filter may have any size, as it was at one moment (moment.h). */

#include "rdb/tool/pull.h"
#include "rdb/codec.h"
#include "rdb/tool/moment.h"
#include "rdb/tool/options.h"
#include "rdb/tool/push.h"
#include "rdb/tool/redisson.h"
#include "rdb/tool/report.h"
#include "rdb/tool/server.h"
#include "rdb/tool/tool.h"

/* The filter that a header describes, with empty arrays. */
static struct filter *decode_header(const char *key, const uint8_t *bytes, size_t len) {
    struct filter *filter;
    enum status st = codec_decode_header(bytes, len, FILTER_NO_LIMIT, &filter);
    if (st == STATUS_NOMEM) tool_die("no memory for a filter of this size");
    if (st != STATUS_OK || filter->is_loading) {
        tool_die("'%s' on the server is not a filter that this version can pull", key);
    }
    codec_expect_pieces(filter);
    return filter;
}

struct filter *pull_header(struct server *server, const char *key) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    const char *error = server_scan(server, key, 0, &next, &bytes, &len);
    if (error) server_die(server, key, error);
    return decode_header(key, bytes, len);
}

/* False: the pieces do not fit the header. The decoder takes the last piece of bloomport's own
 * filters only if the set bits are as many as the header states. */
static bool take_pieces(struct filter *filter, struct moment *moment) {
    const uint8_t *bytes;
    for (size_t len; (len = moment_next(moment, &bytes)) > 0;) {
        bool is_complete = !filter->is_loading; // at any time, as a foreign filter is
        enum codec_piece result = codec_put_piece(filter, moment->at, bytes, len);
        bool is_present = is_complete && result == CODEC_PIECE_PRESENT; // zeroes, as they were
        if (result != CODEC_PIECE_STORED && !is_present) return false;
    }
    return moment->at == filter_array_bytes(filter);
}

static struct filter *receive_filter(struct server *server, const char *key) {
    struct moment moment;
    struct filter *filter;
    moment_open(&moment, server, key, "pulling", false);
    for (;;) {
        moment_begin(&moment);
        filter = decode_header(key, moment.header, moment.header_len);
        bool fits = take_pieces(filter, &moment);
        bool is_one = moment_end(&moment);
        if (is_one && !fits) tool_die("key '%s': its pieces contradict its header", key);
        if (is_one) break;
        filter_free(filter);
    }
    moment_close(&moment);
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
