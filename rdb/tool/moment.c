/* A filter on a server, as it was at one moment. See moment.h. */

#include "rdb/tool/moment.h"

#include "module/core/mem.h"
#include "rdb/codec.h"
#include "rdb/tool/report.h"
#include "rdb/tool/signals.h"
#include "rdb/tool/stage.h"
#include "rdb/tool/tool.h"
#include "rdb/tool/undo.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#define SNAPSHOT_MS UINT64_C(3600000) // what is left behind is gone an hour after its last piece
#define MOST_WHOLES 5                 // a filter does not grow five times in as many milliseconds

void moment_open(struct moment *m, struct server *server, const char *key, const char *what,
                 bool wants_ttl) {
    *m = (struct moment){.server = server, .key = key, .wants_ttl = wants_ttl, .ttl_ms = -1};
    progress_begin(&m->progress, what, 0);
}

/* ---- What all ways share --------------------------------------------------------------------- */

static _Noreturn void die_of(struct moment *m, const char *error) {
    progress_end(&m->progress);
    server_die(m->server, m->key, error);
}

/* Without these nobody knows whether the pieces belong together. */
static _Noreturn void die_of_rights(struct moment *m, const char *error) {
    char text[600];
    bool is_refused = strstr(error, "NOPERM") || strstr(error, "the server has no");
    if (!is_refused) die_of(m, error);
    snprintf(text, sizeof(text),
             "%s (WATCH, MULTI and EXEC make sure that what is read is one moment of the filter)",
             error);
    die_of(m, text);
}

static void take_header(struct moment *m, const uint8_t *bytes, size_t len) {
    mem_free(m->header);
    m->header = memcpy(tool_alloc(len), bytes, len);
    m->header_len = len;
    uint64_t total = codec_header_bytes(bytes, len);
    m->progress.total = total == UINT64_MAX ? 0 : total;
}

static void take_ttl(struct moment *m, const redisReply *reply) {
    m->ttl_ms = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    m->ttl_seconds = report_seconds();
}

static const char *read_ttl(struct moment *m, const char *key) {
    if (!m->wants_ttl) return NULL;
    const char *words[] = {"PTTL", key};
    const char *error = server_words(m->server, 2, words);
    if (!error) take_ttl(m, server_reply(m->server));
    return error;
}

uint64_t moment_ttl(const struct moment *m) {
    if (m->ttl_ms < 0) return 0;
    long long passed = (long long)((report_seconds() - m->ttl_seconds) * 1000);
    return passed < m->ttl_ms ? (uint64_t)(m->ttl_ms - passed) : 1;
}

static void note_fault(struct moment *m, const char *error) {
    snprintf(m->fault, sizeof(m->fault), "%s", error);
}

static bool is_redirection(const char *error) {
    return strncmp(error, "MOVED ", 6) == 0 || strncmp(error, "ASK ", 4) == 0;
}

static const char *read_header(struct moment *m, const char *key) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    const char *error = server_scan(m->server, key, 0, &next, &bytes, &len);
    if (!error) take_header(m, bytes, len);
    return error;
}

/* ---- Live ------------------------------------------------------------------------------------ */

/* False: the slot moved between two commands. */
static bool begin_live(struct moment *m) {
    const char *words[] = {"WATCH", m->key};
    const char *error = server_pin(m->server, 2, words);
    if (error) die_of_rights(m, error);
    error = read_ttl(m, m->key);
    if (!error) error = read_header(m, m->key);
    if (!error) return true;
    if (!is_redirection(error)) die_of(m, error);
    server_unpin(m->server);
    return false;
}

/* An empty transaction, which fails if the key was touched since WATCH. A slot that moved is a
 * change too: another node has the key now. */
static bool end_live(struct moment *m) {
    const char *multi[] = {"MULTI"}, *exec[] = {"EXEC"};
    size_t len = 4;
    const char *error = server_words(m->server, 1, multi);
    if (error) die_of_rights(m, error);
    error = server_send(m->server, 1, exec, &len);
    if (!error) error = server_receive(m->server);
    if (error) die_of_rights(m, error);
    bool is_untouched = server_reply(m->server)->type == REDIS_REPLY_ARRAY;
    server_unpin(m->server);
    if (is_untouched && *m->fault && !is_redirection(m->fault)) die_of(m, m->fault);
    return is_untouched && !*m->fault;
}

/* ---- Whole ----------------------------------------------------------------------------------- */

/* Sends BF.SCANDUMP for an iterator, as part of a transaction. */
static void queue_scan(struct moment *m, uint64_t iterator) {
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    const char *words[] = {"BF.SCANDUMP", m->key, number};
    size_t lens[] = {strlen(words[0]), strlen(m->key), strlen(number)};
    const char *error = server_send(m->server, 3, words, lens);
    if (error) die_of(m, error);
}

/* Queues the time to live, the header, each piece that a filter like this one has, and what comes
 * after the last. Returns how many commands that is. */
static size_t queue_all(struct moment *m, const struct filter *filter) {
    const char *words[] = {"PTTL", m->key};
    size_t lens[] = {4, strlen(m->key)}, n = 1;
    const char *error = m->wants_ttl ? server_send(m->server, 2, words, lens) : NULL;
    if (error) die_of(m, error);
    queue_scan(m, 0);
    uint64_t at = 0;
    const uint8_t *bytes;
    for (size_t len; (len = codec_piece_at(filter, at, CODEC_PIECE_BYTES, &bytes)) > 0; n++) {
        queue_scan(m, at + 1);
        at += len;
    }
    queue_scan(m, at + 1);
    return n + 1 + m->wants_ttl;
}

/* Takes the answers to queued commands, and then that of EXEC. False: the slot is moving. */
static bool execute(struct moment *m, size_t nqueued) {
    const char *words[] = {"EXEC"};
    size_t len = 4;
    const char *error = server_send(m->server, 1, words, &len);
    for (size_t i = 0; i <= nqueued && !error; i++) {
        error = server_receive(m->server);
        bool is_queued = i < nqueued && error && server_reply(m->server);
        if (is_queued && !*m->fault) note_fault(m, error); // EXEC will fail, and say less
        if (is_queued) error = NULL;
    }
    if (!error) return true;
    if (is_redirection(m->fault)) return false;
    die_of(m, *m->fault ? m->fault : error);
}

/* Whether the answers are the header, pieces without a gap, and the end. */
static bool take_answers(struct moment *m, const redisReply *reply) {
    uint64_t next = 1, at = 0;
    const uint8_t *bytes;
    size_t len, first = m->wants_ttl;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < first + 2) return false;
    if (server_parse_scan(reply->element[first], &next, &bytes, &len)) return false;
    take_header(m, bytes, len);
    if (m->wants_ttl) take_ttl(m, reply->element[0]);
    m->element = first + 1;
    for (size_t i = m->element; i < reply->elements; i++) {
        if (server_parse_scan(reply->element[i], &next, &bytes, &len)) return false;
        bool is_end = i + 1 == reply->elements;
        if (is_end ? next != 0 : len == 0 || next != at + 1 + len) return false;
        at += len;
    }
    return true;
}

/* False: it is too large for this way, or has grown between the two commands. */
static bool begin_whole(struct moment *m) {
    const char *words[] = {"BF.SCANDUMP", m->key, "0"}, *multi[] = {"MULTI"};
    m->fault[0] = '\0';
    const char *error = server_pin(m->server, 3, words);
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    if (!error) error = server_parse_scan(server_reply(m->server), &next, &bytes, &len);
    if (error) die_of(m, error);
    struct filter *filter;
    bool is_small = codec_header_bytes(bytes, len) <= MOMENT_WHOLE_BYTES &&
                    codec_decode_header(bytes, len, FILTER_NO_LIMIT, &filter) == STATUS_OK;
    m->wholes = is_small ? m->wholes + 1 : MOST_WHOLES;
    if (is_small) {
        error = server_words(m->server, 1, multi);
        if (error) die_of_rights(m, error);
        bool is_done = execute(m, queue_all(m, filter));
        filter_free(filter);
        if (is_done && take_answers(m, server_reply(m->server))) return true;
    }
    server_unpin(m->server);
    return false;
}

static size_t next_whole(struct moment *m, const uint8_t **bytes) {
    uint64_t next;
    size_t len;
    server_parse_scan(server_reply(m->server)->element[m->element++], &next, bytes, &len);
    return len;
}

/* ---- Snapshot -------------------------------------------------------------------------------- */

static void delete_snapshot(void *context) {
    struct moment *m = context;
    server_unlink(m->server, m->snapshot);
}

static void begin_snapshot(struct moment *m) {
    m->snapshot = stage_name(m->key);
    const char *words[] = {"COPY", m->key, m->snapshot};
    signals_watch();
    const char *error = server_words(m->server, 3, words);
    if (error) {
        char text[600];
        snprintf(text, sizeof(text), "it changes while it is read, and cannot be kept still: %s",
                 error);
        die_of(m, text);
    }
    undo_push(delete_snapshot, m);
    error = read_ttl(m, m->snapshot); // COPY took it along
    if (!error) error = server_expire(m->server, m->snapshot, SNAPSHOT_MS);
    if (!error) error = read_header(m, m->snapshot);
    if (error) die_of(m, error);
}

/* ---- An attempt ------------------------------------------------------------------------------ */

void moment_begin(struct moment *m) {
    m->at = 0;
    m->fault[0] = '\0';
    if (m->way == MOMENT_LIVE && begin_live(m)) return;
    m->way = MOMENT_WHOLE;
    while (m->wholes < MOST_WHOLES) {
        if (begin_whole(m)) return;
    }
    m->way = MOMENT_SNAPSHOT;
    begin_snapshot(m);
}

static size_t next_scanned(struct moment *m, const uint8_t **bytes) {
    const char *key = m->snapshot ? m->snapshot : m->key;
    uint64_t next;
    size_t len = 0;
    const char *error = NULL;
    if (m->snapshot && m->at > 0) error = server_expire(m->server, key, SNAPSHOT_MS);
    if (!error) error = server_scan(m->server, key, m->at + 1, &next, bytes, &len);
    if (!error && len > 0 && next != m->at + 1 + len) error = "its pieces have a gap";
    if (!error) return len;
    if (m->snapshot) die_of(m, error);
    note_fault(m, error);
    return 0;
}

size_t moment_next(struct moment *m, const uint8_t **bytes) {
    if (signals_caught()) {
        progress_end(&m->progress);
        undo_all();
        signals_raise();
    }
    size_t len = m->way == MOMENT_WHOLE ? next_whole(m, bytes) : next_scanned(m, bytes);
    m->at += len;
    progress_show(&m->progress, m->at);
    return len;
}

bool moment_end(struct moment *m) {
    bool is_one = m->way != MOMENT_LIVE || end_live(m);
    if (m->way == MOMENT_WHOLE) server_unpin(m->server);
    if (m->way == MOMENT_LIVE) m->way = MOMENT_WHOLE; // if there is to be another attempt
    return is_one;
}

void moment_close(struct moment *m) {
    progress_end(&m->progress);
    if (m->snapshot) {
        delete_snapshot(m);
        undo_drop(m);
    }
    mem_free(m->snapshot);
    mem_free(m->header);
}
