/* Which server this is: every question that has another answer on Redis and on Valkey, or on an
 * older version. No other file asks. The header that we compile with is that of Redis 7.0, so the
 * flags of newer servers are defined here, and are 0 on a server that does not know them. */

#ifndef BLOOMPORT_SERVER_H
#define BLOOMPORT_SERVER_H

#include <redismodule.h>
#include <stdbool.h>

/* Whether the server offers what the module cannot do without: Redis 7.0 and later. */
bool server_is_new_enough(void);

/* The option of RedisModule_SetModuleOptions which says that atomic slot migration is no problem
 * here: Valkey 9 and later. */
int server_slot_migration_option(void);

/* The context flag of the client that imports a slot's keys and commands: Valkey 9 and later. On
 * Redis 8 the same bit means something else. */
int server_slot_import_flag(void);

/* The flag of a setting without the module's prefix: Redis 8 and later, not Valkey. */
unsigned server_unprefixed_flag(void);

#endif
