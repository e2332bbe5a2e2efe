/* The connection to a server: the few commands that push and pull need. server.c is the only file
 * that includes hiredis. Whatever goes wrong is an error text, valid until the next call. */

#ifndef BLOOMPORT_TOOL_SERVER_H
#define BLOOMPORT_TOOL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

struct server_address {
    const char *host;
    int port;
    const char *socket; // NULL: host and port
    int database;
};

/* Connects; ends the program if that fails. A password is taken from the environment variable
 * REDISCLI_AUTH, as redis-cli does, so that it stands in no process list. */
struct server *server_open(const struct server_address *address);
void server_close(struct server *server);

/* NULL, or what is wrong. */
const char *server_exists(struct server *server, const char *key, bool *exists);
const char *server_unlink(struct server *server, const char *key);
const char *server_rename(struct server *server, const char *from, const char *to);

/* BF.LOADCHUNK key iterator bytes */
const char *server_load(struct server *server, const char *key, uint64_t iterator,
                        const uint8_t *bytes, size_t len);

/* BF.SCANDUMP key iterator -> *next, *bytes; the bytes are valid until the next call. */
const char *server_scan(struct server *server, const char *key, uint64_t iterator, uint64_t *next,
                        const uint8_t **bytes, size_t *len);

#endif
