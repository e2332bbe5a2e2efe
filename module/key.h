/* Keys that hold filters: opening with the type checked, changing, closing.
 *
 * Other modules can run code inside this server at three points: when a key is opened (a key that
 * has expired is deleted, and that is announced), when a key comes to be, and when an event is
 * announced. They may then do anything to any key. So every command that writes goes this way:
 *
 *   open      nothing is held yet
 *   act       on the key's own filter, or on a new one that is not the key's yet (key_put)
 *   replicate
 *   close     the new filter becomes the key's; from here on nobody looks at it
 *   announce
 */

#ifndef BLOOMPORT_KEY_H
#define BLOOMPORT_KEY_H

#include "module/core/packed.h"
#include "module/metrics.h"

#include <redismodule.h>
#include <stdbool.h>

enum access {
    FOR_READING,
    FOR_WRITING,
    AS_SOURCE, // read by a command that writes: a missing key is not announced to other modules
};

struct key {
    RedisModuleCtx *ctx;
    RedisModuleString *name;
    RedisModuleKey *handle;
    enum access access;
    void *value;             // what the key holds (packed.h), or NULL
    struct filter *filter;   // the same, opened; or the one that was put
    struct filter *put;      // what the key gets when it is closed, or NULL
    bool drops_ttl;          // and its TTL goes with what it holds now
    struct packed_view view; // the memory of `filter` if the value is packed
    struct usage counted;    // what INFO bf counts it for so far; only if FOR_WRITING
};

/* Opens a key that holds a filter or nothing: key->filter is NULL for nothing. If it holds anything
 * else the error is sent and false returned. The caller closes the key either way. */
bool key_open_any(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                  struct key *key);

/* The same, and a filter whose bytes are still arriving is an error too. */
bool key_open(RedisModuleCtx *ctx, RedisModuleString *name, enum access access, struct key *key);

/* The same, and a key that does not exist is an error too. */
bool key_open_existing(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                       struct key *key);

/* Whether the key exists, whatever it holds. One that has expired is deleted by this, so that
 * opening it afterwards runs nobody's code. */
bool key_exists(RedisModuleCtx *ctx, RedisModuleString *name);

/* The key will hold this filter when it is closed, and key->filter is it from now on. What the key
 * holds now stays until then; it must be foreign if the new filter is, and not if not, unless the
 * key drops its TTL too. */
void key_put(struct key *key, struct filter *filter, bool drops_ttl);

/* Appends a layer to key->filter, within the limits of whoever sent the command; a packed filter
 * becomes an unpacked one, so key->filter may be another afterwards. STATUS_NOMEM: it cannot grow,
 * and is as before. */
enum status key_grow(struct key *key);

/* BF.INFO's size: all that was asked of the allocator; for a foreign filter what RedisBloom says,
 * so that what watched it sees no change. */
uint64_t key_size_bytes(const struct key *key);

/* Removes the key: key->filter is NULL then. A large filter is freed in the background. */
void key_delete(struct key *key);

/* The key is as it was, or has been changed without anyone having to know. A key opened FOR_READING
 * may be closed before its filter is looked at, as long as the command does nothing else between.
 */
void key_close(struct key *key);

/* The key was changed, or deleted: closes it, and only then announces that. */
void key_close_changed(struct key *key, const char *event);
void key_close_deleted(struct key *key);

#endif
