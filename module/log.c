/* Lines in the server's log. See log.h. */

#include "module/log.h"

#include "module/core/measure.h"
#include "module/replay.h"
#include "rdb/staging.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SILENCE_MS 60000

/* When a kind of line was last written, and how many have been left out since. */
struct limiter {
    long long written_ms;
    unsigned long long nskipped;
};

/* The bytes before the mark and the digits of a staging key; `len` if the name is of another kind.
 */
static size_t before_mark(const char *bytes, size_t len) {
    size_t mark = strlen(STAGING_MARK), end = mark + STAGING_DIGITS;
    if (len < end || memcmp(bytes + len - end, STAGING_MARK, mark) != 0) return len;
    for (size_t i = len - STAGING_DIGITS; i < len; i++) {
        if (!isxdigit((unsigned char)bytes[i])) return len;
    }
    return len - end;
}

/* The name of the user's key, which is part of a staging key's. Empty if it is not in there. */
static const char *users_name(const RedisModuleString *name, size_t *len) {
    const char *bytes = RedisModule_StringPtrLen(name, len);
    size_t n = before_mark(bytes, *len);
    if (n == *len) return bytes;
    *len = n > 0 ? n - 1 : 0; // the colon
    if (*len < 2 || bytes[0] != '{' || memchr(bytes, '}', *len) != bytes + *len - 1) return bytes;
    *len -= 2;
    return bytes + 1;
}

void log_name(const RedisModuleString *name, char out[LOG_NAME_BYTES]) {
    size_t len;
    const char *bytes = users_name(name, &len);
    size_t n = len < LOG_NAME_BYTES - 1 ? len : LOG_NAME_BYTES - 1;
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
    size_t len;
    RedisModule_StringPtrLen(name, &len);
    bool has_name = len == 0; // an empty name is one
    users_name(name, &len);
    if (replay_is(ctx) || !(has_name || len > 0) || !is_due(limiter)) return;
    char shown[LOG_NAME_BYTES], others[64] = "";
    log_name(name, shown);
    if (limiter->nskipped > 0) {
        snprintf(others, sizeof(others), " (%llu more filters since the last such line)",
                 limiter->nskipped);
    }
    limiter->nskipped = 0;
    RedisModule_Log(ctx, "warning", "filter %s %s; BF.STATS has more%s", shown, text, others);
}

const char *log_remedy(const struct filter *filter) {
    if (layout_row(filter->layout)->removes) return "Delete items, or make a larger one";
    if (!scheme_row(filter->scheme)->grows) return "Make a larger one";
    return "Make a larger one, or one with an expansion";
}

void log_full(RedisModuleCtx *ctx, const RedisModuleString *name, uint64_t items,
              const char *remedy) {
    static struct limiter limiter;
    char text[160];
    snprintf(text, sizeof(text), "is full: it holds %llu items and takes no new ones. %s",
             (unsigned long long)items, remedy);
    write_line(ctx, &limiter, name, text);
}

void log_many_layers(RedisModuleCtx *ctx, const RedisModuleString *name, uint64_t items) {
    static struct limiter limiter;
    char text[160];
    snprintf(text, sizeof(text),
             "has more than %d layers, and every lookup goes through all of them: it holds %llu "
             "items. Reserve a capacity like that",
             MEASURE_MANY_LAYERS, (unsigned long long)items);
    write_line(ctx, &limiter, name, text);
}
