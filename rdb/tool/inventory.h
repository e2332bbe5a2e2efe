/* All filters of a server, of every database and of every node of a cluster, and what BF.STATS says
 * of each. Keys come by SCAN, so that the server is never held for long. */

#ifndef BLOOMPORT_TOOL_INVENTORY_H
#define BLOOMPORT_TOOL_INVENTORY_H

#include "rdb/tool/server.h"

struct entry {
    char *key;
    size_t key_len;
    int database;
    char node[300];  // host:port, of a cluster; else ""
    char layout[16]; // in lower case; "" if the server does not tell, as RedisBloom's
    char state[24];
    bool grows; // layers are added when it is full; else it refuses new items
    uint64_t items, capacity, bytes, layers;
    double utilisation, error_rate, promised; // rates are negative if the server does not tell
};

struct inventory {
    struct entry *entries;
    size_t n, room;
    uint64_t hidden;      // filters that the user may not read
    bool is_node_of_many; // of a cluster, whose other nodes were not searched
};

/* database: only this one; -1: all. pattern: only keys that match, as MATCH of SCAN does; NULL:
 * all. Any error but that of a single key ends the program. */
void inventory_take(struct inventory *inventory, struct server *server, int database,
                    const char *pattern);
void inventory_free(struct inventory *inventory);

#endif
