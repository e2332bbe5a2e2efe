/* The masters of a cluster. See nodes.h. */

#include "rdb/tool/nodes.h"

#include "module/core/mem.h"
#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

/* A row of CLUSTER SLOTS: first slot, last slot, [host, port, ...] of the master, ... */
static const redisReply *master_of(const redisReply *row) {
    if (row->type != REDIS_REPLY_ARRAY || row->elements < 3) return NULL;
    const redisReply *master = row->element[2];
    bool is_node = master->type == REDIS_REPLY_ARRAY && master->elements >= 2 &&
                   master->element[1]->type == REDIS_REPLY_INTEGER;
    return is_node ? master : NULL;
}

static void add(struct nodes *nodes, const redisReply *master) {
    // No host: the one that we speak with.
    const char *host =
        master->element[0]->type == REDIS_REPLY_STRING ? master->element[0]->str : "";
    int port = (int)master->element[1]->integer;
    for (size_t i = 0; i < nodes->n; i++) {
        if (nodes->at[i].port == port && strcmp(nodes->at[i].host, host) == 0) return;
    }
    snprintf(nodes->at[nodes->n].host, sizeof(nodes->at[0].host), "%s", host);
    nodes->at[nodes->n++].port = port;
}

void nodes_find(struct nodes *nodes, struct server *server) {
    *nodes = (struct nodes){.n = 1};
    if (!server_is_cluster(server)) return;
    const char *words[] = {"CLUSTER", "SLOTS"};
    const char *error = server_words(server, 2, words);
    if (error) tool_die("--cluster: %s", error);
    const redisReply *reply = server_reply(server);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) {
        tool_die("--cluster: no node has slots");
    }
    nodes->at = tool_alloc(reply->elements * sizeof(nodes->at[0]));
    nodes->n = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *master = master_of(reply->element[i]);
        if (!master) tool_die("--cluster: the answer to CLUSTER SLOTS is not a list of nodes");
        add(nodes, master);
    }
}

void nodes_free(struct nodes *nodes) {
    mem_free(nodes->at);
    nodes->at = NULL;
}

void nodes_go_to(const struct nodes *nodes, struct server *server, size_t i) {
    if (nodes->at) server_go_to(server, nodes->at[i].host, nodes->at[i].port);
}
