/* bloomport: Bloom filters without a server. See tool.h for the parts, bloomport.1 for the use. */

#include "module/core/mem.h"
#include "rdb/tool/options.h"
#include "rdb/tool/output.h"
#include "rdb/tool/tool.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command commands[] = {
    {"build", "[file ...]", "a filter of the items of files, or of standard input", "0xebnlHFo",
     build_run},
    {"check", "filter [file ...]", "the items that the filter may contain", "0xvcfH", check_run},
    {"info", "filter", "what a file is: format, sizes, fill, estimated items, current error rate",
     "jfH", info_run},
    {"merge", "filter filter [...]", "the union of filters of equal geometry", "fHFo", merge_run},
    {"convert", "filter", "the same filter in another format", "fHTno", convert_run},
    {"push", "filter", "a filter from a file to a server", "khpsdfHnr", push_run},
    {"pull", "", "a filter from a server to a file", "khpsdFo", pull_run},
    {"size", "", "the calculator: any two numbers give the rest", "NBMeblHwg", size_run},
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

/* The length of the printable UTF-8 character at the front of a text; 0 if there is none. Control
 * characters are not printable, nor are U+0080 to U+009F, which some terminals obey, in any
 * encoding of them. */
static size_t printable_length(const unsigned char *at) {
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    if (at[0] < 0x80) return at[0] >= 0x20 && at[0] != 0x7f;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    size_t len = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    uint32_t character = at[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0; // the end of the text too
        character = character << 6 | (at[i] & 0x3f);
    }
    return character >= least[len] ? len : 0;
}

/* Texts of servers and file names must not move a cursor or rename a window: bytes that are not
 * printable become '?'. */
static void make_printable(char *text) {
    for (size_t len; *text; text += len) {
        len = printable_length((const unsigned char *)text);
        if (len == 0) *text = '?', len = 1;
    }
}

void tool_die(const char *format, ...) {
    static atomic_flag is_dying = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&is_dying)) pause(); // one line, of one thread
    char text[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    make_printable(text);
    fprintf(stderr, "bloomport: %s\n", text);
    output_abandon();
    fflush(stdout);
    _exit(TOOL_TROUBLE); // memory that is still allocated is no leak
}

void *tool_alloc(size_t size) {
    void *block = mem_alloc(size);
    if (!block) tool_die("no memory for %zu bytes", size);
    return block;
}

const char *tool_scheme_name(enum scheme scheme) {
    return scheme_row(scheme)->word;
}

const char *tool_layout_name(enum layout layout) {
    static const char *const NAMES[LAYOUT_COUNT] = {"classic", "blocked", "counting"};
    return NAMES[layout];
}

static void print_usage(FILE *out) {
    fputs("usage: bloomport command [options] ...\n\n", out);
    for (size_t i = 0; i < NCOMMANDS; i++) {
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fputs(
        "\nbloomport command --help lists the options of a command; man bloomport explains them.\n"
        "Exit status: 0 found or done, 1 nothing found, 2 error.\n",
        out);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return TOOL_TROUBLE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return TOOL_OK;
    }
    for (size_t i = 0; i < NCOMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0) continue;
        struct options options;
        if (!options_parse(&commands[i], argc - 1, argv + 1, &options)) return TOOL_OK;
        int status = commands[i].run(&options);
        if (fflush(stdout) != 0 || ferror(stdout)) tool_die("cannot write to standard output");
        return status;
    }
    tool_die("unknown command '%s', see bloomport --help", argv[1]);
}
