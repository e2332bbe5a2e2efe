/* The commands that combine filters or empty them: BF.MERGE, BF.INTERSTORE, BF.CLEAR. commands.c
 * lists the steps that each command takes. */

#include "module/args.h"
#include "module/commands.h"
#include "module/config.h"
#include "module/core/combine.h"
#include "module/core/measure.h"
#include "module/core/mem.h"
#include "module/key.h"
#include "module/notice.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- The sources -------------------------------------------------------------------------- */

/* The sources of a command. */
struct sources {
    struct key *keys;              // in the command's order
    size_t nkeys;                  // opened so far
    const struct filter **filters; // the filters of the keys that exist, in the same order
    size_t nfilters;
};

static void sources_close(struct sources *sources) {
    for (size_t i = 0; i < sources->nkeys; i++) key_close(&sources->keys[i]);
    mem_free(sources->keys);
    mem_free(sources->filters);
    *sources = (struct sources){0};
}

/* Opening an expired key deletes it, which lets other modules run, and they may change any key. So
 * this deletes every expired key of the command before the command opens the first one. */
static void settle_keys(RedisModuleCtx *ctx, RedisModuleString **names, int n) {
    for (int i = 0; i < n; i++) key_exists(ctx, names[i]);
}

/* Opens n keys that hold a filter or nothing. If one of them holds anything else, or there is no
 * memory for the list, sends the error and returns false. The caller calls sources_close either
 * way. */
static bool sources_open(RedisModuleCtx *ctx, RedisModuleString **names, size_t n,
                         struct sources *sources) {
    *sources = (struct sources){.keys = mem_alloc(n * sizeof(struct key)),
                                .filters = mem_alloc(n * sizeof(struct filter *))};
    if (!sources->keys || !sources->filters) {
        RedisModule_ReplyWithError(ctx, ERR_NO_MEMORY);
        return false;
    }
    while (sources->nkeys < n) {
        struct key *key = &sources->keys[sources->nkeys];
        bool is_good = key_open(ctx, names[sources->nkeys], AS_SOURCE, key);
        sources->nkeys++;
        if (!is_good) return false;
        if (key->filter) sources->filters[sources->nfilters++] = key->filter;
    }
    return true;
}

static void describe_window(const struct filter *filter, char *out, size_t size) {
    if (filter->window) {
        snprintf(out, size, "%u s in %u generations", filter->window, filter->generations);
    } else {
        snprintf(out, size, "none");
    }
}

/* Writes how a source differs from another filter. */
static void describe(const struct mismatch *m, const struct filter *source, char *out,
                     size_t size) {
    char own[48], other[48];
    switch (m->difference) {
    case DIFFERENCE_SCHEME:
        snprintf(out, size, "its hash is %s and not %s", args_scheme_name(source->scheme),
                 args_scheme_name(m->other->scheme));
        break;
    case DIFFERENCE_SEED: snprintf(out, size, "its seed is another one"); break;
    case DIFFERENCE_LAYOUT:
        snprintf(out, size, "its layout is %s and not %s", args_layout_name(source->layout),
                 args_layout_name(m->other->layout));
        break;
    case DIFFERENCE_WINDOW:
        describe_window(source, own, sizeof(own));
        describe_window(m->other, other, sizeof(other));
        snprintf(out, size, "its window is %s and not %s", own, other);
        break;
    case DIFFERENCE_BITS:
        snprintf(out, size, "its layer %u has %llu bits and not %llu", m->layer + 1,
                 (unsigned long long)m->a->nbits, (unsigned long long)m->b->nbits);
        break;
    default:
        snprintf(out, size, "its layer %u has %u hashes and not %u", m->layer + 1, m->a->nhashes,
                 m->b->nhashes);
    }
}

/* The number of the source that holds this filter, as the command counts: from 1. */
static size_t number_of(const struct sources *sources, const struct filter *filter) {
    size_t i = 0;
    while (i < sources->nkeys && sources->keys[i].filter != filter) i++;
    return i + 1;
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
        char what[160], text[224];
        describe(&mismatch, source, what, sizeof(what));
        snprintf(text, sizeof(text), "ERR cannot %s source %zu: %s", verb,
                 number_of(sources, source), what);
        RedisModule_ReplyWithError(ctx, text);
    }
    mem_free(all);
    return is_possible;
}

/* ---- BF.MERGE ----------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (const struct filter *const *)a;
    uintptr_t y = (uintptr_t) * (const struct filter *const *)b;
    return x < y ? -1 : x > y;
}

/* In COUNTING a filter that is named twice, or is dest itself, counts once. The order of the
 * sources does not matter there. (Packed filters are opened once for each name, but COUNTING ones
 * are never packed: equal filters have equal addresses.) */
static void sources_drop_repeated(struct sources *sources, const struct filter *dest) {
    if (sources->nfilters == 0 || sources->filters[0]->layout != LAYOUT_COUNTING) return;
    qsort(sources->filters, sources->nfilters, sizeof(*sources->filters), by_address);
    size_t kept = 0;
    for (size_t i = 0; i < sources->nfilters; i++) {
        const struct filter *filter = sources->filters[i];
        bool is_repeated = kept > 0 && sources->filters[kept - 1] == filter;
        if (filter != dest && !is_repeated) sources->filters[kept++] = filter;
    }
    sources->nfilters = kept;
}

/* The filter to merge into. NULL if there is no memory.
 *
 *   dest is unpacked      its own filter
 *   dest is packed        an unpacked copy: a packed filter cannot mark its count as an estimate
 *   dest does not exist   a copy of the first source */
static struct filter *merge_target(const struct key *dest, const struct sources *sources,
                                   uint64_t max_bytes) {
    if (dest->value && !packed_is_packed(dest->value)) return dest->filter;
    if (dest->value) return packed_unpack(dest->value);
    struct filter *copy;
    if (filter_size_bytes(sources->filters[0]) > max_bytes) return NULL;
    return filter_copy(sources->filters[0], &copy) == STATUS_OK ? copy : NULL;
}

/* The bytes that the union takes. `dest` is NULL if it is missing: then there is a source. */
static uint64_t union_bytes(const struct filter *dest, const struct sources *sources) {
    const struct filter *into = dest ? dest : sources->filters[0];
    return combine_union_bytes(into, sources->filters, sources->nfilters);
}

/* Merges. *changed: whether dest was changed or created. STATUS_PARAM and STATUS_NOMEM mean what
 * they mean in combine_union. */
static enum status merge(struct key *dest, const struct sources *sources, bool *changed) {
    uint64_t max_bytes = config_max_bytes(dest->ctx);
    struct filter *target = merge_target(dest, sources, max_bytes);
    if (!target) return STATUS_NOMEM;
    bool is_new = !dest->value;
    // In a new key the first source is there already. In COUNTING it must not count twice.
    size_t skipped = is_new ? 1 : 0;
    enum status st = combine_union(target, sources->filters + skipped, sources->nfilters - skipped,
                                   max_bytes, changed);
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
    char shown[NOTICE_NAME_BYTES];
    notice_name(dest->name, shown);
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
    settle_keys(ctx, argv + 1, argc - 1);
    bool is_open = key_open(ctx, argv[1], FOR_WRITING, &dest);
    if (!is_open || !sources_open(ctx, argv + 2, (size_t)argc - 2, &sources)) goto out;
    if (!dest.filter && sources.nfilters == 0) {
        RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
        goto out;
    }
    if (!are_alike(ctx, "merge", dest.filter, &sources)) goto out;
    sources_drop_repeated(&sources, dest.filter);
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
    for (size_t i = 0; i < sources->nkeys; i++) {
        const struct filter *source = sources->keys[i].filter;
        if (!source || (source->nlayers == 1 && source->window == 0)) continue;
        char text[128];
        if (source->window) {
            snprintf(text, sizeof(text), "ERR cannot intersect source %zu: it has a window", i + 1);
            RedisModule_ReplyWithError(ctx, text);
            return false;
        }
        snprintf(text, sizeof(text),
                 "ERR cannot intersect source %zu: it has %u layers, and a common item may be in "
                 "any of them",
                 i + 1, source->nlayers);
        RedisModule_ReplyWithError(ctx, text);
        return false;
    }
    return true;
}

/* BF.INTERSTORE dest source [source ...] */
int cmd_interstore(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct sources sources = {0};
    struct filter *common = NULL;
    struct key dest;
    settle_keys(ctx, argv + 1, argc - 1);
    bool is_open = key_open(ctx, argv[1], FOR_WRITING, &dest);
    if (!is_open || !sources_open(ctx, argv + 2, (size_t)argc - 2, &sources)) goto out;
    if (!have_one_layer(ctx, &sources) || !are_alike(ctx, "intersect", NULL, &sources)) goto out;
    bool is_empty = sources.nfilters < sources.nkeys; // a missing source has nothing in common
    if (!is_empty && combine_intersection(sources.filters, sources.nfilters, config_max_bytes(ctx),
                                          &common) != STATUS_OK) {
        reply_no_room(ctx, ERR_NO_MEMORY, union_bytes(NULL, &sources));
        goto out;
    }
    sources_close(&sources); // dest may be one of them
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    if (!dest.filter && !common) goto out;
    replicate_keys(ctx, "BF.INTERSTORE", argv + 1, (size_t)argc - 1);
    if (common) {
        key_put(&dest, common, true); // a TTL goes with what was there, as with SINTERSTORE
        key_close_changed(&dest, "bf.interstore");
    } else {
        key_delete(&dest);
        key_close_deleted(&dest);
    }
    return REDISMODULE_OK;
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
