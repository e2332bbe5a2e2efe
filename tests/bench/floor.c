/* The floor of the benchmark: the cost of a command that opens its key and answers a constant. It
 * has all that the server spends on reading, parsing, dispatching, key lookup and replying, and
 * nothing of a filter. The ratio of a filter's command to the floor is the cost of the filter.
 *
 * It is fair to both sides: the names are as long as BF.EXISTS and BF.MEXISTS, the flags, the key
 * specification and the kind of reply are the same, and the key may be the filter's own (its value
 * is never read), so both sides look up the same entry of the same table.
 *
 * The limit is the same command, which also reads and hashes each item as a filter must, and reads
 * or changes a number of random cache lines for it, in an area as large as the filter. The lines
 * are prefetched as early as possible: as soon as a single item's hash is computed, and for items
 * of a batch before that. The contents of the lines do not matter: a filter with these hashes and
 * as many lines an item cannot be much faster on this machine.
 *
 * Both exist for many items in one string too: FLOOR.BULK answers a bitmap of zeros and has the
 * cost of the bytes alone, LIMIT.BULK also hashes each item and waits for its lines. */

#define _GNU_SOURCE // madvise
#include "module/core/hash/hash.h"

#include <redismodule.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* ---- The lines ------------------------------------------------------------------------------ */

#define LINE_BYTES 64
#define LINES_AHEAD 24 // about as many as a core can wait for
#define GROUP 8
#define LINES_AGAIN                                                                                \
    12 // lines ahead to prefetch once more: some of the first prefetches are dropped

static struct {
    uint8_t *bytes;
    size_t size;
    uint64_t lines[2]; // for each item, every other one the second
    uint64_t hashes;   // for each item
    uint64_t prefetched, touched;
} area;

static uint8_t *line(uint64_t number) {
    uint64_t x = number * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
    return area.bytes +
           (uint64_t)((unsigned __int128)x * (area.size / LINE_BYTES) >> 64) * LINE_BYTES;
}

static void prefetch(uint64_t lines) {
    for (uint64_t end = area.prefetched + lines; area.prefetched < end; area.prefetched++) {
        __builtin_prefetch(line(area.prefetched));
    }
}

static void prefetch_again(uint64_t lines) {
    for (uint64_t i = 0; i < lines; i++) __builtin_prefetch(line(area.touched + LINES_AGAIN + i));
}

/* The contents of the lines do not matter, but the CPU must have waited for them. */
static uint64_t touch(uint64_t lines, int to_write) {
    uint64_t sum = 0;
    for (uint64_t end = area.touched + lines; area.touched < end; area.touched++) {
        uint8_t *at = line(area.touched);
        sum += to_write ? ++*at : *at;
    }
    return sum;
}

/* Both hashes of CLASSIC, or the one of BLOCKED. */
static uint64_t hash_bytes(const char *bytes, size_t len) {
    uint64_t sum = XXH64(bytes, len, 0);
    return area.hashes == 2 ? sum + XXH64(bytes, len, 1) : sum;
}

static uint64_t hash(RedisModuleString *item) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    return hash_bytes(bytes, len);
}

/* FLOOR.AREA bytes lines lines hashes: sets the size of the area, the lines of an item and of the
 * next one, and the hashes of an item. */
static int floor_area(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long numbers[5];
    for (int i = 1; i < 5; i++) {
        if (argc != 5 || RedisModule_StringToLongLong(argv[i], &numbers[i]) != REDISMODULE_OK ||
            numbers[i] < 1) {
            return RedisModule_ReplyWithError(ctx, "ERR FLOOR.AREA bytes lines lines hashes");
        }
    }
    long long size = numbers[1];
    if (size < LINE_BYTES) return RedisModule_ReplyWithError(ctx, "ERR too small");
    if (area.size != (size_t)size) {
        if (area.bytes) munmap(area.bytes, area.size);
        area.size = (size_t)size;
        area.bytes =
            mmap(NULL, area.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (area.bytes == MAP_FAILED) return RedisModule_ReplyWithError(ctx, "ERR no memory");
        madvise(area.bytes, area.size, MADV_HUGEPAGE);
        memset(area.bytes, 1, area.size);
    }
    area.lines[0] = (uint64_t)numbers[2];
    area.lines[1] = (uint64_t)numbers[3];
    area.hashes = (uint64_t)numbers[4];
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- The commands --------------------------------------------------------------------------- */

/* A command that has changed something propagates it, marks the key and announces the event. */
static void announce(RedisModuleCtx *ctx, RedisModuleString *name) {
    RedisModule_ReplicateVerbatim(ctx);
    RedisModule_SignalModifiedKey(ctx, name);
    RedisModule_NotifyKeyspaceEvent(ctx, REDISMODULE_NOTIFY_MODULE, "limit", name);
}

/* The lines of the next item. */
static uint64_t next_lines(void) {
    static unsigned turn;
    return area.lines[turn++ % 2];
}

static int reply_one(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int mode,
                     int is_limit) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    int to_write = (mode & REDISMODULE_WRITE) != 0;
    uint64_t lines = is_limit ? next_lines() : 0, sum = 0;
    if (is_limit)
        area.prefetched = area.touched = hash(argv[2]); // no line can be prefetched before
    prefetch(lines);
    RedisModule_CloseKey(RedisModule_OpenKey(ctx, argv[1], mode)); // while they arrive
    sum += touch(lines, to_write);
    RedisModule_ReplyWithBool(ctx, sum != UINT64_MAX);
    if (to_write && is_limit) announce(ctx, argv[1]);
    return REDISMODULE_OK;
}

static int reply_many(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int mode,
                      int is_limit) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    int to_write = (mode & REDISMODULE_WRITE) != 0;
    uint64_t sum = 0;
    if (is_limit) prefetch(LINES_AHEAD);
    RedisModule_CloseKey(RedisModule_OpenKey(ctx, argv[1], mode));
    RedisModule_ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i += GROUP) {
        int end = argc - i < GROUP ? argc : i + GROUP;
        for (int j = i; j < end && is_limit; j++) sum += hash(argv[j]);
        for (int j = i; j < end && is_limit; j++) {
            uint64_t lines = next_lines();
            prefetch(lines);
            if (lines > 1) prefetch_again(lines);
            sum += touch(lines, to_write);
        }
        for (int j = i; j < end; j++) RedisModule_ReplyWithBool(ctx, sum != UINT64_MAX);
    }
    if (to_write && is_limit) announce(ctx, argv[1]);
    area.prefetched = area.touched; // prefetches beyond the last item are dropped
    return REDISMODULE_OK;
}

/* Hashes a group of items of `width` bytes each, then touches their lines; returns any number. */
static uint64_t touch_group(const char *items, size_t width, size_t n, int to_write) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += hash_bytes(items + i * width, width);
    for (size_t i = 0; i < n; i++) {
        uint64_t lines = next_lines();
        prefetch(lines);
        if (lines > 1) prefetch_again(lines);
        sum += touch(lines, to_write);
    }
    return sum;
}

/* The items of one string, `width` bytes each; a group's answers are one byte of the bitmap. */
static int reply_bulk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int mode,
                      int is_limit) {
    long long width;
    size_t len;
    if (argc != 5) return RedisModule_WrongArity(ctx);
    const char *data = RedisModule_StringPtrLen(argv[4], &len);
    if (RedisModule_StringToLongLong(argv[3], &width) != REDISMODULE_OK || width < 1) {
        return RedisModule_ReplyWithError(ctx, "ERR a bad width");
    }
    size_t size = (size_t)width, n = len / size, bytes = (n + 7) / 8;
    char *bitmap = RedisModule_Calloc(bytes + 1, 1);
    int to_write = (mode & REDISMODULE_WRITE) != 0;
    if (is_limit) prefetch(LINES_AHEAD);
    RedisModule_CloseKey(RedisModule_OpenKey(ctx, argv[1], mode));
    for (size_t i = 0; i < n && is_limit; i += GROUP) {
        uint64_t sum = touch_group(data + i * size, size, n - i < GROUP ? n - i : GROUP, to_write);
        bitmap[i / 8] = sum == UINT64_MAX; // 0 in practice, and the CPU cannot know
    }
    RedisModule_ReplyWithStringBuffer(ctx, bitmap, bytes);
    RedisModule_Free(bitmap);
    if (to_write && is_limit) announce(ctx, argv[1]);
    area.prefetched = area.touched;
    return REDISMODULE_OK;
}

/* FLOOR.BULK key WIDTH n data */
static int floor_bulk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_bulk(ctx, argv, argc, REDISMODULE_READ, 0);
}

/* LIMIT.BULK key WIDTH n data */
static int limit_bulk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_bulk(ctx, argv, argc, REDISMODULE_READ, 1);
}

/* LIMIT.WBULK key WIDTH n data */
static int limit_wbulk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_bulk(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 1);
}

/* FLOOR.ONE key item */
static int floor_one(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_one(ctx, argv, argc, REDISMODULE_READ, 0);
}

/* FLOOR.MANY key item [item ...] */
static int floor_many(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_many(ctx, argv, argc, REDISMODULE_READ, 0);
}

/* FLOOR.WONE key item: the key is opened for writing, by a command with the write flag. */
static int floor_wone(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_one(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 0);
}

/* FLOOR.WMANY key item [item ...] */
static int floor_wmany(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_many(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 0);
}

/* LIMIT.ONE key item, and so on: the same four with lines. */
static int limit_one(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_one(ctx, argv, argc, REDISMODULE_READ, 1);
}

static int limit_many(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_many(ctx, argv, argc, REDISMODULE_READ, 1);
}

static int limit_wone(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_one(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 1);
}

static int limit_wmany(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return reply_many(ctx, argv, argc, REDISMODULE_READ | REDISMODULE_WRITE, 1);
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc) {
    static const struct {
        const char *name;
        RedisModuleCmdFunc function;
        const char *flags; // those of BF.EXISTS, BF.MEXISTS, BF.ADD, BF.MADD and the bulk commands
    } COMMANDS[] = {{"floor.one", floor_one, "readonly fast"},
                    {"floor.many", floor_many, "readonly fast"},
                    {"floor.wone", floor_wone, "write deny-oom"},
                    {"floor.wmany", floor_wmany, "write deny-oom"},
                    {"limit.one", limit_one, "readonly fast"},
                    {"limit.many", limit_many, "readonly fast"},
                    {"limit.wone", limit_wone, "write deny-oom"},
                    {"limit.wmany", limit_wmany, "write deny-oom"},
                    {"floor.bulk", floor_bulk, "readonly"},
                    {"limit.bulk", limit_bulk, "readonly"},
                    {"limit.wbulk", limit_wbulk, "write deny-oom"}};
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
