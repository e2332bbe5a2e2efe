/* The connection to a server, or to the nodes of a cluster, and the commands that the tool sends.
 * RedisBloom's servers have those of push and pull too. An error is a text, valid until the next
 * call. After a lost connection every call returns that error.
 *
 * hiredis writes commands and reads replies; link.c carries the bytes. */

#ifndef BLOOMPORT_TOOL_SERVER_H
#define BLOOMPORT_TOOL_SERVER_H

#include "rdb/tool/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReply;
struct server;

/* Connects; ends the program if that fails. The password may come from the environment variable
 * REDISCLI_AUTH, so that no process list shows it. Until server_close a lost connection is an error
 * and not SIGPIPE. */
struct server *server_open(const struct target *target);
void server_close(struct server *server);

/* Ends the program with an error about a key. If the key holds something else, says what. */
_Noreturn void server_die(struct server *server, const char *key, const char *error);

/* ---- Any command. All of these return NULL, or the error text. ---- */

/* Sends a command and waits for its reply. In a cluster redirections are followed: later commands
 * go to the node that had the key. server_words takes strings. */
const char *server_call(struct server *server, int argc, const char **argv, const size_t *lens);
const char *server_words(struct server *server, int argc, const char **argv);

/* The same, and from then on until server_unpin all commands go to the node that answered, and no
 * redirection is followed: WATCH, MULTI and EXEC are about one connection. */
const char *server_pin(struct server *server, int argc, const char **argv);
void server_unpin(struct server *server);

/* The last reply, valid until the next call; NULL if the connection is lost. */
struct redisReply *server_reply(struct server *server);

/* A pipeline: several commands are sent, then as many replies received. No redirections. */
const char *server_send(struct server *server, int argc, const char **argv, const size_t *lens);
const char *server_receive(struct server *server);

const char *server_select(struct server *server, int database);

/* Opened with --cluster. */
bool server_is_cluster(const struct server *server);

/* Later commands go to this node of the cluster; ends the program if it cannot be reached. */
void server_go_to(struct server *server, const char *host, int port);

/* ---- Single commands ---- */

const char *server_exists(struct server *server, const char *key, bool *exists);
const char *server_unlink(struct server *server, const char *key);

/* The key expires after this time, or never. A missing key is an error. */
const char *server_expire(struct server *server, const char *key, uint64_t milliseconds);
const char *server_persist(struct server *server, const char *key);

/* RENAME, which replaces `to`; or RENAMENX, which leaves it: then *renamed is false. */
const char *server_rename(struct server *server, const char *from, const char *to, bool replace,
                          bool *renamed);

/* STRLEN; 0 if the key is missing. */
const char *server_strlen(struct server *server, const char *key, uint64_t *len);

/* GETRANGE key at (at + size - 1) -> *bytes, *len, which may be less; valid until the next call. */
const char *server_getrange(struct server *server, const char *key, uint64_t at, uint64_t size,
                            const uint8_t **bytes, size_t *len);

/* BF.LOADCHUNK key iterator bytes */
const char *server_load(struct server *server, const char *key, uint64_t iterator,
                        const uint8_t *bytes, size_t len);

/* BF.SCANDUMP key iterator -> *next, *bytes; the bytes are valid until the next call. */
const char *server_scan(struct server *server, const char *key, uint64_t iterator, uint64_t *next,
                        const uint8_t **bytes, size_t *len);

/* The same of a reply that is there already, such as one of a transaction. */
const char *server_parse_scan(const struct redisReply *reply, uint64_t *next, const uint8_t **bytes,
                              size_t *len);

#endif
