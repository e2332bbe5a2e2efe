/* Where the server enters: the memory hook, the settings, the types, the commands. Nothing else. */

#include "module/commands.h"
#include "module/config.h"
#include "module/core/mem.h"
#include "module/core/version.h"
#include "module/metrics.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/server.h"
#include "module/type.h"

#define MODULE_NAME "bf" // what clients and tools look for in MODULE LIST
#define MODULE_VERSION (VERSION_MAJOR * 10000 + VERSION_MINOR * 100 + VERSION_PATCH)

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (RedisModule_Init(ctx, MODULE_NAME, MODULE_VERSION, REDISMODULE_APIVER_1) !=
        REDISMODULE_OK) {
        RedisModule_Log(ctx, "warning",
                        "a module named " MODULE_NAME
                        " is loaded already: BF.* can be had from one module only");
        return REDISMODULE_ERR;
    }
    if (!server_is_new_enough()) {
        RedisModule_Log(ctx, "warning", "this server is too old: bloomport needs Redis 7.0");
        return REDISMODULE_ERR;
    }
    mem_set_hooks((struct mem_hooks){RedisModule_TryAlloc, RedisModule_Free});
    // A failed read is ours to handle; a key is modified when we say so, not when it is opened; and
    // nothing we keep minds a second set of keys being loaded while the first is served. Valkey 9
    // moves slots atomically only if every module says that it can cope: keys arrive and are
    // written to before the node owns them, which is nothing to us.
    RedisModule_SetModuleOptions(
        ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS | REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED |
                 REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD | server_slot_migration_option());
    if (command_table_register(ctx) != REDISMODULE_OK) return REDISMODULE_ERR;
    if (config_load(ctx, argv, argc) != REDISMODULE_OK) return REDISMODULE_ERR;
    if (replay_register(ctx) != REDISMODULE_OK) return REDISMODULE_ERR;
    if (replicate_register(ctx) != REDISMODULE_OK) return REDISMODULE_ERR;
    if (metrics_register(ctx) != REDISMODULE_OK) return REDISMODULE_ERR;
    // The types come last: Redis 7.0 leaks that of a module which fails to load after it.
    return type_register(ctx);
}
