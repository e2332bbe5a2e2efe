/* What a server says of one filter. See stats.h. */

#include "rdb/tool/stats.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

/* The value after a name in a flat array of names and values; NULL if there is none. */
static const redisReply *field_of(const redisReply *reply, const char *name) {
    if (!reply || reply->type != REDIS_REPLY_ARRAY) return NULL;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const char *word = reply->element[i]->str;
        if (word && strcmp(word, name) == 0) return reply->element[i + 1];
    }
    return NULL;
}

static double real_of(const redisReply *reply, const char *name) {
    const redisReply *value = field_of(reply, name);
    return value && value->str ? strtod(value->str, NULL) : 0;
}

static uint64_t count_of(const redisReply *reply, const char *name) {
    const redisReply *value = field_of(reply, name);
    bool is_count = value && value->type == REDIS_REPLY_INTEGER && value->integer > 0;
    return is_count ? (uint64_t)value->integer : 0;
}

bool stats_take(struct server *server, const char *key, struct stats *out) {
    const char *words[] = {"BF.STATS", key};
    if (server_words(server, 2, words)) return false;
    const redisReply *reply = server_reply(server);
    const redisReply *layers = field_of(reply, "layers"), *state = field_of(reply, "state");
    bool has_layers = layers && layers->type == REDIS_REPLY_ARRAY && layers->elements > 0;
    if (!has_layers || !state || !state->str) return false;
    *out = (struct stats){.capacity = count_of(layers->element[0], "capacity"),
                          .error_rate = real_of(reply, "current error rate"),
                          .promised = real_of(reply, "promised error rate"),
                          .is_overfilled = strcmp(state->str, "overfilled") == 0};
    return true;
}
