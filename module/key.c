/* Keys that hold filters. See key.h. */

#include "module/key.h"

#include "module/reply.h"
#include "module/type.h"

/* The type of the key that holds such a filter. */
static RedisModuleType *type_of(const struct filter *filter) {
    return filter->is_adopted ? type_redisbloom : type_bloomport;
}

static void set_value(struct key *key, void *value) {
    key->value = value;
    key->filter = packed_open(value, &key->view);
}

bool key_open_any(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                  struct key *key) {
    key->ctx = ctx;
    key->name = name;
    key->access = access;
    key->value = NULL;
    key->filter = NULL;
    key->known = (struct usage){0};
    key->handle = RedisModule_OpenKey(ctx, name, (int)access);
    if (!key->handle) return true;
    const RedisModuleType *type = RedisModule_ModuleTypeGetType(key->handle);
    if (type != type_bloomport && type != type_redisbloom) {
        if (RedisModule_KeyType(key->handle) == REDISMODULE_KEYTYPE_EMPTY) return true;
        RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
        return false;
    }
    set_value(key, RedisModule_ModuleTypeGetValue(key->handle));
    if (access == FOR_WRITING) key->known = metrics_usage(key->value, key->filter);
    return true;
}

bool key_open(RedisModuleCtx *ctx, RedisModuleString *name, enum access access, struct key *key) {
    if (!key_open_any(ctx, name, access, key)) return false;
    if (!key->filter || !key->filter->is_loading) return true;
    RedisModule_ReplyWithError(ctx, ERR_LOADING);
    return false;
}

bool key_open_existing(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                       struct key *key) {
    if (!key_open(ctx, name, access, key)) return false;
    if (key->filter) return true;
    RedisModule_ReplyWithError(ctx, ERR_NOT_FOUND);
    return false;
}

bool key_make_room(struct key *key, size_t n) {
    if (!packed_is_packed(key->value)) return true;
    const struct layer *layer = &key->filter->layers[0];
    if (layer->capacity - layer->items >= n || key->filter->expansion == 0) return true;
    struct filter *whole = packed_make_whole(key->value);
    if (!whole) return false;
    void *old;
    RedisModule_ModuleTypeReplaceValue(key->handle, type_bloomport, whole, &old);
    packed_free(old);
    set_value(key, whole);
    return true;
}

void key_set(struct key *key, struct filter *filter) {
    RedisModuleType *type = type_of(filter);
    void *value = packed_rest(filter);
    if (value == key->value) return;
    if (key->value) {
        void *old;
        RedisModule_ModuleTypeReplaceValue(key->handle, type, value, &old);
        if (old != filter) packed_free(old);
    } else {
        RedisModule_ModuleTypeSetValue(key->handle, type, value);
    }
    set_value(key, value);
}

uint64_t key_size_bytes(const struct key *key) {
    const struct filter *filter = key->filter;
    if (!filter->is_adopted) return packed_size_bytes(key->value);
    return 32 + 64 * (uint64_t)filter->nlayers + filter_array_bytes(filter);
}

void key_delete(struct key *key) {
    metrics_settle(&key->known, metrics_usage(key->value, key->filter)); // for it will be freed so
    key->known = (struct usage){0};
    RedisModule_UnlinkKey(key->handle);
    key->value = NULL;
    key->filter = NULL;
}

void key_announce(struct key *key, const char *event) {
    RedisModule_SignalModifiedKey(key->ctx, key->name);
    RedisModule_NotifyKeyspaceEvent(key->ctx, REDISMODULE_NOTIFY_MODULE, event, key->name);
}

void key_announce_deletion(struct key *key) {
    RedisModule_SignalModifiedKey(key->ctx, key->name);
    RedisModule_NotifyKeyspaceEvent(key->ctx, REDISMODULE_NOTIFY_GENERIC, "del", key->name);
}

void key_close(struct key *key) {
    if (key->value && key->access == FOR_WRITING) {
        // A small filter rests packed; one that room was made for in vain becomes so again.
        if (packed_is_packed(key->value)) {
            packed_close(key->value, key->filter);
        } else if (packed_is_small(key->filter)) {
            key_set(key, key->filter);
        }
        metrics_settle(&key->known, metrics_usage(key->value, key->filter));
    }
    RedisModule_CloseKey(key->handle);
}
