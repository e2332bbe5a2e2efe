/* Items from a server: the members of a set, a sorted set or a list, the fields of a hash, or the
 * names of keys. They come by SCAN and its like, so that the server is never held for long, and a
 * few thousand at a time. A member may come twice. */

#ifndef BLOOMPORT_TOOL_MEMBERS_H
#define BLOOMPORT_TOOL_MEMBERS_H

#include "rdb/tool/items.h"
#include "rdb/tool/nodes.h"
#include "rdb/tool/server.h"

struct members {
    struct server *server;
    const char *key;     // NULL: names of keys
    const char *pattern; // of these names
    const char *command; // SSCAN, ZSCAN, HSCAN, LRANGE or SCAN
    size_t step;         // 2: every other element is a value
    struct nodes nodes;  // of a cluster, for names of keys
    size_t node;
    char cursor[32];
    uint64_t at; // LRANGE: the next index
    bool is_begun;
    size_t next; // element of the last reply
    uint64_t total;
};

/* --from-set KEY or --from-keys PATTERN, the other one NULL. Any error ends the program. */
void members_open(struct members *members, struct server *server, const char *key,
                  const char *pattern);

/* The next items, at most ITEMS_BATCH; 0 at the end. They are valid until the next call. */
size_t members_next(struct members *members, struct item *batch);

void members_close(struct members *members);

#endif
