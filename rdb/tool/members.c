/* Items from a server. See members.h. */

#include "rdb/tool/members.h"

#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE "1000" // members in a reply
#define PIECE_NUMBER 1000

static const struct {
    const char *type, *scan, *count;
    size_t step;
} KINDS[] = {
    {"set", "SSCAN", "SCARD", 1},
    {"zset", "ZSCAN", "ZCARD", 2},
    {"hash", "HSCAN", "HLEN", 2},
    {"list", "LRANGE", "LLEN", 1},
};

/* Ends the program if a call failed. */
static const redisReply *checked(struct members *members, const char *error) {
    if (error) server_die(members->server, members->key ? members->key : members->pattern, error);
    return server_reply(members->server);
}

static uint64_t count(struct members *members, const char *command) {
    const char *words[] = {command, members->key};
    int argc = members->key ? 2 : 1;
    const redisReply *reply = checked(members, server_words(members->server, argc, words));
    return reply->type == REDIS_REPLY_INTEGER ? (uint64_t)reply->integer : 0;
}

static void open_key(struct members *members) {
    const char *words[] = {"TYPE", members->key};
    const redisReply *reply = checked(members, server_words(members->server, 2, words));
    char type[64];
    snprintf(type, sizeof(type), "%s", reply->type == REDIS_REPLY_STATUS ? reply->str : "");
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        if (strcmp(type, KINDS[i].type) != 0) continue;
        members->command = KINDS[i].scan;
        members->step = KINDS[i].step;
        members->total = count(members, KINDS[i].count);
        return;
    }
    if (strcmp(type, "none") == 0) tool_die("key '%s': there is no such key", members->key);
    tool_die("key '%s': a %s, not a set, sorted set, hash or list", members->key, type);
}

void members_open(struct members *members, struct server *server, const char *key,
                  const char *pattern) {
    *members = (struct members){.server = server, .key = key, .pattern = pattern, .step = 1};
    strcpy(members->cursor, "0");
    if (key) {
        open_key(members);
        return;
    }
    members->command = "SCAN";
    nodes_find(&members->nodes, server);
    nodes_go_to(&members->nodes, server, 0);
}

void members_close(struct members *members) {
    nodes_free(&members->nodes);
}

/* ---- Pieces ------------------------------------------------------------------------------- */

static const char *ask_list(struct members *members) {
    char from[24], to[24];
    snprintf(from, sizeof(from), "%" PRIu64, members->at);
    snprintf(to, sizeof(to), "%" PRIu64, members->at + PIECE_NUMBER - 1);
    members->at += PIECE_NUMBER;
    const char *words[] = {"LRANGE", members->key, from, to};
    return server_words(members->server, 4, words);
}

static const char *ask_scan(struct members *members) {
    const char *of_key[] = {members->command, members->key, members->cursor, "COUNT", PIECE};
    const char *of_names[] = {"SCAN", members->cursor, "COUNT", PIECE, "MATCH", members->pattern};
    return members->key ? server_words(members->server, 5, of_key)
                        : server_words(members->server, 6, of_names);
}

static bool is_list(const struct members *members) {
    return members->command[0] == 'L';
}

/* The array of members in the last reply. */
static const redisReply *array_of(struct members *members) {
    const redisReply *reply = server_reply(members->server);
    bool is_array = reply->type == REDIS_REPLY_ARRAY;
    if (is_array && is_list(members)) return reply;
    bool is_scan = is_array && reply->elements == 2 &&
                   reply->element[0]->type == REDIS_REPLY_STRING &&
                   reply->element[1]->type == REDIS_REPLY_ARRAY;
    if (!is_scan) checked(members, "its answer is not that of a scan");
    return reply->element[1];
}

/* False if there are no more pieces. */
static bool next_piece(struct members *members) {
    bool is_last = is_list(members) ? members->at >= members->total
                                    : members->is_begun && strcmp(members->cursor, "0") == 0;
    if (is_last && ++members->node >= members->nodes.n) return false;
    if (is_last) nodes_go_to(&members->nodes, members->server, members->node);
    members->is_begun = true;
    checked(members, is_list(members) ? ask_list(members) : ask_scan(members));
    array_of(members);
    members->next = 0;
    if (is_list(members)) return true;
    const redisReply *cursor = server_reply(members->server)->element[0];
    snprintf(members->cursor, sizeof(members->cursor), "%s", cursor->str);
    return true;
}

size_t members_next(struct members *members, struct item *batch) {
    while (!members->is_begun || members->next >= array_of(members)->elements) {
        if (!next_piece(members)) return 0;
    }
    const redisReply *array = array_of(members);
    size_t n = 0;
    for (; n < ITEMS_BATCH && members->next < array->elements; members->next += members->step) {
        const redisReply *element = array->element[members->next];
        if (element->type != REDIS_REPLY_STRING) checked(members, "a member is not a string");
        const uint8_t *bytes = (const uint8_t *)element->str;
        batch[n++] = (struct item){bytes, element->len, bytes, element->len};
    }
    return n;
}
