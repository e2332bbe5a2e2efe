/* The masters of a cluster, each of which has a part of the keys. */

#ifndef BLOOMPORT_TOOL_NODES_H
#define BLOOMPORT_TOOL_NODES_H

#include "rdb/tool/server.h"

struct nodes {
    struct {
        char host[256];
        int port;
    } * at;   // NULL if the server is no cluster
    size_t n; // 1 then
};

/* The masters that have slots, if the server was opened with --cluster; else the server alone. Any
 * error ends the program. */
void nodes_find(struct nodes *nodes, struct server *server);
void nodes_free(struct nodes *nodes);

/* Later commands go to this one. */
void nodes_go_to(const struct nodes *nodes, struct server *server, size_t i);

#endif
