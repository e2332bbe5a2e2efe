/* The data types: how the server saves, loads, copies, sizes and frees a filter. There are three:
 * `bloomport`, and for foreign filters RedisBloom's `MBbloom--` and valkey-bloom's `bloomfltr`.
 * They differ in their rows. */

#ifndef BLOOMPORT_TYPE_H
#define BLOOMPORT_TYPE_H

#include "module/core/filter/filter.h"

#include <redismodule.h>

/* One type, by the origin of its filters. */
struct type_row {
    const char *name; // nine characters
    int encoding;     // the version of the RDB encoding that is written
    bool is_explicit; // only an explicit stream has such values (replay.h)
    RedisModuleTypeSaveFunc save;
    RedisModuleTypeLoadFunc load;

    /* The bytes that BF.INFO shows: what the program itself would show, so that a user's monitoring
     * sees no change. */
    uint64_t (*size)(const void *value);

    /* The capacity to which the program would let a scaling filter grow. NULL: it states none. */
    uint64_t (*max_capacity)(const struct filter *filter);

    RedisModuleType *type; // once it is registered
};

extern struct type_row type_bloomport, type_redisbloom, type_valkeybloom;

const struct type_row *type_row(enum origin origin);

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
