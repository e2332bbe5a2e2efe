/* The BF.* commands. Each goes the same four steps: parse, open the key, act, reply and replicate;
 * everything that can be refused is refused before the first change.
 *
 * What is propagated to replicas and the AOF: only what changed something, and never anything that
 * depends on the settings of whoever replays it. A creation carries every parameter; a batch
 * carries the items that answered 1. */

#include "module/commands.h"

#include "module/args.h"
#include "module/config.h"
#include "module/core/mem.h"
#include "module/reply.h"
#include "module/type.h"
#include "rdb/codec.h"

#include <stdio.h>
#include <string.h>

/* ---- Keys --------------------------------------------------------------------------------- */

enum access {
    FOR_READING = REDISMODULE_READ,
    FOR_WRITING = REDISMODULE_READ | REDISMODULE_WRITE,
};

/* Opens a key that holds a filter or nothing: *filter is NULL for nothing. If it holds anything
 * else the error is sent and false returned. The caller closes *key either way. */
static bool open_any_filter(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                            RedisModuleKey **key, struct filter **filter) {
    *key = RedisModule_OpenKey(ctx, name, (int)access);
    *filter = NULL;
    if (!*key || RedisModule_KeyType(*key) == REDISMODULE_KEYTYPE_EMPTY) return true;
    if (RedisModule_ModuleTypeGetType(*key) != type_bloomport) {
        RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
        return false;
    }
    *filter = RedisModule_ModuleTypeGetValue(*key);
    return true;
}

/* The same, and a filter whose bytes are still arriving is an error too. */
static bool open_filter(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                        RedisModuleKey **key, struct filter **filter) {
    if (!open_any_filter(ctx, name, access, key, filter)) return false;
    if (!*filter || !(*filter)->is_loading) return true;
    RedisModule_ReplyWithError(ctx, ERR_LOADING);
    return false;
}

/* The same, and a key that does not exist is an error too. */
static bool open_existing_filter(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey **key,
                                 struct filter **filter) {
    if (!open_filter(ctx, name, FOR_READING, key, filter)) return false;
    if (*filter) return true;
    RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
    return false;
}

static int reply_parse_error(RedisModuleCtx *ctx, const char *error) {
    if (error == ARGS_WRONG_ARITY) return RedisModule_WrongArity(ctx);
    return RedisModule_ReplyWithError(ctx, error);
}

/* Tells whoever watches that the key changed. */
static void announce(RedisModuleCtx *ctx, RedisModuleString *name, const char *event) {
    RedisModule_SignalModifiedKey(ctx, name);
    RedisModule_NotifyKeyspaceEvent(ctx, REDISMODULE_NOTIFY_MODULE, event, name);
}

/* How the promise is written in a propagated command: the word, and the number in full. */
static const char *promise_word(const struct filter_params *params) {
    return params->bits_per_key != 0 ? "BITSPERKEY" : "ERROR";
}

static void promise_text(const struct filter_params *params, char *out, size_t size) {
    bool by_bits = params->bits_per_key != 0;
    snprintf(out, size, "%.17g", by_bits ? params->bits_per_key : params->error_rate);
}

/* ---- BF.RESERVE --------------------------------------------------------------------------- */

static void replicate_reserve(RedisModuleCtx *ctx, RedisModuleString *name,
                              const struct filter_params *params) {
    char promise[32];
    promise_text(params, promise, sizeof(promise));
    long long capacity = (long long)params->capacity, expansion = params->expansion;
    const char *layout = args_layout_name(params->layout);
    const char *scheme = args_scheme_name(params->scheme);
    if (params->bits_per_key != 0) {
        RedisModule_Replicate(ctx, "BF.RESERVE", "scclclcccc", name, "BITSPERKEY", promise,
                              capacity, "EXPANSION", expansion, "LAYOUT", layout, "HASH", scheme);
    } else {
        RedisModule_Replicate(ctx, "BF.RESERVE", "sclclcccc", name, promise, capacity, "EXPANSION",
                              expansion, "LAYOUT", layout, "HASH", scheme);
    }
}

/* BF.RESERVE key {error_rate | BITSPERKEY bits} capacity [EXPANSION n | NONSCALING]
 *            [LAYOUT CLASSIC] [HASH XXH64|FNV1A] */
int cmd_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct filter_params params;
    const char *error = args_parse_reserve(argv, argc, &params);
    if (error) return reply_parse_error(ctx, error);

    RedisModuleKey *key;
    struct filter *filter;
    if (!open_any_filter(ctx, argv[1], FOR_WRITING, &key, &filter)) goto out;
    if (filter) {
        RedisModule_ReplyWithError(ctx, ERR_EXISTS);
        goto out;
    }
    enum status st = filter_new(&params, config_max_bytes(ctx), &filter);
    if (st != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, reply_creation_error(st));
        goto out;
    }
    RedisModule_ModuleTypeSetValue(key, type_bloomport, filter);
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    replicate_reserve(ctx, argv[1], &params);
    announce(ctx, argv[1], "bf.reserve");
out:
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* ---- BF.ADD, BF.MADD, BF.INSERT ----------------------------------------------------------- */

/* The items of a command that changed the filter, to be propagated. As long as all of them did,
 * they are the command's own words; the first that did not makes it a list of their own. */
struct added_items {
    RedisModuleString **words;
    RedisModuleString **list; // NULL as long as all were added
    size_t count;
};

static void added_note(struct added_items *added, size_t index, size_t nitems, bool is_added) {
    if (!is_added && !added->list) {
        added->list = RedisModule_Alloc(nitems * sizeof(*added->list));
        memcpy(added->list, added->words, index * sizeof(*added->list));
    }
    if (!is_added) return;
    if (added->list) added->list[added->count] = added->words[index];
    added->count++;
}

/* Adds one item. The limit is asked for only when the filter has to grow. */
static enum status add_item(RedisModuleCtx *ctx, struct filter *filter,
                            const RedisModuleString *item, bool *added) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    struct hash hash = filter_hash(filter, bytes, len);
    enum status st = filter_add(filter, hash, 0, added);
    if (st == STATUS_NOMEM) st = filter_add(filter, hash, config_max_bytes(ctx), added);
    return st;
}

/* Adds all items and replies with one element each; a non-scaling filter that is full ends the
 * reply with the error. */
static void add_and_reply(RedisModuleCtx *ctx, struct filter *filter, RedisModuleString **items,
                          size_t nitems, struct added_items *added) {
    // Only a non-scaling filter can stop half way.
    bool may_stop = filter->expansion == 0;
    RedisModule_ReplyWithArray(ctx, may_stop ? REDISMODULE_POSTPONED_LEN : (long)nitems);
    size_t i = 0;
    for (enum status st = STATUS_OK; i < nitems && st != STATUS_FULL; i++) {
        bool is_added = false;
        st = add_item(ctx, filter, items[i], &is_added);
        added_note(added, i, nitems, is_added);
        if (st == STATUS_OK) {
            RedisModule_ReplyWithBool(ctx, is_added);
        } else {
            RedisModule_ReplyWithError(ctx, reply_add_error(st));
        }
    }
    if (may_stop) RedisModule_ReplySetArrayLength(ctx, (long)i);
}

static void replicate_added(RedisModuleCtx *ctx, RedisModuleString *name,
                            const struct filter_params *created, const struct added_items *added) {
    RedisModuleString **items = added->list ? added->list : added->words;
    if (!created) {
        RedisModule_Replicate(ctx, "BF.MADD", "sv", name, items, added->count);
        return;
    }
    char promise[32];
    promise_text(created, promise, sizeof(promise));
    RedisModule_Replicate(ctx, "BF.INSERT", "sclccclcccccv", name, "CAPACITY",
                          (long long)created->capacity, promise_word(created), promise, "EXPANSION",
                          (long long)created->expansion, "LAYOUT",
                          args_layout_name(created->layout), "HASH",
                          args_scheme_name(created->scheme), "ITEMS", items, added->count);
}

/* The filter to add to: the key's own, or a new one if there is none and `params` may be used.
 * NULL if there is none to be had, and the error has been sent. */
static struct filter *open_or_create(RedisModuleCtx *ctx, RedisModuleString *name,
                                     const struct filter_params *params, bool nocreate,
                                     RedisModuleKey **key, bool *created) {
    struct filter *filter;
    *created = false;
    if (!open_filter(ctx, name, FOR_WRITING, key, &filter)) return NULL;
    if (filter) return filter;
    if (nocreate) {
        RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
        return NULL;
    }
    enum status st = filter_new(params, config_max_bytes(ctx), &filter);
    if (st != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, reply_creation_error(st));
        return NULL;
    }
    RedisModule_ModuleTypeSetValue(*key, type_bloomport, filter);
    *created = true;
    return filter;
}

/* BF.MADD and BF.INSERT, from the key on. */
static int add_items(RedisModuleCtx *ctx, RedisModuleString *name,
                     const struct filter_params *params, bool nocreate, RedisModuleString **items,
                     int nitems) {
    RedisModuleKey *key;
    bool created;
    struct filter *filter = open_or_create(ctx, name, params, nocreate, &key, &created);
    if (filter) {
        struct added_items added = {.words = items};
        add_and_reply(ctx, filter, items, (size_t)nitems, &added);
        if (added.count > 0) {
            replicate_added(ctx, name, created ? params : NULL, &added);
            announce(ctx, name, "bf.add");
        }
        RedisModule_Free(added.list);
    }
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* BF.ADD key item */
int cmd_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    RedisModuleKey *key;
    bool created;
    struct filter_params params = config_default_params();
    struct filter *filter = open_or_create(ctx, argv[1], &params, false, &key, &created);
    if (filter) {
        bool is_added = false;
        enum status st = add_item(ctx, filter, argv[2], &is_added);
        if (st == STATUS_OK) {
            RedisModule_ReplyWithBool(ctx, is_added);
        } else {
            RedisModule_ReplyWithError(ctx, reply_add_error(st));
        }
        if (created) {
            struct added_items added = {.words = argv + 2, .count = 1};
            replicate_added(ctx, argv[1], &params, &added);
        } else if (is_added) {
            RedisModule_ReplicateVerbatim(ctx);
        }
        if (is_added) announce(ctx, argv[1], "bf.add");
    }
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* BF.MADD key item [item ...] */
int cmd_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct filter_params params = config_default_params();
    return add_items(ctx, argv[1], &params, false, argv + 2, argc - 2);
}

/* BF.INSERT key [CAPACITY n] [ERROR p | BITSPERKEY b] [EXPANSION n | NONSCALING]
 *           [LAYOUT CLASSIC] [HASH XXH64|FNV1A] [NOCREATE] ITEMS item [item ...] */
int cmd_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 4) return RedisModule_WrongArity(ctx);
    struct insert_args args;
    const char *error = args_parse_insert(argv, argc, &args);
    if (error) return reply_parse_error(ctx, error);
    return add_items(ctx, argv[1], &args.params, args.nocreate, argv + args.first_item,
                     argc - args.first_item);
}

/* ---- BF.EXISTS, BF.MEXISTS ---------------------------------------------------------------- */

static bool contains_item(const struct filter *filter, const RedisModuleString *item) {
    if (!filter) return false; // a key that does not exist holds nothing
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    return filter_contains(filter, filter_hash(filter, bytes, len));
}

/* BF.EXISTS key item */
int cmd_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    RedisModuleKey *key;
    struct filter *filter;
    if (open_filter(ctx, argv[1], FOR_READING, &key, &filter)) {
        RedisModule_ReplyWithBool(ctx, contains_item(filter, argv[2]));
    }
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* BF.MEXISTS key item [item ...] */
int cmd_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    RedisModuleKey *key;
    struct filter *filter;
    if (open_filter(ctx, argv[1], FOR_READING, &key, &filter)) {
        RedisModule_ReplyWithArray(ctx, argc - 2);
        for (int i = 2; i < argc; i++) {
            RedisModule_ReplyWithBool(ctx, contains_item(filter, argv[i]));
        }
    }
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* ---- BF.CARD, BF.INFO, BF.DEBUG ----------------------------------------------------------- */

/* BF.CARD key */
int cmd_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    RedisModuleKey *key;
    struct filter *filter;
    if (open_filter(ctx, argv[1], FOR_READING, &key, &filter)) {
        RedisModule_ReplyWithLongLong(ctx, filter ? (long long)filter_items(filter) : 0);
    }
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

enum { INFO_CAPACITY, INFO_SIZE, INFO_FILTERS, INFO_ITEMS, INFO_EXPANSION, INFO_COUNT };

/* Exactly these five, in this order: clients break on any other. */
static const struct {
    const char *selector, *name;
} INFO_FIELDS[INFO_COUNT] = {
    [INFO_CAPACITY] = {"CAPACITY", "Capacity"},
    [INFO_SIZE] = {"SIZE", "Size"},
    [INFO_FILTERS] = {"FILTERS", "Number of filters"},
    [INFO_ITEMS] = {"ITEMS", "Number of items inserted"},
    [INFO_EXPANSION] = {"EXPANSION", "Expansion rate"},
};

static void reply_info_value(RedisModuleCtx *ctx, const struct filter *filter, int field) {
    uint64_t value = 0;
    switch (field) {
    case INFO_CAPACITY: value = filter_capacity(filter); break;
    case INFO_SIZE: value = filter_size_bytes(filter); break;
    case INFO_FILTERS: value = filter->nlayers; break;
    case INFO_ITEMS: value = filter_items(filter); break;
    default: value = filter->expansion; break;
    }
    if (field == INFO_EXPANSION && value == 0) {
        RedisModule_ReplyWithNull(ctx); // non-scaling
    } else {
        RedisModule_ReplyWithLongLong(ctx, (long long)value);
    }
}

/* One field: a map of one pair in RESP3, but in RESP2 an array of the value alone. */
static void reply_info_field(RedisModuleCtx *ctx, const struct filter *filter, int field) {
    if (reply_is_resp3(ctx)) {
        RedisModule_ReplyWithMap(ctx, 1);
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[field].name);
    } else {
        RedisModule_ReplyWithArray(ctx, 1);
    }
    reply_info_value(ctx, filter, field);
}

static void reply_info(RedisModuleCtx *ctx, const struct filter *filter) {
    RedisModule_ReplyWithMap(ctx, INFO_COUNT);
    for (int i = 0; i < INFO_COUNT; i++) {
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[i].name);
        reply_info_value(ctx, filter, i);
    }
}

/* BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION] */
int cmd_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2 || argc > 3) return RedisModule_WrongArity(ctx);
    int field = 0;
    if (argc == 3) {
        while (field < INFO_COUNT && !args_is_word(argv[2], INFO_FIELDS[field].selector)) field++;
    }
    RedisModuleKey *key;
    struct filter *filter;
    if (open_existing_filter(ctx, argv[1], &key, &filter)) {
        if (field == INFO_COUNT) {
            RedisModule_ReplyWithError(ctx, ERR_INFO_FIELD);
        } else if (argc == 3) {
            reply_info_field(ctx, filter, field);
        } else {
            reply_info(ctx, filter);
        }
    }
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

static void reply_debug_layer(RedisModuleCtx *ctx, const struct layer *layer) {
    char line[256];
    int len =
        snprintf(line, sizeof(line),
                 "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu "
                 "ratio:%g",
                 (unsigned long long)layer_bytes(layer->nbits), (unsigned long long)layer->nbits,
                 layer->nhashes, (unsigned long long)layer->capacity,
                 (unsigned long long)layer->items, layer->error_rate);
    RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)len);
}

/* BF.DEBUG key */
int cmd_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    RedisModuleKey *key;
    struct filter *filter;
    if (open_existing_filter(ctx, argv[1], &key, &filter)) {
        RedisModule_ReplyWithArray(ctx, (long)filter->nlayers + 1);
        char line[64];
        int len =
            snprintf(line, sizeof(line), "size:%llu", (unsigned long long)filter_items(filter));
        RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)len);
        for (uint32_t i = 0; i < filter->nlayers; i++) {
            reply_debug_layer(ctx, &filter->layers[i]);
        }
    }
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

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
    RedisModuleKey *key;
    struct filter *filter;
    if (open_existing_filter(ctx, argv[1], &key, &filter)) {
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
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* The header: creates a filter that waits for its bits. NULL, or the error text. */
static const char *load_header(RedisModuleCtx *ctx, RedisModuleKey *key, const char *data,
                               size_t len) {
    struct filter *filter;
    enum status st =
        codec_decode_header((const uint8_t *)data, len, config_max_bytes(ctx), &filter);
    if (st == STATUS_NOMEM) return ERR_NO_MEMORY;
    if (st != STATUS_OK) return ERR_BAD_DATA;
    if (filter->is_loading) { // a dump is taken of whole filters only
        filter_free(filter);
        return ERR_BAD_DATA;
    }
    filter->is_loading = true;
    filter->loaded = 0;
    RedisModule_ModuleTypeSetValue(key, type_bloomport, filter);
    return NULL;
}

/* A piece of the bits. NULL, or the error text; *changed: whether it brought anything. */
static const char *load_piece(struct filter *filter, long long iterator, const char *data,
                              size_t len, bool *changed) {
    if (iterator < 1 || len > (uint64_t)iterator - 1) return ERR_BAD_DATA;
    switch (codec_put_piece(filter, (uint64_t)iterator - 1, data, len)) {
    case CODEC_PIECE_STORED: *changed = true; return NULL;
    case CODEC_PIECE_KNOWN: *changed = false; return NULL;
    case CODEC_PIECE_OUTSIDE: return ERR_CHUNK_OUTSIDE;
    case CODEC_PIECE_CROSSING: return ERR_CHUNK_CROSSING;
    case CODEC_PIECE_GAP: return ERR_CHUNK_GAP;
    default: return ERR_BAD_DATA;
    }
}

/* BF.LOADCHUNK key iterator data. What BF.SCANDUMP gave, in the same order. */
int cmd_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 4) return RedisModule_WrongArity(ctx);
    long long iterator;
    if (RedisModule_StringToLongLong(argv[2], &iterator) != REDISMODULE_OK) {
        return RedisModule_ReplyWithError(ctx, ERR_ITERATOR);
    }
    RedisModuleKey *key;
    struct filter *filter;
    if (!open_any_filter(ctx, argv[1], FOR_WRITING, &key, &filter)) goto out;
    size_t len;
    const char *data = RedisModule_StringPtrLen(argv[3], &len);
    bool changed = true;
    const char *error;
    if (filter) {
        error = load_piece(filter, iterator, data, len, &changed);
    } else if (iterator == 1) {
        error = load_header(ctx, key, data, len);
    } else {
        error = ERR_NOT_FOUND;
    }
    if (error) {
        RedisModule_ReplyWithError(ctx, error);
        goto out;
    }
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    if (changed) {
        RedisModule_ReplicateVerbatim(ctx);
        announce(ctx, argv[1], "bf.loadchunk");
    }
out:
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}
