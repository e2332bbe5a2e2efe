/* The connection to a server: the few commands that push and pull need, all of which RedisBloom's
 * servers have too. server.c is the only file that includes hiredis. An error is a text, valid
 * until the next call. After a lost connection every call returns that error. */

#ifndef BLOOMPORT_TOOL_SERVER_H
#define BLOOMPORT_TOOL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;
struct server;

/* Connects as --host, --port, --socket and --db say; ends the program if that fails. The password
 * is read from the environment variable REDISCLI_AUTH, as redis-cli does, so that no process list
 * shows it. Until server_close a lost connection is an error and not SIGPIPE. */
struct server *server_open(const struct options *options);
void server_close(struct server *server);

/* All of these return NULL, or the error text. */
const char *server_exists(struct server *server, const char *key, bool *exists);
const char *server_unlink(struct server *server, const char *key);

/* The key expires after this time, or never. A missing key is an error. */
const char *server_expire(struct server *server, const char *key, uint64_t milliseconds);
const char *server_persist(struct server *server, const char *key);

/* RENAME, which replaces `to`; or RENAMENX, which leaves it: then *renamed is false. */
const char *server_rename(struct server *server, const char *from, const char *to, bool replace,
                          bool *renamed);

/* BF.LOADCHUNK key iterator bytes */
const char *server_load(struct server *server, const char *key, uint64_t iterator,
                        const uint8_t *bytes, size_t len);

/* BF.SCANDUMP key iterator -> *next, *bytes; the bytes are valid until the next call. */
const char *server_scan(struct server *server, const char *key, uint64_t iterator, uint64_t *next,
                        const uint8_t **bytes, size_t *len);

#endif
