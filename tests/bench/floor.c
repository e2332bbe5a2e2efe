/* The floor of the benchmark: what a command costs that opens its key and answers a constant. What
 * the server spends on reading, parsing, dispatching, key lookup and replying is all in it; nothing
 * of a filter is. A filter's command divided by this one is what the filter itself costs.
 *
 * Fair to both sides: the names are as long as BF.EXISTS and BF.MEXISTS, the flags, the key
 * specification and the kind of reply are the same, and the key may be the filter's own (its value
 * is never looked at), so both sides look up the same entry of the same table. */

#include <redismodule.h>

static int reply_ones(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int mode,
                      int is_array) {
    if (is_array ? argc < 3 : argc != 3) return RedisModule_WrongArity(ctx);
    RedisModuleKey *key = RedisModule_OpenKey(ctx, argv[1], mode);
    if (is_array) RedisModule_ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++) RedisModule_ReplyWithBool(ctx, 1);
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* FLOOR.ONE key item */
static int floor_one(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ, 0);
}

/* FLOOR.MANY key item [item ...] */
static int floor_many(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ, 1);
}

/* FLOOR.WONE key item: the key opened for writing, by a command that says it writes. */
static int floor_wone(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 0);
}

/* FLOOR.WMANY key item [item ...] */
static int floor_wmany(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 1);
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc) {
    static const struct {
        const char *name;
        RedisModuleCmdFunc function;
        const char *flags; // those of BF.EXISTS, BF.MEXISTS, BF.ADD and BF.MADD
    } COMMANDS[] = {{"floor.one", floor_one, "readonly fast"},
                    {"floor.many", floor_many, "readonly fast"},
                    {"floor.wone", floor_wone, "write deny-oom"},
                    {"floor.wmany", floor_wmany, "write deny-oom"}};
    (void)argv, (void)argc;
    if (RedisModule_Init(ctx, "floor", 1, REDISMODULE_APIVER_1) == REDISMODULE_ERR) {
        return REDISMODULE_ERR;
    }
    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++) {
        if (RedisModule_CreateCommand(ctx, COMMANDS[i].name, COMMANDS[i].function,
                                      COMMANDS[i].flags, 1, 1, 1) == REDISMODULE_ERR) {
            return REDISMODULE_ERR;
        }
    }
    return REDISMODULE_OK;
}
