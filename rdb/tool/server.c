/* The connection to a server. See server.h. */

#include "rdb/tool/server.h"

#include "module/core/mem.h"
#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define CONNECT_SECONDS 10

struct server {
    redisContext *context;
    redisReply *reply; // the last one, which the texts and bytes we hand out are in
};

/* Sends one command and waits. NULL, or what is wrong. */
static const char *call(struct server *server, int argc, const char **argv, const size_t *lens) {
    if (server->reply) freeReplyObject(server->reply);
    server->reply = redisCommandArgv(server->context, argc, argv, lens);
    if (!server->reply) return server->context->errstr;
    return server->reply->type == REDIS_REPLY_ERROR ? server->reply->str : NULL;
}

static const char *call_words(struct server *server, int argc, const char **argv) {
    size_t lens[4];
    for (int i = 0; i < argc; i++) lens[i] = strlen(argv[i]);
    return call(server, argc, argv, lens);
}

static void select_database(struct server *server, int database) {
    char number[16];
    snprintf(number, sizeof(number), "%d", database);
    const char *words[] = {"SELECT", number};
    const char *error = call_words(server, 2, words);
    if (error) tool_die("server: %s", error);
}

static void authenticate(struct server *server, const char *password) {
    const char *words[] = {"AUTH", password};
    const char *error = call_words(server, 2, words);
    if (error) tool_die("server: %s", error);
}

struct server *server_open(const struct server_address *address) {
    struct server *server = tool_alloc(sizeof(*server));
    struct timeval patience = {CONNECT_SECONDS, 0};
    server->reply = NULL;
    server->context = address->socket
                          ? redisConnectUnixWithTimeout(address->socket, patience)
                          : redisConnectWithTimeout(address->host, address->port, patience);
    if (!server->context) tool_die("no memory for a connection");
    if (server->context->err) {
        if (address->socket) tool_die("%s: %s", address->socket, server->context->errstr);
        tool_die("%s:%d: %s", address->host, address->port, server->context->errstr);
    }
    const char *password = getenv("REDISCLI_AUTH");
    if (password && *password) authenticate(server, password);
    if (address->database != 0) select_database(server, address->database);
    return server;
}

void server_close(struct server *server) {
    if (server->reply) freeReplyObject(server->reply);
    redisFree(server->context);
    mem_free(server);
}

const char *server_exists(struct server *server, const char *key, bool *exists) {
    const char *words[] = {"EXISTS", key};
    const char *error = call_words(server, 2, words);
    if (!error) *exists = server->reply->integer != 0;
    return error;
}

const char *server_unlink(struct server *server, const char *key) {
    const char *words[] = {"UNLINK", key};
    return call_words(server, 2, words);
}

const char *server_rename(struct server *server, const char *from, const char *to) {
    const char *words[] = {"RENAME", from, to};
    return call_words(server, 3, words);
}

const char *server_load(struct server *server, const char *key, uint64_t iterator,
                        const uint8_t *bytes, size_t len) {
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    const char *words[] = {"BF.LOADCHUNK", key, number, (const char *)bytes};
    size_t lens[] = {strlen(words[0]), strlen(key), strlen(number), len};
    return call(server, 4, words, lens);
}

const char *server_scan(struct server *server, const char *key, uint64_t iterator, uint64_t *next,
                        const uint8_t **bytes, size_t *len) {
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    const char *words[] = {"BF.SCANDUMP", key, number};
    const char *error = call_words(server, 3, words);
    if (error) return error;
    const redisReply *reply = server->reply;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_INTEGER || reply->element[0]->integer < 0 ||
        reply->element[1]->type != REDIS_REPLY_STRING) {
        return "its answer to BF.SCANDUMP is not an iterator and a string";
    }
    *next = (uint64_t)reply->element[0]->integer;
    *bytes = (const uint8_t *)reply->element[1]->str;
    *len = reply->element[1]->len;
    return NULL;
}
