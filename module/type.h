/* The data type `bloomport`: how the server saves, loads, copies, sizes and frees a filter. */

#ifndef BLOOMPORT_TYPE_H
#define BLOOMPORT_TYPE_H

#include "module/core/filter.h"

#include <redismodule.h>

extern RedisModuleType *type_bloomport;

/* Registers the type. REDISMODULE_ERR if the server refuses. */
int type_register(RedisModuleCtx *ctx);

#endif
