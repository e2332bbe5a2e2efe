/* The commands that combine filters or empty them: BF.MERGE, BF.INTERSTORE, BF.CLEAR. commands.c
 * lists the steps that each command takes. */

#include "module/args.h"
#include "module/commands.h"
#include "module/config.h"
#include "module/core/combine.h"
#include "module/core/measure.h"
#include "module/core/mem.h"
#include "module/core/names.h"
#include "module/key.h"
#include "module/log.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"
#include "rdb/codec.h"

#include <stdio.h>

/* ---- The sources -------------------------------------------------------------------------- */

/* A source, under the first of its places in the command. */
struct source {
    struct key key;
    size_t number; // that place: the sources count from 1
};

/* The sources of a command, in the order in which it names them first. A repeated name is opened
 * once. No order in memory may reach a result: a replica has another one. */
struct sources {
    struct source *of;
    size_t n;
    size_t nopen;
    const struct filter **filters; // of those that exist, in the same order
    size_t nfilters;
};

static void sources_close(struct sources *sources) {
    for (size_t i = 0; i < sources->nopen; i++) key_close(&sources->of[i].key);
    mem_free(sources->of);
    mem_free(sources->filters);
    *sources = (struct sources){0};
}

static bool is_same_name(const RedisModuleString *a, const RedisModuleString *b) {
    return RedisModule_StringCompare((RedisModuleString *)(uintptr_t)a,
                                     (RedisModuleString *)(uintptr_t)b) == 0;
}

/* The names of the sources, each once. */
static struct name *distinct_names(RedisModuleString **argv, size_t n, size_t *out) {
    struct name *names = mem_alloc(n * sizeof(*names));
    if (!names) return NULL;
    for (size_t i = 0; i < n; i++) {
        names[i].bytes = RedisModule_StringPtrLen(argv[i], &names[i].len);
        names[i].at = i;
    }
    *out = names_drop_repeated(names, n);
    return names;
}

/* Lists the sources, without those of the name `but`, unless that is NULL. STATUS_NOMEM if there is
 * no memory. */
static enum status sources_list(RedisModuleString **argv, size_t n, const RedisModuleString *but,
                                struct sources *sources) {
    size_t ndistinct;
    struct name *names = distinct_names(argv, n, &ndistinct);
    if (!names) return STATUS_NOMEM;
    sources->of = mem_alloc(ndistinct * sizeof(*sources->of));
    sources->filters = mem_alloc(ndistinct * sizeof(*sources->filters));
    bool is_listed = sources->of && sources->filters;
    for (size_t i = 0; is_listed && i < ndistinct; i++) {
        RedisModuleString *name = argv[names[i].at];
        if (but && is_same_name(name, but)) continue;
        sources->of[sources->n++] = (struct source){.key.name = name, .number = names[i].at + 1};
    }
    mem_free(names);
    return is_listed ? STATUS_OK : STATUS_NOMEM;
}

/* Opens the sources, each of which holds a filter or nothing. If one holds anything else, sends the
 * error and returns false. */
static bool sources_open(RedisModuleCtx *ctx, struct sources *sources) {
    while (sources->nopen < sources->n) {
        struct key *key = &sources->of[sources->nopen].key;
        bool is_good = key_open(ctx, key->name, AS_SOURCE, key);
        sources->nopen++;
        if (!is_good) return false;
        if (key->filter) sources->filters[sources->nfilters++] = key->filter;
    }
    return true;
}

/* Opens the dest and the sources of a command. Opening an expired key deletes it, which lets other
 * modules run, and they may change any key. So this deletes every expired key of the command before
 * it opens the first one. `but` is as in sources_list. If it fails, sends the error and returns
 * false; the caller closes them either way. */
static bool open_all(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                     const RedisModuleString *but, struct key *dest, struct sources *sources) {
    bool is_listed = sources_list(argv + 2, (size_t)argc - 2, but, sources) == STATUS_OK;
    for (size_t i = 0; is_listed && i < sources->n; i++) key_exists(ctx, sources->of[i].key.name);
    key_exists(ctx, argv[1]);
    if (!key_open(ctx, argv[1], FOR_WRITING, dest)) return false;
    if (is_listed) return sources_open(ctx, sources);
    RedisModule_ReplyWithError(ctx, ERR_NO_MEMORY);
    return false;
}

/* The number of the source that holds this filter, as the command counts. */
static size_t number_of(const struct sources *sources, const struct filter *filter) {
    size_t i = 0;
    while (sources->of[i].key.filter != filter) i++;
    return sources->of[i].number;
}

/* Whether all sources can be combined with each other, and with `dest` unless it is NULL. If not,
 * sends an error that names the first difference. */
static bool are_alike(RedisModuleCtx *ctx, const char *verb, const struct filter *dest,
                      const struct sources *sources) {
    size_t n = 0;
    const struct filter **all = mem_alloc((sources->nfilters + 1) * sizeof(*all));
    if (!all) {
        RedisModule_ReplyWithError(ctx, ERR_NO_MEMORY);
        return false;
    }
    if (dest) all[n++] = dest;
    for (size_t i = 0; i < sources->nfilters; i++) all[n++] = sources->filters[i];
    struct mismatch mismatch;
    bool is_possible = combine_is_possible(all, n, &mismatch);
    if (!is_possible) {
        const struct filter *source = all[mismatch.at];
        char what[COMBINE_TEXT_BYTES], text[224];
        combine_describe(&mismatch, source, false, what);
        snprintf(text, sizeof(text), "ERR cannot %s source %zu: %s", verb,
                 number_of(sources, source), what);
        RedisModule_ReplyWithError(ctx, text);
    }
    mem_free(all);
    return is_possible;
}

/* ---- BF.MERGE ----------------------------------------------------------------------------- */

/* The filter to merge into. NULL if there is no memory.
 *
 *   dest is unpacked      its own filter
 *   dest is packed        an unpacked copy: a packed filter cannot mark its count as an estimate
 *   dest does not exist   a copy of the first source that the command names */
static struct filter *merge_target(const struct key *dest, const struct sources *sources) {
    if (dest->value && !packed_is_packed(dest->value)) return dest->filter;
    if (dest->value) return packed_unpack(dest->value);
    struct filter *copy;
    return filter_copy(sources->filters[0], &copy) == STATUS_OK ? copy : NULL;
}

/* The bytes that the union takes. `dest` is NULL if it is missing: then there is a source. */
static uint64_t union_bytes(const struct filter *dest, const struct sources *sources) {
    const struct filter *into = dest ? dest : sources->filters[0];
    return combine_union_bytes(into, sources->filters, sources->nfilters);
}

/* Whether the merge can be done, before anything is copied. */
static enum status check_merge(const struct key *dest, const struct sources *sources,
                               uint64_t max_bytes) {
    const struct filter *into = dest->filter ? dest->filter : sources->filters[0];
    enum status st = combine_union_check(into, sources->filters, sources->nfilters, max_bytes);
    if (st != STATUS_OK || dest->filter) return st;
    return union_bytes(NULL, sources) > max_bytes ? STATUS_NOMEM : STATUS_OK;
}

/* Merges. *changed: whether dest was changed or created. STATUS_PARAM and STATUS_NOMEM mean what
 * they mean in combine_union. */
static enum status merge(struct key *dest, const struct sources *sources, bool *changed) {
    uint64_t max_bytes = config_max_bytes(dest->ctx);
    enum status st = check_merge(dest, sources, max_bytes);
    if (st != STATUS_OK) return st;
    struct filter *target = merge_target(dest, sources);
    if (!target) return STATUS_NOMEM;
    bool is_new = !dest->value;
    // In a new key the first source is there already. In COUNTING it must not count twice.
    size_t skipped = is_new ? 1 : 0;
    st = combine_union(target, sources->filters + skipped, sources->nfilters - skipped, max_bytes,
                       changed);
    if (target != dest->filter) {
        if (st == STATUS_OK && (is_new || *changed)) {
            key_put(dest, target, false);
        } else {
            filter_free(target);
        }
    }
    if (st == STATUS_OK) *changed |= is_new;
    return st;
}

/* Logs one line when a merge takes a filter far beyond its promise. Later merges into the same
 * filter log nothing, until it has been cleared or replaced. */
static void log_overfill(const struct key *dest) {
    char shown[LOG_NAME_BYTES];
    log_name(dest->name, shown);
    RedisModule_Log(
        dest->ctx, "warning",
        "BF.MERGE overfilled %s: about %llu items in a capacity of %llu, false-positive "
        "rate now %.3g, promised %.3g; BF.STATS has more",
        shown, (unsigned long long)filter_items(dest->filter),
        (unsigned long long)filter_capacity(dest->filter), measure_error_rate(dest->filter),
        measure_promise(dest->filter));
}

/* BF.MERGE dest source [source ...] */
int cmd_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct sources sources = {0};
    struct key dest;
    // Dest united with itself is dest.
    if (!open_all(ctx, argv, argc, argv[1], &dest, &sources)) goto out;
    if (!dest.filter && sources.nfilters == 0) {
        RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
        goto out;
    }
    if (!are_alike(ctx, "merge", dest.filter, &sources)) goto out;
    bool changed = false;
    bool was_overfilled = dest.filter && measure_is_overfilled(dest.filter);
    enum status st = merge(&dest, &sources, &changed);
    if (st == STATUS_PARAM) RedisModule_ReplyWithError(ctx, ERR_MERGE_LAYERS);
    if (st == STATUS_NOMEM) reply_no_room(ctx, ERR_NO_MEMORY, union_bytes(dest.filter, &sources));
    if (st != STATUS_OK) goto out;
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    metrics.merges++;
    if (!changed) goto out;
    bool is_news = !was_overfilled && !replay_is(ctx);
    if (is_news && measure_is_overfilled(dest.filter)) log_overfill(&dest);
    replicate_keys(ctx, "BF.MERGE", argv + 1, (size_t)argc - 1);
    sources_close(&sources);
    key_close_changed(&dest, "bf.merge");
    return REDISMODULE_OK;
out:
    sources_close(&sources);
    key_close(&dest);
    return REDISMODULE_OK;
}

/* ---- BF.INTERSTORE ------------------------------------------------------------------------ */

/* Whether every source is one layer and no window. Two chains may hold a common item in different
 * layers, and intersecting layer by layer would lose it. If a source has several, sends the error.
 */
static bool have_one_layer(RedisModuleCtx *ctx, const struct sources *sources) {
    for (size_t i = 0; i < sources->n; i++) {
        const struct filter *source = sources->of[i].key.filter;
        size_t number = sources->of[i].number;
        if (!source || (source->nlayers == 1 && source->window == 0)) continue;
        char text[128];
        if (source->window) {
            snprintf(text, sizeof(text), "ERR cannot intersect source %zu: it has a window",
                     number);
            RedisModule_ReplyWithError(ctx, text);
            return false;
        }
        snprintf(text, sizeof(text),
                 "ERR cannot intersect source %zu: it has %u layers, and a common item may be in "
                 "any of them",
                 number, source->nlayers);
        RedisModule_ReplyWithError(ctx, text);
        return false;
    }
    return true;
}

/* Whether dest is a filter without a TTL: to put an equal one there would change nothing. */
static bool is_lasting(const struct key *dest) {
    return dest->filter && RedisModule_GetExpire(dest->handle) == REDISMODULE_NO_EXPIRE;
}

/* Whether a client intersects dest with itself alone. That changes nothing, so it is not
 * propagated. A replayed one comes from an older version, where the count of items became an
 * estimate. */
static bool is_itself(const struct key *dest, const struct sources *sources) {
    return sources->n == 1 && is_same_name(sources->of[0].key.name, dest->name) &&
           is_lasting(dest) && !replay_is(dest->ctx);
}

/* Makes the intersection: *out is NULL if it is empty, since a source is missing. If it fails,
 * sends the error and returns false. */
static bool intersect(RedisModuleCtx *ctx, const struct sources *sources, struct filter **out) {
    *out = NULL;
    if (sources->nfilters < sources->n) return true;
    enum status st =
        combine_intersection(sources->filters, sources->nfilters, config_max_bytes(ctx), out);
    if (st != STATUS_OK) reply_no_room(ctx, ERR_NO_MEMORY, union_bytes(NULL, sources));
    return st == STATUS_OK;
}

/* Gives dest the intersection, or deletes it. A TTL goes with what was there, as with SINTERSTORE.
 */
static void store(struct key *dest, struct filter *common) {
    if (common) {
        key_put(dest, common, true);
        key_close_changed(dest, "bf.interstore");
    } else {
        key_delete(dest);
        key_close_deleted(dest);
    }
}

/* BF.INTERSTORE dest source [source ...] */
int cmd_interstore(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct sources sources = {0};
    struct filter *common = NULL;
    struct key dest;
    if (!open_all(ctx, argv, argc, NULL, &dest, &sources)) goto out;
    if (!have_one_layer(ctx, &sources) || !are_alike(ctx, "intersect", NULL, &sources)) goto out;
    bool is_same = is_itself(&dest, &sources);
    if (!is_same && !intersect(ctx, &sources, &common)) goto out;
    sources_close(&sources); // dest may be one of them
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    if (common && is_lasting(&dest)) is_same = codec_is_same(common, dest.filter);
    if (!common && !dest.filter) is_same = true;
    if (!is_same) {
        replicate_keys(ctx, "BF.INTERSTORE", argv + 1, (size_t)argc - 1);
        store(&dest, common);
        return REDISMODULE_OK;
    }
    filter_free(common);
out:
    sources_close(&sources);
    key_close(&dest);
    return REDISMODULE_OK;
}

/* ---- BF.CLEAR ----------------------------------------------------------------------------- */

/* BF.CLEAR key */
int cmd_clear(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    if (!key_open_existing(ctx, argv[1], FOR_WRITING, &key)) goto out;
    bool changed;
    if (filter_empty(key.filter, &changed) != STATUS_OK) {
        RedisModule_ReplyWithError(ctx, ERR_NO_MEMORY);
        goto out;
    }
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    if (changed) {
        replicate_keys(ctx, "BF.CLEAR", argv + 1, 1);
        key_close_changed(&key, "bf.clear");
        return REDISMODULE_OK;
    }
out:
    key_close(&key);
    return REDISMODULE_OK;
}
