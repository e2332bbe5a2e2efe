/* The command line: every option of every command, parsed and checked in one place. */

#ifndef BLOOMPORT_TOOL_OPTIONS_H
#define BLOOMPORT_TOOL_OPTIONS_H

#include "rdb/tool/file.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
    char **operands;
    int noperands;
    bool nul, hex; // how items are written
    bool absent, count, json, replace;
    double error_rate;               // 0: not given
    double bits_per_key;             // 0: not given
    uint64_t capacity, items, nbits; // 0: not given
    bool is_memory;                  // nbits comes from --memory: 8 times its bytes
    uint32_t window, generations;    // seconds, and of the window; 0: not given
    enum layout layout;
    enum scheme scheme;
    bool has_layout, has_scheme;     // given, not the defaults
    enum file_format from, format;   // FILE_UNKNOWN: not given
    enum variant variant;            // of Cassandra's filters
    const char *output;              // NULL: standard output
    const char *key, *host, *socket; // NULL: not given
    int port, database;
};

struct command {
    const char *name, *operands, *summary;
    const char *letters; // letters of the options it takes, see the table in options.c
    int (*run)(const struct options *options);
};

/* Parses what follows the command's name, argv[0]. False if --help was given and the help printed;
 * any error ends the program. */
bool options_parse(const struct command *command, int argc, char **argv, struct options *out);

/* Ends the program unless there are `least` to `most` operands. */
void options_need_operands(const struct options *options, int least, int most, const char *what);

#endif
