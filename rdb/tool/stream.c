/* Many items to a filter on a server. See stream.h. */

#include "rdb/tool/stream.h"

#include "module/core/mem.h"
#include "rdb/tool/report.h"
#include "rdb/tool/signals.h"
#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening ------------------------------------------------------------------------------ */

/* A server that does not tell its commands is taken for one without. */
static bool has_command(struct server *server, const char *name) {
    const char *words[] = {"COMMAND", "INFO", name};
    if (server_words(server, 3, words)) return false;
    const redisReply *reply = server_reply(server);
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
           reply->element[0]->type == REDIS_REPLY_ARRAY;
}

/* Whether an item that is added twice must be deleted twice. A key that is to be created by an add
 * holds no such filter. */
static bool may_count(struct server *server, const char *key) {
    const char *words[] = {"BF.INFO", key, "LAYOUT"};
    const char *error = server_words(server, 3, words);
    if (error) return strncmp(error, "NOPERM", 6) == 0;
    const redisReply *reply = server_reply(server);
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 1) reply = reply->element[0];
    enum layout layout;
    if (!reply->str || !layout_find(reply->str, reply->len, &layout)) return false;
    return layout_row(layout)->removes;
}

void stream_open(struct stream *stream, struct server *server, const struct options *options,
                 bool adds) {
    *stream = (struct stream){.server = server, .key = options->key};
    stream->what = adds ? "adding" : "checking";
    stream->bulk = adds ? "BF.BULKADD" : "BF.BULKEXISTS";
    stream->many = adds ? "BF.MADD" : "BF.MEXISTS";
    if (!has_command(server, stream->bulk)) stream->bulk = NULL;
    stream->counts = adds && may_count(server, stream->key);
    stream->waits = stream->counts || server_is_cluster(server);
    stream->line = options->how.from_line ? options->how.from_line : 1;
    signals_watch();
}

void stream_close(struct stream *stream) {
    for (size_t i = 0; i < STREAM_DEPTH; i++) {
        mem_free(stream->pieces[i].items.bytes);
        mem_free(stream->pieces[i].lines.bytes);
    }
}

/* ---- Gathering ---------------------------------------------------------------------------- */

static void append(struct runs *runs, size_t i, const uint8_t *bytes, size_t len) {
    size_t need = runs->len + len + 1;
    if (need > runs->room) {
        size_t room = need > STREAM_BYTES ? 2 * need : 2 * STREAM_BYTES;
        uint8_t *larger = tool_alloc(room);
        if (runs->len) memcpy(larger, runs->bytes, runs->len);
        mem_free(runs->bytes);
        runs->bytes = larger;
        runs->room = room;
    }
    if (len) memcpy(runs->bytes + runs->len, bytes, len);
    runs->bytes[runs->len + len] = '\n';
    runs->len = need;
    runs->ends[i] = need - 1;
}

static const uint8_t *run_at(const struct runs *runs, size_t i, size_t *len) {
    size_t start = i ? runs->ends[i - 1] + 1 : 0;
    *len = runs->ends[i] - start;
    return runs->bytes + start;
}

static struct piece *gathering(struct stream *stream) {
    return &stream->pieces[(stream->first + stream->n) % STREAM_DEPTH];
}

static void gather(struct stream *stream, const struct item *item) {
    struct piece *piece = gathering(stream);
    append(&piece->items, piece->n, item->bytes, item->len);
    if (stream->wants_lines) append(&piece->lines, piece->n, item->line, item->line_len);
    piece->has_newline |= item->len > 0 && memchr(item->bytes, '\n', item->len) != NULL;
    piece->n++;
}

/* ---- Ending early ------------------------------------------------------------------------- */

/* The key is no filter: no line is one to continue from. What is under way gets its answers, so
 * that the server can say what the key is. */
static _Noreturn void die_of_type(struct stream *stream, const char *error) {
    for (; stream->n > 1; stream->n--) server_receive(stream->server);
    server_die(stream->server, stream->key, error);
}

static _Noreturn void die_of_full(struct stream *stream, const char *error, uint64_t done) {
    tool_die("key '%s': %s; %llu items are done. It takes no new items: make a larger one, or "
             "one with an expansion",
             stream->key, error, (unsigned long long)done);
}

/* `taken` items of the first piece under way were taken before the server's error. */
static _Noreturn void die_of(struct stream *stream, const char *error, uint64_t taken) {
    char text[512];
    snprintf(text, sizeof(text), "%s", error);
    progress_end(&stream->progress);
    fflush(stdout); // answers that came
    if (strncmp(text, "WRONGTYPE", 9) == 0) die_of_type(stream, text);
    unsigned long long done = stream->answered + taken, line = stream->line + taken;
    if (strstr(text, "filter is full")) die_of_full(stream, text, done);
    tool_die("key '%s': %s; %llu items are done: --from-line %llu continues", stream->key, text,
             done, line);
}

/* The connection is lost. Nobody knows what became of the piece under way. */
static _Noreturn void die_in_doubt(struct stream *stream, const char *error) {
    unsigned long long first = stream->line, after = first + stream->pieces[stream->first].n;
    progress_end(&stream->progress);
    fflush(stdout);
    tool_die("key '%s': %s; %llu items are done. Lines %llu to %llu may be counted already, all or "
             "none: BF.COUNT of one of them may tell. If they are not, --from-line %llu continues, "
             "else --from-line %llu",
             stream->key, error, (unsigned long long)stream->answered, first, after - 1, first,
             after);
}

/* BF.BULKADD's errors end in ": 17 of 10000 items taken". */
static uint64_t taken_of(const char *error) {
    const char *of = strstr(error, " items taken"), *colon = of ? strrchr(error, ':') : NULL;
    return colon ? strtoull(colon + 1, NULL, 10) : 0;
}

/* The piece under way that comes first has an error for an answer, or will have none. */
static _Noreturn void die_of_piece(struct stream *stream, const char *error) {
    bool is_lost = !server_reply(stream->server);
    if (is_lost && stream->counts) die_in_doubt(stream, error);
    die_of(stream, error, taken_of(error));
}

/* ---- Sending ------------------------------------------------------------------------------ */

/* A piece whose answer is waited for may be redirected. */
static const char *send_words(struct stream *stream, size_t n, const char **words,
                              const size_t *lens) {
    bool waits = stream->waits || stream->capacity != 0;
    gathering(stream)->is_answered = waits;
    return waits ? server_call(stream->server, (int)n, words, lens)
                 : server_send(stream->server, (int)n, words, lens);
}

static const char *send_bulk(struct stream *stream, const struct piece *piece) {
    const char *words[] = {stream->bulk, stream->key, "LINES", (const char *)piece->items.bytes};
    size_t lens[] = {strlen(stream->bulk), strlen(stream->key), 5, piece->items.len};
    return send_words(stream, 4, words, lens);
}

/* One argument for each item. BF.INSERT creates a filter of a capacity, and leaves all the rest to
 * the server's settings. */
static const char *send_many(struct stream *stream, const struct piece *piece) {
    static const char *words[STREAM_ITEMS + 5];
    static size_t lens[STREAM_ITEMS + 5];
    char capacity[24];
    snprintf(capacity, sizeof(capacity), "%llu", (unsigned long long)stream->capacity);
    const char *plain[] = {stream->many, stream->key};
    const char *creating[] = {"BF.INSERT", stream->key, "CAPACITY", capacity, "ITEMS"};
    size_t n = stream->capacity ? 5 : 2;
    memcpy(words, stream->capacity ? creating : plain, n * sizeof(words[0]));
    for (size_t i = 0; i < n; i++) lens[i] = strlen(words[i]);
    for (size_t i = 0; i < piece->n; i++, n++) {
        words[n] = (const char *)run_at(&piece->items, i, &lens[n]);
    }
    return send_words(stream, n, words, lens);
}

static const char *send_either(struct stream *stream, struct piece *piece) {
    piece->is_bulk = stream->bulk && !piece->has_newline && stream->capacity == 0;
    return piece->is_bulk ? send_bulk(stream, piece) : send_many(stream, piece);
}

/* ---- Answers ------------------------------------------------------------------------------ */

static void answer(struct stream *stream, const struct piece *piece, size_t i, bool is_yes) {
    size_t len;
    const uint8_t *line = run_at(stream->wants_lines ? &piece->lines : &piece->items, i, &len);
    stream->answer(stream->context, line, len, is_yes);
}

/* One bit for each item, the highest of a byte first. */
static void take_bits(struct stream *stream, const struct piece *piece, const redisReply *reply) {
    if (reply->type != REDIS_REPLY_STRING || reply->len != (piece->n + 7) / 8) {
        die_of(stream, "its answer is not one bit for each item", 0);
    }
    for (size_t i = 0; i < piece->n; i++) {
        answer(stream, piece, i, (unsigned char)reply->str[i / 8] & 0x80 >> i % 8);
    }
}

/* An item that could not be added is an error among the answers. */
static void take_numbers(struct stream *stream, const struct piece *piece,
                         const redisReply *reply) {
    if (reply->type != REDIS_REPLY_ARRAY) die_of(stream, "its answer is not an array", 0);
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *one = reply->element[i];
        if (one->type == REDIS_REPLY_ERROR) die_of(stream, one->str, i);
        if (i < piece->n) answer(stream, piece, i, one->integer != 0);
    }
    if (reply->elements != piece->n) die_of(stream, "its answers are not as many as the items", 0);
}

static void receive(struct stream *stream) {
    struct piece *piece = &stream->pieces[stream->first];
    const char *error = piece->is_answered ? NULL : server_receive(stream->server);
    if (error) die_of_piece(stream, error);
    if (piece->is_bulk) {
        take_bits(stream, piece, server_reply(stream->server));
    } else {
        take_numbers(stream, piece, server_reply(stream->server));
    }
    stream->line += piece->n;
    stream->answered += piece->n;
    piece->n = piece->items.len = piece->lines.len = 0;
    piece->has_newline = false;
    stream->first = (stream->first + 1) % STREAM_DEPTH;
    stream->n--;
}

static void receive_all(struct stream *stream) {
    while (stream->n > 0) receive(stream);
}

/* Sends what was gathered, and makes sure that there is a piece to gather into. */
static void send_piece(struct stream *stream) {
    struct piece *piece = gathering(stream);
    if (piece->n == 0) return;
    const char *error = send_either(stream, piece);
    if (error && stream->capacity && strncmp(error, "NOPERM", 6) == 0) {
        stream->capacity = 0; // who may add only gets what the server makes
        error = send_either(stream, piece);
    }
    stream->capacity = 0;
    stream->n++;
    if (error) die_of_piece(stream, error);
    if (stream->n == STREAM_DEPTH || piece->is_answered) receive(stream);
    if (stream->begun) {
        receive_all(stream); // nothing else is under way: the callback may call the server
        progress_end(&stream->progress);
        stream->begun(stream->context);
        stream->begun = NULL;
    }
    if (!signals_caught()) return;
    receive_all(stream);
    progress_end(&stream->progress);
    fflush(stdout);
    report_note("interrupted; %llu items are done: --from-line %llu continues",
                (unsigned long long)stream->answered, (unsigned long long)stream->line);
    signals_raise();
}

/* A line that cannot be read: the items before it are sent and answered first. */
static void die_of_line(void *context, const char *fault) {
    struct stream *stream = context;
    send_piece(stream);
    receive_all(stream);
    progress_end(&stream->progress);
    fflush(stdout);
    tool_die("%s; %llu items are done: --from-line %llu continues", fault,
             (unsigned long long)stream->answered, (unsigned long long)stream->line);
}

void stream_run(struct stream *stream, struct items *items, uint64_t bytes) {
    struct item batch[ITEMS_BATCH];
    items->on_fault = die_of_line;
    items->context = stream;
    progress_begin(&stream->progress, stream->what, bytes);
    for (size_t n; (n = items_next(items, batch)) > 0;) {
        for (size_t i = 0; i < n; i++) {
            const struct piece *piece = gathering(stream);
            bool is_full = piece->n == STREAM_ITEMS ||
                           (piece->n > 0 && piece->items.len + batch[i].len >= STREAM_BYTES);
            if (is_full) send_piece(stream);
            gather(stream, &batch[i]);
        }
        progress_show(&stream->progress, items->bytes_read);
        if (!items_would_wait(items)) continue;
        send_piece(stream); // who writes line by line reads the answers line by line
        receive_all(stream);
        fflush(stdout);
    }
    send_piece(stream);
    receive_all(stream);
    progress_end(&stream->progress);
}
