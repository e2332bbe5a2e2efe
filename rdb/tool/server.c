/* The connection to a server, or to the nodes of a cluster. See server.h. */

#include "rdb/tool/server.h"

#include "module/core/mem.h"
#include "rdb/tool/link.h"
#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE_BYTES ((size_t)64 * 1024)
#define WORDS_MAX 16
#define REDIRECTS_MAX 8
#define NO_NODE SIZE_MAX

/* One server that is connected. A cluster has several. */
struct node {
    struct target target;
    char *host; // the target's, a copy
    struct link *link;
    redisReader *reader;
};

struct server {
    struct node *nodes;
    size_t nnodes, current;
    size_t asked;      // the node that answered after ASK; NO_NODE: the current one did
    size_t home;       // pinned: the current node before
    bool is_pinned;    // to the current node
    bool is_asking;    // pinned to a node that has not got the slot yet: ASKING before each command
    redisReply *reply; // the last one; it owns the texts and bytes that are returned
    char fault[512];   // an error text made here
    void (*on_pipe)(int); // what SIGPIPE did before
};

/* ---- Commands and replies ------------------------------------------------------------------ */

static struct node *current(struct server *server) {
    return &server->nodes[server->current];
}

static void drop_reply(struct server *server) {
    if (server->reply) freeReplyObject(server->reply);
    server->reply = NULL;
}

const char *server_send(struct server *server, int argc, const char **argv, const size_t *lens) {
    struct node *node = current(server);
    char *command;
    long long len = redisFormatCommandArgv(&command, argc, argv, lens);
    if (len < 0) tool_die("no memory for a command");
    bool is_sent = link_send(node->link, command, (size_t)len);
    free(command); // hiredis allocates with malloc
    if (!is_sent) drop_reply(server);
    return is_sent ? NULL : link_fault(node->link);
}

const char *server_receive(struct server *server) {
    struct node *node = current(server);
    drop_reply(server);
    for (;;) {
        void *reply = NULL;
        if (redisReaderGetReply(node->reader, &reply) != REDIS_OK) {
            snprintf(server->fault, sizeof(server->fault), "%s", node->reader->errstr);
            return server->fault;
        }
        if (reply) {
            server->reply = reply;
            return server->reply->type == REDIS_REPLY_ERROR ? server->reply->str : NULL;
        }
        char bytes[RECEIVE_BYTES];
        size_t n = link_receive(node->link, bytes, sizeof(bytes));
        if (n == 0) return link_fault(node->link);
        if (redisReaderFeed(node->reader, bytes, n) != REDIS_OK) tool_die("no memory for a reply");
    }
}

redisReply *server_reply(struct server *server) {
    return server->reply;
}

/* ---- Errors ------------------------------------------------------------------------------- */

static bool is_redirection(const char *error) {
    return strncmp(error, "MOVED ", 6) == 0 || strncmp(error, "ASK ", 4) == 0;
}

/* Errors that users can do something about get words of our own. */
static const char *explained(struct server *server, const char *command, const char *error) {
    if (strncmp(error, "ERR unknown command", 19) == 0) {
        snprintf(server->fault, sizeof(server->fault), "%sthe server has no %s",
                 strncmp(command, "BF.", 3) == 0 ? "no module: " : "", command);
        return server->fault;
    }
    if (strncmp(error, "NOAUTH", 6) == 0) {
        char name[300];
        snprintf(server->fault, sizeof(server->fault),
                 "the server %s wants a password: -a, --user, a URL or REDISCLI_AUTH",
                 target_name(&current(server)->target, name, sizeof(name)));
        return server->fault;
    }
    if (is_redirection(error) && !server->nodes[0].target.is_cluster) {
        snprintf(server->fault, sizeof(server->fault),
                 "another node of the cluster has the key, which --cluster finds (%s)", error);
        return server->fault;
    }
    return error;
}

/* ---- Connecting --------------------------------------------------------------------------- */

static const char *call_here(struct server *server, int argc, const char **argv,
                             const size_t *lens) {
    const char *asking = "ASKING", *error = NULL;
    size_t len = strlen(asking);
    if (server->is_asking) error = server_send(server, 1, &asking, &len);
    if (server->is_asking && !error) error = server_receive(server);
    if (!error) error = server_send(server, argc, argv, lens);
    return error ? error : server_receive(server);
}

static const char *words_here(struct server *server, int argc, const char **argv) {
    size_t lens[WORDS_MAX];
    for (int i = 0; i < argc; i++) lens[i] = strlen(argv[i]);
    return call_here(server, argc, argv, lens);
}

/* A server without AUTH repeats the words that it does not know, the password among them. */
static void authenticate(struct server *server, const struct target *target) {
    const char *named[] = {"AUTH", target->user, target->password};
    const char *plain[] = {"AUTH", target->password};
    const char *error = target->user ? words_here(server, 3, named) : words_here(server, 2, plain);
    char name[300];
    target_name(target, name, sizeof(name));
    if (error && *target->password && strstr(error, target->password)) {
        tool_die("%s: the server does not take a password (AUTH)", name);
    }
    if (error) tool_die("%s: %s", name, error);
}

const char *server_select(struct server *server, int database) {
    char number[16];
    snprintf(number, sizeof(number), "%d", database);
    const char *words[] = {"SELECT", number};
    return words_here(server, 2, words);
}

static struct node new_node(const struct target *target) {
    char fault[512], name[300];
    struct node node = {.target = *target, .link = link_open(target, fault, sizeof(fault))};
    if (!node.link) tool_die("%s: %s", target_name(target, name, sizeof(name)), fault);
    node.reader = redisReaderCreate();
    if (!node.reader) tool_die("no memory for a connection");
    size_t size = strlen(target->host) + 1;
    node.target.host = node.host = memcpy(tool_alloc(size), target->host, size);
    return node;
}

/* Adds a node, which becomes the current one. */
static void add_node(struct server *server, const struct target *target) {
    struct node node = new_node(target);
    struct node *nodes = tool_alloc((server->nnodes + 1) * sizeof(*nodes));
    if (server->nnodes > 0) memcpy(nodes, server->nodes, server->nnodes * sizeof(*nodes));
    nodes[server->nnodes] = node;
    mem_free(server->nodes);
    server->nodes = nodes;
    server->current = server->nnodes++;
    if (target->password) authenticate(server, &node.target);
    const char *error = target->database ? server_select(server, target->database) : NULL;
    if (!error) return;
    const char *explanation = explained(server, "SELECT", error);
    if (explanation != error) tool_die("%s", explanation);
    char name[300];
    target_name(target, name, sizeof(name));
    tool_die("%s: database %d: %s", name, target->database, error);
}

struct server *server_open(const struct target *given) {
    struct target target = *given;
    target_use_environment(&target);
    struct server *server = tool_alloc(sizeof(*server));
    *server = (struct server){.on_pipe = signal(SIGPIPE, SIG_IGN)};
    add_node(server, &target);
    return server;
}

void server_close(struct server *server) {
    if (server->reply) freeReplyObject(server->reply);
    for (size_t i = 0; i < server->nnodes; i++) {
        link_close(server->nodes[i].link);
        redisReaderFree(server->nodes[i].reader);
        mem_free(server->nodes[i].host);
    }
    mem_free(server->nodes);
    signal(SIGPIPE, server->on_pipe);
    mem_free(server);
}

/* ---- Clusters ----------------------------------------------------------------------------- */

bool server_is_cluster(const struct server *server) {
    return server->nodes[0].target.is_cluster;
}

void server_go_to(struct server *server, const char *host, int port) {
    struct target target = server->nodes[0].target;
    target.socket = NULL;
    if (*host) target.host = host; // else the host that we spoke with
    target.port = port;
    target.database = 0;
    for (size_t i = 0; i < server->nnodes; i++) {
        const struct target *other = &server->nodes[i].target;
        bool is_same =
            !other->socket && other->port == port && strcmp(other->host, target.host) == 0;
        if (is_same) {
            server->current = i;
            return;
        }
    }
    add_node(server, &target);
}

/* Goes where a redirection, "MOVED 3999 127.0.0.1:6381", points. False if the text is none. */
static bool follow(struct server *server, const char *text) {
    char host[256];
    const char *slot = strchr(text, ' '), *address = slot ? strchr(slot + 1, ' ') : NULL;
    const char *colon = address ? strrchr(address, ':') : NULL;
    long port = colon ? strtol(colon + 1, NULL, 10) : 0;
    if (port < 1 || port > 65535 || colon - address > 255) return false;
    snprintf(host, sizeof(host), "%.*s", (int)(colon - address - 1), address + 1);
    server_go_to(server, host, (int)port);
    return true;
}

/* The command again, on the node that has its slot. ASK is for this command alone. */
static const char *call_there(struct server *server, int argc, const char **argv,
                              const size_t *lens, const char *error) {
    bool is_ask = strncmp(error, "ASK ", 4) == 0;
    size_t before = server->current;
    char text[300];
    snprintf(text, sizeof(text), "%s", error); // the connection's next reply frees it
    if (!follow(server, text)) return "its redirection names no node";
    const char *asking[] = {"ASKING"};
    if (is_ask) words_here(server, 1, asking);
    error = call_here(server, argc, argv, lens);
    server->asked = is_ask ? server->current : NO_NODE;
    if (is_ask) server->current = before;
    return error;
}

/* ---- Calls -------------------------------------------------------------------------------- */

const char *server_call(struct server *server, int argc, const char **argv, const size_t *lens) {
    const char *error = call_here(server, argc, argv, lens);
    bool follows = server->nodes[0].target.is_cluster && !server->is_pinned;
    server->asked = NO_NODE;
    for (int i = 0; error && follows && is_redirection(error) && i < REDIRECTS_MAX; i++) {
        error = call_there(server, argc, argv, lens, error);
    }
    return error ? explained(server, argv[0], error) : NULL;
}

const char *server_words(struct server *server, int argc, const char **argv) {
    size_t lens[WORDS_MAX];
    for (int i = 0; i < argc; i++) lens[i] = strlen(argv[i]);
    return server_call(server, argc, argv, lens);
}

const char *server_pin(struct server *server, int argc, const char **argv) {
    const char *error = server_words(server, argc, argv);
    server->home = server->current;
    server->is_pinned = true;
    server->is_asking = server->asked != NO_NODE;
    if (server->is_asking) server->current = server->asked;
    return error;
}

void server_unpin(struct server *server) {
    if (server->is_pinned) server->current = server->home;
    server->is_pinned = server->is_asking = false;
}

/* What kind of value a key holds, in the server's word; "" if the server does not say. */
static void type_of(struct server *server, const char *key, char out[64]) {
    const char *words[] = {"TYPE", key};
    bool is_told = !server_words(server, 2, words) && server->reply->type == REDIS_REPLY_STATUS;
    snprintf(out, 64, "%s", is_told ? server->reply->str : "");
}

void server_die(struct server *server, const char *key, const char *error) {
    char text[512], type[64] = "";
    snprintf(text, sizeof(text), "%s", error);
    if (strncmp(text, "WRONGTYPE", 9) == 0) type_of(server, key, type);
    if (strcmp(text, "ERR not found") == 0) tool_die("key '%s': there is no such key", key);
    if (*type) tool_die("key '%s': a %s, not a filter (%s)", key, type, text);
    tool_die("key '%s': %s", key, text);
}
