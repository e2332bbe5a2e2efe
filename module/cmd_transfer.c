/* The commands that export and import filters: BF.SCANDUMP, BF.LOADCHUNK, BF.LOAD, BF.EXPORT,
 * BF.IMPORT.
 * commands.c lists the steps that each command takes. */

#include "module/args.h"
#include "module/commands.h"
#include "module/config.h"
#include "module/core/combine.h"
#include "module/core/mem.h"
#include "module/key.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"
#include "module/type.h"
#include "rdb/codec.h"
#include "rdb/formats/formats.h"
#include "rdb/formats/valkeybloom.h"

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

/* BF.SCANDUMP key iterator
 * The iterator is 0 for the header, then 1 + the number of bytes that were replied so far. */
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

/* Loads a header: puts a filter that is loading until its bits have arrived. A foreign filter is
 * complete at once, and empty. False: the error has been sent. */
static bool load_header(struct key *key, const char *data, size_t len) {
    const uint8_t *bytes = (const uint8_t *)data;
    struct filter *filter;
    enum status st = codec_decode_header(bytes, len, config_max_bytes(key->ctx), &filter);
    if (st == STATUS_NOMEM) {
        reply_no_room(key->ctx, ERR_NO_MEMORY, codec_header_bytes(bytes, len));
        return false;
    }
    if (st == STATUS_OK && filter->is_loading) { // BF.SCANDUMP dumps complete filters only
        filter_free(filter);
        st = STATUS_CORRUPT;
    }
    if (st != STATUS_OK) {
        RedisModule_ReplyWithError(key->ctx, ERR_BAD_DATA);
        return false;
    }
    codec_expect_pieces(filter);
    if (type_row(filter->origin)->is_explicit && replay_is(key->ctx)) replay_note_explicit();
    key_put(key, filter, true);
    return true;
}

static const char *piece_error(enum codec_piece result) {
    switch (result) {
    case CODEC_PIECE_OUTSIDE: return ERR_CHUNK_OUTSIDE;
    case CODEC_PIECE_CROSSING: return ERR_CHUNK_CROSSING;
    case CODEC_PIECE_GAP: return ERR_CHUNK_GAP;
    default: return ERR_BAD_DATA;
    }
}

/* Loads a piece of the bits. *changed: whether the filter changed. False: the error has been sent.
 */
static bool load_piece(struct key *key, long long iterator, const char *data, size_t len,
                       bool *changed) {
    enum codec_piece result = CODEC_PIECE_BAD;
    if (iterator >= 1 && len <= (uint64_t)iterator - 1) {
        result = codec_put_piece(key->filter, (uint64_t)iterator - 1, data, len);
    }
    *changed = result == CODEC_PIECE_STORED;
    // The rate of a foreign filter, which is complete from its header on, waits for the last piece.
    key->only_added = (uint64_t)iterator - 1 != key->filter->loaded;
    key_count_completed(key);
    if (*changed || result == CODEC_PIECE_PRESENT) return true;
    RedisModule_ReplyWithError(key->ctx, piece_error(result));
    return false;
}

/* Loads what BF.LOADCHUNK brings: a piece of the filter that is there, or the header of a new one.
 */
static bool load_chunk(struct key *key, long long iterator, const RedisModuleString *chunk,
                       bool replaces, bool *changed) {
    size_t len;
    const char *data = RedisModule_StringPtrLen(chunk, &len);
    bool is_loading = key->filter && key->filter->is_loading;
    if (!is_loading || replaces) key_count(key);
    if (key->filter && !replaces) return load_piece(key, iterator, data, len, changed);
    *changed = true;
    if (iterator == 1) return load_header(key, data, len);
    RedisModule_ReplyWithError(key->ctx, ERR_NOT_FOUND);
    return false;
}

/* Parses BF.LOADCHUNK. Returns NULL or the error text. */
static const char *parse_loadchunk(RedisModuleString **argv, int argc, long long *iterator,
                                   bool *replaces) {
    if (argc < 4 || argc > 5) return ARGS_WRONG_ARITY;
    if (RedisModule_StringToLongLong(argv[2], iterator) != REDISMODULE_OK) return ERR_ITERATOR;
    *replaces = argc == 5;
    if (!*replaces) return NULL;
    if (!args_is_word(argv[4], "REPLACE")) return ERR_UNKNOWN_ARGUMENT;
    return *iterator == 1 ? NULL : ERR_CHUNK_REPLACE;
}

/* BF.LOADCHUNK key iterator data [REPLACE]
 * The chunks are those of BF.SCANDUMP, in the same order; those of a foreign filter may come in any
 * order. REPLACE goes with the header. It drops the filter that the key holds, and its TTL. */
int cmd_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long iterator;
    bool replaces, changed;
    const char *error = parse_loadchunk(argv, argc, &iterator, &replaces);
    if (error) return args_reply_error(ctx, error);
    struct key key;
    if (!key_open_any(ctx, argv[1], FOR_FILLING, &key)) goto out;
    if (!load_chunk(&key, iterator, argv[3], replaces, &changed)) goto out;
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    if (!changed) goto out;
    replicate_chunk(ctx, argv[1], iterator, argv[3], replaces);
    key_close_changed(&key, "bf.loadchunk");
    return REDISMODULE_OK;
out:
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- BF.LOAD -------------------------------------------------------------------------------- */

/* Replies why the bytes are no filter of valkey-bloom's. */
static void refuse_load(RedisModuleCtx *ctx, enum status st, const char *fault, size_t len) {
    if (st == STATUS_NOMEM) {
        reply_no_room(ctx, ERR_NO_MEMORY, filter_structure_bytes(1) + len); // bits and a little
    } else {
        bool is_version = fault == VALKEYBLOOM_UNKNOWN_VERSION;
        RedisModule_ReplyWithError(ctx, is_version ? ERR_LOAD_VERSION : ERR_BAD_LOAD);
    }
}

/* BF.LOAD key data
 * valkey-bloom writes it to its AOF. The filter stays one of valkey-bloom's type. */
int cmd_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct key key;
    if (!key_open_any(ctx, argv[1], FOR_WRITING, &key)) goto out;
    if (key.filter) {
        RedisModule_ReplyWithError(ctx, ERR_BUSY);
        goto out;
    }
    size_t len;
    const char *data = RedisModule_StringPtrLen(argv[2], &len), *fault;
    struct filter *filter;
    enum status st =
        valkeybloom_decode_load((const uint8_t *)data, len, config_max_bytes(ctx), &filter, &fault);
    if (st != STATUS_OK) {
        refuse_load(ctx, st, fault, len);
        goto out;
    }
    if (replay_is(ctx)) replay_note_explicit();
    key_put(&key, filter, false);
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    replicate_filter(ctx, argv[1], filter, false);
    key_close_changed(&key, "bf.loadchunk");
    return REDISMODULE_OK;
out:
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- BF.EXPORT, BF.IMPORT ------------------------------------------------------------------- */

/* The longest string that clients and servers accept by default. */
#define MAX_BULK_BYTES ((uint64_t)512 * 1024 * 1024)

/* Whether the format can hold the filter, whose bits may not be there yet. If not, sends the error.
 */
static bool may_export(RedisModuleCtx *ctx, const struct filter *filter,
                       const struct export_args *args) {
    const char *obstacle = formats_obstacle(filter, args->format, args->variant);
    if (!obstacle) return true;
    char text[256];
    snprintf(text, sizeof(text), "ERR cannot export: %s", obstacle);
    RedisModule_ReplyWithError(ctx, text);
    return false;
}

/* Replies with the filter's bytes, or returns the error text. */
static const char *export_filter(RedisModuleCtx *ctx, const struct filter *filter,
                                 const struct export_args *args) {
    uint64_t size = formats_size(filter, args->format);
    if (size > MAX_BULK_BYTES) return ERR_EXPORT_TOO_LARGE;
    uint8_t *bytes = mem_alloc(size > 0 ? (size_t)size : 1);
    if (!bytes) return ERR_EXPORT_MEMORY;
    formats_encode(filter, args->format, args->variant, bytes);
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)bytes, (size_t)size);
    mem_free(bytes);
    return NULL;
}

/* Exports, or replies why not. */
static void export_or_refuse(RedisModuleCtx *ctx, const struct filter *filter,
                             const struct export_args *args) {
    if (!may_export(ctx, filter, args)) return;
    const char *error = export_filter(ctx, filter, args);
    if (error) RedisModule_ReplyWithError(ctx, error);
}

/* Exports what a filter that forgets holds now, as one layer of bits. What that layer is shows
 * whether it can be, before gigabytes are read for it. */
static void export_flat(RedisModuleCtx *ctx, const struct key *key,
                        const struct export_args *args) {
    struct filter view, *flat;
    const struct filter *live = key_live(key, &view);
    enum status st = combine_flat_shape(live, key->filter, &flat);
    if (st != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, st == STATUS_PARAM ? ERR_EXPORT_SIZES : ERR_EXPORT_MEMORY);
        return;
    }
    if (!may_export(ctx, flat, args)) goto out;
    // Without bits, only sizes that follow from them are wrong: those of imported filters.
    if (formats_size(flat, args->format) > MAX_BULK_BYTES) {
        RedisModule_ReplyWithError(ctx, ERR_EXPORT_TOO_LARGE);
    } else if (combine_flat_fill(flat, live) != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, ERR_EXPORT_MEMORY);
    } else {
        export_or_refuse(ctx, flat, args);
    }
out:
    filter_free(flat);
}

/* BF.EXPORT key [FORMAT f [VARIANT old|3.x|4.x]] */
int cmd_export(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct export_args args;
    const char *error = args_parse_export(argv, argc, &args);
    if (error) return args_reply_error(ctx, error);
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        if (filter_forgets(key.filter)) {
            export_flat(ctx, &key, &args);
        } else {
            export_or_refuse(ctx, key.filter, &args);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* Replies why the bytes are no filter of the format. */
static void refuse_import(RedisModuleCtx *ctx, enum status st, const char *fault, size_t len) {
    if (st == STATUS_NOMEM) {
        reply_no_room(ctx, ERR_NO_MEMORY, filter_structure_bytes(1) + len); // bits and a little
        return;
    }
    char text[128];
    snprintf(text, sizeof(text), "ERR bad data: %s", fault);
    RedisModule_ReplyWithError(ctx, text);
}

/* BF.IMPORT key FORMAT f [CAPACITY n] [EXPANSION n] [HASH XXH64|FNV1A] [VARIANT old|3.x|4.x]
 *           [REPLACE] DATA bytes */
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
        key_put(&key, filter, true); // drops the TTL, as RESTORE does
        RedisModule_ReplyWithSimpleString(ctx, "OK");
        metrics.imports++;
        replicate_filter(ctx, argv[1], filter, replaces);
        key_close_changed(&key, "bf.import");
        return REDISMODULE_OK;
    }
    refuse_import(ctx, st, fault, len);
out:
    key_close(&key);
    return REDISMODULE_OK;
}
