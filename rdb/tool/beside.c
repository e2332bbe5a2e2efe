/* A filter on its way to a server. See beside.h. */

#define _GNU_SOURCE // getentropy
#include "rdb/tool/beside.h"

#include "module/core/mem.h"
#include "rdb/staging.h"
#include "rdb/tool/options.h"
#include "rdb/tool/report.h"
#include "rdb/tool/signals.h"
#include "rdb/tool/stats.h"
#include "rdb/tool/tool.h"
#include "rdb/tool/undo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BESIDE_MS UINT64_C(3600000) // one piece, of at most 16 MiB, takes less than an hour

/* ---- Its name ----------------------------------------------------------------------------- */

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
char *beside_name(const char *key) {
    unsigned long long random[2];
    if (getentropy(random, sizeof(random)) != 0) tool_die("no random bytes: %s", strerror(errno));
    const char *open = strchr(key, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    bool has_tag = close && close > open + 1;
    bool can_be_tag = *key && !strchr(key, '}');
    size_t size = strlen(key) + 64;
    char *beside = tool_alloc(size);
    if (has_tag || can_be_tag) {
        snprintf(beside, size, "%s%s%s:" STAGING_MARK "%016llx%016llx", has_tag ? "" : "{", key,
                 has_tag ? "" : "}", random[0], random[1]);
        return beside;
    }
    do {
        snprintf(beside, size, STAGING_MARK "%016llx%016llx", random[0], random[1]++);
    } while (slot_of(beside) != slot_of(key));
    return beside;
}

/* ---- Errors and signals ------------------------------------------------------------------- */

static void unlink_it(void *context) {
    struct beside *beside = context;
    server_unlink(beside->server, beside->name);
}

void beside_delete(struct beside *beside) {
    undo_drop(beside);
    unlink_it(beside);
}

void beside_check_call(struct beside *beside, const char *error) {
    if (!error && !signals_caught()) return;
    char text[512]; // the error text is valid until the next call
    snprintf(text, sizeof(text), "%s", error ? error : "interrupted");
    progress_end(beside->progress);
    if (signals_caught()) {
        undo_all();
        signals_raise();
    }
    server_die(beside->server, beside->key, text);
}

/* ---- Its way ------------------------------------------------------------------------------ */

/* The iterator of a piece is its end, + 1; that of the header is 1. */
const char *beside_try(struct beside *beside, uint64_t end, const uint8_t *bytes, size_t len) {
    if (signals_caught()) beside_check_call(beside, "interrupted");
    const char *error = server_load(beside->server, beside->name, end + 1, bytes, len);
    return error ? error : server_expire(beside->server, beside->name, BESIDE_MS);
}

void beside_begin(struct beside *beside, struct server *server, const char *key,
                  const uint8_t *header, size_t len, struct progress *progress) {
    *beside = (struct beside){.server = server,
                              .key = key,
                              .name = beside_name(key),
                              .header = memcpy(tool_alloc(len), header, len),
                              .header_len = len,
                              .progress = progress};
    signals_watch();
    undo_push(unlink_it, beside);
    beside_put(beside, 0, header, len);
}

void beside_put(struct beside *beside, uint64_t end, const uint8_t *bytes, size_t len) {
    beside_check_call(beside, beside_try(beside, end, bytes, len));
}

/* The server took every piece. Its header, with the sizes and counts of all layers, must be the one
 * that was sent. A filter of bloomport's own type that is not complete has no header. */
static void check_header(struct beside *beside) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    beside_check_call(beside, server_scan(beside->server, beside->name, 0, &next, &bytes, &len));
    bool is_ours = len == beside->header_len && memcmp(bytes, beside->header, len) == 0;
    if (!is_ours) beside_check_call(beside, "it made another filter of the pieces");
}

/* From here on a signal comes too late. False if the key exists and may not be replaced. */
static bool rename_it(struct beside *beside, bool replace, uint64_t ttl_ms) {
    bool renamed = false;
    beside_check_call(beside, ttl_ms ? server_expire(beside->server, beside->name, ttl_ms)
                                     : server_persist(beside->server, beside->name));
    const char *error = server_rename(beside->server, beside->name, beside->key, replace, &renamed);
    if (error) beside_check_call(beside, error);
    if (renamed) undo_drop(beside);
    return renamed;
}

static void merge_it(struct beside *beside) {
    const char *words[] = {"BF.MERGE", beside->key, beside->name};
    const char *error = server_words(beside->server, 3, words);
    if (error) beside_check_call(beside, error);
    beside_delete(beside);
    struct stats stats;
    if (stats_take(beside->server, beside->key, &stats) && stats.is_overfilled) {
        report_overfilled(beside->key, "merged filter", stats.error_rate, stats.promised);
    }
}

void beside_take_place(struct beside *beside, const struct options *options, uint64_t ttl_ms) {
    check_header(beside);
    if (rename_it(beside, options->replace, options->merge ? 0 : ttl_ms)) return;
    if (options->merge) {
        merge_it(beside);
        return;
    }
    tool_die("the key '%s' exists now: --replace replaces it", beside->key);
}

void beside_free(struct beside *beside) {
    mem_free(beside->header);
    mem_free(beside->name);
}
