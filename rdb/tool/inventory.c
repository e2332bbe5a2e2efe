/* All filters of a server. See inventory.h. */

#include "rdb/tool/inventory.h"

#include "module/core/mem.h"
#include "rdb/tool/nodes.h"
#include "rdb/tool/tool.h"

#include <ctype.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DATABASES 1024

/* Types of keys that hold filters: ours, RedisBloom's, valkey-bloom's. */
static const char *const TYPES[] = {"bloomport", "MBbloom--", "bloomfltr"};

static struct entry *add_entry(struct inventory *inventory) {
    if (inventory->n == inventory->room) {
        size_t room = inventory->room ? 2 * inventory->room : 64;
        struct entry *larger = tool_alloc(room * sizeof(*larger));
        if (inventory->n) memcpy(larger, inventory->entries, inventory->n * sizeof(*larger));
        mem_free(inventory->entries);
        inventory->entries = larger;
        inventory->room = room;
    }
    struct entry *entry = &inventory->entries[inventory->n++];
    *entry = (struct entry){.error_rate = -1, .promised = -1};
    return entry;
}

void inventory_free(struct inventory *inventory) {
    for (size_t i = 0; i < inventory->n; i++) mem_free(inventory->entries[i].key);
    mem_free(inventory->entries);
    *inventory = (struct inventory){0};
}

/* ---- What a server says of a filter -------------------------------------------------------- */

static double real_of(const redisReply *value) {
    return value->type == REDIS_REPLY_INTEGER ? (double)value->integer
           : value->str                       ? strtod(value->str, NULL)
                                              : -1;
}

static uint64_t count_of(const redisReply *value) {
    return value->type == REDIS_REPLY_INTEGER && value->integer > 0 ? (uint64_t)value->integer : 0;
}

static void copy_word(char *out, size_t size, const redisReply *value) {
    snprintf(out, size, "%s", value->str ? value->str : "");
}

static void take_field(struct entry *entry, const char *name, const redisReply *value) {
    if (strcmp(name, "items") == 0 || strcmp(name, "Number of items inserted") == 0) {
        entry->items = count_of(value);
    } else if (strcmp(name, "capacity") == 0 || strcmp(name, "Capacity") == 0) {
        entry->capacity = count_of(value);
    } else if (strcmp(name, "bytes") == 0 || strcmp(name, "Size") == 0) {
        entry->bytes = count_of(value);
    } else if (strcmp(name, "current error rate") == 0) {
        entry->error_rate = real_of(value);
    } else if (strcmp(name, "promised error rate") == 0) {
        entry->promised = real_of(value);
    } else if (strcmp(name, "layout") == 0) {
        copy_word(entry->layout, sizeof(entry->layout), value);
        for (char *c = entry->layout; *c; c++) *c = (char)tolower((unsigned char)*c);
    } else if (strcmp(name, "state") == 0) {
        copy_word(entry->state, sizeof(entry->state), value);
    } else if (strcmp(name, "layers") == 0) {
        entry->layers = value->elements;
    } else if (strcmp(name, "Number of filters") == 0) {
        entry->layers = count_of(value);
    } else if (strcmp(name, "expansion") == 0 || strcmp(name, "Expansion rate") == 0) {
        entry->grows = value->type != REDIS_REPLY_NIL;
    }
}

/* A flat array of names and values. False if the reply is none: the key went away meanwhile. */
static bool take_reply(struct entry *entry, const redisReply *reply) {
    if (reply->type != REDIS_REPLY_ARRAY) return false;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        if (reply->element[i]->str)
            take_field(entry, reply->element[i]->str, reply->element[i + 1]);
    }
    if (!*entry->state) { // BF.INFO has no state
        bool is_full = !entry->grows && entry->items >= entry->capacity;
        snprintf(entry->state, sizeof(entry->state), "%s", is_full ? "full" : "ok");
    }
    entry->utilisation = entry->capacity ? (double)entry->items / (double)entry->capacity : 0;
    return true;
}

/* ---- Keys --------------------------------------------------------------------------------- */

struct tour {
    struct inventory *inventory;
    struct server *server;
    const char *command; // BF.STATS, or BF.INFO where that is not there
    int database;
    const char *node;
    const char *pattern; // of keys
};

static _Noreturn void die_of(const char *error) {
    tool_die("list: %s", error);
}

/* Adds an empty entry for each key, and asks for what belongs into it, all at once. */
static size_t ask_for_all(struct tour *tour, const redisReply *keys) {
    for (size_t i = 0; i < keys->elements; i++) {
        const redisReply *key = keys->element[i];
        struct entry *entry = add_entry(tour->inventory);
        entry->key_len = key->len;
        entry->key = memcpy(tool_alloc(key->len + 1), key->str, key->len + 1);
        entry->database = tour->database;
        snprintf(entry->node, sizeof(entry->node), "%s", tour->node);
        const char *words[] = {tour->command, key->str};
        size_t lens[] = {strlen(tour->command), key->len};
        const char *error = server_send(tour->server, 2, words, lens);
        if (error) die_of(error);
    }
    return keys->elements;
}

/* Entries whose key is gone are dropped. */
static void take_all(struct tour *tour, size_t first, size_t n) {
    struct entry *entries = tour->inventory->entries;
    size_t kept = first;
    for (size_t i = first; i < first + n; i++) {
        const char *error = server_receive(tour->server);
        const redisReply *reply = server_reply(tour->server);
        if (error && !reply) die_of(error);
        struct entry entry = entries[i];
        tour->inventory->hidden += error && strncmp(error, "NOPERM", 6) == 0;
        if (take_reply(&entry, reply)) {
            entries[kept++] = entry;
        } else {
            mem_free(entry.key);
        }
    }
    tour->inventory->n = kept;
}

/* One type of one database. A server that does not know the type has no such key. */
static void walk_type(struct tour *tour, const char *type) {
    char cursor[32] = "0";
    do {
        const char *words[] = {"SCAN", cursor, "COUNT", "1000",
                               "TYPE", type,   "MATCH", tour->pattern};
        const char *error = server_words(tour->server, tour->pattern ? 8 : 6, words);
        if (error && strstr(error, "unknown type name")) return;
        if (error) die_of(error);
        const redisReply *reply = server_reply(tour->server);
        bool is_scan = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                       reply->element[1]->type == REDIS_REPLY_ARRAY && reply->element[0]->str;
        if (!is_scan) die_of("the answer to SCAN is not a list of keys");
        snprintf(cursor, sizeof(cursor), "%s", reply->element[0]->str);
        size_t first = tour->inventory->n;
        size_t n = ask_for_all(tour, reply->element[1]);
        take_all(tour, first, n);
    } while (strcmp(cursor, "0") != 0);
}

static void walk_database(struct tour *tour) {
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) walk_type(tour, TYPES[i]);
}

/* ---- Servers ------------------------------------------------------------------------------ */

/* BF.STATS is ours; BF.INFO all have. */
static const char *command_of(struct server *server) {
    const char *words[] = {"COMMAND", "INFO", "BF.STATS", "BF.INFO"};
    const char *error = server_words(server, 4, words);
    const redisReply *reply = server_reply(server);
    if (error || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return "BF.STATS";
    if (reply->element[0]->type == REDIS_REPLY_ARRAY) return "BF.STATS";
    if (reply->element[1]->type == REDIS_REPLY_ARRAY) return "BF.INFO";
    tool_die("no module: the server has no BF.INFO");
}

/* The databases that have keys: the lines "db3:keys=..." of INFO keyspace. */
static size_t find_databases(struct server *server, int out[MOST_DATABASES]) {
    const char *words[] = {"INFO", "keyspace"};
    const char *error = server_words(server, 2, words);
    if (error) die_of(error);
    const redisReply *reply = server_reply(server);
    size_t n = 0;
    for (const char *at = reply->str ? reply->str : ""; (at = strstr(at, "\ndb")) != NULL;) {
        at += 3;
        if (n < MOST_DATABASES) out[n++] = (int)strtol(at, NULL, 10);
    }
    return n;
}

static bool is_in_cluster(struct server *server) {
    const char *words[] = {"INFO", "cluster"};
    const char *error = server_words(server, 2, words);
    const redisReply *reply = server_reply(server);
    return !error && reply->str && strstr(reply->str, "cluster_enabled:1");
}

void inventory_take(struct inventory *inventory, struct server *server, int database,
                    const char *pattern) {
    int databases[MOST_DATABASES] = {database};
    struct nodes nodes;
    nodes_find(&nodes, server);
    inventory->is_node_of_many = !nodes.at && is_in_cluster(server);
    for (size_t i = 0; i < nodes.n; i++) {
        char name[300] = "";
        nodes_go_to(&nodes, server, i);
        if (nodes.at) snprintf(name, sizeof(name), "%s:%d", nodes.at[i].host, nodes.at[i].port);
        size_t n = database >= 0 || nodes.at ? 1 : find_databases(server, databases);
        if (nodes.at) databases[0] = 0;
        struct tour tour = {inventory, server, command_of(server), 0, name, pattern};
        for (size_t j = 0; j < n; j++) {
            tour.database = databases[j];
            const char *error = nodes.at ? NULL : server_select(server, databases[j]);
            if (error) die_of(error);
            walk_database(&tour);
        }
    }
    nodes_free(&nodes);
}
