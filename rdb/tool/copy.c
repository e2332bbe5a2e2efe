/* bloomport copy: a filter from one server to another, piece by piece, as it was at one moment
 * (moment.h), and so that no more than one piece of it is in memory at a time; of a filter that is
 * in use, no more than MOMENT_WHOLE_BYTES. */

#include "rdb/tool/moment.h"
#include "rdb/tool/options.h"
#include "rdb/tool/report.h"
#include "rdb/tool/stage.h"
#include "rdb/tool/tool.h"

#include <stdio.h>

/* Sends all pieces. False: they are not those of one moment. That may be why the target refuses
 * one, so its error counts only if they are. */
static bool send_pieces(struct moment *moment, struct stage *stage) {
    const uint8_t *bytes;
    for (size_t len; (len = moment_next(moment, &bytes)) > 0;) {
        const char *error = stage_try(stage, moment->at, bytes, len);
        if (!error) continue;
        char text[512];
        snprintf(text, sizeof(text), "%s", error);
        if (moment_end(moment)) stage_check_call(stage, text);
        return false;
    }
    return moment_end(moment);
}

/* Loads the filter under a staging key on the target. */
static void send_filter(struct moment *moment, struct stage *stage, struct server *to,
                        const char *key) {
    for (;;) {
        moment_begin(moment);
        stage_begin(stage, to, key, moment->header, moment->header_len, &moment->progress);
        if (send_pieces(moment, stage)) return;
        stage_delete(stage);
        stage_free(stage);
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
    struct server *source = server_open(&from), *to = server_open(&into);
    check_target_key(to, key, options);
    struct moment moment;
    struct stage stage;
    moment_open(&moment, source, options->key, "copying", true);
    send_filter(&moment, &stage, to, key);
    progress_end(&moment.progress);
    stage_take_place(&stage, options, moment_ttl(&moment));
    uint64_t total = moment.at;
    moment_close(&moment);
    stage_free(&stage);
    server_close(to);
    server_close(source);
    char size[REPORT_COUNT];
    report_note("%s: %s, %.2f s", options->merge ? "merged" : "copied", report_bytes(total, size),
                report_seconds());
    return TOOL_OK;
}
