/* The command line. See options.h; table.c has the options. */

#define _GNU_SOURCE // getopt_long
#include "rdb/tool/options.h"

#include "rdb/tool/help.h"
#include "rdb/tool/tool.h"
#include "rdb/tool/values.h"

#include <getopt.h>
#include <stdlib.h>
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
static bool set_shape(enum option_id id, const char *name, const char *value, struct options *o) {
    switch (id) {
    case OPTION_ERROR: o->error_rate = values_between("error", value, 0, 1); break;
    case OPTION_BITS_PER_KEY: o->bits_per_key = values_bits_per_key(value); break;
    case OPTION_CAPACITY: o->capacity = values_count("capacity", value); break;
    case OPTION_EXPANSION:
        o->expansion = (uint32_t)values_small("expansion", value, 0, LIMITS_MAX_EXPANSION);
        o->has_expansion = true;
        break;
    case OPTION_LIKE: o->like = value; break;
    case OPTION_LIKE_KEY: o->like_key = value; break;
    case OPTION_FROM_SET: o->from_set = value; break;
    case OPTION_FROM_KEYS: o->from_keys = value; break;
    case OPTION_LAYOUT: o->layout = values_layout(value), o->has_layout = true; break;
    case OPTION_HASH: o->scheme = values_scheme(value), o->has_scheme = true; break;
    case OPTION_ITEMS: o->items = values_count(name, value); break;
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

/* Options of the connection. */
static bool set_target(enum option_id id, char *value, struct target *t) {
    switch (id) {
    case OPTION_HOST: t->host = value, t->has_address = true; break;
    case OPTION_PORT:
        t->port = values_small("port", value, 1, 65535);
        t->has_address = true;
        break;
    case OPTION_SOCKET: t->socket = value, t->has_address = true; break;
    case OPTION_DB:
        t->database = values_small("db", value, 0, 1000000);
        t->has_database = true;
        break;
    case OPTION_URL: target_parse_url(t, value, "url"), t->has_url = true; break;
    case OPTION_USER: t->user = value; break;
    case OPTION_PASS: target_set_password(t, value); break;
    case OPTION_TLS: t->is_tls = true; break;
    case OPTION_CACERT: t->cacert = value; break;
    case OPTION_CACERTDIR: t->cacertdir = value; break;
    case OPTION_CERT: t->cert = value; break;
    case OPTION_TLS_KEY: t->private_key = value; break;
    case OPTION_SNI: t->sni = value; break;
    case OPTION_INSECURE: t->is_insecure = true; break;
    case OPTION_INSECURE_NAME: t->is_any_name = true; break;
    case OPTION_TIMEOUT: t->timeout = values_small("timeout", value, 0, 86400); break;
    case OPTION_CLUSTER: t->is_cluster = true; break;
    default: return false;
    }
    return true;
}

/* Options of what is read and written. */
static void set_files(enum option_id id, const char *name, const char *value, struct options *o) {
    switch (id) {
    case OPTION_NULL: o->how.nul = true; break;
    case OPTION_HEX: o->how.hex = true; break;
    case OPTION_COLUMN: o->how.column = (uint32_t)values_small("column", value, 1, 1000000); break;
    case OPTION_DELIMITER: o->how.delimiter = values_delimiter(value); break;
    case OPTION_FROM_LINE: o->how.from_line = values_count("from-line", value); break;
    case OPTION_ABSENT: o->absent = true; break;
    case OPTION_COUNT: o->count = true; break;
    case OPTION_FROM_FORMAT: o->from = values_format(name, value); break;
    case OPTION_TO_FORMAT: o->format = values_format(name, value); break;
    case OPTION_PREFIX: o->prefix = true; break;
    case OPTION_VARIANT: o->variant_word = value; break;
    case OPTION_OUTPUT: o->output = strcmp(value, "-") == 0 ? NULL : value; break;
    case OPTION_JSON: o->json = true; break;
    case OPTION_QUIET: o->quiet = true; break;
    case OPTION_SERVER: o->on_server = true; break;
    case OPTION_SORT: o->sort = value; break;
    case OPTION_STATE: o->states = value; break;
    case OPTION_KEY: o->key = value; break;
    case OPTION_REDISSON: o->redisson = value; break;
    case OPTION_KEY_TO: o->key_to = value; break;
    case OPTION_MERGE: o->merge = true; break;
    case OPTION_NOCREATE: o->nocreate = true; break;
    case OPTION_REPLACE: o->replace = true; break;
    default: break;
    }
}

static bool set_urls(enum option_id id, char *value, struct options *o) {
    if (id == OPTION_FROM_URL) target_parse_url(&o->source, value, "from"), o->has_source = true;
    if (id == OPTION_TO_URL)
        target_parse_url(&o->destination, value, "to"), o->has_destination = true;
    return id == OPTION_FROM_URL || id == OPTION_TO_URL;
}

static void set_option(enum option_id id, const char *name, char *value, struct options *o) {
    if (set_urls(id, value, o)) return;
    if (set_shape(id, name, value, o) || set_target(id, value, &o->server)) return;
    set_files(id, name, value, o);
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
    if (!word) word = argv[optind - 2]; // musl's optind counts a missing value
    // "-h" alone is a cry for help, where it is no host.
    if (found == ':' && strcmp(word, "-h") == 0) found = 256 + row_of_letter(command, 'h');
    if (found == ':') tool_die("%s needs a value, see bloomport help %s", word, command->name);
    char letter[3] = {'-', (char)optopt, '\0'}; // of a group like -qz, which optind has not passed
    bool is_letter = optopt > 0 && optopt < 256;
    if (found == '?') help_refuse_option(command, is_letter ? letter : word);
    return found >= 256 ? found - 256 : row_of_letter(command, found);
}

static void check_shape(const struct options *options) {
    if (options->error_rate != 0 && options->bits_per_key != 0) {
        tool_die("--error and --bits-per-key exclude each other, give one");
    }
    if (!limits_is_geometry((struct geometry){options->layout, options->scheme})) {
        tool_die("layout %s goes with hash xxh64 only", layout_word(options->layout));
    }
}

static void check_target(const struct target *target, bool is_tls) {
    if (target->user && !target->password && !getenv("REDISCLI_AUTH")) {
        tool_die("--user '%s' has no password: REDISCLI_AUTH or --pass gives it", target->user);
    }
    if (target->has_url && target->has_address) {
        tool_die("-u names the server: -h, -p and -s do not go with it");
    }
    if (target->private_key && !target->cert) tool_die("--tls-key goes with --cert");
    bool has_tls_words =
        target->cacert || target->cacertdir || target->cert || target->sni || target->is_any_name;
    if (has_tls_words && !is_tls) {
        tool_die("--cacert, --cacertdir, --cert, --sni and --insecure-name go with --tls or a "
                 "rediss:// URL");
    }
    if (target->is_cluster && target->database != 0) tool_die("a cluster has database 0 only");
}

static void check_columns(struct items_how *how) {
    if (how->delimiter && !how->column) tool_die("--delimiter goes with --column");
    if (!how->delimiter) how->delimiter = '\t';
}

/* A variant is one of the format that is read, if that is named, else of the one that is written.
 */
static void find_variant(struct options *o) {
    if (!o->variant_word) return;
    enum file_format format = o->from != FILE_UNKNOWN ? o->from : o->format;
    if (format >= (enum file_format)FORMAT_COUNT)
        tool_die("--variant goes with --format, which it is of");
    size_t len = strlen(o->variant_word);
    if (!formats_find_variant((enum format)format, o->variant_word, len, &o->variant)) {
        tool_die("--variant: format %s has no variant '%s'", file_format_name(format),
                 o->variant_word);
    }
    o->variant_of = format;
}

bool options_parse(const struct command *command, int argc, char **argv, struct options *out) {
    struct share share;
    select_options(command, &share);
    *out = (struct options){.from = FILE_UNKNOWN,
                            .format = FILE_UNKNOWN,
                            .variant_of = FILE_UNKNOWN,
                            .server = TARGET_DEFAULT,
                            .source = TARGET_DEFAULT,
                            .destination = TARGET_DEFAULT};
    for (int i; (i = next_row(command, argc, argv, &share)) != -1;) {
        const struct option_row *row = &table_options[i];
        if (row->id == OPTION_HELP || (row->id == OPTION_HOST && !optarg)) {
            help_command(command);
            return false;
        }
        set_option(row->id, row->name, optarg, out);
    }
    check_shape(out);
    check_target(&out->server, out->server.is_tls || out->source.is_tls || out->destination.is_tls);
    check_columns(&out->how);
    find_variant(out);
    out->operands = argv + optind;
    out->noperands = argc - optind;
    return true;
}

void options_need_operands(const struct options *options, int least, int most, const char *what) {
    if (options->noperands < least) tool_die("%s is missing, see --help", what);
    if (options->noperands > most) tool_die("unexpected '%s'", options->operands[most]);
}
