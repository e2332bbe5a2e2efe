/* What goes to replicas and the AOF. No other file propagates anything.
 *
 * The stream is canonical. A change gives the same command, whatever options, order and case the
 * client used. Wherever that command is replayed, it gives the same filter to the last bit,
 * whatever the settings there. A command that changes nothing is not propagated.
 *
 *   change                   what is propagated
 *   a new filter             BF.RESERVE or, with its first items, BF.INSERT; with every parameter,
 *                            and its TTL as a time
 *   a generation began       BF.ROTATE with its start; the adds to it come after
 *   generations were         BF.ROTATE DROP with the start of the newest of them; BF.CLEAR if
 *   dropped                  none is left
 *   items were added         BF.MADD of the items that changed the filter; the client's BF.ADD or
 *                            BF.MADD itself, if it is the same (replicate.c)
 *   items of one string      BF.BULKADD of the items that changed the filter, in pieces
 *   were added
 *   items were removed       BF.DEL of the items that changed a counter
 *   a chunk was loaded       BF.LOADCHUNK of the chunk
 *   a filter was imported    BF.LOADCHUNK of the header and the pieces; with REPLACE if the key
 *                            held a filter
 *   filters were combined,   BF.MERGE, BF.INTERSTORE or BF.CLEAR with its keys: the result follows
 *   or one was emptied       from the filters alone
 *
 * Before an add there may be BF.CARD of its key, which changes nothing. It tells replicas that the
 * stream is this program's (replay.h). */

#ifndef BLOOMPORT_REPLICATE_H
#define BLOOMPORT_REPLICATE_H

#include "module/args.h"
#include "module/bulk.h"
#include "module/core/filter/filter.h"

#include <redismodule.h>
#include <stdbool.h>
#include <stddef.h>

/* Subscribes to what says when BF.CARD is due. REDISMODULE_ERR if the server refuses. */
int replicate_register(RedisModuleCtx *ctx);

void replicate_reserve(RedisModuleCtx *ctx, RedisModuleString *name,
                       const struct creation *creation);

/* A new filter without a window, with its first items. The n > 0 `items` are those that changed it.
 */
void replicate_creation(RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct creation *creation, RedisModuleString **items, size_t n);

/* A generation of a window began. Or those up to this start were dropped, and some are left. */
void replicate_rotate(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t start);
void replicate_drop(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t start);

/* The n > 0 items that changed a filter. If the client's command was BF.ADD or BF.MADD and no item
 * failed, `sent` is its name as sent and `nsent` its number of items; else `sent` is NULL. */
void replicate_added(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                     size_t n, const RedisModuleString *sent, size_t nsent);

/* The items of BF.BULKADD that changed a filter, as commands of at most 16 MiB of data each; a
 * longer item is a command alone. Of the first n items, bit i of `changed` (0x80 is the first bit)
 * says whether item i is one of them. In LINES every item ends in LF, also where the client's last
 * one did not. `room` has the bytes that replicate_bulk_room returns; its contents are undefined.
 */
void replicate_bulk(RedisModuleCtx *ctx, RedisModuleString *name, const struct bulk *bulk,
                    const uint8_t *changed, size_t n, char *room);
size_t replicate_bulk_room(const struct bulk *bulk);

/* The n > 0 items whose removal changed a filter. */
void replicate_removed(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                       size_t n);

/* A chunk that BF.LOADCHUNK accepted. */
void replicate_chunk(RedisModuleCtx *ctx, RedisModuleString *name, long long iterator,
                     RedisModuleString *data, bool replaces);

/* A complete filter, as BF.LOADCHUNK commands. It goes in pieces, so that a replica has to hold
 * only one of them at a time. */
void replicate_filter(RedisModuleCtx *ctx, RedisModuleString *name, const struct filter *filter,
                      bool replaces);

/* A command whose effect follows from its n keys alone. */
void replicate_keys(RedisModuleCtx *ctx, const char *command, RedisModuleString **names, size_t n);

#endif
