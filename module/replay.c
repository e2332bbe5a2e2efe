/* Commands that are replayed. See replay.h. */

#include "module/replay.h"

#include "module/server.h"

static int replaying_flags = REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING;
static bool is_explicit;

bool replay_is(RedisModuleCtx *ctx) {
    // ASYNC_LOADING is not tested: a replica that loads sets it for its ordinary clients too.
    return (RedisModule_GetContextFlags(ctx) & replaying_flags) != 0;
}

bool replay_is_loading(void) {
    int loading = REDISMODULE_CTX_FLAGS_LOADING | REDISMODULE_CTX_FLAGS_ASYNC_LOADING |
                  REDISMODULE_CTX_FLAGS_SLAVE;
    return (RedisModule_GetContextFlags(NULL) & loading) != 0; // the server's own flags
}

void replay_note_explicit(void) {
    is_explicit = true;
}

void replay_note_explicit_value(void) {
    if (is_explicit) return; // the first value of a load is enough
    // A RESTORE counts only where no client can send one: the master of a writable replica may be
    // anybody. These flags belong to the server, so no context is needed.
    int loading = REDISMODULE_CTX_FLAGS_LOADING | REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    int flags = RedisModule_GetContextFlags(NULL);
    if (flags & (loading | REDISMODULE_CTX_FLAGS_READONLY)) is_explicit = true;
}

bool replay_is_explicit(void) {
    return is_explicit;
}

static void on_load(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t subevent, void *data) {
    (void)ctx, (void)data;
    bool is_start = event.id == REDISMODULE_EVENT_REPL_ASYNC_LOAD
                        ? subevent == REDISMODULE_SUBEVENT_REPL_ASYNC_LOAD_STARTED
                        : subevent == REDISMODULE_SUBEVENT_LOADING_RDB_START ||
                              subevent == REDISMODULE_SUBEVENT_LOADING_AOF_START ||
                              subevent == REDISMODULE_SUBEVENT_LOADING_REPL_START;
    if (is_start) is_explicit = false;
}

int replay_register(RedisModuleCtx *ctx) {
    replaying_flags |= server_slot_import_flag();
    if (RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_Loading, on_load) !=
        REDISMODULE_OK) {
        return REDISMODULE_ERR;
    }
    return RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_ReplAsyncLoad, on_load);
}
