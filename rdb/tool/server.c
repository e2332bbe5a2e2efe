/* The connection to a server. See server.h. */

#include "rdb/tool/server.h"

#include "module/core/mem.h"
#include "rdb/tool/options.h"
#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define CONNECT_SECONDS 10

struct server {
    redisContext *context;
    redisReply *reply;    // the last one; it owns the texts and bytes that are returned
    char fault[256];      // an error text made here
    void (*on_pipe)(int); // what SIGPIPE did before
};

/* ---- Calls -------------------------------------------------------------------------------- */

/* The connection failed before an answer came. */
static const char *fault_of(struct server *server) {
    const redisContext *context = server->context;
    bool is_lost = context->err == REDIS_ERR_IO || context->err == REDIS_ERR_EOF;
    snprintf(server->fault, sizeof(server->fault), "%s%s", is_lost ? "connection lost: " : "",
             context->errstr);
    return server->fault;
}

/* Sends one command and waits. Returns NULL, or the error text. */
static const char *call(struct server *server, int argc, const char **argv, const size_t *lens) {
    if (server->reply) freeReplyObject(server->reply);
    server->reply = redisCommandArgv(server->context, argc, argv, lens);
    if (!server->reply) return fault_of(server);
    return server->reply->type == REDIS_REPLY_ERROR ? server->reply->str : NULL;
}

static const char *call_words(struct server *server, int argc, const char **argv) {
    size_t lens[4];
    for (int i = 0; i < argc; i++) lens[i] = strlen(argv[i]);
    return call(server, argc, argv, lens);
}

/* Calls a command whose answer is a number. */
static const char *call_number(struct server *server, int argc, const char **argv,
                               long long *number) {
    const char *error = call_words(server, argc, argv);
    if (error) return error;
    if (server->reply->type != REDIS_REPLY_INTEGER) return "its answer is not a number";
    *number = server->reply->integer;
    return NULL;
}

/* ---- The connection ----------------------------------------------------------------------- */

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

static redisContext *connect_to(const struct options *options) {
    struct timeval patience = {CONNECT_SECONDS, 0};
    const char *host = options->host ? options->host : "127.0.0.1";
    redisContext *context = options->socket
                                ? redisConnectUnixWithTimeout(options->socket, patience)
                                : redisConnectWithTimeout(host, options->port, patience);
    if (!context) tool_die("no memory for a connection");
    if (context->err) {
        if (options->socket) tool_die("%s: %s", options->socket, context->errstr);
        tool_die("%s:%d: %s", host, options->port, context->errstr);
    }
    return context;
}

struct server *server_open(const struct options *options) {
    struct server *server = tool_alloc(sizeof(*server));
    *server = (struct server){.context = connect_to(options)};
    server->on_pipe = signal(SIGPIPE, SIG_IGN);
    const char *password = getenv("REDISCLI_AUTH");
    if (password && *password) authenticate(server, password);
    if (options->database != 0) select_database(server, options->database);
    return server;
}

void server_close(struct server *server) {
    if (server->reply) freeReplyObject(server->reply);
    redisFree(server->context);
    signal(SIGPIPE, server->on_pipe);
    mem_free(server);
}

/* ---- Keys --------------------------------------------------------------------------------- */

const char *server_exists(struct server *server, const char *key, bool *exists) {
    const char *words[] = {"EXISTS", key};
    long long number;
    const char *error = call_number(server, 2, words, &number);
    if (!error) *exists = number != 0;
    return error;
}

const char *server_unlink(struct server *server, const char *key) {
    const char *words[] = {"UNLINK", key};
    return call_words(server, 2, words);
}

static const char GONE[] = "the key that was being loaded does not exist any more";

const char *server_expire(struct server *server, const char *key, uint64_t milliseconds) {
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)milliseconds);
    const char *words[] = {"PEXPIRE", key, text};
    long long number;
    const char *error = call_number(server, 3, words, &number);
    return error || number == 1 ? error : GONE;
}

const char *server_persist(struct server *server, const char *key) {
    const char *words[] = {"PERSIST", key};
    long long number;
    const char *error = call_number(server, 2, words, &number);
    return error || number == 1 ? error : GONE;
}

const char *server_rename(struct server *server, const char *from, const char *to, bool replace,
                          bool *renamed) {
    const char *words[] = {replace ? "RENAME" : "RENAMENX", from, to};
    long long number = 1;
    const char *error =
        replace ? call_words(server, 3, words) : call_number(server, 3, words, &number);
    if (!error) *renamed = number == 1;
    return error;
}

/* ---- Pieces ------------------------------------------------------------------------------- */

const char *server_load(struct server *server, const char *key, uint64_t iterator,
                        const uint8_t *bytes, size_t len) {
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    const char *words[] = {"BF.LOADCHUNK", key, number, (const char *)bytes};
    size_t lens[] = {strlen(words[0]), strlen(key), strlen(number), len};
    const char *error = call(server, 4, words, lens);
    if (error) return error;
    bool is_ok = server->reply->type == REDIS_REPLY_STATUS && strcmp(server->reply->str, "OK") == 0;
    return is_ok ? NULL : "its answer to BF.LOADCHUNK is not OK";
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
