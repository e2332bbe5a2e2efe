/* The data types: how the server saves, loads, copies, sizes and frees a filter. There are two,
 * which differ in their RDB encoding only: `bloomport`, and RedisBloom's own `MBbloom--` for
 * foreign filters. */

#ifndef BLOOMPORT_TYPE_H
#define BLOOMPORT_TYPE_H

#include "module/core/filter.h"

#include <redismodule.h>

extern RedisModuleType *type_bloomport;
extern RedisModuleType *type_redisbloom;

/* Registers both. REDISMODULE_ERR if the server refuses one, and a log line says which. */
int type_register(RedisModuleCtx *ctx);

/* Why a value cannot be loaded: a client's RESTORE is held to the limits that its other commands
 * are held to. */
#define TYPE_NO_MEMORY "not enough memory, or larger than bf.max-bytes or maxmemory"

/* The RDB encoding of `MBbloom--` (type_redisbloom.c). */
#define TYPE_REDISBLOOM_ENCODING 4
void type_redisbloom_save(RedisModuleIO *io, void *value);
void *type_redisbloom_load(RedisModuleIO *io, int encver);

#endif
