/* Error texts and reply shapes. See reply.h. */

#include "module/reply.h"

#include "module/config.h"

#include <stdio.h>

struct text {
    char bytes[240];
};

static struct text no_room(RedisModuleCtx *ctx, const char *text, uint64_t bytes) {
    uint64_t limit = config_max_bytes(ctx);
    struct text out;
    if (bytes != UINT64_MAX && bytes > limit) {
        snprintf(out.bytes, sizeof(out.bytes), "%s: it needs %llu bytes, and %s is %llu", text,
                 (unsigned long long)bytes, config_limit_name(), (unsigned long long)limit);
    } else {
        snprintf(out.bytes, sizeof(out.bytes), "%s", text);
    }
    return out;
}

void reply_no_room(RedisModuleCtx *ctx, const char *text, uint64_t bytes) {
    RedisModule_ReplyWithError(ctx, no_room(ctx, text, bytes).bytes);
}

void reply_creation_error(RedisModuleCtx *ctx, enum status status,
                          const struct filter_params *params) {
    if (status != STATUS_PARAM) {
        reply_no_room(ctx, ERR_NO_MEMORY, filter_new_bytes(params));
        return;
    }
    uint64_t most = layout_row(params->layout)->max_bits; // a power of two
    if (most == SIZING_MAX_BITS) {
        RedisModule_ReplyWithError(ctx, ERR_SCHEME_TOO_SMALL);
        return;
    }
    char text[80];
    snprintf(text, sizeof(text), ERR_LAYOUT_TOO_SMALL, layout_name(params->layout),
             63 - __builtin_clzll(most));
    RedisModule_ReplyWithError(ctx, text);
}

static struct text add_error(RedisModuleCtx *ctx, enum status status, const struct filter *filter) {
    if (status == STATUS_FULL) return (struct text){ERR_FULL};
    return no_room(ctx, ERR_CANNOT_GROW, filter_grown_bytes(filter));
}

void reply_add_error(RedisModuleCtx *ctx, enum status status, const struct filter *filter) {
    RedisModule_ReplyWithError(ctx, add_error(ctx, status, filter).bytes);
}

void reply_bulk_error(RedisModuleCtx *ctx, enum status status, const struct filter *filter,
                      size_t done, size_t n) {
    char text[320];
    snprintf(text, sizeof(text), "%s: %zu of %zu items taken", add_error(ctx, status, filter).bytes,
             done, n);
    RedisModule_ReplyWithError(ctx, text);
}

void reply_ragged_data(RedisModuleCtx *ctx, size_t width) {
    char text[80];
    snprintf(text, sizeof(text), "ERR the data is no whole number of items of %zu bytes", width);
    RedisModule_ReplyWithError(ctx, text);
}

bool reply_is_resp3(RedisModuleCtx *ctx) {
    return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3) != 0;
}
