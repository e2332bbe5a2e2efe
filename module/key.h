/* Keys that hold filters: opening with a check of the type, changing, closing.
 *
 * Other modules can run code inside this server at three points: when a key is opened (an expired
 * key is deleted, and the deletion is announced), when a key is created, and when an event is
 * announced. Their code may change any key. So every command that writes takes these steps:
 *
 *   open       other modules may run; the command has no pointer to a filter yet
 *   act        change the key's own filter, or one that is not the key's yet (key_put)
 *   replicate
 *   close      the new filter becomes the key's; from here on the command reads no filter
 *   announce   other modules may run
 */

#ifndef BLOOMPORT_KEY_H
#define BLOOMPORT_KEY_H

#include "module/core/filter/packed.h"
#include "module/metrics.h"

#include <redismodule.h>
#include <stdbool.h>

enum access {
    FOR_READING,
    FOR_WRITING,
    FOR_ADDING,  // writing in a command that changes no layer but the newest and those it begins
    FOR_FILLING, // writing pieces into a filter that is loading: see key_count
    AS_SOURCE,   // reading in a command that writes: a missing key is not announced as a miss
};

struct key {
    RedisModuleCtx *ctx;
    RedisModuleString *name;
    RedisModuleKey *handle;
    enum access access;
    void *value;             // what the key holds (packed.h), or NULL
    struct filter *filter;   // the value, opened; after key_put, the filter that was put
    void *put;               // the value that the key gets when it is closed, or NULL
    bool drops_ttl;          // with `put`: the key loses its TTL
    long long expires;       // with `put`: the key gets this TTL, in ms since the epoch; 0: none
    uint64_t rotated;        // the start of the generation that the command began; 0: none
    bool has_grown;          // the command appended a layer
    bool has_many_layers;    // that took the filter into the state `many layers`
    bool only_added;         // what the filter's safe_fill rests on has not changed (measure.h)
    struct packed_view view; // the memory of `filter` if the value is packed
    struct usage counted;    // writing: what INFO bf counts for this key so far,
    uint32_t counted_from;   // of the layers from this one on
};

/* Opens a key that holds a filter or nothing; for nothing, key->filter is NULL. If the key holds
 * anything else, sends the error and returns false. The caller closes the key either way. */
bool key_open_any(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                  struct key *key);

/* Like key_open_any, but a filter that is still loading is an error too. */
bool key_open(RedisModuleCtx *ctx, RedisModuleString *name, enum access access, struct key *key);

/* Like key_open, but a key that does not exist is an error too. */
bool key_open_existing(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                       struct key *key);

/* Makes a key that was opened FOR_FILLING one FOR_WRITING. Counting takes time for each layer, and
 * pieces of a filter that goes on loading change nothing that is counted. So a command that may do
 * anything else calls this before its first change. */
void key_count(struct key *key);

/* The same after a piece, if that has completed the filter. */
void key_count_completed(struct key *key);

/* Whether the key exists, whatever it holds. This deletes an expired key, so that opening the key
 * afterwards runs no code of other modules. */
bool key_exists(RedisModuleCtx *ctx, RedisModuleString *name);

/* Sets the value that the key will hold when it is closed: a filter, or a packed one if the key
 * holds nothing. key->filter is that filter from now on; the key's old value stays until the key is
 * closed. Unless the key drops its TTL too, the old and the new filter must be of the same type:
 * both foreign, or neither. */
void key_put(struct key *key, void *value, bool drops_ttl);

/* The key's filter as lookups see it now: without a window's generations that are over. NULL if the
 * key holds none, or all are over. The clock is read once, and only for a window. */
const struct filter *key_live(const struct key *key, struct filter *view);

/* Appends a layer to key->filter, within the limits of the command's sender (a client, or a
 * replayed stream). A packed filter is unpacked, so key->filter may be another pointer afterwards.
 * STATUS_NOMEM: the filter cannot grow, and is unchanged. */
enum status key_grow(struct key *key);

/* Begins a window's generation of this start (window.h), and drops those that are over. Returns
 * what window_rotate returns. */
enum status key_rotate(struct key *key, uint64_t start);

/* Drops a window's generations up to this start (window.h). Returns what window_drop returns. */
enum status key_drop(struct key *key, uint64_t start);

/* The size that BF.INFO replies: all allocated bytes. For a foreign filter it is the number that
 * RedisBloom would reply, so that a user's monitoring sees no change. */
uint64_t key_size_bytes(const struct key *key);

/* Removes the key and sets key->filter to NULL. The server frees a large filter in the background.
 */
void key_delete(struct key *key);

/* Closes a key without an announcement. A key opened FOR_READING may be closed before its filter is
 * read, if the command calls nothing of the server's in between. */
void key_close(struct key *key);

/* Close a key that was changed, or deleted, and then announce that. A new key gets its TTL in
 * between. A generation that began is announced first, as bf.rotate, then growth, as bf.grow;
 * `event` may be NULL if there is nothing else. A filter that became full, or got many layers, is
 * logged. */
void key_close_changed(struct key *key, const char *event);
void key_close_deleted(struct key *key);

#endif
