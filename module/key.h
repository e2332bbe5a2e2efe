/* Keys that hold filters: opening with the type checked, and what a change to one entails. */

#ifndef BLOOMPORT_KEY_H
#define BLOOMPORT_KEY_H

#include "module/core/packed.h"
#include "module/metrics.h"

#include <redismodule.h>
#include <stdbool.h>

enum access {
    FOR_READING = REDISMODULE_READ,
    FOR_WRITING = REDISMODULE_READ | REDISMODULE_WRITE,
};

struct key {
    RedisModuleCtx *ctx;
    RedisModuleString *name;
    RedisModuleKey *handle;
    enum access access;
    void *value;             // what the key holds (packed.h), or NULL
    struct filter *filter;   // the same, opened
    struct packed_view view; // its memory if it is packed
    struct usage known;      // what it counts for in INFO bf so far; of FOR_WRITING
};

/* Opens a key that holds a filter or nothing: key->filter is NULL for nothing. If it holds anything
 * else the error is sent and false returned. The caller calls key_close either way. */
bool key_open_any(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                  struct key *key);

/* The same, and a filter whose bytes are still arriving is an error too. */
bool key_open(RedisModuleCtx *ctx, RedisModuleString *name, enum access access, struct key *key);

/* The same, and a key that does not exist is an error too. */
bool key_open_existing(RedisModuleCtx *ctx, RedisModuleString *name, enum access access,
                       struct key *key);

/* Sees to it that n items can be added to key->filter, if need be by growing. False if there is not
 * the memory for it. */
bool key_make_room(struct key *key, size_t n);

/* Gives the key a filter, which becomes the key's; one that was there is released, and must have
 * been adopted if this one is, and not if not: a key keeps its type. TTL stays. */
void key_set(struct key *key, struct filter *filter);

/* BF.INFO's size: all that was asked of the allocator; of an adopted filter what RedisBloom says,
 * so that what watched it sees no change. */
uint64_t key_size_bytes(const struct key *key);

/* Takes the filter out of the key, and the key out of the server: key->filter is NULL then. A large
 * filter is freed in the background. */
void key_delete(struct key *key);

/* Tells whoever watches that the key changed, or is gone. */
void key_announce(struct key *key, const char *event);
void key_announce_deletion(struct key *key);

void key_close(struct key *key);

#endif
