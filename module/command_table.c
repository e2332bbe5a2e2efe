/* The only place with the commands' names, flags, key positions and documentation. */

#include "module/commands.h"
#include "rdb/formats/formats.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- Arguments, for COMMAND DOCS ---------------------------------------------------------- */

/* RedisModuleCommandArg of Redis 7.0, and room after it. A server reads every field that it has
 * itself: it takes the distance between two arguments from sizeof_arg, and does not conclude from
 * it which fields the module can have. In an array without room it would read those of the next
 * argument. Redis 7.2 and Valkey have one more field, display_text; where it is NULL the name is
 * shown. */
typedef struct arg {
    const char *name;
    RedisModuleCommandArgType type;
    int key_spec_index;
    const char *token;
    const char *summary;
    const char *since;
    int flags;
    const char *deprecated_since;
    struct arg *subargs;
    const void *fields_of_newer_servers[4]; // all NULL
} arg;

#define HAS_SAME_OFFSET(field) (offsetof(arg, field) == offsetof(RedisModuleCommandArg, field))
_Static_assert(HAS_SAME_OFFSET(name) && HAS_SAME_OFFSET(type) && HAS_SAME_OFFSET(key_spec_index) &&
                   HAS_SAME_OFFSET(token) && HAS_SAME_OFFSET(flags) && HAS_SAME_OFFSET(subargs) &&
                   sizeof(arg) > sizeof(RedisModuleCommandArg),
               "an argument is laid out as the server reads it, and has room after it");

static const RedisModuleCommandInfoVersion INFO_VERSION = {
    .version = 1,
    .sizeof_historyentry = sizeof(RedisModuleCommandHistoryEntry),
    .sizeof_keyspec = sizeof(RedisModuleCommandKeySpec),
    .sizeof_arg = sizeof(arg),
};

// It would set each brace of a macro on a line of its own:
// clang-format off
#define KEY {.name = "key", .type = REDISMODULE_ARG_TYPE_KEY, .key_spec_index = 0}
#define VALUE(n, t) {.name = n, .type = REDISMODULE_ARG_TYPE_##t, .key_spec_index = -1}
#define TOKEN(n, tok)                                                                             \
    {.name = n, .type = REDISMODULE_ARG_TYPE_PURE_TOKEN, .key_spec_index = -1, .token = tok}
#define ITEMS                                                                                     \
    {.name = "item", .type = REDISMODULE_ARG_TYPE_STRING, .key_spec_index = -1,                   \
     .flags = REDISMODULE_CMD_ARG_MULTIPLE}
#define OPTION(n, tok, t)                                                                         \
    {.name = n, .type = REDISMODULE_ARG_TYPE_##t, .key_spec_index = -1, .token = tok,             \
     .flags = REDISMODULE_CMD_ARG_OPTIONAL}
#define ONE_OF(n, f, ...)                                                                         \
    {.name = n, .type = REDISMODULE_ARG_TYPE_ONEOF, .key_spec_index = -1, .flags = f,             \
     .subargs = (arg[]){__VA_ARGS__, {0}}}
#define CHOICE(n, tok, ...)                                                                       \
    {.name = n, .type = REDISMODULE_ARG_TYPE_ONEOF, .key_spec_index = -1, .token = tok,           \
     .flags = REDISMODULE_CMD_ARG_OPTIONAL, .subargs = (arg[]){__VA_ARGS__, {0}}}

#define GROWTH                                                                                    \
    ONE_OF("growth", REDISMODULE_CMD_ARG_OPTIONAL,                                                \
           {.name = "expansion", .type = REDISMODULE_ARG_TYPE_INTEGER, .key_spec_index = -1,      \
            .token = "EXPANSION"},                                                                \
           TOKEN("nonscaling", "NONSCALING"))
#define LAYOUT_TOKEN(NAME, word) TOKEN(word, #NAME),
#define LAYOUT                                                                                    \
    {.name = "layout", .type = REDISMODULE_ARG_TYPE_ONEOF, .key_spec_index = -1,                  \
     .token = "LAYOUT", .flags = REDISMODULE_CMD_ARG_OPTIONAL,                                    \
     .subargs = (arg[]){LAYOUTS(LAYOUT_TOKEN){0}}}
#define WINDOW                                                                                    \
    {.name = "window", .type = REDISMODULE_ARG_TYPE_BLOCK, .key_spec_index = -1,                  \
     .flags = REDISMODULE_CMD_ARG_OPTIONAL,                                                       \
     .subargs = (arg[]){{.name = "seconds", .type = REDISMODULE_ARG_TYPE_INTEGER,                 \
                         .key_spec_index = -1, .token = "WINDOW"},                                \
                        OPTION("generations", "GENERATIONS", INTEGER), {0}}}
#define EXPIRY                                                                                    \
    ONE_OF("expiry", REDISMODULE_CMD_ARG_OPTIONAL,                                                \
           {.name = "seconds", .type = REDISMODULE_ARG_TYPE_INTEGER, .key_spec_index = -1,        \
            .token = "EX"},                                                                       \
           {.name = "milliseconds", .type = REDISMODULE_ARG_TYPE_INTEGER, .key_spec_index = -1,   \
            .token = "PX"},                                                                       \
           {.name = "unix-time-milliseconds", .type = REDISMODULE_ARG_TYPE_UNIX_TIME,             \
            .key_spec_index = -1, .token = "PXAT"})
#define HASH                                                                                      \
    CHOICE("hash", "HASH", TOKEN("xxh64", "XXH64"), TOKEN("fnv1a", "FNV1A"),                      \
           TOKEN("sip13", "SIP13"))
#define IMPORT_HASH CHOICE("hash", "HASH", TOKEN("xxh64", "XXH64"), TOKEN("fnv1a", "FNV1A"))
#define RATE                                                                                      \
    ONE_OF("rate", REDISMODULE_CMD_ARG_OPTIONAL,                                                  \
           {.name = "error_rate", .type = REDISMODULE_ARG_TYPE_DOUBLE, .key_spec_index = -1,      \
            .token = "ERROR"},                                                                    \
           {.name = "bits", .type = REDISMODULE_ARG_TYPE_DOUBLE, .key_spec_index = -1,            \
            .token = "BITSPERKEY"})
#define FORMAT_TOKEN(NAME, word) TOKEN(word, word),
#define FORMAT(f)                                                                                 \
    {.name = "format", .type = REDISMODULE_ARG_TYPE_ONEOF, .key_spec_index = -1,                  \
     .token = "FORMAT", .flags = f, .subargs = (arg[]){FORMATS(FORMAT_TOKEN){0}}}
#define VARIANT                                                                                   \
    CHOICE("variant", "VARIANT", TOKEN("old", "old"), TOKEN("3.x", "3.x"), TOKEN("4.x", "4.x"))
// clang-format on

/* BITSPERKEY bits may stand in the place of the error rate. It is not among the arguments:
 * redis-cli would show `bits` to whoever has typed an error rate. */
static arg RESERVE_ARGS[] = {KEY,
                             VALUE("error_rate", DOUBLE),
                             VALUE("capacity", INTEGER),
                             GROWTH,
                             LAYOUT,
                             HASH,
                             OPTION("seed", "SEED", STRING),
                             WINDOW,
                             EXPIRY,
                             {0}};
static arg KEY_ITEM_ARGS[] = {KEY, VALUE("item", STRING), {0}};
static arg KEY_ITEMS_ARGS[] = {KEY, ITEMS, {0}};
static arg INSERT_ARGS[] = {KEY,
                            OPTION("capacity", "CAPACITY", INTEGER),
                            RATE,
                            GROWTH,
                            LAYOUT,
                            HASH,
                            OPTION("seed", "SEED", STRING),
                            WINDOW,
                            EXPIRY,
                            OPTION("nocreate", "NOCREATE", PURE_TOKEN),
                            OPTION("tightening", "TIGHTENING", DOUBLE),
                            OPTION("scale-to", "VALIDATESCALETO", INTEGER),
                            {.name = "items",
                             .type = REDISMODULE_ARG_TYPE_BLOCK,
                             .key_spec_index = -1,
                             .subargs = (arg[]){TOKEN("items", "ITEMS"), ITEMS, {0}}},
                            {0}};
static arg BULK_ARGS[] = {KEY,
                          ONE_OF("items", 0,
                                 {.name = "width",
                                  .type = REDISMODULE_ARG_TYPE_INTEGER,
                                  .key_spec_index = -1,
                                  .token = "WIDTH"},
                                 TOKEN("lines", "LINES")),
                          VALUE("data", STRING),
                          {0}};
static arg NO_ARGS[] = {{0}};
static arg KEY_ARGS[] = {KEY, {0}};
static arg INFO_ARGS[] = {
    KEY,
    ONE_OF("field", REDISMODULE_CMD_ARG_OPTIONAL, TOKEN("capacity", "CAPACITY"),
           TOKEN("size", "SIZE"), TOKEN("filters", "FILTERS"), TOKEN("items", "ITEMS"),
           TOKEN("expansion", "EXPANSION"), TOKEN("error", "ERROR"), TOKEN("layout", "LAYOUT"),
           TOKEN("hash", "HASH"), TOKEN("window", "WINDOW"), TOKEN("tightening", "TIGHTENING"),
           TOKEN("maxscaledcapacity", "MAXSCALEDCAPACITY")),
    {0}};
static arg LOAD_ARGS[] = {KEY, VALUE("data", STRING), {0}};
static arg SCANDUMP_ARGS[] = {KEY, VALUE("iterator", INTEGER), {0}};
static arg EXPORT_ARGS[] = {KEY, FORMAT(REDISMODULE_CMD_ARG_OPTIONAL), VARIANT, {0}};
static arg IMPORT_ARGS[] = {
    KEY,
    FORMAT(0),
    OPTION("capacity", "CAPACITY", INTEGER),
    OPTION("expansion", "EXPANSION", INTEGER),
    IMPORT_HASH,
    VARIANT,
    OPTION("replace", "REPLACE", PURE_TOKEN),
    {.name = "data", .type = REDISMODULE_ARG_TYPE_STRING, .key_spec_index = -1, .token = "DATA"},
    {0}};
static arg COMBINE_ARGS[] = {
    {.name = "dest", .type = REDISMODULE_ARG_TYPE_KEY, .key_spec_index = 0},
    {.name = "source",
     .type = REDISMODULE_ARG_TYPE_KEY,
     .key_spec_index = 1,
     .flags = REDISMODULE_CMD_ARG_MULTIPLE},
    {0}};
static arg LOADCHUNK_ARGS[] = {KEY,
                               VALUE("iterator", INTEGER),
                               VALUE("data", STRING),
                               OPTION("replace", "REPLACE", PURE_TOKEN),
                               {0}};

/* ---- The table ---------------------------------------------------------------------------- */

enum key_use {
    READS,
    READS_MUCH,
    CREATES,
    WRITES,
    EMPTIES,
    REMOVES,
    ROTATES,
    MERGES,
    STORES,
    NO_KEY
};

/* What an answer tells of the filter's items needs the right to read it: ACCESS. */

static const struct {
    const char *flags;
    int key_flags;    // of the first key
    bool has_sources; // keys from the second word to the last, which are only read
} USES[] = {
    [READS] = {"readonly fast", REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS, false},
    [READS_MUCH] = {"readonly", REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS, false},
    [WRITES] = {"write deny-oom",
                REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_INSERT,
                false},
    [CREATES] = {"write deny-oom fast",
                 REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_INSERT,
                 false},
    [REMOVES] = {"write",
                 REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_DELETE,
                 false},
    [EMPTIES] = {"write", REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_DELETE, false},
    [ROTATES] = {"write", REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_UPDATE, false},
    [MERGES] = {"write deny-oom",
                REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_INSERT,
                true},
    [STORES] = {"write deny-oom", REDISMODULE_CMD_KEY_OW | REDISMODULE_CMD_KEY_UPDATE, true},
    [NO_KEY] = {"readonly fast", 0, false},
};

struct command {
    const char *name;
    RedisModuleCmdFunc handler;
    enum key_use use;
    int arity;
    const char *since;
    const char *summary;
    const char *complexity;
    const char *tips;
    arg *args;
};

#define ITEM_COST "O(k*l) for k hashes and l layers"
#define ITEMS_COST "O(n*k*l) for n items, k hashes and l layers"
#define LAYERS_COST "O(l) for l layers"
#define PIECE_COST "O(n) for a piece of n bytes"
#define FILTER_COST "O(n) for a filter of n bytes"
#define FILTERS_COST "O(n) for n bytes of all filters"

static const struct command COMMANDS[] = {
    {"bf.reserve", cmd_reserve, CREATES, -4, "0.1.0",
     "Creates an empty filter; BITSPERKEY bits may stand for the error rate", "O(1)", NULL,
     RESERVE_ARGS},
    {"bf.add", cmd_add, WRITES, 3, "0.1.0", "Adds an item, and creates the filter if it is missing",
     ITEM_COST, NULL, KEY_ITEM_ARGS},
    {"bf.madd", cmd_madd, WRITES, -3, "0.1.0",
     "Adds several items, and creates the filter if it is missing", ITEMS_COST, NULL,
     KEY_ITEMS_ARGS},
    {"bf.insert", cmd_insert, WRITES, -4, "0.1.0",
     "Adds items, and creates the filter with these options if it is missing", ITEMS_COST, NULL,
     INSERT_ARGS},
    {"bf.exists", cmd_exists, READS, 3, "0.1.0",
     "Looks up an item: 0 if it was surely never added, else 1", ITEM_COST, NULL, KEY_ITEM_ARGS},
    {"bf.mexists", cmd_mexists, READS_MUCH, -3, "0.1.0", "Looks up several items", ITEMS_COST, NULL,
     KEY_ITEMS_ARGS},
    {"bf.bulkexists", cmd_bulkexists, READS_MUCH, -4, "0.2.0",
     "Looks up items that stand in one string; returns a bitmap", ITEMS_COST, NULL, BULK_ARGS},
    {"bf.bulkadd", cmd_bulkadd, WRITES, -4, "0.2.0",
     "Adds items that stand in one string, and creates the filter if it is missing; returns a "
     "bitmap",
     ITEMS_COST, NULL, BULK_ARGS},
    {"bf.card", cmd_card, READS, 2, "0.1.0", "Returns how many items were added", LAYERS_COST, NULL,
     KEY_ARGS},
    {"bf.info", cmd_info, READS, -2, "0.1.0",
     "Returns capacity, bytes, layers, items and expansion", LAYERS_COST, "dont_cache", INFO_ARGS},
    {"bf.debug", cmd_debug, READS_MUCH, 2, "0.1.0", "Returns the geometry of each layer",
     LAYERS_COST, "dont_cache", KEY_ARGS},
    {"bf.scandump", cmd_scandump, READS_MUCH, 3, "0.1.0",
     "Exports a filter of any size in pieces: returns the next one", PIECE_COST, "dont_cache",
     SCANDUMP_ARGS},
    {"bf.loadchunk", cmd_loadchunk, WRITES, -4, "0.1.0", "Imports one of those pieces", PIECE_COST,
     NULL, LOADCHUNK_ARGS},
    {"bf.load", cmd_load, WRITES, 3, "0.2.0", "Creates a filter from what valkey-bloom's AOF has",
     FILTER_COST, NULL, LOAD_ARGS},
    {"bf.export", cmd_export, READS_MUCH, -2, "0.1.0", "Returns a filter's bytes in one string",
     FILTER_COST, "dont_cache", EXPORT_ARGS},
    {"bf.import", cmd_import, WRITES, -6, "0.1.0", "Creates a filter from such bytes", FILTER_COST,
     NULL, IMPORT_ARGS},
    {"bf.merge", cmd_merge, MERGES, -3, "0.1.0", "Makes a filter the union of itself and others",
     FILTERS_COST, NULL, COMBINE_ARGS},
    {"bf.interstore", cmd_interstore, STORES, -3, "0.1.0", "Stores the intersection of filters",
     FILTERS_COST, NULL, COMBINE_ARGS},
    {"bf.clear", cmd_clear, EMPTIES, 2, "0.1.0",
     "Empties a filter, which keeps its parameters and TTL", FILTER_COST, NULL, KEY_ARGS},
    {"bf.rotate", cmd_rotate, ROTATES, -2, "0.2.0",
     "Drops the generations of a window that are over", FILTER_COST, NULL, KEY_ARGS},
    {"bf.del", cmd_del, REMOVES, -3, "0.2.0", "Deletes items from a filter of layout COUNTING",
     "O(n*k) for n items and k hashes", NULL, KEY_ITEMS_ARGS},
    {"bf.count", cmd_count, READS, 3, "0.2.0",
     "Returns an upper bound on how often an item was added; layout COUNTING", "O(k) for k hashes",
     NULL, KEY_ITEM_ARGS},
    {"bf.stats", cmd_stats, READS, 2, "0.1.0",
     "Returns everything there is to know about a filter, and advice", LAYERS_COST, "dont_cache",
     KEY_ARGS},
    {"bf.help", cmd_help, NO_KEY, 1, "0.2.0", "Returns one line for each command", "O(1)", NULL,
     NO_ARGS},
};

#define NCOMMANDS (sizeof(COMMANDS) / sizeof(COMMANDS[0]))

/* ---- BF.HELP ------------------------------------------------------------------------------ */

/* Writes the syntax of arguments, up to the one without a name, and returns where it ends. */
static char *write_args(const arg *args, const char *separator, char *at, char *end);

static char *write_text(char *at, char *end, const char *text) {
    while (*text && at + 1 < end) *at++ = *text++;
    *at = '\0';
    return at;
}

static char *write_arg(const arg *a, char *at, char *end) {
    bool is_optional = a->flags & REDISMODULE_CMD_ARG_OPTIONAL;
    bool is_choice = a->type == REDISMODULE_ARG_TYPE_ONEOF;
    bool is_token = a->type == REDISMODULE_ARG_TYPE_PURE_TOKEN;
    if (is_optional) at = write_text(at, end, "[");
    if (a->token) at = write_text(at, end, a->token);
    if (a->token && !is_token) at = write_text(at, end, " ");
    if (a->subargs) {
        at = write_args(a->subargs, is_choice ? "|" : " ", at, end);
    } else if (!is_token) {
        at = write_text(at, end, a->name);
    }
    if (a->flags & REDISMODULE_CMD_ARG_MULTIPLE) at = write_text(at, end, " ...");
    return is_optional ? write_text(at, end, "]") : at;
}

static char *write_args(const arg *args, const char *separator, char *at, char *end) {
    for (const arg *a = args; a->name; a++) {
        if (a != args) at = write_text(at, end, separator);
        at = write_arg(a, at, end);
    }
    return at;
}

/* BF.HELP. One line for each command: BF.ADD key item: Adds an item, ... */
int cmd_help(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    if (argc != 1) return RedisModule_WrongArity(ctx);
    RedisModule_ReplyWithArray(ctx, (long)NCOMMANDS);
    for (size_t i = 0; i < NCOMMANDS; i++) {
        char line[1024], *end = line + sizeof(line), *at = line;
        for (const char *c = COMMANDS[i].name; *c; c++) *at++ = (char)toupper((unsigned char)*c);
        at = write_text(at, end, COMMANDS[i].args->name ? " " : "");
        at = write_args(COMMANDS[i].args, " ", at, end);
        at = write_text(at, end, ": ");
        write_text(at, end, COMMANDS[i].summary);
        RedisModule_ReplyWithSimpleString(ctx, line);
    }
    return REDISMODULE_OK;
}

/* ---- Registration ------------------------------------------------------------------------- */

/* Newer than the API of Redis 7.0, so looked up at run time: ACL categories of modules. */
static struct {
    int (*add_category)(RedisModuleCtx *ctx, const char *name);
    int (*set_categories)(RedisModuleCommand *command, const char *names);
} acl;

static void look_up_acl(RedisModuleCtx *ctx) {
    RedisModule_GetApi("RedisModule_AddACLCategory", (void *)&acl.add_category);
    RedisModule_GetApi("RedisModule_SetCommandACLCategories", (void *)&acl.set_categories);
    // Without the category of its own no set of categories that names it would be taken.
    if (!acl.add_category || acl.add_category(ctx, "bloom") != REDISMODULE_OK) {
        acl.set_categories = NULL;
    }
}

/* The categories that follow from the flags, so that the two agree. */
static const char *categories_of(const struct command *command) {
    const char *flags = USES[command->use].flags;
    bool writes = strncmp(flags, "write", strlen("write")) == 0;
    bool is_fast = strstr(flags, "fast") != NULL;
    if (writes) return is_fast ? "write fast bloom" : "write bloom";
    return is_fast ? "read fast bloom" : "read bloom";
}

static int document(RedisModuleCommand *handle, const struct command *command) {
    RedisModuleCommandKeySpec key_specs[] = {
        {.flags = (uint64_t)USES[command->use].key_flags,
         .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
         .bs.index.pos = 1,
         .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
         .fk.range = {.lastkey = 0, .keystep = 1, .limit = 0}},
        {.flags = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS,
         .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
         .bs.index.pos = 2,
         .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
         .fk.range = {.lastkey = -1, .keystep = 1, .limit = 0}},
        {0}};
    if (!USES[command->use].has_sources) key_specs[1] = key_specs[2];
    if (command->use == NO_KEY) key_specs[0] = key_specs[2];
    RedisModuleCommandInfo info = {
        .version = &INFO_VERSION,
        .summary = command->summary,
        .complexity = command->complexity,
        .since = command->since,
        .tips = command->tips,
        .arity = command->arity,
        .key_specs = key_specs,
        .args = (RedisModuleCommandArg *)command->args,
    };
    return RedisModule_SetCommandInfo(handle, &info);
}

static int register_one(RedisModuleCtx *ctx, const struct command *command) {
    int first_key = command->use == NO_KEY ? 0 : 1;
    int last_key = USES[command->use].has_sources ? -1 : first_key;
    if (RedisModule_CreateCommand(ctx, command->name, command->handler, USES[command->use].flags,
                                  first_key, last_key, first_key) != REDISMODULE_OK) {
        RedisModule_Log(ctx, "warning",
                        "%s exists already: another module or this server itself has BF.*",
                        command->name);
        return REDISMODULE_ERR;
    }
    RedisModuleCommand *handle = RedisModule_GetCommand(ctx, command->name);
    if (!handle || document(handle, command) != REDISMODULE_OK ||
        (acl.set_categories &&
         acl.set_categories(handle, categories_of(command)) != REDISMODULE_OK)) {
        RedisModule_Log(ctx, "warning", "the server refuses the description of %s", command->name);
        return REDISMODULE_ERR;
    }
    return REDISMODULE_OK;
}

int command_table_register(RedisModuleCtx *ctx) {
    look_up_acl(ctx);
    for (size_t i = 0; i < NCOMMANDS; i++) {
        if (register_one(ctx, &COMMANDS[i]) != REDISMODULE_OK) return REDISMODULE_ERR;
    }
    return REDISMODULE_OK;
}
