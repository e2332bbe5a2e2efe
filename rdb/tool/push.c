/* bloomport push and bloomport pull: a filter between a file and a server, in the pieces of
 * BF.LOADCHUNK and BF.SCANDUMP (FORMAT.md, section 4), so that its size does not matter.
 *
 * push --replace loads beside the key and renames at the end: the old filter answers until the new
 * one is whole, and stays if anything goes wrong. */

#include "module/core/mem.h"
#include "rdb/codec.h"
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/server.h"
#include "rdb/tool/tool.h"

#include <stdio.h>
#include <string.h>

static struct server *connect_to(const struct options *options) {
    if (!options->key) tool_die("--key is missing");
    const char *host = options->host ? options->host : "127.0.0.1";
    struct server_address address = {host, options->port, options->socket, options->database};
    return server_open(&address);
}

/* ---- push --------------------------------------------------------------------------------- */

static const char *send_header(struct server *server, const char *key,
                               const struct filter *filter) {
    size_t len = codec_header_size(filter);
    uint8_t *header = tool_alloc(len);
    codec_encode_header(filter, header);
    const char *error = server_load(server, key, 1, header, len);
    mem_free(header);
    return error;
}

static const char *send_bits(struct server *server, const char *key, const struct filter *filter) {
    struct progress progress;
    progress_begin(&progress, "pushing", filter_array_bytes(filter));
    const char *error = NULL;
    const uint8_t *bytes;
    size_t len;
    for (uint64_t at = 0;
         !error && (len = codec_piece_at(filter, at, CODEC_PIECE_BYTES, &bytes)) > 0;) {
        at += len;
        error = server_load(server, key, at + 1, bytes, len); // the iterator is where it ends, + 1
        progress_show(&progress, at);
    }
    progress_end(&progress);
    return error;
}

/* Loads the filter under a key that does not exist; if it cannot, the key is gone again. */
static void send_filter(struct server *server, const char *key, const struct filter *filter) {
    const char *error = send_header(server, key, filter);
    if (error) tool_die("server: %s", error);
    error = send_bits(server, key, filter);
    if (!error) return;
    char text[256]; // the server's words do not outlive the next call
    snprintf(text, sizeof(text), "%s", error);
    server_unlink(server, key);
    tool_die("server: %s", text);
}

/* A key beside this one, in the same slot of a cluster: the part in braces, or all of the key,
 * decides the slot. NULL if no braces can be put round it. */
static char *key_beside(const char *key) {
    const char *open = strchr(key, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    bool has_tag = close && close > open + 1;
    if (!has_tag && (strchr(key, '}') || !*key)) return NULL;
    size_t size = strlen(key) + 32;
    char *beside = tool_alloc(size);
    snprintf(beside, size, has_tag ? "%s:bloomport-push" : "{%s}:bloomport-push", key);
    return beside;
}

static void replace(struct server *server, const char *key, const struct filter *filter) {
    char *beside = key_beside(key);
    const char *error = server_unlink(server, beside ? beside : key); // also of an earlier attempt
    if (error) tool_die("server: %s", error);
    send_filter(server, beside ? beside : key, filter);
    if (beside && (error = server_rename(server, beside, key))) tool_die("server: %s", error);
    mem_free(beside);
}

int push_run(const struct options *options) {
    options_need_operands(options, 1, 1, "the filter's file");
    struct server *server = connect_to(options);
    bool exists = false;
    const char *error = server_exists(server, options->key, &exists);
    if (error) tool_die("server: %s", error);
    if (exists && !options->replace) {
        tool_die("the key '%s' exists: --replace replaces it", options->key);
    }
    struct filter *filter = file_load(options->operands[0], options, NULL);
    if (exists) {
        replace(server, options->key, filter);
    } else {
        send_filter(server, options->key, filter);
    }
    filter_free(filter);
    server_close(server);
    return TOOL_OK;
}

/* ---- pull --------------------------------------------------------------------------------- */

static struct filter *receive_header(struct server *server, const char *key) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    const char *error = server_scan(server, key, 0, &next, &bytes, &len);
    if (error) tool_die("server: %s", error);
    struct filter *filter;
    enum status st = codec_decode_header(bytes, len, FILTER_NO_LIMIT, &filter);
    if (st == STATUS_NOMEM) tool_die("no memory for a filter of this size");
    if (st != STATUS_OK || next != 1 || filter->is_loading) {
        tool_die("'%s' on the server is not a dump of bloomport or RedisBloom", key);
    }
    filter->is_loading = !filter->is_adopted;
    if (filter->is_loading) filter->loaded = 0;
    return filter;
}

static const char CHANGED[] =
    "the filter changed while it was pulled: try again, or pull a copy (COPY)";

/* Of our own filters the last piece is taken only if all bits are those of the header. */
static void take_piece(struct filter *filter, uint64_t at, uint64_t next, const uint8_t *bytes,
                       size_t len) {
    if (len == 0 || next != at + 1 + len) tool_die("the filter became shorter");
    enum codec_piece result = codec_put_piece(filter, next - 1, bytes, len);
    bool is_known = filter->is_adopted && result == CODEC_PIECE_KNOWN; // zeroes, as they were
    if (result != CODEC_PIECE_STORED && !is_known) tool_die(CHANGED);
}

/* RedisBloom's header has counts of items, but none of bits: it must still be the same. */
static void check_header(struct server *server, const char *key, const struct filter *filter) {
    size_t expected = codec_header_size(filter), len;
    uint8_t *header = tool_alloc(expected);
    codec_encode_header(filter, header);
    uint64_t next;
    const uint8_t *bytes;
    const char *error = server_scan(server, key, 0, &next, &bytes, &len);
    if (error) tool_die("server: %s", error);
    if (len != expected || memcmp(bytes, header, len) != 0) tool_die(CHANGED);
    mem_free(header);
}

static struct filter *receive_filter(struct server *server, const char *key) {
    struct filter *filter = receive_header(server, key);
    struct progress progress;
    uint64_t total = filter_array_bytes(filter);
    progress_begin(&progress, "pulling", total);
    for (uint64_t at = 0; at < total;) {
        uint64_t next;
        const uint8_t *bytes;
        size_t len;
        const char *error = server_scan(server, key, at + 1, &next, &bytes, &len);
        if (error) tool_die("server: %s", error);
        take_piece(filter, at, next, bytes, len);
        at += len;
        progress_show(&progress, at);
    }
    progress_end(&progress);
    if (filter->is_adopted) check_header(server, key, filter);
    return filter;
}

int pull_run(const struct options *options) {
    options_need_operands(options, 0, 0, "");
    struct server *server = connect_to(options);
    struct filter *filter = receive_filter(server, options->key);
    server_close(server);
    bool is_chosen = options->format != FILE_UNKNOWN;
    file_save(filter, is_chosen ? options->format : file_default_format(filter), options->output);
    filter_free(filter);
    return TOOL_OK;
}
