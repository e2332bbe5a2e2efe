/* What the commands that add items have in common. See adding.h. */

#include "module/adding.h"

#include "module/args_foreign.h"
#include "module/config.h"
#include "module/core/filter/window.h"
#include "module/core/measure.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"

#include <sys/random.h>

/* A random seed. False if the kernel has no random numbers. */
static bool draw_seed(struct seed *out) {
    return getrandom(out->keys, sizeof(out->keys), 0) == (ssize_t)sizeof(out->keys);
}

/* The shape of the last filter that was created: most filters are created alike, and finding the
 * shape takes as long as adding the first item. Commands run in one thread. */
static struct {
    bool is_set;
    struct filter_params params;
    struct filter filter;
    struct layer layer;
} last;

static enum status find_shape(const struct filter_params *params) {
    if (last.is_set && filter_params_are_equal(params, &last.params)) return STATUS_OK;
    enum status st = filter_shape(params, &last.filter, &last.layer);
    last.is_set = st == STATUS_OK;
    if (!last.is_set) return st;
    last.params = *params;
    last.filter.safe_fill = measure_safe_fill(&last.filter, NULL);
    return STATUS_OK;
}

bool adding_create(struct key *key, struct creation *creation) {
    struct filter_params *params = &creation->params;
    void *value;
    if (params->scheme == SCHEME_SIP13 && !creation->has_seed && !draw_seed(&params->seed)) {
        RedisModule_ReplyWithError(key->ctx, ERR_NO_SEED);
        return false;
    }
    uint64_t max_bytes = config_max_bytes(key->ctx);
    if (creation->scales_to && filter_scaled_bytes(params, creation->scales_to) > max_bytes) {
        RedisModule_ReplyWithError(key->ctx, ERR_SCALETO_LIMIT);
        return false;
    }
    enum status st = find_shape(params);
    if (st == STATUS_OK) st = packed_new(&last.filter, max_bytes, &value);
    if (st != STATUS_OK) {
        reply_creation_error(key->ctx, st, params);
        return false;
    }
    key_put(key, value, false);
    key->expires = creation->expires;
    return true;
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

bool adding_prepare(struct adding *a) {
    RedisModuleCtx *ctx = a->key.ctx;
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
    return adding_create(&a->key, &a->creation) && begin_generation(&a->key);
}

/* Only we write streams with filters that items can be removed from, and these list accepted items
 * only. */
static bool is_forced(const struct adding *a) {
    return layout_row(a->key.filter->layout)->removes && replay_is(a->key.ctx);
}

enum batch_verdict adding_make_room(struct adding *a, enum status *st, struct filter **filter) {
    if (*st == STATUS_FULL && is_forced(a)) return BATCH_FORCE;
    if (*st == STATUS_GROW) *st = key_grow(&a->key);
    *filter = a->key.filter;
    return *st == STATUS_OK ? BATCH_RETRY : BATCH_END;
}

void adding_replicate_first(const struct adding *a) {
    const struct key *key = &a->key;
    if (key->put) replicate_reserve(key->ctx, key->name, &a->creation);
    if (key->rotated) replicate_rotate(key->ctx, key->name, key->rotated);
}

void adding_close(struct adding *a) {
    metrics.adds += a->done - a->nfailed;
    if (adding_is_change(a)) {
        key_close_changed(&a->key, a->nchanging ? "bf.add" : a->key.put ? "bf.reserve" : NULL);
    } else {
        key_close(&a->key);
    }
}
