/* The floor of the benchmark: what a command costs that opens its key and answers a constant. What
 * the server spends on reading, parsing, dispatching, key lookup and replying is all in it; nothing
 * of a filter is. A filter's command divided by this one is what the filter itself costs.
 *
 * Fair to both sides: the names are as long as BF.EXISTS and BF.MEXISTS, the flags, the key
 * specification and the kind of reply are the same, and the key may be the filter's own (its value
 * is never looked at), so both sides look up the same entry of the same table.
 *
 * And the limit: the same command, which also looks at, or changes, a number of random cache lines
 * for each item, in an area as large as the filter, asked for as early as possible. It hashes
 * nothing and computes nothing: no filter of so many lines an item can be faster on this machine.
 */

#define _GNU_SOURCE // madvise
#include <redismodule.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* ---- The lines ------------------------------------------------------------------------------ */

#define LINE_BYTES 64
#define LINES_AHEAD 24 // about as many as a core can wait for

static struct {
    uint8_t *bytes;
    size_t size;
    uint64_t lines; // for each item
    uint64_t asked, touched;
} area;

static uint8_t *line(uint64_t number) {
    uint64_t x = number * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
    return area.bytes +
           (uint64_t)((unsigned __int128)x * (area.size / LINE_BYTES) >> 64) * LINE_BYTES;
}

static void ask(uint64_t lines) {
    for (uint64_t end = area.asked + lines; area.asked < end; area.asked++) {
        __builtin_prefetch(line(area.asked));
    }
}

/* What the lines hold does not matter, but that they were waited for does. */
static uint64_t touch(uint64_t lines, int to_write) {
    uint64_t sum = 0;
    for (uint64_t end = area.touched + lines; area.touched < end; area.touched++) {
        uint8_t *at = line(area.touched);
        sum += to_write ? ++*at : *at;
    }
    return sum;
}

/* FLOOR.AREA bytes lines: from now on this many lines of an area of this size for each item. */
static int floor_area(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long size, lines;
    if (argc != 3 || RedisModule_StringToLongLong(argv[1], &size) != REDISMODULE_OK ||
        RedisModule_StringToLongLong(argv[2], &lines) != REDISMODULE_OK || size < LINE_BYTES) {
        return RedisModule_ReplyWithError(ctx, "ERR FLOOR.AREA bytes lines");
    }
    if (area.size != (size_t)size) {
        if (area.bytes) munmap(area.bytes, area.size);
        area.size = (size_t)size;
        area.bytes =
            mmap(NULL, area.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (area.bytes == MAP_FAILED) return RedisModule_ReplyWithError(ctx, "ERR no memory");
        madvise(area.bytes, area.size, MADV_HUGEPAGE);
        memset(area.bytes, 1, area.size);
    }
    area.lines = (uint64_t)lines;
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- The commands --------------------------------------------------------------------------- */

/* What a command that has changed something owes replicas, watchers and listeners. */
static void announce(RedisModuleCtx *ctx, RedisModuleString *name) {
    RedisModule_ReplicateVerbatim(ctx);
    RedisModule_SignalModifiedKey(ctx, name);
    RedisModule_NotifyKeyspaceEvent(ctx, REDISMODULE_NOTIFY_MODULE, "limit", name);
}

static int reply_ones(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int mode,
                      int is_array, uint64_t lines) {
    if (is_array ? argc < 3 : argc != 3) return RedisModule_WrongArity(ctx);
    int to_write = (mode & REDISMODULE_WRITE) != 0;
    uint64_t left = lines * (uint64_t)(argc - 2), sum = 0;
    uint64_t ahead = left < LINES_AHEAD ? left : LINES_AHEAD;
    ask(ahead);
    left -= ahead;
    RedisModuleKey *key = RedisModule_OpenKey(ctx, argv[1], mode);
    if (is_array) RedisModule_ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++) {
        uint64_t more = left < lines ? left : lines;
        ask(more);
        left -= more;
        sum += touch(lines, to_write);
        RedisModule_ReplyWithBool(ctx, sum != UINT64_MAX);
    }
    if (to_write && lines > 0) announce(ctx, argv[1]);
    RedisModule_CloseKey(key);
    return REDISMODULE_OK;
}

/* FLOOR.ONE key item */
static int floor_one(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ, 0, 0);
}

/* FLOOR.MANY key item [item ...] */
static int floor_many(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ, 1, 0);
}

/* FLOOR.WONE key item: the key opened for writing, by a command that says it writes. */
static int floor_wone(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 0, 0);
}

/* FLOOR.WMANY key item [item ...] */
static int floor_wmany(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 1, 0);
}

/* LIMIT.ONE key item, and so on: the same four with lines. */
static int limit_one(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ, 0, area.lines);
}

static int limit_many(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ, 1, area.lines);
}

static int limit_wone(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 0, area.lines);
}

static int limit_wmany(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_ones(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 1, area.lines);
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
                    {"floor.wmany", floor_wmany, "write deny-oom"},
                    {"limit.one", limit_one, "readonly fast"},
                    {"limit.many", limit_many, "readonly fast"},
                    {"limit.wone", limit_wone, "write deny-oom"},
                    {"limit.wmany", limit_wmany, "write deny-oom"}};
    (void)argv, (void)argc;
    if (RedisModule_Init(ctx, "floor", 1, REDISMODULE_APIVER_1) == REDISMODULE_ERR ||
        RedisModule_CreateCommand(ctx, "floor.area", floor_area, "readonly", 0, 0, 0) ==
            REDISMODULE_ERR) {
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
