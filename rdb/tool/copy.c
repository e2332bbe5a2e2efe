/* bloomport copy: a filter from one server to another, piece by piece, so that no more than one
 * piece of it is in memory at a time.
 *
 * Bits that are set while the pieces travel make them another filter than the header says. The
 * source's header, which counts the set bits, tells. Then the source makes a copy of the key (COPY)
 * that nobody adds to, and that one travels. */

#include "module/core/mem.h"
#include "rdb/tool/beside.h"
#include "rdb/tool/options.h"
#include "rdb/tool/report.h"
#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#define SNAPSHOT_MS UINT64_C(3600000) // a copy that is left behind is gone after an hour

struct source {
    struct server *server;
    const char *key;  // as the user named it
    const char *from; // the key that is read: the same, or a copy of it
    char *snapshot;
    uint8_t *header;
    size_t header_len;
};

/* ---- The source --------------------------------------------------------------------------- */

static void delete_snapshot(struct source *source) {
    if (!source->snapshot) return;
    server_unlink(source->server, source->snapshot);
    mem_free(source->snapshot);
    source->snapshot = NULL;
}

static _Noreturn void die_of(struct source *source, const char *error) {
    char text[512];
    snprintf(text, sizeof(text), "%s", error);
    delete_snapshot(source);
    server_die(source->server, source->key, text);
}

static void read_header(struct source *source) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    const char *error = server_scan(source->server, source->from, 0, &next, &bytes, &len);
    if (error) die_of(source, error);
    mem_free(source->header);
    source->header = memcpy(tool_alloc(len), bytes, len);
    source->header_len = len;
}

static bool has_changed(struct source *source) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    const char *error = server_scan(source->server, source->from, 0, &next, &bytes, &len);
    if (error) die_of(source, error);
    return len != source->header_len || memcmp(bytes, source->header, len) != 0;
}

static void make_snapshot(struct source *source) {
    source->snapshot = beside_name(source->key);
    const char *words[] = {"COPY", source->key, source->snapshot};
    const char *error = server_words(source->server, 3, words);
    if (!error) error = server_expire(source->server, source->snapshot, SNAPSHOT_MS);
    if (error) {
        char text[600];
        snprintf(text, sizeof(text), "it changes while it is copied, and cannot be kept still: %s",
                 error);
        die_of(source, text);
    }
    source->from = source->snapshot;
    read_header(source);
}

/* The integer that a command on the key answers, alone or in an array; 0 if there is none. */
static uint64_t number_of(struct source *source, int argc, const char **words) {
    if (server_words(source->server, argc, words)) return 0;
    const redisReply *reply = server_reply(source->server);
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 1) reply = reply->element[0];
    bool is_number = reply->type == REDIS_REPLY_INTEGER && reply->integer > 0;
    return is_number ? (uint64_t)reply->integer : 0;
}

static uint64_t size_of(struct source *source) {
    const char *words[] = {"BF.INFO", source->key, "SIZE"};
    return number_of(source, 3, words);
}

static uint64_t ttl_of(struct source *source) {
    const char *words[] = {"PTTL", source->key};
    return number_of(source, 2, words);
}

/* ---- The way ------------------------------------------------------------------------------ */

/* Sends all pieces. False: the filter changed meanwhile, or the target says so. */
static bool send_pieces(struct source *source, struct beside *beside, uint64_t *total) {
    for (uint64_t at = 0;;) {
        uint64_t next;
        const uint8_t *bytes;
        size_t len;
        const char *error = server_scan(source->server, source->from, at + 1, &next, &bytes, &len);
        if (error) beside_delete(beside), die_of(source, error);
        *total = at;
        if (next == 0) return !has_changed(source);
        if (len == 0 || next != at + 1 + len) return false; // it became shorter
        error = server_load(beside->server, beside->name, next, bytes, len);
        if (error && has_changed(source)) return false; // the last piece does not fit the header
        beside_check_call(beside, error);
        beside_check_call(beside, server_expire(beside->server, beside->name, SNAPSHOT_MS));
        at += len;
        progress_show(beside->progress, at);
    }
}

/* Puts the filter beside its key on the target. */
static void send_filter(struct source *source, struct beside *beside, struct server *to,
                        const char *key, struct progress *progress, uint64_t *total) {
    for (int attempt = 0;; attempt++) {
        beside_begin(beside, to, key, source->header, source->header_len, progress);
        if (send_pieces(source, beside, total)) return;
        beside_delete(beside);
        beside_free(beside);
        if (attempt > 0) die_of(source, "its copy changes while it is copied");
        make_snapshot(source);
    }
}

/* ---- The command -------------------------------------------------------------------------- */

/* A URL has no words for certificates: both servers get those of the options. */
static struct target with_certificates(struct target target, const struct target *words) {
    target.cacert = words->cacert;
    target.cacertdir = words->cacertdir;
    target.cert = words->cert;
    target.private_key = words->private_key;
    target.is_insecure = words->is_insecure;
    target.is_any_name = words->is_any_name;
    target.timeout = words->timeout;
    target.is_cluster = words->is_cluster;
    return target;
}

static void check_options(const struct options *o) {
    options_need_operands(o, 0, 0, "");
    if (!o->has_source || !o->has_destination) tool_die("copy needs --from and --to, two URLs");
    if (!o->key) tool_die("--key is missing");
    if (o->merge && o->replace) tool_die("--merge and --replace exclude each other, give one");
}

static void check_target_key(struct server *to, const char *key, const struct options *o) {
    bool exists = false;
    const char *error = server_exists(to, key, &exists);
    if (error) server_die(to, key, error);
    if (exists && !o->replace && !o->merge) {
        tool_die("the key '%s' exists: --replace replaces it, --merge unites them", key);
    }
}

int copy_run(const struct options *options) {
    check_options(options);
    const struct target from = with_certificates(options->source, &options->server);
    const struct target into = with_certificates(options->destination, &options->server);
    const char *key = options->key_to ? options->key_to : options->key;
    struct source source = {
        .server = server_open(&from), .key = options->key, .from = options->key};
    struct server *to = server_open(&into);
    check_target_key(to, key, options);
    struct progress progress;
    struct beside beside;
    uint64_t total, ttl = ttl_of(&source);
    progress_begin(&progress, "copying", size_of(&source));
    read_header(&source);
    send_filter(&source, &beside, to, key, &progress, &total);
    progress_end(&progress);
    beside_take_place(&beside, options, ttl);
    delete_snapshot(&source);
    beside_free(&beside);
    mem_free(source.header);
    server_close(to);
    server_close(source.server);
    char size[REPORT_COUNT];
    report_note("%s: %s, %.2f s", options->merge ? "merged" : "copied", report_bytes(total, size),
                report_seconds());
    return TOOL_OK;
}
