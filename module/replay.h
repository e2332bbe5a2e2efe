/* Commands that are replayed: from a master, from an AOF file, or from a node that moves its slots
 * here. Another server has acknowledged these commands already. So no limit of this server applies
 * to them, and their effect does not depend on its settings.
 *
 * Four programs write streams of BF.* commands:
 *
 *   this one     A creation is one BF.RESERVE or BF.INSERT with every parameter, LAYOUT among them.
 *                An add is BF.ADD or BF.MADD of the items that changed the filter. Once a second
 *                BF.CARD goes before one. replicate.h has the full list.
 *   its 0.1.0    The same, but BF.INSERT on an existing filter is as the client sent it.
 *   valkey-bloom A creation is one BF.INSERT with every parameter, TIGHTENING among them; its items
 *                may be missing. Every other command is as its client sent it.
 *   RedisBloom   Every command is as its client sent it. BF.ADD on a missing key creates a filter.
 *
 * The rules that follow from that:
 *
 *   existing filter   BF.INSERT adds its items, whatever its options are.
 *   missing key       A command with LAYOUT creates a filter of our type, one with TIGHTENING a
 *                     filter of valkey-bloom's, and any other a filter of RedisBloom's. But if the
 *                     stream or file is known to be *explicit*, as all but RedisBloom's are, an add
 *                     creates nothing: this server has lost the filter (a replica may evict keys by
 *                     itself), and the add is dropped. A BF.INSERT that names every parameter is no
 *                     mere add, and always creates.
 *
 * An explicit stream shows itself by a command or a value that RedisBloom never writes. Those may
 * be lacking: RESTORE, COPY or RENAME may have made every filter. So our own stream says it by
 * BF.CARD, which comes before the first add that follows a replica's arrival. Lookups are in no
 * other stream. */

#ifndef BLOOMPORT_REPLAY_H
#define BLOOMPORT_REPLAY_H

#include <redismodule.h>
#include <stdbool.h>

/* Whether the current command is replayed. */
bool replay_is(RedisModuleCtx *ctx);

/* Whether the server is loading its keyspace, or is a replica. A value that is loaded then comes
 * from a file or another server; at other times it comes from a client's RESTORE. */
bool replay_is_loading(void);

/* Notes that the current stream or file had a command or a value that RedisBloom never writes: its
 * creations are explicit. */
void replay_note_explicit(void);

/* The same for a value that is loaded, unless a client's RESTORE may have brought it. */
void replay_note_explicit_value(void);

/* Whether that was noted since the last load began. */
bool replay_is_explicit(void);

/* Subscribes to the beginning of loads, since each load begins a new stream. REDISMODULE_ERR if the
 * server refuses. */
int replay_register(RedisModuleCtx *ctx);

#endif
