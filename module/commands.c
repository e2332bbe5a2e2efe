/* The commands that create filters, add items and look items up: BF.RESERVE, BF.ADD, BF.MADD,
 * BF.INSERT, BF.EXISTS, BF.MEXISTS. Each command takes the same steps: parse, open the key, act,
 * reply, replicate, close, announce. Every refusal comes before the first change. */

#include "module/commands.h"

#include "module/adding.h"
#include "module/feed.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"

#include <string.h>

/* BF.RESERVE key {error_rate | BITSPERKEY bits} capacity [EXPANSION n | NONSCALING]
 *            [LAYOUT CLASSIC|BLOCKED|COUNTING] [HASH XXH64|FNV1A|SIP13] [SEED seed]
 *            [WINDOW seconds [GENERATIONS g]] [EX seconds | PX ms | PXAT unix-ms] */
int cmd_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct creation creation;
    const char *error = args_parse_reserve(ctx, argv, argc, &creation);
    if (error) return args_reply_error(ctx, error);

    struct key key;
    if (!key_open_any(ctx, argv[1], FOR_ADDING, &key)) goto out;
    if (key.filter) {
        RedisModule_ReplyWithError(ctx, ERR_EXISTS);
        goto out;
    }
    if (!adding_create(&key, &creation)) goto out;
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    replicate_reserve(ctx, argv[1], &creation);
    key_close_changed(&key, "bf.reserve");
    return REDISMODULE_OK;
out:
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- Items ---------------------------------------------------------------------------------- */

/* Commands in a row tend to use the same filter. So BF.ADD and BF.EXISTS first probe the layer that
 * the last two such commands used; its memory arrives while the server looks up the key:
 *
 *   probe_hint     prefetch in the last command's layer, without touching it
 *   key_open       look up the key
 *   probe_newest   if the key's newest layer is another one, probe that
 *
 * This copy of the layer is only a hint: no answer depends on it. If the layer has been freed, the
 * prefetches are wasted; a prefetch never faults. A command on another filter switches the hint
 * off, until two in a row use the same: a probe that is wasted takes a tenth of BF.EXISTS. */
static struct {
    bool is_on;
    struct layer layer;
    struct seed seed; // of its filter
} hint;

static void probe_item(const struct layer *layer, const struct seed *seed,
                       const RedisModuleString *item, struct probe *probe) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    probe->n = 1;
    probe->hashes[0] =
        layer_hash_as((enum layout)layer->layout, (enum scheme)layer->scheme, seed, bytes, len);
    layer_probe_all(layer, probe);
}

static void probe_hint(const RedisModuleString *item, struct probe *probe) {
    layer_unprobe(probe);
    if (hint.is_on) probe_item(&hint.layer, &hint.seed, item, probe);
}

/* Whether an item has the same hash in the filter as it had with the hint's seed. */
static bool is_hints_seed(const struct filter *filter) {
    if (filter->scheme == SCHEME_XXH64) return true; // it has no seed
    return memcmp(&filter->seed, &hint.seed, sizeof(hint.seed)) == 0;
}

static void probe_newest(const struct filter *filter, const RedisModuleString *item,
                         struct probe *probe) {
    const struct layer *newest = filter_newest(filter);
    if (layer_is_probed(newest, probe) && is_hints_seed(filter)) return;
    probe_item(newest, &filter->seed, item, probe);
    hint.is_on = newest->bits == hint.layer.bits && is_hints_seed(filter);
    hint.layer = *newest;
    hint.seed = filter->seed;
}

/* ---- Adding --------------------------------------------------------------------------------- */

/* BF.ADD, BF.MADD or BF.INSERT, whose items are arguments. */
struct madd {
    struct feed_args args;
    struct adding adding;
    const RedisModuleString *sent; // the command's name as sent, for BF.ADD and BF.MADD; else NULL
    RedisModuleString **changing;  // those that changed the filter; NULL as long as all items did
};

/* Counts the next item. As long as all items changed the filter, the command's own arguments are
 * the list of them. The first item that did not starts a separate list; a single one needs none. */
static void count_item(struct madd *m, bool is_changing) {
    struct adding *a = &m->adding;
    if (!is_changing && !m->changing && m->args.n > 1) {
        m->changing = RedisModule_Alloc(m->args.n * sizeof(*m->changing));
        memcpy(m->changing, m->args.items, a->nchanging * sizeof(*m->changing));
    }
    if (is_changing) {
        if (m->changing) m->changing[a->nchanging] = m->args.items[a->done];
        a->nchanging++;
    }
    a->done++;
}

static void emit_added(struct feed *feed, const struct outcome *outcomes, size_t n) {
    struct madd *m = (struct madd *)feed;
    for (size_t i = 0; i < n; i++) {
        RedisModule_ReplyWithBool(m->adding.key.ctx, outcomes[i].answer);
        count_item(m, outcomes[i].changed);
    }
}

/* Grows the filter for the next item. If that fails, replies with the item's error and leaves the
 * item out. A full filter that does not grow ends the command. */
static enum batch_verdict make_room(struct feed *feed, enum status st, struct filter **filter) {
    struct madd *m = (struct madd *)feed;
    enum batch_verdict verdict = adding_make_room(&m->adding, &st, filter);
    if (verdict == BATCH_RETRY || verdict == BATCH_FORCE) return verdict;
    reply_add_error(m->adding.key.ctx, st, *filter);
    count_item(m, false);
    m->adding.nfailed++;
    return st == STATUS_FULL ? BATCH_END : BATCH_SKIP;
}

static void madd_init(struct madd *m, RedisModuleString **items, int nitems,
                      const RedisModuleString *sent) {
    m->args.feed = (struct feed){feed_args_next, emit_added, make_room};
    m->args.items = items;
    m->args.n = (size_t)nitems;
    m->args.taken = 0;
    adding_init(&m->adding);
    m->sent = sent;
    m->changing = NULL;
}

/* Propagates what the command changed: the creation, a window's step, the items. */
static void replicate(const struct madd *m) {
    RedisModuleString **items = m->changing ? m->changing : m->args.items;
    const struct adding *a = &m->adding;
    const struct key *key = &a->key;
    if (key->put && key->filter->window == 0 && a->nchanging > 0) {
        replicate_creation(key->ctx, key->name, &a->creation, items, a->nchanging);
        return;
    }
    adding_replicate_first(a);
    const RedisModuleString *sent = a->nfailed == 0 && !key->put ? m->sent : NULL;
    if (a->nchanging) {
        replicate_added(key->ctx, key->name, items, a->nchanging, sent, m->args.n);
    }
}

/* Replicates, closes, announces. */
static void finish(struct madd *m) {
    if (adding_is_change(&m->adding)) replicate(m);
    adding_close(&m->adding);
    RedisModule_Free(m->changing);
}

/* BF.ADD key item */
int cmd_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct probe probe;
    probe_hint(argv[2], &probe);
    struct madd m;
    madd_init(&m, argv + 2, 1, argv[0]);
    struct key *key = &m.adding.key;
    if (!adding_open(ctx, argv[1], &m.adding)) {
        key_close(key);
        return REDISMODULE_OK;
    }
    struct feed *feed = &m.args.feed;
    enum batch_verdict verdict = BATCH_RETRY;
    while (verdict == BATCH_RETRY) {
        struct outcome outcome;
        probe_newest(key->filter, argv[2], &probe);
        enum status st = filter_probed_add(key->filter, &probe, 0, &outcome);
        verdict = st == STATUS_OK ? BATCH_END : feed->make_room(feed, st, &key->filter);
        if (verdict == BATCH_FORCE) outcome = filter_probed_force(key->filter, &probe, 0);
        if (st == STATUS_OK || verdict == BATCH_FORCE) feed->emit(feed, &outcome, 1);
    }
    finish(&m);
    return REDISMODULE_OK;
}

/* BF.MADD and BF.INSERT after parsing. */
static int add_items(RedisModuleCtx *ctx, RedisModuleString *name, struct madd *m) {
    if (!adding_open(ctx, name, &m->adding)) {
        key_close(&m->adding.key);
        return REDISMODULE_OK;
    }
    // Only a non-scaling filter can end the reply early.
    bool may_stop = m->adding.key.filter->expansion == 0;
    RedisModule_ReplyWithArray(ctx, may_stop ? REDISMODULE_POSTPONED_LEN : (long)m->args.n);
    batch_run(m->adding.key.filter, BATCH_ADD, &m->args.feed);
    if (may_stop) RedisModule_ReplySetArrayLength(ctx, (long)m->adding.done);
    finish(m);
    return REDISMODULE_OK;
}

/* BF.MADD key item [item ...] */
int cmd_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct madd m;
    madd_init(&m, argv + 2, argc - 2, argv[0]);
    return add_items(ctx, argv[1], &m);
}

/* BF.INSERT key [CAPACITY n] [ERROR p | BITSPERKEY b] [EXPANSION n | NONSCALING]
 *           [LAYOUT CLASSIC|BLOCKED|COUNTING] [HASH XXH64|FNV1A|SIP13] [SEED seed]
 *           [WINDOW seconds [GENERATIONS g]] [EX seconds | PX ms | PXAT unix-ms] [NOCREATE]
 *           [TIGHTENING ratio] [VALIDATESCALETO n] ITEMS item [item ...] */
int cmd_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 4) return RedisModule_WrongArity(ctx);
    struct insert_args args;
    const char *error =
        replay_is(ctx) ? args_parse_replayed_insert(argv, argc, key_exists(ctx, argv[1]), &args)
                       : args_parse_insert(argv, argc, &args);
    if (error) return args_reply_error(ctx, error);
    struct madd m;
    madd_init(&m, argv + args.first_item, argc - args.first_item, NULL);
    m.adding.named = &args.creation;
    m.adding.nocreate = args.nocreate;
    m.adding.is_explicit = args.is_explicit;
    return add_items(ctx, argv[1], &m);
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

struct mexists {
    struct feed_args args;
    RedisModuleCtx *ctx;
    size_t nabsent;
};

static void emit_contained(struct feed *feed, const struct outcome *outcomes, size_t n) {
    struct mexists *m = (struct mexists *)feed;
    for (size_t i = 0; i < n; i++) {
        RedisModule_ReplyWithBool(m->ctx, outcomes[i].answer);
        m->nabsent += !outcomes[i].answer;
    }
}

/* Replies with one element per item; returns how many are 0. */
static size_t look_up_each(RedisModuleCtx *ctx, const struct filter *filter,
                           RedisModuleString **items, size_t n) {
    struct mexists m = {
        .args = {.feed = {.next = feed_args_next, .emit = emit_contained}, .items = items, .n = n},
        .ctx = ctx};
    batch_run(filter, BATCH_LOOK_UP, &m.args.feed);
    return m.nabsent;
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
