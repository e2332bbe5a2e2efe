/* The command line. See options.h; table.c has the options. */

#define _GNU_SOURCE // getopt_long
#include "rdb/tool/options.h"

#include "rdb/tool/help.h"
#include "rdb/tool/tool.h"
#include "rdb/tool/values.h"

#include <getopt.h>
#include <string.h>

#define MOST 128 // options of one command

/* ---- Values ------------------------------------------------------------------------------- */

static void set_memory(const char *value, struct options *o) {
    o->nbits = values_bytes("memory", value);
    if (o->nbits > SIZING_MAX_BITS / 8) tool_die("--memory: more than any machine has");
    o->nbits *= 8;
    o->is_memory = true;
}

/* Options of what a filter is. */
static bool set_shape(enum option_id id, const char *value, struct options *o) {
    switch (id) {
    case OPTION_ERROR: o->error_rate = values_between("error", value, 0, 1); break;
    case OPTION_BITS_PER_KEY: o->bits_per_key = values_bits_per_key(value); break;
    case OPTION_CAPACITY: o->capacity = values_count("capacity", value); break;
    case OPTION_LAYOUT: o->layout = values_layout(value), o->has_layout = true; break;
    case OPTION_HASH: o->scheme = values_scheme(value), o->has_scheme = true; break;
    case OPTION_ITEMS: o->items = values_count("items", value); break;
    case OPTION_BITS: o->nbits = values_count("bits", value), o->is_memory = false; break;
    case OPTION_MEMORY: set_memory(value, o); break;
    case OPTION_WINDOW: o->window = values_window(value); break;
    case OPTION_GENERATIONS:
        o->generations = (uint32_t)values_small("generations", value, 1, LIMITS_MAX_GENERATIONS);
        break;
    default: return false;
    }
    return true;
}

/* Options of the server. */
static bool set_server(enum option_id id, const char *value, struct options *o) {
    switch (id) {
    case OPTION_KEY: o->key = value; break;
    case OPTION_REPLACE: o->replace = true; break;
    case OPTION_HOST: o->host = value; break;
    case OPTION_PORT: o->port = values_small("port", value, 1, 65535); break;
    case OPTION_SOCKET: o->socket = value; break;
    case OPTION_DB: o->database = values_small("db", value, 0, 1000000); break;
    default: return false;
    }
    return true;
}

/* Options of what is read and written. */
static void set_files(enum option_id id, const char *name, const char *value, struct options *o) {
    switch (id) {
    case OPTION_NULL: o->nul = true; break;
    case OPTION_HEX: o->hex = true; break;
    case OPTION_ABSENT: o->absent = true; break;
    case OPTION_COUNT: o->count = true; break;
    case OPTION_FROM_FORMAT: o->from = values_format(name, value); break;
    case OPTION_TO_FORMAT: o->format = values_format(name, value); break;
    case OPTION_OUTPUT: o->output = strcmp(value, "-") == 0 ? NULL : value; break;
    case OPTION_JSON: o->json = true; break;
    case OPTION_QUIET: o->quiet = true; break;
    default: break;
    }
}

static void set_option(enum option_id id, const char *name, const char *value, struct options *o) {
    if (!set_shape(id, value, o) && !set_server(id, value, o)) set_files(id, name, value, o);
}

/* ---- The command line ---------------------------------------------------------------------- */

/* A command's share of the table, as getopt_long wants it. Options are returned as the number of
 * their row, over every letter. */
struct share {
    struct option longs[MOST + 1];
    char shorts[2 * MOST + 2];
};

static int row_of_letter(const struct command *command, int letter) {
    for (size_t i = 0; i < table_noptions; i++) {
        const struct option_row *row = &table_options[i];
        if (row->letter == letter && row->commands & command->bit) return (int)i;
    }
    return -1;
}

static void select_options(const struct command *command, struct share *share) {
    struct option *longs = share->longs;
    char *shorts = share->shorts;
    *shorts++ = ':'; // first: getopt_long prints nothing itself
    for (size_t i = 0; i < table_noptions; i++) {
        const struct option_row *row = &table_options[i];
        if (!(row->commands & command->bit)) continue;
        int takes = row->argument ? required_argument : no_argument;
        *longs++ = (struct option){row->name, takes, NULL, 256 + (int)i};
        if (row->letter) *shorts++ = row->letter;
        if (row->letter && row->argument) *shorts++ = ':';
    }
    *longs = (struct option){0};
    *shorts = '\0';
}

/* The row of the next option; -1 if there are no more. */
static int next_row(const struct command *command, int argc, char **argv,
                    const struct share *share) {
    int found = getopt_long(argc, argv, share->shorts, share->longs, NULL);
    const char *word = argv[optind - 1];
    if (found == -1) return -1;
    // "-h" alone is a cry for help, where it is no host.
    if (found == ':' && strcmp(word, "-h") == 0) found = 256 + row_of_letter(command, 'h');
    if (found == ':') tool_die("%s needs a value, see bloomport help %s", word, command->name);
    if (found == '?') help_refuse_option(command, word);
    return found >= 256 ? found - 256 : row_of_letter(command, found);
}

static void check_shape(const struct options *options) {
    if (options->error_rate != 0 && options->bits_per_key != 0) {
        tool_die("--error and --bits-per-key exclude each other, give one");
    }
    if (!limits_is_geometry((struct geometry){options->layout, options->scheme})) {
        tool_die("layout blocked goes with hash xxh64 only");
    }
}

bool options_parse(const struct command *command, int argc, char **argv, struct options *out) {
    struct share share;
    select_options(command, &share);
    *out = (struct options){.from = FILE_UNKNOWN, .format = FILE_UNKNOWN, .port = 6379};
    for (int i; (i = next_row(command, argc, argv, &share)) != -1;) {
        const struct option_row *row = &table_options[i];
        if (row->id == OPTION_HELP || (row->id == OPTION_HOST && !optarg)) {
            help_command(command);
            return false;
        }
        set_option(row->id, row->name, optarg, out);
    }
    check_shape(out);
    out->operands = argv + optind;
    out->noperands = argc - optind;
    return true;
}

void options_need_operands(const struct options *options, int least, int most, const char *what) {
    if (options->noperands < least) tool_die("%s is missing, see --help", what);
    if (options->noperands > most) tool_die("unexpected '%s'", options->operands[most]);
}
