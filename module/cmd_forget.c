/* The commands of filters that forget: BF.ROTATE for windows, BF.DEL and BF.COUNT for layout
 * COUNTING. commands.c lists the steps that each command takes. */

#include "module/args.h"
#include "module/commands.h"
#include "module/core/filter/window.h"
#include "module/core/measure.h"
#include "module/feed.h"
#include "module/key.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"

/* ---- BF.ROTATE ------------------------------------------------------------------------------ */

/* What is to be done to a window: begin the generation of this start, or drop those up to it. */
struct step {
    bool begins;
    uint64_t start; // 0: nothing
};

/* Parses the step of a replayed command. NULL or the error text. */
static const char *parse_step(RedisModuleString **argv, int argc, const struct filter *filter,
                              struct step *out) {
    long long start;
    uint64_t length = window_step(filter->window, filter->generations);
    if (argc == 4 && !args_is_word(argv[2], "DROP")) return ERR_UNKNOWN_ARGUMENT;
    if (RedisModule_StringToLongLong(argv[argc - 1], &start) != REDISMODULE_OK || start <= 0 ||
        (uint64_t)start % length != 0) {
        return ERR_BAD_START;
    }
    *out = (struct step){argc == 3, (uint64_t)start};
    return NULL;
}

/* Opens the window. If there is none, sends the reply and returns false. A replica that has lost
 * the filter (replay.h) skips its master's steps, as it skips the adds. */
static bool open_window(RedisModuleCtx *ctx, RedisModuleString *name, struct key *key) {
    if (!key_open(ctx, name, FOR_WRITING, key)) return false;
    if (key->filter && key->filter->window != 0) return true;
    if (key->filter) {
        RedisModule_ReplyWithError(ctx, ERR_NO_WINDOW);
    } else if (replay_is(ctx)) {
        RedisModule_ReplyWithNull(ctx);
    } else {
        RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
    }
    return false;
}

/* Begins a generation, as an add did where this was propagated. *changed: whether it began. False:
 * the error has been sent. */
static bool begin_step(struct key *key, uint64_t start, bool *changed) {
    *changed = start > filter_newest(key->filter)->start;
    if (!*changed || key_rotate(key, start) == STATUS_OK) return true;
    reply_no_room(key->ctx, ERR_CANNOT_GROW, window_rotated_bytes(key->filter, start));
    return false;
}

/* Drops generations. A window that is left with none is propagated as cleared, which it equals and
 * which every version knows. */
static bool drop_step(struct key *key, uint64_t start, bool *changed) {
    uint64_t newest = filter_newest(key->filter)->start;
    *changed = newest != 0 && key->filter->layers[0].start <= start;
    if (!*changed) return true;
    if (key_drop(key, start) != STATUS_OK) {
        RedisModule_ReplyWithError(key->ctx, ERR_NO_MEMORY);
        return false;
    }
    if (start >= newest) {
        replicate_keys(key->ctx, "BF.CLEAR", &key->name, 1);
    } else {
        replicate_drop(key->ctx, key->name, start);
    }
    return true;
}

/* Takes the step, and propagates it if it changed anything. */
static bool take_step(struct key *key, const struct step *step, bool *changed) {
    if (!step->begins) return drop_step(key, step->start, changed);
    if (!begin_step(key, step->start, changed)) return false;
    if (*changed) replicate_rotate(key->ctx, key->name, step->start);
    return true;
}

/* BF.ROTATE key [start-ms | DROP start-ms]
 * Only replayed commands have more than the key. A client's drops what is over by the clock; it is
 * an add that begins a generation. */
int cmd_rotate(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    bool is_replayed = replay_is(ctx);
    if (argc < 2 || argc > (is_replayed ? 4 : 3)) return RedisModule_WrongArity(ctx);
    if (argc > 2 && !is_replayed) return RedisModule_ReplyWithError(ctx, ERR_ROTATE_TIME);
    if (argc > 2) replay_note_explicit(); // nobody else writes this command
    struct key key;
    struct step step = {false, 0};
    const char *error = NULL;
    bool changed = false;
    if (!open_window(ctx, argv[1], &key)) goto out;
    if (argc > 2) {
        error = parse_step(argv, argc, key.filter, &step);
    } else {
        step.start = window_over(key.filter, (uint64_t)RedisModule_Milliseconds());
    }
    if (error) RedisModule_ReplyWithError(ctx, error);
    if (error || !take_step(&key, &step, &changed)) goto out;
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    if (changed) {
        key_close_changed(&key, step.begins ? NULL : "bf.rotate"); // which a beginning announces
        return REDISMODULE_OK;
    }
out:
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- BF.DEL and BF.COUNT -------------------------------------------------------------------- */

/* Whether the key holds a filter that items can be removed from, or nothing. If not, sends the
 * error. */
static bool can_remove(const struct key *key, const char *error) {
    if (!key->filter || layout_row(key->filter->layout)->removes) return true;
    RedisModule_ReplyWithError(key->ctx, error);
    return false;
}

/* The items of BF.DEL. */
struct removal {
    struct feed_args args;
    RedisModuleCtx *ctx;
    RedisModuleString **changing; // those whose removal changed the filter
    size_t nchanging;
    size_t done;
};

static void emit_removed(struct feed *feed, const struct outcome *outcomes, size_t n) {
    struct removal *r = (struct removal *)feed;
    for (size_t i = 0; i < n; i++, r->done++) {
        RedisModule_ReplyWithBool(r->ctx, outcomes[i].answer);
        if (outcomes[i].changed) r->changing[r->nchanging++] = r->args.items[r->done];
    }
}

/* Removes all items and replies with one element for each. Lists those whose removal changed the
 * filter in `changing`, and returns how many they are. */
static size_t remove_each(RedisModuleCtx *ctx, const struct filter *filter,
                          RedisModuleString **items, size_t n, RedisModuleString **changing) {
    struct removal r = {
        .args = {.feed = {.next = feed_args_next, .emit = emit_removed}, .items = items, .n = n},
        .ctx = ctx,
        .changing = changing};
    batch_run(filter, BATCH_REMOVE, &r.args.feed);
    return r.nchanging;
}

/* BF.DEL key item [item ...] */
int cmd_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct key key;
    size_t n = (size_t)argc - 2, nchanging = 0;
    if (!key_open(ctx, argv[1], FOR_ADDING, &key) || !can_remove(&key, ERR_DEL_LAYOUT)) {
        key_close(&key);
        return REDISMODULE_OK;
    }
    RedisModuleString **changing = RedisModule_Alloc(n * sizeof(*changing));
    RedisModule_ReplyWithArray(ctx, (long)n);
    if (key.filter) {
        nchanging = remove_each(ctx, key.filter, argv + 2, n, changing);
    } else {
        for (size_t i = 0; i < n; i++) RedisModule_ReplyWithBool(ctx, 0);
    }
    if (nchanging > 0) {
        // A removal, unlike an add, may end the state `overfilled`.
        if (key.filter->safe_fill < 0) measure_settle_fill(key.filter, NULL);
        replicate_removed(ctx, argv[1], changing, nchanging);
        key_close_changed(&key, "bf.del");
    } else {
        key_close(&key);
    }
    RedisModule_Free(changing);
    return REDISMODULE_OK;
}

/* BF.COUNT key item */
int cmd_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key) && can_remove(&key, ERR_COUNT_LAYOUT)) {
        const struct filter *filter = key.filter;
        long long count = filter ? filter_count(filter, feed_hash(filter, argv[2])) : 0;
        RedisModule_ReplyWithLongLong(ctx, count);
    }
    key_close(&key);
    return REDISMODULE_OK;
}
