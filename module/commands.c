/* The BF.* commands. Each goes the same four steps: parse, open the key, act, reply and replicate;
 * everything that can be refused is refused before the first change.
 *
 * What is propagated to replicas and the AOF: only what changed something, and never anything that
 * depends on the settings of whoever replays it. A creation carries every parameter; a batch
 * carries the items that answered 1. */

#include "module/commands.h"

#include "module/args.h"
#include "module/config.h"
#include "module/key.h"
#include "module/reply.h"

#include <stdio.h>
#include <string.h>

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
 *            [LAYOUT CLASSIC|BLOCKED] [HASH XXH64|FNV1A] */
int cmd_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct filter_params params;
    const char *error = args_parse_reserve(argv, argc, &params);
    if (error) return args_reply_error(ctx, error);

    struct key key;
    if (!key_open_any(ctx, argv[1], FOR_WRITING, &key)) goto out;
    if (key.filter) {
        RedisModule_ReplyWithError(ctx, ERR_EXISTS);
        goto out;
    }
    struct filter *filter;
    enum status st = filter_new(&params, config_max_bytes(ctx), &filter);
    if (st != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, reply_creation_error(st, params.layout));
        goto out;
    }
    key_set(&key, filter);
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    replicate_reserve(ctx, argv[1], &params);
    key_announce(&key, "bf.reserve");
out:
    key_close(&key);
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

static struct hash hash_of(const struct filter *filter, const RedisModuleString *item) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    return filter_hash(filter, bytes, len);
}

/* Adds one item. The limit is asked for only when the filter has to grow. */
static enum status add_item(RedisModuleCtx *ctx, struct filter *filter, struct hash hash,
                            bool *added) {
    enum status st = filter_add(filter, hash, 0, added);
    if (st == STATUS_NOMEM) st = filter_add(filter, hash, config_max_bytes(ctx), added);
    return st;
}

static void reply_added(RedisModuleCtx *ctx, enum status st, bool added) {
    if (st == STATUS_OK) {
        RedisModule_ReplyWithBool(ctx, added);
    } else {
        RedisModule_ReplyWithError(ctx, reply_add_error(st));
    }
}

/* Adds up to a window of items and replies to each. False if a non-scaling filter is full: then
 * *n is how many it replied to. */
static bool add_window(RedisModuleCtx *ctx, struct filter *filter, RedisModuleString **items,
                       size_t *n, bool *added) {
    struct hash hashes[FILTER_WINDOW];
    for (size_t i = 0; i < *n; i++) hashes[i] = hash_of(filter, items[i]);
    for (size_t from = 0; from < *n;) {
        size_t done;
        enum status st = filter_add_many(filter, hashes + from, *n - from, 0, added + from, &done);
        for (size_t i = from; i < from + done; i++) RedisModule_ReplyWithBool(ctx, added[i]);
        from += done;
        if (st == STATUS_OK) break;
        // This one needs a new layer, or has no room.
        added[from] = false;
        st = add_item(ctx, filter, hashes[from], &added[from]);
        reply_added(ctx, st, added[from]);
        from++;
        if (st == STATUS_FULL) {
            *n = from;
            return false;
        }
    }
    return true;
}

/* Adds all items and replies with one element each; a non-scaling filter that is full ends the
 * reply with the error. */
static void add_and_reply(RedisModuleCtx *ctx, struct filter *filter, RedisModuleString **items,
                          size_t nitems, struct added_items *added) {
    // Only a non-scaling filter can stop half way.
    bool may_stop = filter->expansion == 0;
    RedisModule_ReplyWithArray(ctx, may_stop ? REDISMODULE_POSTPONED_LEN : (long)nitems);
    size_t replied = 0;
    for (bool has_room = true; replied < nitems && has_room;) {
        size_t n = nitems - replied < FILTER_WINDOW ? nitems - replied : FILTER_WINDOW;
        bool is_added[FILTER_WINDOW];
        has_room = add_window(ctx, filter, items + replied, &n, is_added);
        for (size_t i = 0; i < n; i++) added_note(added, replied + i, nitems, is_added[i]);
        replied += n;
    }
    if (may_stop) RedisModule_ReplySetArrayLength(ctx, (long)replied);
}

static void replicate_added(RedisModuleCtx *ctx, RedisModuleString *name,
                            const struct filter_params *created, const struct added_items *added) {
    RedisModuleString **items = added->list ? added->list : added->words;
    if (!created && !added->list) {
        RedisModule_ReplicateVerbatim(ctx); // all were added: cheaper, and the same
        return;
    }
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

/* Opens the filter to add n items to: the key's own, or a new one if there is none and `params` may
 * be used; *created then. False if there is none to be had, and the error has been sent. */
static bool open_or_create(RedisModuleCtx *ctx, RedisModuleString *name,
                           const struct filter_params *params, bool nocreate, size_t n,
                           struct key *key, bool *created) {
    *created = false;
    if (!key_open(ctx, name, FOR_WRITING, key)) return false;
    if (key->filter) {
        if (key_make_room(key, n)) return true;
        RedisModule_ReplyWithError(ctx, ERR_CANNOT_GROW);
        return false;
    }
    if (nocreate) {
        RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
        return false;
    }
    struct filter *filter;
    enum status st = filter_new(params, config_max_bytes(ctx), &filter);
    if (st != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, reply_creation_error(st, params->layout));
        return false;
    }
    key_set(key, filter);
    *created = true;
    if (key_make_room(key, n)) return true;
    RedisModule_DeleteKey(key->handle);
    key->value = NULL;
    RedisModule_ReplyWithError(ctx, ERR_NO_MEMORY);
    return false;
}

/* BF.MADD and BF.INSERT, from the key on. */
static int add_items(RedisModuleCtx *ctx, RedisModuleString *name,
                     const struct filter_params *params, bool nocreate, RedisModuleString **items,
                     size_t nitems) {
    struct key key;
    bool created;
    if (open_or_create(ctx, name, params, nocreate, nitems, &key, &created)) {
        struct added_items added = {.words = items};
        add_and_reply(ctx, key.filter, items, nitems, &added);
        if (added.count > 0) {
            replicate_added(ctx, name, created ? params : NULL, &added);
            key_announce(&key, "bf.add");
        }
        RedisModule_Free(added.list);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* BF.ADD key item */
int cmd_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct key key;
    bool created;
    struct filter_params params = config_default_params();
    if (open_or_create(ctx, argv[1], &params, false, 1, &key, &created)) {
        bool is_added = false;
        enum status st = add_item(ctx, key.filter, hash_of(key.filter, argv[2]), &is_added);
        reply_added(ctx, st, is_added);
        if (is_added) {
            struct added_items added = {.words = argv + 2, .count = 1};
            replicate_added(ctx, argv[1], created ? &params : NULL, &added);
            key_announce(&key, "bf.add");
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* BF.MADD key item [item ...] */
int cmd_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct filter_params params = config_default_params();
    return add_items(ctx, argv[1], &params, false, argv + 2, (size_t)argc - 2);
}

/* BF.INSERT key [CAPACITY n] [ERROR p | BITSPERKEY b] [EXPANSION n | NONSCALING]
 *           [LAYOUT CLASSIC|BLOCKED] [HASH XXH64|FNV1A] [NOCREATE] ITEMS item [item ...] */
int cmd_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 4) return RedisModule_WrongArity(ctx);
    struct insert_args args;
    const char *error = args_parse_insert(argv, argc, &args);
    if (error) return args_reply_error(ctx, error);
    return add_items(ctx, argv[1], &args.params, args.nocreate, argv + args.first_item,
                     (size_t)(argc - args.first_item));
}

/* ---- BF.EXISTS, BF.MEXISTS ---------------------------------------------------------------- */

/* BF.EXISTS key item */
int cmd_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key)) {
        const struct filter *filter = key.filter;
        // A key that does not exist holds nothing.
        RedisModule_ReplyWithBool(ctx, filter && filter_contains(filter, hash_of(filter, argv[2])));
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* Answers for up to a window of items. */
static void reply_contains(RedisModuleCtx *ctx, const struct filter *filter,
                           RedisModuleString **items, size_t n) {
    struct hash hashes[FILTER_WINDOW];
    bool contained[FILTER_WINDOW] = {false};
    if (filter) {
        for (size_t i = 0; i < n; i++) hashes[i] = hash_of(filter, items[i]);
        filter_contains_many(filter, hashes, n, contained);
    }
    for (size_t i = 0; i < n; i++) RedisModule_ReplyWithBool(ctx, contained[i]);
}

/* BF.MEXISTS key item [item ...] */
int cmd_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key)) {
        const struct filter *filter = key.filter;
        RedisModule_ReplyWithArray(ctx, argc - 2);
        for (int i = 2; i < argc; i += FILTER_WINDOW) {
            int window = argc - i < FILTER_WINDOW ? argc - i : FILTER_WINDOW;
            reply_contains(ctx, filter, argv + i, (size_t)window);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- BF.CARD, BF.INFO, BF.DEBUG ----------------------------------------------------------- */

/* BF.CARD key */
int cmd_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key)) {
        const struct filter *filter = key.filter;
        RedisModule_ReplyWithLongLong(ctx, filter ? (long long)filter_items(filter) : 0);
    }
    key_close(&key);
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

static void reply_info_value(RedisModuleCtx *ctx, const struct key *key, int field) {
    const struct filter *filter = key->filter;
    uint64_t value = 0;
    switch (field) {
    case INFO_CAPACITY: value = filter_capacity(filter); break;
    case INFO_SIZE: value = packed_size_bytes(key->value); break;
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
static void reply_info_field(RedisModuleCtx *ctx, const struct key *key, int field) {
    if (reply_is_resp3(ctx)) {
        RedisModule_ReplyWithMap(ctx, 1);
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[field].name);
    } else {
        RedisModule_ReplyWithArray(ctx, 1);
    }
    reply_info_value(ctx, key, field);
}

static void reply_info(RedisModuleCtx *ctx, const struct key *key) {
    RedisModule_ReplyWithMap(ctx, INFO_COUNT);
    for (int i = 0; i < INFO_COUNT; i++) {
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[i].name);
        reply_info_value(ctx, key, i);
    }
}

/* BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION] */
int cmd_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2 || argc > 3) return RedisModule_WrongArity(ctx);
    int field = 0;
    if (argc == 3) {
        while (field < INFO_COUNT && !args_is_word(argv[2], INFO_FIELDS[field].selector)) field++;
    }
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        if (field == INFO_COUNT) {
            RedisModule_ReplyWithError(ctx, ERR_INFO_FIELD);
        } else if (argc == 3) {
            reply_info_field(ctx, &key, field);
        } else {
            reply_info(ctx, &key);
        }
    }
    key_close(&key);
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
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        const struct filter *filter = key.filter;
        RedisModule_ReplyWithArray(ctx, (long)filter->nlayers + 1);
        char line[64];
        int len =
            snprintf(line, sizeof(line), "size:%llu", (unsigned long long)filter_items(filter));
        RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)len);
        for (uint32_t i = 0; i < filter->nlayers; i++) {
            reply_debug_layer(ctx, &filter->layers[i]);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}
