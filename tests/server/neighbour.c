/* Another module in the same server, for test_stands_alone.py: it subscribes to keyspace events
 * and, on demand, runs one command inside its handler. That is legal on every server, and happens
 * while the module under test executes a command of its own.
 *
 *   NEIGHBOUR.ON event command [arg ...]   when `event` is announced next, of any key, run the
 *                                          command, once
 *   NEIGHBOUR.SAW                          how often it ran since NEIGHBOUR.ON, and its reply:
 *                                          [count, protocol text or null] */

#include <redismodule.h>

#include <stdbool.h>
#include <string.h>

#define MOST_WORDS 64

static RedisModuleString *words[MOST_WORDS]; // the event, the command, its arguments
static size_t nwords;
static bool is_armed;
static long long runs;
static RedisModuleString *answer; // to the last command that ran

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc);

static void forget(void) {
    for (size_t i = 0; i < nwords; i++) RedisModule_FreeString(NULL, words[i]);
    if (answer) RedisModule_FreeString(NULL, answer);
    nwords = 0;
    answer = NULL;
    is_armed = false;
    runs = 0;
}

static int cmd_on(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3 || argc - 1 > MOST_WORDS) return RedisModule_WrongArity(ctx);
    forget();
    while (nwords < (size_t)argc - 1) {
        RedisModule_RetainString(NULL, argv[nwords + 1]);
        words[nwords] = argv[nwords + 1];
        nwords++;
    }
    is_armed = true;
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

static int cmd_saw(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    if (argc != 1) return RedisModule_WrongArity(ctx);
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, runs);
    if (!answer) return RedisModule_ReplyWithNull(ctx);
    return RedisModule_ReplyWithString(ctx, answer);
}

/* What it writes reaches replicas and the AOF ("!"). */
static void run(RedisModuleCtx *ctx) {
    RedisModuleCallReply *reply = RedisModule_Call(ctx, RedisModule_StringPtrLen(words[1], NULL),
                                                   "!v", words + 2, nwords - 2);
    runs++;
    if (!reply) return;
    size_t len;
    const char *text = RedisModule_CallReplyProto(reply, &len);
    answer = RedisModule_CreateString(NULL, text, len);
    RedisModule_FreeCallReply(reply);
}

static int on_event(RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *key) {
    (void)type, (void)key;
    if (!is_armed || strcmp(event, RedisModule_StringPtrLen(words[0], NULL)) != 0) {
        return REDISMODULE_OK;
    }
    is_armed = false;
    run(ctx);
    return REDISMODULE_OK;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv, (void)argc;
    int events = REDISMODULE_NOTIFY_NEW | REDISMODULE_NOTIFY_GENERIC | REDISMODULE_NOTIFY_MODULE;
    if (RedisModule_Init(ctx, "neighbour", 1, REDISMODULE_APIVER_1) != REDISMODULE_OK ||
        RedisModule_CreateCommand(ctx, "neighbour.on", cmd_on, "", 0, 0, 0) != REDISMODULE_OK ||
        RedisModule_CreateCommand(ctx, "neighbour.saw", cmd_saw, "", 0, 0, 0) != REDISMODULE_OK) {
        return REDISMODULE_ERR;
    }
    return RedisModule_SubscribeToKeyspaceEvents(ctx, events, on_event);
}
