/* Lines in the server's log. See notice.h. */

#include "module/notice.h"

#include "module/core/measure.h"
#include "module/replay.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>

#define SILENCE_MS 60000

/* When a kind of line was last written, and how many have been left out since. */
struct limiter {
    long long written_ms;
    unsigned long long nskipped;
};

void notice_name(const RedisModuleString *name, char out[NOTICE_NAME_BYTES]) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(name, &len);
    size_t n = len < NOTICE_NAME_BYTES - 1 ? len : NOTICE_NAME_BYTES - 1;
    for (size_t i = 0; i < n; i++) out[i] = isprint((unsigned char)bytes[i]) ? bytes[i] : '?';
    out[n] = '\0';
}

/* Whether a line may be written now. A clock that was set back lets it pass. */
static bool is_due(struct limiter *limiter) {
    long long now = RedisModule_Milliseconds();
    if (now >= limiter->written_ms && now < limiter->written_ms + SILENCE_MS) {
        limiter->nskipped++;
        return false;
    }
    limiter->written_ms = now;
    return true;
}

static void write_line(RedisModuleCtx *ctx, struct limiter *limiter, const RedisModuleString *name,
                       const char *text) {
    if (replay_is(ctx) || !is_due(limiter)) return;
    char shown[NOTICE_NAME_BYTES], others[64] = "";
    notice_name(name, shown);
    if (limiter->nskipped > 0) {
        snprintf(others, sizeof(others), " (%llu more filters since the last such line)",
                 limiter->nskipped);
    }
    limiter->nskipped = 0;
    RedisModule_Log(ctx, "warning", "filter %s %s; BF.STATS has more%s", shown, text, others);
}

void notice_full(RedisModuleCtx *ctx, const RedisModuleString *name, uint64_t items) {
    static struct limiter limiter;
    char text[160];
    snprintf(
        text, sizeof(text),
        "is full: it holds %llu items and takes no new ones. Make a larger one, or one with an "
        "expansion",
        (unsigned long long)items);
    write_line(ctx, &limiter, name, text);
}

void notice_many_layers(RedisModuleCtx *ctx, const RedisModuleString *name, uint64_t items) {
    static struct limiter limiter;
    char text[160];
    snprintf(text, sizeof(text),
             "has more than %d layers, and every lookup goes through all of them: it holds %llu "
             "items. Reserve a capacity like that",
             MEASURE_MANY_LAYERS, (unsigned long long)items);
    write_line(ctx, &limiter, name, text);
}
