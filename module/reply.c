/* Error texts and reply shapes. See reply.h. */

#include "module/reply.h"

#include "module/config.h"

#include <stdio.h>

void reply_no_room(RedisModuleCtx *ctx, const char *text, uint64_t bytes) {
    uint64_t limit = config_max_bytes(ctx);
    char full[160];
    if (bytes != UINT64_MAX && bytes > limit) {
        snprintf(full, sizeof(full), "%s: it needs %llu bytes, and %s is %llu", text,
                 (unsigned long long)bytes, config_limit_name(), (unsigned long long)limit);
        text = full;
    }
    RedisModule_ReplyWithError(ctx, text);
}

void reply_creation_error(RedisModuleCtx *ctx, enum status status,
                          const struct filter_params *params) {
    if (status != STATUS_PARAM) {
        reply_no_room(ctx, ERR_NO_MEMORY, filter_new_bytes(params));
    } else {
        bool is_blocked = params->layout == LAYOUT_BLOCKED;
        RedisModule_ReplyWithError(ctx, is_blocked ? ERR_LAYOUT_TOO_SMALL : ERR_SCHEME_TOO_SMALL);
    }
}

void reply_add_error(RedisModuleCtx *ctx, enum status status, const struct filter *filter) {
    if (status == STATUS_FULL) {
        RedisModule_ReplyWithError(ctx, ERR_FULL);
    } else {
        reply_no_room(ctx, ERR_CANNOT_GROW, filter_grown_bytes(filter));
    }
}

bool reply_is_resp3(RedisModuleCtx *ctx) {
    return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3) != 0;
}
