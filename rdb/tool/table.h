/* Every command and every option there is. Parsing, --help, suggestions and completions all read
 * these two tables, so that none of them can forget one. */

#ifndef BLOOMPORT_TOOL_TABLE_H
#define BLOOMPORT_TOOL_TABLE_H

#include <stddef.h>

struct options;

/* One bit for each command: an option's row names those that take it. */
enum {
    BUILD = 1 << 0,
    CHECK = 1 << 1,
    INFO = 1 << 2,
    MERGE = 1 << 3,
    CONVERT = 1 << 4,
    PUSH = 1 << 5,
    PULL = 1 << 6,
    SIZE = 1 << 7,
    COMPLETION = 1 << 8,
    LIST = 1 << 9,
    COPY = 1 << 10,
    ADD = 1 << 11,
};

struct command {
    unsigned bit;
    const char *name, *operands, *summary;
    const char *examples; // lines
    int (*run)(const struct options *options);
};

extern const struct command table_commands[];
extern const size_t table_ncommands;

/* What getopt_long returns for an option. */
enum option_id {
    OPTION_NULL = 256, // over every letter
    OPTION_HEX,
    OPTION_COLUMN,
    OPTION_DELIMITER,
    OPTION_FROM_LINE,
    OPTION_FROM_SET,
    OPTION_FROM_KEYS,
    OPTION_ABSENT,
    OPTION_COUNT,
    OPTION_ERROR,
    OPTION_BITS_PER_KEY,
    OPTION_CAPACITY,
    OPTION_EXPANSION,
    OPTION_LIKE,
    OPTION_LIKE_KEY,
    OPTION_LAYOUT,
    OPTION_HASH,
    OPTION_REDISSON,
    OPTION_FROM_FORMAT, // of the file that is read
    OPTION_TO_FORMAT,   // of the file that is written
    OPTION_VARIANT,
    OPTION_PREFIX, // of RocksDB's keys, which some tables have in their filters
    OPTION_OUTPUT,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_KEY,
    OPTION_REPLACE,
    OPTION_KEY_TO,
    OPTION_MERGE,
    OPTION_NOCREATE,
    OPTION_FROM_URL,
    OPTION_TO_URL,
    OPTION_HOST,
    OPTION_PORT,
    OPTION_SOCKET,
    OPTION_DB,
    OPTION_URL,
    OPTION_USER,
    OPTION_PASS,
    OPTION_TLS,
    OPTION_CACERT,
    OPTION_CACERTDIR,
    OPTION_CERT,
    OPTION_TLS_KEY,
    OPTION_SNI,
    OPTION_INSECURE,
    OPTION_INSECURE_NAME,
    OPTION_TIMEOUT,
    OPTION_CLUSTER,
    OPTION_ITEMS,
    OPTION_BITS,
    OPTION_MEMORY,
    OPTION_WINDOW,
    OPTION_GENERATIONS,
    OPTION_SERVER,
    OPTION_SORT,
    OPTION_STATE,
    OPTION_HELP,
};

struct option_row {
    enum option_id id;
    char letter; // the short option; 0: there is none
    const char *name;
    const char *argument; // its kind, which completions know; NULL: it takes none
    unsigned commands;
    const char *help; // NULL: an old spelling, which --help does not list
};

extern const struct option_row table_options[];
extern const size_t table_noptions;

#endif
