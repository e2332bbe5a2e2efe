/* The command line. See options.h.
 *
 * One table has all options. A command names those it takes by their letters, so that an option
 * means the same wherever it appears, and --help cannot forget one. */

#define _GNU_SOURCE // getopt_long
#include "rdb/tool/options.h"

#include "rdb/tool/tool.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP 1 // not a letter

static const struct {
    char letter;
    bool is_short; // the letter is an option too: -o
    const char *name, *argument, *help;
} table[] = {
    {'0', true, "null", NULL, "items end in a NUL byte instead of a newline"},
    {'x', false, "hex", NULL, "items are written as hexadecimal digits, two a byte"},
    {'v', true, "absent", NULL, "print the items that are surely not in the filter"},
    {'c', true, "count", NULL, "print only how many they are"},
    {'e', false, "error", "rate", "false-positive rate, between 0 and 1 (build: 0.01)"},
    {'b', false, "bits-per-key", "bits", "bits per item, 1 to 256, instead of --error"},
    {'n', false, "capacity", "n", "items the filter is sized for (build: as many as are read)"},
    {'l', false, "layout", "name",
     "classic (fewest bits), blocked (fastest) or counting (size only)"},
    {'H', false, "hash", "name",
     "xxh64 (default) or fnv1a; portable and sstable files do not record it"},
    {'f', false, "from", "format", "the file's format; all but leveldb are recognised without it"},
    {'F', false, "format", "format",
     "portable (default), sstable, leveldb, parquet, redisbloom, valkeybloom, dump"},
    {'T', false, "to", "format",
     "portable, sstable, leveldb, parquet, redisbloom, valkeybloom, dump"},
    {'o', true, "output", "file", "where to write (standard output)"},
    {'j', false, "json", NULL, "print one JSON object"},
    {'k', false, "key", "key", "the key on the server"},
    {'h', true, "host", "name", "the server's host (127.0.0.1)"},
    {'p', true, "port", "port", "the server's port (6379)"},
    {'s', true, "socket", "path", "the server's Unix socket, instead of host and port"},
    {'d', false, "db", "number", "the database (0)"},
    {'r', false, "replace", NULL, "replace the key if it exists"},
    {'N', false, "items", "n", "how many items"},
    {'B', false, "bits", "n", "how many bits in all"},
    {'M', false, "memory", "size", "how many bytes in all; K, M, G, T count in 1024"},
    {'w', false, "window", "time", "items are forgotten after this time: seconds, or 15m, 24h, 7d"},
    {'g', false, "generations", "n", "parts that the window is forgotten in, 1 to 64 (4)"},
};
#define NOPTIONS (sizeof(table) / sizeof(table[0]))

/* ---- Values ------------------------------------------------------------------------------- */

/* The decimal number at the front of a text; *end: what follows, or the text if there is none.
 * strtod alone would take spaces, signs, "inf", "nan" and hexadecimal too. */
static double take_number(const char *text, const char **end) {
    bool is_decimal = (*text >= '0' && *text <= '9') || *text == '.';
    bool is_hex = text[0] == '0' && (text[1] | 0x20) == 'x';
    *end = text;
    if (!is_decimal || is_hex) return 0;
    char *stop;
    double value = strtod(text, &stop);
    *end = stop;
    return value;
}

static double parse_real(const char *name, const char *text) {
    const char *end;
    double value = take_number(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) {
        tool_die("--%s: '%s' is not a number", name, text);
    }
    return value;
}

/* What a letter after a size multiplies it by; 0 if it is no unit. */
static double unit_of(char letter) {
    switch (letter) {
    case 'K':
    case 'k': return 0x1p10;
    case 'M':
    case 'm': return 0x1p20;
    case 'G':
    case 'g': return 0x1p30;
    case 'T':
    case 't': return 0x1p40;
    default: return 0;
    }
}

/* A whole number from 1 on, written in digits or as 1e9; for sizes also with a unit, as 1.5G. */
static uint64_t parse_whole(const char *name, const char *text, bool may_have_unit) {
    bool is_digits = text[strspn(text, "0123456789")] == '\0';
    const char *end;
    double value = take_number(text, &end);
    double unit = may_have_unit ? unit_of(*end) : 0;
    if (unit != 0) value *= unit, end++;
    uint64_t whole = 0;
    if (is_digits) {
        whole = strtoull(text, NULL, 10); // exact where a double is not; at most ULLONG_MAX
    } else if (end != text && *end == '\0' && value >= 1 && value < 0x1p63) {
        whole = (uint64_t)value;
    }
    bool is_whole = is_digits || unit != 0 || (double)whole == value;
    if (whole < 1 || whole > INT64_MAX || !is_whole) {
        tool_die("--%s: '%s' is not a number from 1 to 2^63-1", name, text);
    }
    return whole;
}

/* The seconds of a unit of time; 0 if the letter is none. */
static double seconds_of(char letter) {
    switch (letter) {
    case 's': return 1;
    case 'm': return 60;
    case 'h': return 3600;
    case 'd': return 86400;
    default: return 0;
    }
}

/* A whole number of seconds, with or without a unit: 90, 1.5h. */
static uint32_t parse_window(const char *text) {
    const char *end;
    double value = take_number(text, &end);
    double unit = end == text ? 0 : seconds_of(*end);
    if (unit != 0) value *= unit, end++;
    bool is_time = end != text && *end == '\0' && value >= 1 && value <= LIMITS_MAX_WINDOW;
    if (!is_time || value != floor(value)) {
        tool_die("--window: '%s' is not a time from 1 to %u seconds, as 90, 15m, 24h or 7d", text,
                 LIMITS_MAX_WINDOW);
    }
    return (uint32_t)value;
}

static int parse_small(const char *name, const char *text, int least, int most) {
    const char *end = text + strspn(text, "0123456789");
    long value = strtol(text, NULL, 10); // more than a long holds is LONG_MAX
    if (end == text || *end != '\0' || value < least || value > most) {
        tool_die("--%s: '%s' is not a number from %d to %d", name, text, least, most);
    }
    return (int)value;
}

static double parse_between(const char *name, const char *text, double over, double under) {
    double value = parse_real(name, text);
    if (!(value > over && value < under)) {
        tool_die("--%s: %s is not between %g and %g", name, text, over, under);
    }
    return value;
}

static double parse_bits_per_key(const char *text) {
    double value = parse_real("bits-per-key", text);
    if (!(value >= LIMITS_MIN_BITS_PER_KEY && value <= LIMITS_MAX_BITS_PER_KEY)) {
        tool_die("--bits-per-key: %s is not from 1 to 256", text);
    }
    return value;
}

static enum layout parse_layout(const char *text) {
    if (strcmp(text, "classic") == 0) return LAYOUT_CLASSIC;
    if (strcmp(text, "blocked") == 0) return LAYOUT_BLOCKED;
    if (strcmp(text, "counting") == 0) return LAYOUT_COUNTING;
    tool_die("--layout: '%s' is none of classic, blocked and counting", text);
}

static enum scheme parse_scheme(const char *text) {
    if (strcmp(text, "xxh64") == 0) return SCHEME_XXH64;
    if (strcmp(text, "fnv1a") == 0) return SCHEME_FNV1A;
    tool_die("--hash: '%s' is neither xxh64 nor fnv1a", text);
}

static enum file_format parse_format(const char *name, const char *text) {
    enum file_format format = file_format_of(text);
    if (format == FILE_UNKNOWN) tool_die("--%s: there is no format '%s'", name, text);
    return format;
}

/* ---- Options ------------------------------------------------------------------------------ */

static void set_option(int letter, const char *value, struct options *o) {
    switch (letter) {
    case '0': o->nul = true; break;
    case 'x': o->hex = true; break;
    case 'v': o->absent = true; break;
    case 'c': o->count = true; break;
    case 'e': o->error_rate = parse_between("error", value, 0, 1); break;
    case 'b': o->bits_per_key = parse_bits_per_key(value); break;
    case 'n': o->capacity = parse_whole("capacity", value, false); break;
    case 'l': o->layout = parse_layout(value), o->has_layout = true; break;
    case 'H': o->scheme = parse_scheme(value), o->has_scheme = true; break;
    case 'f': o->from = parse_format("from", value); break;
    case 'F': o->format = parse_format("format", value); break;
    case 'T': o->format = parse_format("to", value); break;
    case 'o': o->output = strcmp(value, "-") == 0 ? NULL : value; break;
    case 'j': o->json = true; break;
    case 'k': o->key = value; break;
    case 'h': o->host = value; break;
    case 'p': o->port = parse_small("port", value, 1, 65535); break;
    case 's': o->socket = value; break;
    case 'd': o->database = parse_small("db", value, 0, 1000000); break;
    case 'r': o->replace = true; break;
    case 'N': o->items = parse_whole("items", value, false); break;
    case 'B': o->nbits = parse_whole("bits", value, false), o->is_memory = false; break;
    case 'w': o->window = parse_window(value); break;
    case 'g':
        o->generations = (uint32_t)parse_small("generations", value, 1, LIMITS_MAX_GENERATIONS);
        break;
    default:
        o->nbits = parse_whole("memory", value, true);
        if (o->nbits > SIZING_MAX_BITS / 8) tool_die("--memory: more than any machine has");
        o->nbits *= 8;
        o->is_memory = true;
        break;
    }
}

static void print_help(const struct command *command) {
    printf("usage: bloomport %s [options]%s%s\n\n%s\n\n", command->name,
           *command->operands ? " " : "", command->operands, command->summary);
    for (size_t i = 0; i < NOPTIONS; i++) {
        if (!strchr(command->letters, table[i].letter)) continue;
        char left[32], letter[8] = "   ";
        if (table[i].is_short) snprintf(letter, sizeof(letter), "-%c,", table[i].letter);
        snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].argument ? " " : "",
                 table[i].argument ? table[i].argument : "");
        printf("  %s %-22s %s\n", letter, left, table[i].help);
    }
    printf("      %-22s %s\n", "--help", "this text");
}

/* The command's share of the table, as getopt_long wants it. */
static void select_options(const struct command *command, struct option *longs, char *shorts) {
    for (size_t i = 0; i < NOPTIONS; i++) {
        if (!strchr(command->letters, table[i].letter)) continue;
        int takes = table[i].argument ? required_argument : no_argument;
        *longs++ = (struct option){table[i].name, takes, NULL, table[i].letter};
        if (table[i].is_short) *shorts++ = table[i].letter;
        if (table[i].is_short && table[i].argument) *shorts++ = ':';
    }
    *longs++ = (struct option){"help", no_argument, NULL, HELP};
    *longs = (struct option){0};
    *shorts = '\0';
}

bool options_parse(const struct command *command, int argc, char **argv, struct options *out) {
    struct option longs[NOPTIONS + 2];
    char shorts[2 * NOPTIONS + 2] = ":"; // ':' first: getopt_long prints nothing itself
    select_options(command, longs, shorts + 1);
    *out = (struct options){.from = FILE_UNKNOWN, .format = FILE_UNKNOWN, .port = 6379};
    for (int letter; (letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (letter == HELP) {
            print_help(command);
            return false;
        }
        const char *word = argv[optind - 1];
        if (letter == ':') tool_die("%s needs a value", word);
        if (letter == '?') tool_die("%s has no option %s, see --help", command->name, word);
        set_option(letter, optarg, out);
    }
    if (out->error_rate != 0 && out->bits_per_key != 0) {
        tool_die("--error and --bits-per-key exclude each other, give one");
    }
    if (!limits_is_geometry((struct geometry){out->layout, out->scheme})) {
        tool_die("layout blocked goes with hash xxh64 only");
    }
    out->operands = argv + optind;
    out->noperands = argc - optind;
    return true;
}

void options_need_operands(const struct options *options, int least, int most, const char *what) {
    if (options->noperands < least) tool_die("%s is missing, see --help", what);
    if (options->noperands > most) tool_die("unexpected '%s'", options->operands[most]);
}
