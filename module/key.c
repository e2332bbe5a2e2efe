/* Keys that hold filters. See key.h. */

#include "module/key.h"

#include "module/background.h"
#include "module/config.h"
#include "module/core/filter/window.h"
#include "module/core/measure.h"
#include "module/log.h"
#include "module/reply.h"
#include "module/type.h"

static bool is_writing(const struct key *key) {
    return key->access == FOR_WRITING || key->access == FOR_ADDING;
}

/* ---- Counting for INFO bf -------------------------------------------------------------------- */

/* Adds leave all layers but the newest as they are, and the counts that are settled are
 * differences. So only the newest layer is counted where only that changes; in a non-scaling filter
 * all are, since the log states their sum. */
static uint32_t count_from(const struct key *key) {
    const struct filter *filter = key->filter;
    return key->access == FOR_ADDING && filter->expansion > 0 ? filter->nlayers - 1 : 0;
}

static struct usage usage_now(const struct key *key) {
    return metrics_usage(key->value, key->filter, key->counted_from);
}

static void count(struct key *key) {
    key->counted_from = count_from(key);
    key->counted = usage_now(key);
}

static void settle(struct key *key) {
    metrics_settle(&key->counted, usage_now(key));
}

/* From now on all layers are counted, also in a command that adds. */
static void count_all(struct key *key) {
    settle(key);
    key->counted_from = 0;
    key->counted = usage_now(key);
}

void key_count(struct key *key) {
    key->access = FOR_WRITING;
    count(key);
}

void key_count_completed(struct key *key) {
    if (is_writing(key) || key->filter->is_loading) return;
    key_count(key);
    key->counted.full = key->counted.overfilled = 0; // while it was loading
}

/* ---- Opening -------------------------------------------------------------------------------- */

static void set_value(struct key *key, void *value) {
    key->value = value;
    key->filter = packed_open(value, &key->view);
}

/* Opening an expired key deletes it, which may run code of another module, and that code may create
 * the key again. So a key that is missing is opened a second time. */
static RedisModuleKey *open_to_write(RedisModuleCtx *ctx, RedisModuleString *name) {
    int mode = REDISMODULE_READ | REDISMODULE_WRITE;
    RedisModuleKey *handle = RedisModule_OpenKey(ctx, name, mode);
    if (RedisModule_KeyType(handle) != REDISMODULE_KEYTYPE_EMPTY) return handle;
    RedisModule_CloseKey(handle);
    return RedisModule_OpenKey(ctx, name, mode);
}

bool key_exists(RedisModuleCtx *ctx, RedisModuleString *name) {
    RedisModuleKey *handle = open_to_write(ctx, name);
    bool exists = RedisModule_KeyType(handle) != REDISMODULE_KEYTYPE_EMPTY;
    RedisModule_CloseKey(handle);
    return exists;
}

bool key_open_any(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                  struct key *key) {
    key->ctx = ctx;
    key->name = name;
    key->access = access;
    key->value = NULL;
    key->filter = NULL;
    key->put = NULL;
    key->expires = 0;
    key->rotated = 0;
    key->has_grown = key->has_many_layers = key->is_partial = false;
    key->counted = (struct usage){0};
    key->counted_from = 0;
    key->handle = access == FOR_READING ? RedisModule_OpenKey(ctx, name, REDISMODULE_READ)
                                        : open_to_write(ctx, name);
    if (!key->handle) return true;
    const RedisModuleType *type = RedisModule_ModuleTypeGetType(key->handle);
    if (!type_is_filter(type)) {
        if (RedisModule_KeyType(key->handle) == REDISMODULE_KEYTYPE_EMPTY) return true;
        RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
        return false;
    }
    set_value(key, RedisModule_ModuleTypeGetValue(key->handle));
    if (is_writing(key)) count(key);
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

const struct filter *key_live(const struct key *key, struct filter *view) {
    const struct filter *filter = key->filter;
    if (!filter || filter->window == 0) return filter;
    return window_live(filter, (uint64_t)RedisModule_Milliseconds(), view);
}

uint64_t key_size_bytes(const struct key *key) {
    return type_row(key->filter->origin)->size(key->value);
}

/* ---- Changing ------------------------------------------------------------------------------- */

void key_put(struct key *key, void *value, bool drops_ttl) {
    key->put = value;
    key->filter = packed_open(value, &key->view);
    key->drops_ttl = drops_ttl;
}

/* Replaces the key's value, and frees the old value. */
static void replace_value(struct key *key, RedisModuleType *type, void *value) {
    void *old;
    RedisModule_ModuleTypeReplaceValue(key->handle, type, value, &old);
    packed_free(old);
    set_value(key, value);
}

/* A packed filter has room for one layer only. An unpacked copy grows, and replaces it. */
static enum status grow_packed(struct key *key, void *packed, uint64_t max_bytes) {
    packed_close(packed, key->filter);
    struct filter *unpacked = packed_unpack(packed);
    if (!unpacked) return STATUS_NOMEM;
    enum status st = filter_grow(unpacked, max_bytes, LIMITS_MAX_LAYERS);
    if (st != STATUS_OK) {
        filter_free(unpacked);
    } else if (key->put) {
        packed_free(packed);
        key_put(key, unpacked, key->drops_ttl);
    } else {
        replace_value(key, type_of(unpacked), unpacked);
    }
    return st;
}

enum status key_grow(struct key *key) {
    uint64_t max_bytes = config_max_bytes(key->ctx);
    bool had_many_layers = measure_has_many_layers(key->filter);
    void *value = key->put ? key->put : key->value;
    enum status st = packed_is_packed(value)
                         ? grow_packed(key, value, max_bytes)
                         : filter_grow(key->filter, max_bytes, config_max_layers(key->ctx));
    if (st != STATUS_OK) return st;
    key->has_grown = true;
    if (!had_many_layers && measure_has_many_layers(key->filter)) {
        key->has_many_layers = true;
        count_all(key); // for the log
    }
    return STATUS_OK;
}

enum status key_rotate(struct key *key, uint64_t start) {
    struct filter *dropped;
    count_all(key);
    enum status st = window_rotate(key->filter, start, config_max_bytes(key->ctx), &dropped);
    if (st != STATUS_OK) return st;
    background_free(dropped);
    key->rotated = start;
    return STATUS_OK;
}

enum status key_drop(struct key *key, uint64_t start) {
    struct filter *dropped;
    count_all(key);
    enum status st = window_drop(key->filter, start, &dropped);
    if (st == STATUS_OK) background_free(dropped);
    return st;
}

void key_delete(struct key *key) {
    settle(key); // what freeing subtracts
    key->counted = (struct usage){0};
    RedisModule_UnlinkKey(key->handle);
    key->value = NULL;
    key->filter = NULL;
}

/* ---- Closing -------------------------------------------------------------------------------- */

/* Gives the key the filter that was put. When a key is created, the server tells other modules. So
 * setting the value comes last. */
static void install(struct key *key) {
    RedisModuleType *type = type_of(key->filter);
    packed_close(key->put, key->filter);
    void *value = packed_is_packed(key->put) ? key->put : packed_pack(key->put);
    if (key->value && key->drops_ttl) {
        key->filter = packed_open(key->value, &key->view);
        key_delete(key);
    }
    bool is_new = !key->value;
    if (is_new) {
        set_value(key, value);
    } else {
        replace_value(key, type, value);
    }
    settle(key);
    if (is_new) RedisModule_ModuleTypeSetValue(key->handle, type, value);
}

/* Stores the changes in the value. A small filter is packed, also one that BF.CLEAR made small. */
static void store(struct key *key) {
    if (packed_is_packed(key->value)) {
        packed_close(key->value, key->filter);
    } else if (packed_is_small(key->filter)) {
        RedisModuleType *type = type_of(key->filter);
        void *value = packed_pack(key->filter);
        if (value != key->value) {
            void *old; // freed by packed_pack
            RedisModule_ModuleTypeReplaceValue(key->handle, type, value, &old);
            set_value(key, value);
        }
    }
    settle(key);
}

void key_close(struct key *key) {
    if (key->put) {
        install(key);
    } else if (key->value && is_writing(key)) {
        store(key);
    }
    RedisModule_CloseKey(key->handle);
    if (is_writing(key)) key->filter = key->put = NULL;
}

/* Sets the TTL of a new key. Setting its value let other modules run, so the key is opened again,
 * and gets the TTL only if it still holds that value. */
static bool expire(const struct key *key) {
    RedisModuleKey *handle =
        RedisModule_OpenKey(key->ctx, key->name, REDISMODULE_READ | REDISMODULE_WRITE);
    const RedisModuleType *type = RedisModule_ModuleTypeGetType(handle);
    bool is_ours = type_is_filter(type) && RedisModule_ModuleTypeGetValue(handle) == key->value;
    if (is_ours) RedisModule_SetAbsExpire(handle, key->expires);
    RedisModule_CloseKey(handle);
    return is_ours;
}

static void announce(const struct key *key, const char *event) {
    RedisModule_NotifyKeyspaceEvent(key->ctx, REDISMODULE_NOTIFY_MODULE, event, key->name);
}

static void settle_fill(const struct key *key) {
    bool has_only_added = key->access == FOR_ADDING && !key->has_grown && !key->rotated;
    if (has_only_added || key->is_partial) {
        measure_note_add(key->filter);
    } else {
        measure_settle_fill(key->filter, NULL);
    }
}

void key_close_changed(struct key *key, const char *event) {
    if (is_writing(key)) settle_fill(key);
    uint64_t was_full = key->counted.full;
    const char *remedy = log_remedy(key->filter);
    key_close(key);
    if (key->counted.full > was_full) {
        log_full(key->ctx, key->name, key->counted.items, remedy);
    }
    if (key->has_many_layers) log_many_layers(key->ctx, key->name, key->counted.items);
    bool is_expiring = key->expires != 0 && expire(key);
    RedisModule_SignalModifiedKey(key->ctx, key->name);
    if (key->rotated) announce(key, "bf.rotate");
    if (key->has_grown) announce(key, "bf.grow");
    if (event) announce(key, event);
    if (is_expiring) {
        RedisModule_NotifyKeyspaceEvent(key->ctx, REDISMODULE_NOTIFY_GENERIC, "expire", key->name);
    }
}

void key_close_deleted(struct key *key) {
    key_close(key);
    RedisModule_SignalModifiedKey(key->ctx, key->name);
    RedisModule_NotifyKeyspaceEvent(key->ctx, REDISMODULE_NOTIFY_GENERIC, "del", key->name);
}
