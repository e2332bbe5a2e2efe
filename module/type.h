/* The data types: how the server saves, loads, copies, sizes and frees a filter. There are three:
 * `bloomport`, and for foreign filters RedisBloom's `MBbloom--` and valkey-bloom's `bloomfltr`.
 * They differ in what type_foreign.h lists. */

#ifndef BLOOMPORT_TYPE_H
#define BLOOMPORT_TYPE_H

#include "module/core/filter.h"

#include <redismodule.h>

extern RedisModuleType *type_bloomport;

/* The type of a key that holds such a filter. */
RedisModuleType *type_of(const struct filter *filter);

/* Whether a type is one of ours. NULL is none. */
bool type_is_filter(const RedisModuleType *type);

/* Registers all types. If the server refuses one, logs which and returns REDISMODULE_ERR. */
int type_register(RedisModuleCtx *ctx);

/* The log's reason when a value is too large to load. A client's RESTORE has the same limits as its
 * other commands. */
#define TYPE_NO_MEMORY "not enough memory, or larger than bf.max-bytes or maxmemory"

#endif
