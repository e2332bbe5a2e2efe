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
    if (params->is_adopted) {
        const char *format = expansion ? "sclcl" : "sclc"; // in RedisBloom's words, to be adopted
        RedisModule_Replicate(ctx, "BF.RESERVE", format, name, promise, capacity,
                              expansion ? "EXPANSION" : "NONSCALING", expansion);
        return;
    }
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
    const char *error = args_parse_reserve(ctx, argv, argc, &params);
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

/* ---- Items --------------------------------------------------------------------------------- */

static struct hash hash_of(const struct filter *filter, const RedisModuleString *item) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    return filter_hash(filter, bytes, len);
}

/* Single commands tend to go to the same filter one after another. So what BF.EXISTS and BF.ADD
 * will look at is guessed from the filter that was asked last, and asked for before the key is
 * looked up: the memory is on its way meanwhile. A wrong guess, even of a filter that is gone,
 * costs a cache line or two, since asking for memory never fails. */
static struct {
    struct filter shape; // layout and scheme
    struct layer newest; // its bits may have been freed since
    struct group item;   // the one item of the command, which has asked
} guess;

static void guess_item(const RedisModuleString *item) {
    guess.item.n = 1;
    guess.item.hashes[0] = hash_of(&guess.shape, item);
    if (guess.newest.bits) layer_ask_all(&guess.newest, &guess.item);
}

static bool was_right(const struct filter *filter, const struct layer *newest) {
    return guess.newest.bits == newest->bits && guess.shape.layout == filter->layout &&
           guess.shape.scheme == filter->scheme && guess.newest.nbits == newest->nbits &&
           guess.newest.nhashes == newest->nhashes;
}

/* The item, after it has asked the filter's newest layer if the guess was wrong. The next guess
 * will be this filter. */
static const struct group *confirmed_item(const struct filter *filter,
                                          const RedisModuleString *item) {
    const struct layer *newest = &filter->layers[filter->nlayers - 1];
    if (!was_right(filter, newest)) {
        guess.shape.layout = filter->layout;
        guess.shape.scheme = filter->scheme;
        guess.newest = *newest;
        guess_item(item);
    }
    return &guess.item;
}

/* The items of a command on their way through the filter, and the client that waits. */
struct batch {
    RedisModuleCtx *ctx;
    struct filter *filter;
    RedisModuleString **items;
    size_t nitems;
    size_t nzero; // of those answered, these got 0
    // Of adding only
    size_t done;              // items that were answered
    size_t nadded;            // of them, those that changed the filter
    RedisModuleString **list; // these, or NULL as long as they are all
    size_t nfailed;           // items that could not be added
};

static void batch_hashes(void *context, size_t from, size_t n, struct hash *out) {
    const struct batch *batch = context;
    RedisModuleString **items = batch->items + batch->done + from;
    for (size_t i = 0; i < n; i++) out[i] = hash_of(batch->filter, items[i]);
}

static void batch_reply(void *context, size_t from, size_t n, const bool *answers) {
    struct batch *batch = context;
    (void)from;
    for (size_t i = 0; i < n; i++) {
        RedisModule_ReplyWithBool(batch->ctx, answers[i]);
        batch->nzero += !answers[i];
    }
}

/* ---- BF.ADD, BF.MADD, BF.INSERT ----------------------------------------------------------- */

/* Keeps account of item `index`. As long as all were added, the list is the command's own words;
 * the first that was not makes it one of its own. */
static void note_added(struct batch *batch, size_t index, bool is_added) {
    if (!is_added && !batch->list) {
        batch->list = RedisModule_Alloc(batch->nitems * sizeof(*batch->list));
        memcpy(batch->list, batch->items, index * sizeof(*batch->list));
    }
    if (!is_added) return;
    if (batch->list) batch->list[batch->nadded] = batch->items[index];
    batch->nadded++;
}

static void batch_reply_added(void *context, size_t from, size_t n, const bool *added) {
    struct batch *batch = context;
    batch_reply(batch, from, n, added);
    for (size_t i = 0; i < n; i++) note_added(batch, batch->done + from + i, added[i]);
}

/* Adds one item that was guessed. The limit is asked for only when the filter has to grow. */
static enum status add_item(RedisModuleCtx *ctx, struct filter *filter,
                            const RedisModuleString *item, bool *added) {
    const struct group *asked = confirmed_item(filter, item);
    enum status st = filter_add_asked(filter, asked, 0, 0, added);
    if (st != STATUS_NOMEM) return st;
    return filter_add(filter, asked->hashes[0], config_max_bytes(ctx), added);
}

static void reply_added(RedisModuleCtx *ctx, enum status st, bool added) {
    if (st == STATUS_OK) {
        RedisModule_ReplyWithBool(ctx, added);
    } else {
        RedisModule_ReplyWithError(ctx, reply_add_error(st));
    }
}

/* The next item, which needs a new layer or has no room. */
static enum status add_next(struct batch *batch) {
    bool added = false;
    const RedisModuleString *item = batch->items[batch->done];
    guess_item(item);
    enum status st = add_item(batch->ctx, batch->filter, item, &added);
    reply_added(batch->ctx, st, added);
    note_added(batch, batch->done, added);
    batch->nfailed += st != STATUS_OK;
    batch->done++;
    return st;
}

/* Adds all items and replies with one element each; a non-scaling filter that is full ends the
 * reply with the error. */
static void add_and_reply(struct batch *batch) {
    // Only a non-scaling filter can stop half way.
    bool may_stop = batch->filter->expansion == 0;
    RedisModule_ReplyWithArray(batch->ctx,
                               may_stop ? REDISMODULE_POSTPONED_LEN : (long)batch->nitems);
    while (batch->done < batch->nitems) {
        size_t some;
        filter_add_each(batch->filter, batch->nitems - batch->done, 0, batch_hashes,
                        batch_reply_added, batch, &some);
        batch->done += some;
        if (batch->done < batch->nitems && add_next(batch) == STATUS_FULL) break;
    }
    if (may_stop) RedisModule_ReplySetArrayLength(batch->ctx, (long)batch->done);
}

/* The command as it came is as good as a list of its added items if none failed: what this filter
 * contained, the replica's contains too. It is also cheaper, unless most of it was known. */
static bool is_good_verbatim(const struct batch *batch) {
    return batch->nfailed == 0 && batch->nitems - batch->nadded <= batch->nitems / 16;
}

static RedisModuleString **added_items(const struct batch *batch) {
    return batch->list ? batch->list : batch->items;
}

/* A creation that RedisBloom told us of: in its words, so that whoever is told by us adopts it. */
static void replicate_adopted(const struct batch *batch, RedisModuleString *name,
                              const struct filter_params *created, const char *promise) {
    RedisModuleString **items = added_items(batch);
    long long capacity = (long long)created->capacity, expansion = created->expansion;
    if (expansion) {
        RedisModule_Replicate(batch->ctx, "BF.INSERT", "sclccclcv", name, "CAPACITY", capacity,
                              "ERROR", promise, "EXPANSION", expansion, "ITEMS", items,
                              batch->nadded);
    } else {
        RedisModule_Replicate(batch->ctx, "BF.INSERT", "sclccccv", name, "CAPACITY", capacity,
                              "ERROR", promise, "NONSCALING", "ITEMS", items, batch->nadded);
    }
}

/* With every parameter, so that whoever is told creates the same filter. */
static void replicate_creation(const struct batch *batch, RedisModuleString *name,
                               const struct filter_params *created) {
    RedisModuleString **items = added_items(batch);
    char promise[32];
    promise_text(created, promise, sizeof(promise));
    if (created->is_adopted) {
        replicate_adopted(batch, name, created, promise);
        return;
    }
    RedisModule_Replicate(batch->ctx, "BF.INSERT", "sclccclcccccv", name, "CAPACITY",
                          (long long)created->capacity, promise_word(created), promise, "EXPANSION",
                          (long long)created->expansion, "LAYOUT",
                          args_layout_name(created->layout), "HASH",
                          args_scheme_name(created->scheme), "ITEMS", items, batch->nadded);
}

static void replicate_added(const struct batch *batch, RedisModuleString *name) {
    if (is_good_verbatim(batch)) {
        RedisModule_ReplicateVerbatim(batch->ctx);
    } else {
        RedisModule_Replicate(batch->ctx, "BF.MADD", "sv", name, added_items(batch), batch->nadded);
    }
}

/* Opens the filter to add n items to: the key's own, or a new one if there is none and `params` may
 * be used; *created then. False if there is none to be had, and the error has been sent. */
static bool open_or_create(RedisModuleCtx *ctx, RedisModuleString *name,
                           struct filter_params *params, bool nocreate, size_t n, struct key *key,
                           bool *created) {
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
    // Our own master or AOF names the parameters of a filter that is new.
    if (params->is_default && config_is_told(ctx)) args_as_redisbloom(params);
    struct filter *filter;
    enum status st = filter_new(params, config_max_bytes(ctx), &filter);
    if (st != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, reply_creation_error(st, params->layout));
        return false;
    }
    key_set(key, filter);
    *created = true;
    if (key_make_room(key, n)) return true;
    key_delete(key);
    RedisModule_ReplyWithError(ctx, ERR_NO_MEMORY);
    return false;
}

/* BF.MADD and BF.INSERT, from the key on. */
static int add_items(RedisModuleCtx *ctx, RedisModuleString *name, struct filter_params *params,
                     bool nocreate, RedisModuleString **items, size_t nitems) {
    struct key key;
    bool created;
    if (open_or_create(ctx, name, params, nocreate, nitems, &key, &created)) {
        struct batch batch = {.ctx = ctx, .filter = key.filter, .items = items, .nitems = nitems};
        add_and_reply(&batch);
        metrics.adds += batch.done - batch.nfailed;
        if (batch.nadded > 0) {
            if (created) {
                replicate_creation(&batch, name, params);
            } else {
                replicate_added(&batch, name);
            }
            key_announce(&key, "bf.add");
        }
        RedisModule_Free(batch.list);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* BF.ADD key item */
int cmd_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    guess_item(argv[2]);
    struct key key;
    bool created;
    struct filter_params params = config_default_params();
    if (open_or_create(ctx, argv[1], &params, false, 1, &key, &created)) {
        bool is_added = false;
        enum status st = add_item(ctx, key.filter, argv[2], &is_added);
        reply_added(ctx, st, is_added);
        metrics.adds += st == STATUS_OK;
        if (is_added) {
            struct batch batch = {.ctx = ctx, .items = argv + 2, .nitems = 1, .nadded = 1};
            if (created) {
                replicate_creation(&batch, argv[1], &params);
            } else {
                RedisModule_ReplicateVerbatim(ctx);
            }
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
    const char *error = args_parse_insert(ctx, argv, argc, &args);
    if (error) return args_reply_error(ctx, error);
    return add_items(ctx, argv[1], &args.params, args.nocreate, argv + args.first_item,
                     (size_t)(argc - args.first_item));
}

/* ---- BF.EXISTS, BF.MEXISTS ---------------------------------------------------------------- */

/* BF.EXISTS key item */
int cmd_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    guess_item(argv[2]);
    struct key key;
    bool is_open = key_open(ctx, argv[1], FOR_READING, &key);
    key_close(&key); // already, while the memory arrives: the filter stays where it is
    if (!is_open) return REDISMODULE_OK;
    // A key that does not exist holds nothing.
    const struct filter *filter = key.filter;
    bool contained = filter && filter_contains_asked(filter, confirmed_item(filter, argv[2]), 0);
    RedisModule_ReplyWithBool(ctx, contained);
    metrics.checks++;
    metrics.checks_absent += !contained;
    return REDISMODULE_OK;
}

/* BF.MEXISTS key item [item ...] */
int cmd_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key)) {
        size_t n = (size_t)argc - 2;
        struct batch batch = {.ctx = ctx, .filter = key.filter, .items = argv + 2, .nitems = n};
        RedisModule_ReplyWithArray(ctx, (long)n);
        if (key.filter) {
            filter_contains_each(key.filter, n, batch_hashes, batch_reply, &batch);
        } else {
            for (size_t i = 0; i < n; i++) RedisModule_ReplyWithBool(ctx, 0);
            batch.nzero = n;
        }
        metrics.checks += n;
        metrics.checks_absent += batch.nzero;
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
    case INFO_SIZE: value = key_size_bytes(key); break;
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
