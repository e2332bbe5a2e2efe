/* The command line: every option of every command, parsed and checked in one place. */

#ifndef BLOOMPORT_TOOL_OPTIONS_H
#define BLOOMPORT_TOOL_OPTIONS_H

#include "rdb/tool/file.h"
#include "rdb/tool/items.h"
#include "rdb/tool/table.h"
#include "rdb/tool/target.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
    char **operands;
    int noperands;
    struct items_how how; // how items are written
    bool absent, count, json, replace, quiet;
    bool prefix;                      // the filter of a table is read as one of prefixes
    double error_rate;                // 0: not given
    double bits_per_key;              // 0: not given
    uint64_t capacity, items, nbits;  // 0: not given
    uint32_t expansion;               // 0: non-scaling
    bool has_expansion;               // given, not the default
    const char *like, *like_key;      // a file, a key; NULL: not given
    const char *from_set, *from_keys; // a key, a pattern; NULL: not given
    bool is_memory;                   // nbits comes from --memory: 8 times its bytes
    const char *sort, *states;        // NULL: not given
    uint32_t window, generations;     // seconds, and of the window; 0: not given
    enum layout layout;
    enum scheme scheme;
    bool has_layout, has_scheme;   // given, not the defaults
    enum file_format from, format; // FILE_UNKNOWN: not given
    const char *variant_word;      // NULL: not given
    enum variant variant;          // of the format variant_of, read or written
    enum file_format variant_of;
    const char *output;         // NULL: standard output
    const char *key, *redisson; // NULL: not given
    const char *key_to;         // NULL: not given
    struct target server;
    struct target source, destination; // of copy
    bool has_source, has_destination, merge;
    bool on_server; // check: the filter is a key
    bool nocreate;  // add: the key must exist
};

/* Parses what follows the command's name, argv[0]. False if --help was given and the help printed;
 * any error ends the program. */
bool options_parse(const struct command *command, int argc, char **argv, struct options *out);

/* Ends the program unless there are `least` to `most` operands. */
void options_need_operands(const struct options *options, int least, int most, const char *what);

#endif
