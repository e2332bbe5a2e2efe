/* bloomport: Bloom filters without a server. See tool.h for the parts, bloomport.1 for the use. */

#include "module/core/mem.h"
#include "rdb/tool/help.h"
#include "rdb/tool/options.h"
#include "rdb/tool/report.h"
#include "rdb/tool/tool.h"

#include <stdio.h>
#include <string.h>

void *tool_alloc(size_t size) {
    void *block = mem_alloc(size);
    if (!block) tool_die("no memory for %zu bytes", size);
    return block;
}

const char *tool_scheme_name(enum scheme scheme) {
    return scheme_row(scheme)->word;
}

static const struct command *find_command(const char *word) {
    for (size_t i = 0; i < table_ncommands; i++) {
        if (strcmp(word, table_commands[i].name) == 0) return &table_commands[i];
    }
    help_refuse_command(word);
}

/* help, help build, --help, -h, version, --version. */
static bool is_about_itself(int argc, char **argv) {
    const char *word = argv[1];
    bool is_help = strcmp(word, "help") == 0;
    if (is_help && argc > 2) {
        help_command(find_command(argv[2]));
    } else if (is_help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help_usage(stdout);
    } else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
               strcmp(word, "version") == 0) {
        help_version();
    } else {
        return false;
    }
    return true;
}

static int run(int argc, char **argv) {
    if (is_about_itself(argc, argv)) return TOOL_OK;
    const struct command *command = find_command(argv[1]);
    static struct options options; // its strings live as long as the program
    if (!options_parse(command, argc - 1, argv + 1, &options)) return TOOL_OK;
    report_begin(options.quiet);
    return command->run(&options);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        help_usage(stderr);
        return TOOL_TROUBLE;
    }
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) report_lost_output();
    return status;
}
