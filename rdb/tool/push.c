/* bloomport push: a filter from a file to a server, in the pieces of BF.LOADCHUNK (rdb/FORMAT.md,
 * section 4), so that a filter may have any size.
 *
 * The filter is loaded under a temporary key, "beside" the one named, which no other push uses, and
 * renamed at the end, when the server has all of it. So clients never see half a filter, two pushes
 * do not disturb each other, and an old filter answers until the new one replaces it.
 *
 *   BF.LOADCHUNK beside ..., PEXPIRE beside     for the header and for each piece
 *   BF.SCANDUMP beside 0                        the header must be the one that was sent
 *   PERSIST beside, RENAME beside key           RENAMENX unless --replace was given
 *
 * After any error the key beside is deleted. If that is impossible, because the connection is lost
 * or the program was killed, the key expires an hour after the last piece.
 */

#define _GNU_SOURCE // getentropy, sigaction
#include "rdb/tool/push.h"
#include "module/core/measure.h"
#include "module/core/mem.h"
#include "rdb/codec.h"
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/report.h"
#include "rdb/tool/server.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BESIDE_MS UINT64_C(3600000) // one piece, of at most 16 MiB, takes less than an hour

struct push {
    struct server *server;
    const char *key;
    const struct filter *filter;
    char *beside;
    uint8_t *header;
    size_t header_len;
    struct progress progress;
};

/* ---- The key beside ----------------------------------------------------------------------- */

/* The cluster slot of a key without braces: CRC-16/XMODEM. */
static uint16_t slot_of(const char *key) {
    uint16_t crc = 0;
    for (; *key; key++) {
        crc = (uint16_t)(crc ^ (uint8_t)*key << 8);
        for (int i = 0; i < 8; i++) crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc % 16384;
}

/* A name beside this key, in the same cluster slot: the part in braces, or all of the key, decides
 * the slot. Where no braces can be put round the key, names are tried until one has its slot. */
static char *key_beside(const char *key) {
    unsigned long long random[2];
    if (getentropy(random, sizeof(random)) != 0) tool_die("no random bytes: %s", strerror(errno));
    const char *open = strchr(key, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    bool has_tag = close && close > open + 1;
    bool can_be_tag = *key && !strchr(key, '}');
    size_t size = strlen(key) + 64;
    char *beside = tool_alloc(size);
    if (has_tag || can_be_tag) {
        snprintf(beside, size, "%s%s%s:bloomport-push:%016llx%016llx", has_tag ? "" : "{", key,
                 has_tag ? "" : "}", random[0], random[1]);
        return beside;
    }
    do {
        snprintf(beside, size, "bloomport-push:%016llx%016llx", random[0], random[1]++);
    } while (slot_of(beside) != slot_of(key));
    return beside;
}

/* ---- Signals and errors ------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted; // the signal's number

static void note_signal(int number) {
    interrupted = number;
}

/* The first signal ends the program after the server's next answer, a second one at once. */
static void watch_signals(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;
        bool is_ignored = sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        struct sigaction ours = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
        if (!is_ignored) sigaction(numbers[i], &ours, NULL); // nohup stays nohup
    }
}

static void delete_beside(struct push *push) {
    progress_end(&push->progress);
    server_unlink(push->server, push->beside);
}

/* Called after each call to the server: returns if there is no error and no signal came. */
static void check_call(struct push *push, const char *error) {
    if (!error && !interrupted) return;
    char text[512]; // the error text is valid until the next call
    snprintf(text, sizeof(text), "%s", error ? error : "interrupted");
    delete_beside(push);
    if (interrupted) raise(interrupted); // ends as the signal does by default
    server_die(push->server, push->key, text);
}

/* ---- The filter --------------------------------------------------------------------------- */

static void send_piece(struct push *push, uint64_t iterator, const uint8_t *bytes, size_t len) {
    check_call(push, server_load(push->server, push->beside, iterator, bytes, len));
    check_call(push, server_expire(push->server, push->beside, BESIDE_MS));
}

static void send_filter(struct push *push) {
    send_piece(push, 1, push->header, push->header_len);
    progress_begin(&push->progress, "pushing", filter_array_bytes(push->filter));
    const uint8_t *bytes;
    size_t len;
    for (uint64_t at = 0;
         (len = codec_piece_at(push->filter, at, CODEC_PIECE_BYTES, &bytes)) > 0;) {
        at += len;
        send_piece(push, at + 1, bytes, len); // the iterator is the piece's end, + 1
        progress_show(&push->progress, at);
    }
    progress_end(&push->progress);
}

/* The server took every piece. Its header, with the sizes and counts of all layers, must be the one
 * that was sent. A filter of bloomport's own type that is not complete has no header. */
static void check_whole(struct push *push) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    check_call(push, server_scan(push->server, push->beside, 0, &next, &bytes, &len));
    bool is_ours = len == push->header_len && memcmp(bytes, push->header, len) == 0;
    if (!is_ours) check_call(push, "it made another filter of the pieces");
}

/* From here on a signal comes too late. */
static void give_name(struct push *push, const char *key, bool replace) {
    bool renamed = false;
    check_call(push, server_persist(push->server, push->beside));
    const char *error = server_rename(push->server, push->beside, key, replace, &renamed);
    if (error) check_call(push, error);
    if (renamed) return;
    delete_beside(push);
    tool_die("the key '%s' exists now: --replace replaces it", key);
}

static void send_to_key(struct server *server, const struct filter *filter,
                        const struct options *options) {
    struct push push = {.server = server,
                        .key = options->key,
                        .filter = filter,
                        .beside = key_beside(options->key)};
    push.header_len = codec_header_size(filter);
    push.header = tool_alloc(push.header_len);
    codec_encode_header(filter, push.header);
    watch_signals();
    send_filter(&push);
    check_whole(&push);
    give_name(&push, options->key, options->replace);
    mem_free(push.header);
    mem_free(push.beside);
}

/* ---- Room --------------------------------------------------------------------------------- */

/* A filter that was sized for one layer gives it the whole error rate: what it grows by comes on
 * top, as after BF.IMPORT with EXPANSION. */
void push_set_expansion(struct filter *filter, const struct options *options, const char *path) {
    if (!options->has_expansion || options->expansion == filter->expansion) return;
    if (filter->is_foreign)
        tool_die("%s: --expansion: another program's filter keeps its own", path);
    if (filter->layout == LAYOUT_COUNTING)
        tool_die("%s: --expansion: a counting filter never grows", path);
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
    if (exists && !options->replace) {
        tool_die("the key '%s' exists: --replace replaces it", options->key);
    }
}

void push_filter(struct server *server, const struct filter *filter,
                 const struct options *options) {
    send_to_key(server, filter, options);
    report_filter("pushed: ", filter, filter_items(filter));
    note_room(filter, options->key);
}

int push_run(const struct options *options) {
    options_need_operands(options, 1, 1, "the filter's file");
    if (!options->key) tool_die("--key is missing");
    struct server *server = server_open(&options->server);
    push_check_key(server, options);
    struct filter *filter = file_load(options->operands[0], options, NULL);
    push_set_expansion(filter, options, options->operands[0]);
    push_filter(server, filter, options);
    filter_free(filter);
    server_close(server);
    return TOOL_OK;
}
