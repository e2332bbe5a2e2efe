/* Items that are arguments of a command, as a feed of the batch driver (core/batch.h). */

#ifndef BLOOMPORT_FEED_H
#define BLOOMPORT_FEED_H

#include "module/core/filter/batch.h"

#include <redismodule.h>

/* The first member of what a command's own `emit` needs. */
struct feed_args {
    struct feed feed;
    RedisModuleString **items;
    size_t n;
    size_t taken;
};

/* feed.next of struct feed_args. */
size_t feed_args_next(struct feed *feed, const struct filter *filter, struct hash *hashes);

/* The hash of one argument in the filter. */
static inline struct hash feed_hash(const struct filter *filter, const RedisModuleString *item) {
    size_t len;
    const char *bytes = RedisModule_StringPtrLen(item, &len);
    return filter_hash(filter, bytes, len);
}

#endif
