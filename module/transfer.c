/* The commands that export and import filters: BF.SCANDUMP, BF.LOADCHUNK, BF.EXPORT, BF.IMPORT. See
 * commands.c for the steps they go. */

#include "module/args.h"
#include "module/commands.h"
#include "module/config.h"
#include "module/core/mem.h"
#include "module/key.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"
#include "rdb/codec.h"
#include "rdb/formats/formats.h"

#include <stdio.h>

/* ---- BF.SCANDUMP, BF.LOADCHUNK ------------------------------------------------------------ */

static void reply_header(RedisModuleCtx *ctx, const struct filter *filter) {
    size_t len = codec_header_size(filter);
    uint8_t *header = RedisModule_Alloc(len);
    codec_encode_header(filter, header);
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, 1);
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)header, len);
    RedisModule_Free(header);
}

/* BF.SCANDUMP key iterator. The iterator is 0 for the header, then 1 + the bytes had so far. */
int cmd_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    long long iterator;
    if (RedisModule_StringToLongLong(argv[2], &iterator) != REDISMODULE_OK) {
        return RedisModule_ReplyWithError(ctx, ERR_ITERATOR);
    }
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        const struct filter *filter = key.filter;
        const uint8_t *bytes = NULL;
        size_t len = 0;
        if (iterator > 0) {
            len = codec_piece_at(filter, (uint64_t)iterator - 1, CODEC_PIECE_BYTES, &bytes);
        }
        if (iterator == 0) {
            reply_header(ctx, filter);
        } else {
            RedisModule_ReplyWithArray(ctx, 2);
            RedisModule_ReplyWithLongLong(ctx, len ? iterator + (long long)len : 0);
            RedisModule_ReplyWithStringBuffer(ctx, len ? (const char *)bytes : "", len);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* The header: puts a filter that waits for its bits; one of RedisBloom's is there at once, empty.
 * NULL, or the error text. */
static const char *load_header(struct key *key, const char *data, size_t len) {
    struct filter *filter;
    enum status st =
        codec_decode_header((const uint8_t *)data, len, config_max_bytes(key->ctx), &filter);
    if (st == STATUS_NOMEM) return ERR_NO_MEMORY;
    if (st != STATUS_OK) return ERR_BAD_DATA;
    if (filter->is_loading) { // a dump is taken of filters that are all there
        filter_free(filter);
        return ERR_BAD_DATA;
    }
    if (!filter->is_foreign) {
        filter->is_loading = true;
        filter->loaded = 0;
        if (replay_is(key->ctx)) replay_note_own();
    }
    key_put(key, filter, true);
    return NULL;
}

/* A piece of the bits. NULL, or the error text; *changed: whether it brought anything. */
static const char *load_piece(struct key *key, long long iterator, const char *data, size_t len,
                              bool *changed) {
    if (iterator < 1 || len > (uint64_t)iterator - 1) return ERR_BAD_DATA;
    switch (codec_put_piece(key->filter, (uint64_t)iterator - 1, data, len)) {
    case CODEC_PIECE_STORED: *changed = true; return NULL;
    case CODEC_PIECE_KNOWN: *changed = false; return NULL;
    case CODEC_PIECE_OUTSIDE: return ERR_CHUNK_OUTSIDE;
    case CODEC_PIECE_CROSSING: return ERR_CHUNK_CROSSING;
    case CODEC_PIECE_GAP: return ERR_CHUNK_GAP;
    default: return ERR_BAD_DATA;
    }
}

/* The words of BF.LOADCHUNK. NULL, or the error text. */
static const char *parse_loadchunk(RedisModuleString **argv, int argc, long long *iterator,
                                   bool *replaces) {
    if (argc < 4 || argc > 5) return ARGS_WRONG_ARITY;
    if (RedisModule_StringToLongLong(argv[2], iterator) != REDISMODULE_OK) return ERR_ITERATOR;
    *replaces = argc == 5;
    if (!*replaces) return NULL;
    if (!args_is_word(argv[4], "REPLACE")) return ERR_UNKNOWN_ARGUMENT;
    return *iterator == 1 ? NULL : ERR_CHUNK_REPLACE;
}

/* BF.LOADCHUNK key iterator data [REPLACE]. What BF.SCANDUMP gave, in the same order; if it was
 * RedisBloom's, or the filter is foreign, in any order. REPLACE goes with the header, and
 * drops the filter that is there, with its TTL. */
int cmd_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long iterator;
    bool replaces, changed = true;
    const char *error = parse_loadchunk(argv, argc, &iterator, &replaces);
    if (error) return args_reply_error(ctx, error);
    struct key key;
    if (!key_open_any(ctx, argv[1], FOR_WRITING, &key)) goto out;
    size_t len;
    const char *data = RedisModule_StringPtrLen(argv[3], &len);
    if (key.filter && !replaces) {
        error = load_piece(&key, iterator, data, len, &changed);
    } else {
        error = iterator == 1 ? load_header(&key, data, len) : ERR_NOT_FOUND;
    }
    if (error) {
        RedisModule_ReplyWithError(ctx, error);
        goto out;
    }
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    if (changed) {
        replicate_chunk(ctx, argv[1], iterator, argv[3], replaces);
        key_close_changed(&key, "bf.loadchunk");
        return REDISMODULE_OK;
    }
out:
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- BF.EXPORT, BF.IMPORT ------------------------------------------------------------------- */

#define MAX_BULK_BYTES                                                                             \
    ((uint64_t)512 * 1024 * 1024) // what a client and a server take in one string

static const char *export_filter(RedisModuleCtx *ctx, const struct filter *filter,
                                 enum format format) {
    uint64_t size = formats_size(filter, format);
    if (size > MAX_BULK_BYTES) return ERR_EXPORT_TOO_LARGE;
    uint8_t *bytes = mem_alloc((size_t)size);
    if (!bytes) return ERR_EXPORT_MEMORY;
    formats_encode(filter, format, bytes);
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)bytes, (size_t)size);
    mem_free(bytes);
    return NULL;
}

/* BF.EXPORT key [FORMAT portable|sstable|leveldb|parquet|redisbloom] */
int cmd_export(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    enum format format;
    const char *error = args_parse_export(argv, argc, &format);
    if (error) return args_reply_error(ctx, error);
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        const char *obstacle = formats_obstacle(key.filter, format);
        if (obstacle) {
            char text[256];
            snprintf(text, sizeof(text), "ERR cannot export: %s", obstacle);
            RedisModule_ReplyWithError(ctx, text);
        } else if ((error = export_filter(ctx, key.filter, format)) != NULL) {
            RedisModule_ReplyWithError(ctx, error);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* BF.IMPORT key FORMAT f [CAPACITY n] [EXPANSION n] [HASH XXH64|FNV1A] [REPLACE] DATA bytes */
int cmd_import(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct import_args args;
    const char *fault = args_parse_import(argv, argc, &args);
    if (fault) return args_reply_error(ctx, fault);
    struct key key;
    if (!key_open_any(ctx, argv[1], FOR_WRITING, &key)) goto out;
    if (key.filter && !args.replace) {
        RedisModule_ReplyWithError(ctx, ERR_EXISTS);
        goto out;
    }
    size_t len;
    const char *data = RedisModule_StringPtrLen(args.data, &len);
    struct filter *filter;
    enum status st = formats_decode(args.format, (const uint8_t *)data, len, &args.options,
                                    config_max_bytes(ctx), &filter, &fault);
    if (st == STATUS_OK) {
        bool replaces = key.filter != NULL;
        key_put(&key, filter, true); // with its TTL, as RESTORE does
        RedisModule_ReplyWithSimpleString(ctx, "OK");
        metrics.imports++;
        replicate_filter(ctx, argv[1], filter, replaces);
        key_close_changed(&key, "bf.import");
        return REDISMODULE_OK;
    }
    if (st == STATUS_NOMEM) {
        RedisModule_ReplyWithError(ctx, ERR_NO_MEMORY);
    } else {
        char text[128];
        snprintf(text, sizeof(text), "ERR bad data: %s", fault);
        RedisModule_ReplyWithError(ctx, text);
    }
out:
    key_close(&key);
    return REDISMODULE_OK;
}
