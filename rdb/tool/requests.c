/* The commands that are sent to a server, one function each. See server.h. */

#include "rdb/tool/server.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

/* Calls a command whose answer is a number. */
static const char *call_number(struct server *server, int argc, const char **argv,
                               long long *number) {
    const char *error = server_words(server, argc, argv);
    if (error) return error;
    const redisReply *reply = server_reply(server);
    if (reply->type != REDIS_REPLY_INTEGER) return "its answer is not a number";
    *number = reply->integer;
    return NULL;
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
    return server_words(server, 2, words);
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
        replace ? server_words(server, 3, words) : call_number(server, 3, words, &number);
    if (!error) *renamed = number == 1;
    return error;
}

/* ---- Strings ------------------------------------------------------------------------------ */

const char *server_strlen(struct server *server, const char *key, uint64_t *len) {
    const char *words[] = {"STRLEN", key};
    long long number;
    const char *error = call_number(server, 2, words, &number);
    if (!error) *len = number < 0 ? 0 : (uint64_t)number;
    return error;
}

const char *server_getrange(struct server *server, const char *key, uint64_t at, uint64_t size,
                            const uint8_t **bytes, size_t *len) {
    char from[24], to[24];
    snprintf(from, sizeof(from), "%llu", (unsigned long long)at);
    snprintf(to, sizeof(to), "%llu", (unsigned long long)(at + size - 1));
    const char *words[] = {"GETRANGE", key, from, to};
    const char *error = server_words(server, 4, words);
    if (error) return error;
    const redisReply *reply = server_reply(server);
    if (reply->type != REDIS_REPLY_STRING) return "its answer to GETRANGE is not a string";
    *bytes = (const uint8_t *)reply->str;
    *len = reply->len;
    return NULL;
}

/* ---- Pieces ------------------------------------------------------------------------------- */

const char *server_load(struct server *server, const char *key, uint64_t iterator,
                        const uint8_t *bytes, size_t len) {
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    const char *words[] = {"BF.LOADCHUNK", key, number, (const char *)bytes};
    size_t lens[] = {strlen(words[0]), strlen(key), strlen(number), len};
    const char *error = server_call(server, 4, words, lens);
    if (error) return error;
    const redisReply *reply = server_reply(server);
    bool is_ok = reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
    return is_ok ? NULL : "its answer to BF.LOADCHUNK is not OK";
}

const char *server_parse_scan(const redisReply *reply, uint64_t *next, const uint8_t **bytes,
                              size_t *len) {
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

const char *server_scan(struct server *server, const char *key, uint64_t iterator, uint64_t *next,
                        const uint8_t **bytes, size_t *len) {
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)iterator);
    const char *words[] = {"BF.SCANDUMP", key, number};
    const char *error = server_words(server, 3, words);
    return error ? error : server_parse_scan(server_reply(server), next, bytes, len);
}
