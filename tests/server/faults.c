/* Makes allocations of the module fail. It is linked into a copy of the module for test_faults.py
 * and wraps mem_set_hooks and command_table_register (ld --wrap), so that the module's own code is
 * unchanged.
 *
 *   BFTEST.FAIL n          the n-th allocation from now on fails (0: none). Replies with how many
 *                          there have been since the last BFTEST.FAIL
 *   BLOOMPORT_FAIL_AT=n    the same, in the environment, from the start of the server on */

#include "module/commands.h"
#include "module/core/mem.h"

#include <stdlib.h>

void __real_mem_set_hooks(struct mem_hooks hooks);
void __wrap_mem_set_hooks(struct mem_hooks hooks);
int __real_command_table_register(RedisModuleCtx *ctx);
int __wrap_command_table_register(RedisModuleCtx *ctx);

static struct mem_hooks servers;
static long long calls, fail_at;

static void *alloc_or_fail(size_t size) {
    return ++calls == fail_at ? NULL : servers.try_alloc(size);
}

void __wrap_mem_set_hooks(struct mem_hooks hooks) {
    servers = hooks;
    const char *at = getenv("BLOOMPORT_FAIL_AT");
    if (at) fail_at = atoll(at);
    __real_mem_set_hooks((struct mem_hooks){alloc_or_fail, hooks.release});
}

static int cmd_fail(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2 || RedisModule_StringToLongLong(argv[1], &fail_at) != REDISMODULE_OK) {
        return RedisModule_WrongArity(ctx);
    }
    RedisModule_ReplyWithLongLong(ctx, calls);
    calls = 0;
    return REDISMODULE_OK;
}

int __wrap_command_table_register(RedisModuleCtx *ctx) {
    if (RedisModule_CreateCommand(ctx, "bftest.fail", cmd_fail, "fast", 0, 0, 0) !=
        REDISMODULE_OK) {
        return REDISMODULE_ERR;
    }
    return __real_command_table_register(ctx);
}
