/* Error texts and reply shapes. See reply.h. */

#include "module/reply.h"

const char *reply_creation_error(enum status status, enum layout layout) {
    if (status != STATUS_PARAM) return ERR_NO_MEMORY;
    return layout == LAYOUT_BLOCKED ? ERR_LAYOUT_TOO_SMALL : ERR_SCHEME_TOO_SMALL;
}

const char *reply_add_error(enum status status) {
    return status == STATUS_FULL ? ERR_FULL : ERR_CANNOT_GROW;
}

bool reply_is_resp3(RedisModuleCtx *ctx) {
    return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3) != 0;
}
