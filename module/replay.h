/* Commands that are replayed: from a master, from an AOF file, or from the node that hands over its
 * slots. Whoever sent them first has acknowledged them already, so no limit of this server applies,
 * and nothing may depend on its settings.
 *
 * Whose words they are. Three programs write BF.* streams, and this is how they are told apart:
 *
 *   ours         a creation is one BF.RESERVE or BF.INSERT with every parameter, LAYOUT among them;
 *                an add is BF.ADD or BF.MADD of what changed the filter; replicate.h has the list.
 *   RedisBloom   every command as its client sent it; BF.ADD on a missing key creates a filter.
 *   0.1.0        ours, but BF.INSERT on an existing filter as the client sent it, options and all.
 *
 * So on an existing filter BF.INSERT adds its items, whatever the options say. On a missing key
 * LAYOUT means ours, and everything else RedisBloom's type. Except that a stream or file which has
 * shown that it is ours never creates a filter by an add: if the key is missing here, this server
 * has lost it (a replica that evicts by itself), and the add is dropped. */

#ifndef BLOOMPORT_REPLAY_H
#define BLOOMPORT_REPLAY_H

#include <redismodule.h>
#include <stdbool.h>

/* Whether the command of this context is replayed. */
bool replay_is(RedisModuleCtx *ctx);

/* Whether the server is filling its keyspace, or follows a master: a value that is loaded then
 * comes from a file or a peer, and otherwise from a client's RESTORE. */
bool replay_is_loading(RedisModuleCtx *ctx);

/* The stream or file that is replayed has shown words, or a value, that only we write. */
void replay_note_own(void);
void replay_note_own_value(RedisModuleCtx *ctx);
bool replay_is_own(void);

/* Whether the server hands over slots with their keys at once: Valkey 9 and later. */
bool replay_has_slot_migration(void);

/* Listens for the beginning of a load, which is another stream. REDISMODULE_ERR if the server
 * refuses. */
int replay_register(RedisModuleCtx *ctx);

#endif
