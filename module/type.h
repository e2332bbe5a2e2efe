/* The data types: how the server saves, loads, copies, sizes and frees a filter. There are two
 * types: `bloomport`, and RedisBloom's own `MBbloom--` for foreign filters. They differ in their
 * RDB encoding only. */

#ifndef BLOOMPORT_TYPE_H
#define BLOOMPORT_TYPE_H

#include "module/core/filter.h"

#include <redismodule.h>

extern RedisModuleType *type_bloomport;
extern RedisModuleType *type_redisbloom;

/* Registers both types. If the server refuses one, logs which and returns REDISMODULE_ERR. */
int type_register(RedisModuleCtx *ctx);

/* The log's reason when a value is too large to load. A client's RESTORE has the same limits as its
 * other commands. */
#define TYPE_NO_MEMORY "not enough memory, or larger than bf.max-bytes or maxmemory"

/* The RDB encoding of `MBbloom--` (type_redisbloom.c). */
#define TYPE_REDISBLOOM_ENCODING 4
void type_redisbloom_save(RedisModuleIO *io, void *value);
void *type_redisbloom_load(RedisModuleIO *io, int encver);

#endif
