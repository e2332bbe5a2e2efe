/* The commands that create filters, add items and look items up: BF.RESERVE, BF.ADD, BF.MADD,
 * BF.INSERT, BF.EXISTS, BF.MEXISTS. Each command takes the same steps: parse, open the key, act,
 * reply, replicate, close, announce. Every refusal comes before the first change. */

#include "module/commands.h"

#include "module/args_foreign.h"
#include "module/config.h"
#include "module/core/batch.h"
#include "module/core/window.h"
#include "module/key.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"
#include "rdb/formats/valkeybloom.h"

#include <string.h>
#include <sys/random.h>

/* A random seed. False if the kernel has no random numbers. */
static bool draw_seed(struct seed *out) {
    return getrandom(out->keys, sizeof(out->keys), 0) == (ssize_t)sizeof(out->keys);
}

/* Makes a new filter, which the key gets when it is closed. If it fails, sends the error and
 * returns false. */
static bool create(struct key *key, struct creation *creation) {
    struct filter_params *params = &creation->params;
    struct filter *filter;
    if (params->scheme == SCHEME_SIP13 && !creation->has_seed && !draw_seed(&params->seed)) {
        RedisModule_ReplyWithError(key->ctx, ERR_NO_SEED);
        return false;
    }
    uint64_t max_bytes = config_max_bytes(key->ctx);
    if (creation->scales_to && filter_scaled_bytes(params, creation->scales_to) > max_bytes) {
        RedisModule_ReplyWithError(key->ctx, ERR_SCALETO_LIMIT);
        return false;
    }
    enum status st = filter_new(params, max_bytes, &filter);
    if (st != STATUS_OK) {
        reply_creation_error(key->ctx, st, params);
        return false;
    }
    if (params->growth == GROWTH_RATIO) {
        filter->is_fixed_seed = valkeybloom_is_fixed_seed(&params->seed);
    }
    key_put(key, filter, false);
    key->expires = creation->expires;
    return true;
}

/* BF.RESERVE key {error_rate | BITSPERKEY bits} capacity [EXPANSION n | NONSCALING]
 *            [LAYOUT CLASSIC|BLOCKED|COUNTING] [HASH XXH64|FNV1A|SIP13] [SEED seed]
 *            [WINDOW seconds [GENERATIONS g]] [EX seconds | PX ms | PXAT unix-ms] */
int cmd_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct creation creation;
    const char *error = args_parse_reserve(ctx, argv, argc, &creation);
    if (error) return args_reply_error(ctx, error);

    struct key key;
    if (!key_open_any(ctx, argv[1], FOR_WRITING, &key)) goto out;
    if (key.filter) {
        RedisModule_ReplyWithError(ctx, ERR_EXISTS);
        goto out;
    }
    if (!create(&key, &creation)) goto out;
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    replicate_reserve(ctx, argv[1], &creation);
    key_close_changed(&key, "bf.reserve");
    return REDISMODULE_OK;
out:
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- Items ---------------------------------------------------------------------------------- */

static struct hash hash_of(const struct layer *layer, const struct seed *seed,
                           const RedisModuleString *item) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    return layer_hash(layer, seed, bytes, len);
}

/* Hashes the next items, as many as fit into a probe. Returns how many. */
static size_t hash_some(const struct filter *filter, RedisModuleString **items, size_t nitems,
                        struct hash *out) {
    size_t n = nitems < PROBE_ITEMS ? nitems : PROBE_ITEMS;
    const struct layer *layer = filter_newest(filter);
    for (size_t i = 0; i < n; i++) out[i] = hash_of(layer, &filter->seed, items[i]);
    return n;
}

/* Commands in a row tend to use the same filter. So BF.ADD and BF.EXISTS first probe the layer that
 * the last such command used; its memory arrives while the server looks up the key:
 *
 *   probe_hint     prefetch in the last command's layer, without touching it
 *   key_open       look up the key
 *   probe_newest   if the key's newest layer is another one, probe that
 *
 * This copy of the layer is only a hint: no answer depends on it. If the layer has been freed, the
 * prefetches are wasted; a prefetch never faults. */
static struct {
    struct layer layer;
    struct seed seed; // of its filter
} hint;

static void probe_item(const struct layer *layer, const struct seed *seed,
                       const RedisModuleString *item, struct probe *probe) {
    probe->n = 1;
    probe->hashes[0] = hash_of(layer, seed, item);
    layer_probe_all(layer, probe);
}

static void probe_hint(const RedisModuleString *item, struct probe *probe) {
    layer_unprobe(probe);
    if (hint.layer.bits) probe_item(&hint.layer, &hint.seed, item, probe);
}

/* Whether an item has the same hash in the filter as it had with the hint's seed. */
static bool is_hints_seed(const struct filter *filter) {
    return filter->scheme != SCHEME_SIP13 ||
           memcmp(&filter->seed, &hint.seed, sizeof(hint.seed)) == 0;
}

static void probe_newest(const struct filter *filter, const RedisModuleString *item,
                         struct probe *probe) {
    const struct layer *newest = filter_newest(filter);
    if (layer_is_probed(newest, probe) && is_hints_seed(filter)) return;
    probe_item(newest, &filter->seed, item, probe);
    hint.layer = *newest;
    hint.seed = filter->seed;
}

/* ---- Adding --------------------------------------------------------------------------------- */

/* The progress of a command that adds items. */
struct adding {
    struct key key;
    const RedisModuleString *sent; // the command's name as sent, for BF.ADD and BF.MADD; else NULL
    const struct creation *named;  // what the command says of a new filter; NULL: nothing
    struct creation creation;      // of the filter, once it is created
    bool is_explicit;              // the command itself named the parameters
    bool nocreate;
    RedisModuleString **items;
    size_t nitems;
    size_t done;                  // items that were answered
    size_t nfailed;               // answered items that could not be added
    size_t nchanging;             // answered items that changed the filter
    RedisModuleString **changing; // those; NULL as long as all items did
};

static void adding_init(struct adding *a, RedisModuleString **items, int nitems,
                        const RedisModuleString *sent) {
    a->sent = sent;
    a->named = NULL;
    a->is_explicit = a->nocreate = false;
    a->items = items;
    a->nitems = (size_t)nitems;
    a->done = a->nfailed = a->nchanging = 0;
    a->changing = NULL;
}

/* Counts the next item. As long as all items changed the filter, the command's own arguments are
 * the list of them. The first item that did not starts a separate list. */
static void count_item(struct adding *a, bool is_changing) {
    if (!is_changing && !a->changing) {
        a->changing = RedisModule_Alloc(a->nitems * sizeof(*a->changing));
        memcpy(a->changing, a->items, a->nchanging * sizeof(*a->changing));
    }
    if (is_changing) {
        if (a->changing) a->changing[a->nchanging] = a->items[a->done];
        a->nchanging++;
    }
    a->done++;
}

static void reply_added(struct adding *a, const struct outcome *outcomes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        RedisModule_ReplyWithBool(a->key.ctx, outcomes[i].added);
        count_item(a, outcomes[i].changed);
    }
}

static void reply_failed(struct adding *a, enum status st) {
    reply_add_error(a->key.ctx, st, a->key.filter);
    count_item(a, false);
    a->nfailed++;
}

/* Begins the generation of a window that an add needs now. Replayed adds go to the newest one: the
 * stream says when the next begins, and no clock here does. If it fails, sends the error and
 * returns false. */
static bool begin_generation(struct key *key) {
    if (key->filter->window == 0 || replay_is(key->ctx)) return true;
    uint64_t now = (uint64_t)RedisModule_Milliseconds();
    if (!window_is_due(key->filter, now)) return true;
    uint64_t start = window_due(key->filter, now);
    if (key_rotate(key, start) == STATUS_OK) return true;
    reply_no_room(key->ctx, ERR_CANNOT_GROW, window_rotated_bytes(key->filter, start));
    return false;
}

/* Opens the key's filter, or creates one if the key is missing. If it can do neither, sends the
 * reply and returns false. */
static bool open_or_create(RedisModuleCtx *ctx, RedisModuleString *name, struct adding *a) {
    if (!key_open(ctx, name, FOR_WRITING, &a->key)) return false;
    if (a->key.filter) return begin_generation(&a->key);
    if (a->nocreate) {
        RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
        return false;
    }
    a->creation = a->named ? *a->named : (struct creation){.params = config_add_params()};
    if (!a->is_explicit && replay_is(ctx)) {
        if (replay_is_explicit()) { // this server has lost the filter (replay.h)
            RedisModule_ReplyWithNull(ctx);
            return false;
        }
        args_foreign_as_redisbloom(&a->creation.params);
    }
    return create(&a->key, &a->creation) && begin_generation(&a->key);
}

/* Propagates what the command changed: the creation, a window's step, the items. */
static void replicate(RedisModuleCtx *ctx, RedisModuleString *name, const struct adding *a) {
    RedisModuleString **items = a->changing ? a->changing : a->items;
    const struct key *key = &a->key;
    if (key->put && key->filter->window == 0 && a->nchanging > 0) {
        replicate_creation(ctx, name, &a->creation, items, a->nchanging);
        return;
    }
    if (key->put) replicate_reserve(ctx, name, &a->creation);
    if (key->rotated) replicate_rotate(ctx, name, key->rotated);
    const RedisModuleString *sent = a->nfailed == 0 && !key->put ? a->sent : NULL;
    if (a->nchanging) replicate_added(ctx, name, items, a->nchanging, sent, a->nitems);
}

/* Replicates, closes, announces. */
static void finish(RedisModuleCtx *ctx, RedisModuleString *name, struct adding *a) {
    metrics.adds += a->done - a->nfailed;
    a->key.only_added = true;
    const char *event = a->nchanging ? "bf.add" : a->key.put ? "bf.reserve" : NULL;
    if (event || a->key.rotated) {
        replicate(ctx, name, a);
        key_close_changed(&a->key, event);
    } else {
        key_close(&a->key);
    }
    RedisModule_Free(a->changing);
}

/* BF.ADD key item */
int cmd_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct probe probe;
    probe_hint(argv[2], &probe);
    struct adding a;
    adding_init(&a, argv + 2, 1, argv[0]);
    if (!open_or_create(ctx, argv[1], &a)) {
        key_close(&a.key);
        return REDISMODULE_OK;
    }
    struct outcome outcome;
    enum status st;
    do {
        probe_newest(a.key.filter, argv[2], &probe);
        st = filter_probed_add(a.key.filter, &probe, 0, &outcome);
    } while (st == STATUS_GROW && (st = key_grow(&a.key)) == STATUS_OK);
    if (st == STATUS_OK) {
        reply_added(&a, &outcome, 1);
    } else {
        reply_failed(&a, st);
    }
    finish(ctx, argv[1], &a);
    return REDISMODULE_OK;
}

/* Grows the filter for the next item. If that fails, replies with the item's error and skips the
 * item. False: a non-scaling filter is full, which ends the command. */
static bool make_room(struct adding *a, struct batch *batch, enum status st) {
    if (st == STATUS_GROW) st = key_grow(&a->key);
    batch->filter = a->key.filter;
    if (st == STATUS_OK) return true;
    reply_failed(a, st);
    batch_skip(batch);
    return st != STATUS_FULL;
}

/* Adds all items and replies with one element for each. If a non-scaling filter is full, the error
 * is the last element. */
static void add_each(struct adding *a) {
    struct batch batch;
    batch_init(&batch, a->key.filter);
    for (size_t taken = 0; a->done < a->nitems;) {
        struct hash hashes[PROBE_ITEMS];
        struct outcome outcomes[PROBE_ITEMS];
        size_t ready, n = hash_some(a->key.filter, a->items + taken, a->nitems - taken, hashes);
        taken += n;
        enum status st = batch_add(&batch, hashes, n, outcomes, &ready);
        reply_added(a, outcomes, ready);
        while (st != STATUS_OK) {
            if (!make_room(a, &batch, st)) return;
            st = batch_resume(&batch, outcomes, &ready);
            reply_added(a, outcomes, ready);
        }
    }
}

/* BF.MADD and BF.INSERT after parsing. */
static int add_items(RedisModuleCtx *ctx, RedisModuleString *name, struct adding *a) {
    if (!open_or_create(ctx, name, a)) {
        key_close(&a->key);
        return REDISMODULE_OK;
    }
    // Only a non-scaling filter can end the reply early.
    bool may_stop = a->key.filter->expansion == 0;
    RedisModule_ReplyWithArray(ctx, may_stop ? REDISMODULE_POSTPONED_LEN : (long)a->nitems);
    add_each(a);
    if (may_stop) RedisModule_ReplySetArrayLength(ctx, (long)a->done);
    finish(ctx, name, a);
    return REDISMODULE_OK;
}

/* BF.MADD key item [item ...] */
int cmd_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct adding a;
    adding_init(&a, argv + 2, argc - 2, argv[0]);
    return add_items(ctx, argv[1], &a);
}

/* BF.INSERT key [CAPACITY n] [ERROR p | BITSPERKEY b] [EXPANSION n | NONSCALING]
 *           [LAYOUT CLASSIC|BLOCKED|COUNTING] [HASH XXH64|FNV1A|SIP13] [SEED seed]
 *           [WINDOW seconds [GENERATIONS g]] [EX seconds | PX ms | PXAT unix-ms] [NOCREATE]
 *           [TIGHTENING ratio] [VALIDATESCALETO n] ITEMS item [item ...] */
int cmd_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 4) return RedisModule_WrongArity(ctx);
    struct insert_args args;
    const char *error = args_parse_insert(ctx, argv, argc, &args);
    if (error) return args_reply_error(ctx, error);
    struct adding a;
    adding_init(&a, argv + args.first_item, argc - args.first_item, NULL);
    a.named = &args.creation;
    a.nocreate = args.nocreate;
    a.is_explicit = args.is_explicit;
    return add_items(ctx, argv[1], &a);
}

/* ---- Looking up ----------------------------------------------------------------------------- */

/* BF.EXISTS key item */
int cmd_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct probe probe;
    probe_hint(argv[2], &probe);
    struct key key;
    bool is_open = key_open(ctx, argv[1], FOR_READING, &key);
    key_close(&key); // closing takes time in which the memory arrives; the filter stays in place
    if (!is_open) return REDISMODULE_OK;
    struct filter view;
    const struct filter *filter = key_live(&key, &view);
    if (filter) probe_newest(filter, argv[2], &probe);
    // A missing key contains nothing, and neither does a window that is over.
    bool contained = filter && filter_probed_contains(filter, &probe, 0);
    RedisModule_ReplyWithBool(ctx, contained);
    metrics.checks++;
    metrics.checks_absent += !contained;
    return REDISMODULE_OK;
}

/* Replies with one element per item; returns how many are 0. */
static size_t look_up_each(RedisModuleCtx *ctx, const struct filter *filter,
                           RedisModuleString **items, size_t n) {
    struct batch batch;
    size_t nzero = 0;
    batch_init(&batch, (struct filter *)(uintptr_t)filter); // lookups change nothing
    for (size_t taken = 0, answered = 0; answered < n;) {
        struct hash hashes[PROBE_ITEMS];
        bool contained[PROBE_ITEMS];
        size_t some = hash_some(filter, items + taken, n - taken, hashes);
        size_t ready = batch_contains(&batch, hashes, some, contained);
        for (size_t i = 0; i < ready; i++) {
            RedisModule_ReplyWithBool(ctx, contained[i]);
            nzero += !contained[i];
        }
        taken += some;
        answered += ready;
    }
    return nzero;
}

/* BF.MEXISTS key item [item ...] */
int cmd_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key)) {
        size_t n = (size_t)argc - 2, nzero = n;
        RedisModule_ReplyWithArray(ctx, (long)n);
        struct filter view;
        const struct filter *filter = key_live(&key, &view);
        if (filter) {
            nzero = look_up_each(ctx, filter, argv + 2, n);
        } else {
            for (size_t i = 0; i < n; i++) RedisModule_ReplyWithBool(ctx, 0);
        }
        metrics.checks += n;
        metrics.checks_absent += nzero;
    }
    key_close(&key);
    return REDISMODULE_OK;
}
