/* What goes to replicas and the AOF: the only place that propagates anything.
 *
 * The stream is canonical. Whatever options, order and case a client used, on a new or an existing
 * key, what is written says the same: one command per change, which gives the same filter to the
 * last bit wherever it is replayed, whatever the settings there. Nothing is written where nothing
 * changed.
 *
 *   a new filter             BF.RESERVE or, with its first items, BF.INSERT: every parameter
 *   items were added         BF.ADD or BF.MADD of those that changed the filter
 *   a chunk was loaded       BF.LOADCHUNK of it
 *   a filter was imported    BF.LOADCHUNK of its header and pieces; REPLACE drops what was there
 *   filters were combined,   BF.MERGE, BF.INTERSTORE, BF.CLEAR and the keys: what these do follows
 *   or one was emptied       from the filters alone
 */

#ifndef BLOOMPORT_REPLICATE_H
#define BLOOMPORT_REPLICATE_H

#include "module/core/filter.h"

#include <redismodule.h>
#include <stdbool.h>
#include <stddef.h>

void replicate_reserve(RedisModuleCtx *ctx, RedisModuleString *name,
                       const struct filter_params *params);

/* A new filter that was given items, n > 0 of which changed it. */
void replicate_creation(RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct filter_params *params, RedisModuleString **items, size_t n);

/* The n > 0 items that changed a filter. */
void replicate_added(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                     size_t n);

/* The one item of BF.ADD, the client's own words being argv. */
void replicate_add(RedisModuleCtx *ctx, RedisModuleString **argv);

/* A piece of a filter, or its header, as BF.LOADCHUNK took it. */
void replicate_chunk(RedisModuleCtx *ctx, RedisModuleString *name, long long iterator,
                     RedisModuleString *data, bool replaces);

/* A whole filter, in pieces, so that no replica has to take more than one of them at a time. */
void replicate_filter(RedisModuleCtx *ctx, RedisModuleString *name, const struct filter *filter,
                      bool replaces);

/* A command whose effect follows from its n keys alone. */
void replicate_keys(RedisModuleCtx *ctx, const char *command, RedisModuleString **names, size_t n);

#endif
