/* Items that are arguments. See feed.h. */

#include "module/feed.h"

size_t feed_args_next(struct feed *feed, const struct filter *filter, struct hash *hashes) {
    struct feed_args *args = (struct feed_args *)feed;
    RedisModuleString **items = args->items + args->taken;
    size_t left = args->n - args->taken, n = left < PROBE_ITEMS ? left : PROBE_ITEMS;
    for (size_t i = 0; i < n; i++) hashes[i] = feed_hash(filter, items[i]);
    args->taken += n;
    return n;
}
