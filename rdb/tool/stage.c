/* A filter on its way to a server. See stage.h. */

#define _GNU_SOURCE // getentropy
#include "rdb/tool/stage.h"

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

#define STAGE_MS UINT64_C(3600000) // one piece, of at most 16 MiB, takes less than an hour

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

/* The name of a staging key, in the same cluster slot: the part in braces, or all of the key,
 * decides the slot. Where no braces can be put round the key, names are tried until one has its
 * slot. */
char *stage_name(const char *key) {
    unsigned long long random[2];
    if (getentropy(random, sizeof(random)) != 0) tool_die("no random bytes: %s", strerror(errno));
    const char *open = strchr(key, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    bool has_tag = close && close > open + 1;
    bool can_be_tag = *key && !strchr(key, '}');
    size_t size = strlen(key) + 64;
    char *stage = tool_alloc(size);
    if (has_tag || can_be_tag) {
        snprintf(stage, size, "%s%s%s:" STAGING_MARK "%016llx%016llx", has_tag ? "" : "{", key,
                 has_tag ? "" : "}", random[0], random[1]);
        return stage;
    }
    do {
        snprintf(stage, size, STAGING_MARK "%016llx%016llx", random[0], random[1]++);
    } while (slot_of(stage) != slot_of(key));
    return stage;
}

/* ---- Errors and signals ------------------------------------------------------------------- */

static void unlink_it(void *context) {
    struct stage *stage = context;
    server_unlink(stage->server, stage->name);
}

void stage_delete(struct stage *stage) {
    undo_drop(stage);
    unlink_it(stage);
}

void stage_check_call(struct stage *stage, const char *error) {
    if (!error && !signals_caught()) return;
    char text[512]; // the error text is valid until the next call
    snprintf(text, sizeof(text), "%s", error ? error : "interrupted");
    progress_end(stage->progress);
    if (signals_caught()) {
        undo_all();
        signals_raise();
    }
    server_die(stage->server, stage->key, text);
}

/* ---- Its way ------------------------------------------------------------------------------ */

/* The iterator of a piece is its end, + 1; that of the header is 1. */
const char *stage_try(struct stage *stage, uint64_t end, const uint8_t *bytes, size_t len) {
    if (signals_caught()) stage_check_call(stage, "interrupted");
    const char *error = server_load(stage->server, stage->name, end + 1, bytes, len);
    return error ? error : server_expire(stage->server, stage->name, STAGE_MS);
}

void stage_begin(struct stage *stage, struct server *server, const char *key, const uint8_t *header,
                 size_t len, struct progress *progress) {
    *stage = (struct stage){.server = server,
                            .key = key,
                            .name = stage_name(key),
                            .header = memcpy(tool_alloc(len), header, len),
                            .header_len = len,
                            .progress = progress};
    signals_watch();
    undo_push(unlink_it, stage);
    stage_put(stage, 0, header, len);
}

void stage_put(struct stage *stage, uint64_t end, const uint8_t *bytes, size_t len) {
    stage_check_call(stage, stage_try(stage, end, bytes, len));
}

/* The server took every piece. Its header, with the sizes and counts of all layers, must be the one
 * that was sent. A filter of bloomport's own type that is not complete has no header. */
static void check_header(struct stage *stage) {
    uint64_t next;
    const uint8_t *bytes;
    size_t len;
    stage_check_call(stage, server_scan(stage->server, stage->name, 0, &next, &bytes, &len));
    bool is_ours = len == stage->header_len && memcmp(bytes, stage->header, len) == 0;
    if (!is_ours) stage_check_call(stage, "it made another filter of the pieces");
}

/* From here on a signal comes too late. False if the key exists and may not be replaced. */
static bool rename_it(struct stage *stage, bool replace, uint64_t ttl_ms) {
    bool renamed = false;
    stage_check_call(stage, ttl_ms ? server_expire(stage->server, stage->name, ttl_ms)
                                   : server_persist(stage->server, stage->name));
    const char *error = server_rename(stage->server, stage->name, stage->key, replace, &renamed);
    if (error) stage_check_call(stage, error);
    if (renamed) undo_drop(stage);
    return renamed;
}

static void merge_it(struct stage *stage) {
    const char *words[] = {"BF.MERGE", stage->key, stage->name};
    const char *error = server_words(stage->server, 3, words);
    if (error) stage_check_call(stage, error);
    stage_delete(stage);
    struct stats stats;
    if (stats_take(stage->server, stage->key, &stats) && stats.is_overfilled) {
        report_overfilled(stage->key, true, stats.error_rate, stats.promised);
    }
}

void stage_take_place(struct stage *stage, const struct options *options, uint64_t ttl_ms) {
    check_header(stage);
    if (rename_it(stage, options->replace, options->merge ? 0 : ttl_ms)) return;
    if (options->merge) {
        merge_it(stage);
        return;
    }
    tool_die("the key '%s' exists now: --replace replaces it", stage->key);
}

void stage_free(struct stage *stage) {
    mem_free(stage->header);
    mem_free(stage->name);
}
