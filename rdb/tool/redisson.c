/* A Redisson RBloomFilter on a server. See redisson.h.
 *
 * The string is read in pieces. Items that are added meanwhile may be in the filter or not; all
 * that were there before are. The configuration is read twice, at the beginning and at the end: a
 * filter that was made anew in between is an error. */

#include "rdb/tool/redisson.h"

#include "module/core/mem.h"
#include "rdb/formats/formats.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/tool.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((uint64_t)16 * 1024 * 1024) // as much as a piece of BF.SCANDUMP
#define MOST_BITS ((uint64_t)UINT32_MAX - 1)     // Redisson's own limit

enum field { SIZE, HASHES, CAPACITY, RATE, NFIELDS };
static const char *const FIELDS[NFIELDS] = {"size", "hashIterations", "expectedInsertions",
                                            "falseProbability"};

/* ---- The configuration ---------------------------------------------------------------------- */

struct config {
    uint64_t nbits, capacity;
    uint32_t nhashes;
    double error_rate;
};

/* A name that has braces keeps them: they choose the slot of both keys. */
static char *config_key(const char *name) {
    size_t size = strlen(name) + sizeof("{}:config");
    char *key = tool_alloc(size);
    bool has_tag = strchr(name, '{') != NULL;
    snprintf(key, size, has_tag ? "%s:config" : "{%s}:config", name);
    return key;
}

static uint64_t number_of(const char *key, enum field field, const redisReply *value,
                          uint64_t most) {
    size_t ndigits = strspn(value->str, "0123456789");
    uint64_t number = strtoull(value->str, NULL, 10); // at most ULLONG_MAX
    bool is_number = ndigits > 0 && ndigits == value->len;
    if (!is_number || number < 1 || number > most) {
        tool_die("key '%s': its field %s is '%s' and not a number from 1 to %llu", key,
                 FIELDS[field], value->str, (unsigned long long)most);
    }
    return number;
}

/* Java writes 0.03 or 1.0E-4. */
static double rate_of(const char *key, const redisReply *value) {
    char *end;
    bool is_decimal = strspn(value->str, "0123456789.eE-") == value->len && value->len > 0;
    double rate = strtod(value->str, &end);
    if (!is_decimal || end != value->str + value->len || !(rate > 0 && rate < 1)) {
        tool_die("key '%s': its field %s is '%s' and not between 0 and 1", key, FIELDS[RATE],
                 value->str);
    }
    return rate;
}

static struct config read_config(struct server *server, const char *key) {
    const char *words[] = {"HMGET",          key,         FIELDS[SIZE], FIELDS[HASHES],
                           FIELDS[CAPACITY], FIELDS[RATE]};
    const char *error = server_words(server, 2 + NFIELDS, words);
    if (error) server_die(server, key, error);
    const redisReply *reply = server_reply(server);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != NFIELDS) {
        server_die(server, key, "its answer to HMGET is not an array");
    }
    size_t nmissing = 0;
    for (int i = 0; i < NFIELDS; i++) nmissing += reply->element[i]->type != REDIS_REPLY_STRING;
    if (nmissing == NFIELDS) tool_die("key '%s': there is no Redisson filter's configuration", key);
    for (int i = 0; i < NFIELDS; i++) {
        bool is_missing = reply->element[i]->type != REDIS_REPLY_STRING;
        if (is_missing) tool_die("key '%s': its field %s is missing", key, FIELDS[i]);
    }
    return (struct config){
        .nbits = number_of(key, SIZE, reply->element[SIZE], MOST_BITS),
        .capacity = number_of(key, CAPACITY, reply->element[CAPACITY], INT64_MAX),
        .nhashes = (uint32_t)number_of(key, HASHES, reply->element[HASHES], SIZING_MOST_HASHES),
        .error_rate = rate_of(key, reply->element[RATE])};
}

static bool is_same(const struct config *a, const struct config *b) {
    return a->nbits == b->nbits && a->capacity == b->capacity && a->nhashes == b->nhashes &&
           a->error_rate == b->error_rate;
}

/* ---- The bits ------------------------------------------------------------------------------- */

/* The string as long as it was at the beginning; what is missing is 0. */
static uint8_t *read_bits(struct server *server, const char *name, uint64_t most, uint64_t *len) {
    const char *error = server_strlen(server, name, len);
    if (error) server_die(server, name, error);
    if (*len > most) tool_die("key '%s': longer than the size in its configuration", name);
    uint8_t *bits = tool_alloc((size_t)*len + 1);
    struct progress progress;
    progress_begin(&progress, "pulling", *len);
    for (uint64_t at = 0; at < *len;) {
        uint64_t left = *len - at;
        const uint8_t *piece;
        size_t n = 0;
        error =
            server_getrange(server, name, at, left < PIECE_BYTES ? left : PIECE_BYTES, &piece, &n);
        if (error) server_die(server, name, error);
        if (n == 0 || n > left) tool_die("key '%s': became shorter while it was read", name);
        memcpy(bits + at, piece, n);
        at += n;
        progress_show(&progress, at);
    }
    progress_end(&progress);
    return bits;
}

static struct filter *decode(const char *name, const uint8_t *bits, uint64_t len,
                             const struct config *config) {
    struct formats_options how = {.capacity = config->capacity,
                                  .nbits = config->nbits,
                                  .nhashes = config->nhashes,
                                  .error_rate = config->error_rate};
    struct filter *filter;
    const char *fault;
    enum status st =
        formats_decode(FORMAT_REDISSON, bits, (size_t)len, &how, FILTER_NO_LIMIT, &filter, &fault);
    if (st == STATUS_NOMEM) tool_die("no memory for a filter of this size");
    if (st != STATUS_OK) tool_die("key '%s': bad redisson data: %s", name, fault);
    return filter;
}

struct filter *redisson_pull(struct server *server, const char *name) {
    char *key = config_key(name);
    struct config config = read_config(server, key);
    uint64_t len;
    uint8_t *bits = read_bits(server, name, (config.nbits + 7) / 8, &len);
    struct config after = read_config(server, key);
    if (!is_same(&config, &after)) tool_die("key '%s': made anew while it was read", name);
    struct filter *filter = decode(name, bits, len, &config);
    mem_free(bits);
    mem_free(key);
    return filter;
}
