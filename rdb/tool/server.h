/* The connection to a server: the few commands that push and pull need, all of which RedisBloom's
 * servers have too. server.c is the only file that includes hiredis. Whatever goes wrong is an
 * error text, valid until the next call; after a lost connection every call has that error. */

#ifndef BLOOMPORT_TOOL_SERVER_H
#define BLOOMPORT_TOOL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;
struct server;

/* Connects as --host, --port, --socket and --db say; ends the program if that fails. A password is
 * taken from the environment variable REDISCLI_AUTH, as redis-cli does, so that it stands in no
 * process list. Until server_close a server that goes away is an error and not SIGPIPE. */
struct server *server_open(const struct options *options);
void server_close(struct server *server);

/* NULL, or what is wrong. */
const char *server_exists(struct server *server, const char *key, bool *exists);
const char *server_unlink(struct server *server, const char *key);

/* The key goes away by itself after this time, or stays for ever. It is an error if there is no
 * such key. */
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
