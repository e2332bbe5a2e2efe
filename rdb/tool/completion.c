/* bloomport completion: what a shell needs to complete our words, written from the tables. The
 * files of module/extras/completions are its output. */

#include "rdb/tool/help.h"
#include "rdb/tool/options.h"
#include "rdb/tool/tool.h"

#include <stdio.h>
#include <string.h>

#define LAYOUT_AND_SPACE(NAME, word) word " "

/* Appends a word and a space. */
static size_t add_word(char *words, size_t size, size_t len, const char *word) {
    return len + (size_t)snprintf(words + len, size - len, "%s ", word);
}

static const char *variants(void) {
    static char words[64];
    size_t len = 0;
    for (int i = VARIANT_NONE + 1; i < VARIANT_COUNT; i++) {
        len = add_word(words, sizeof(words), len, formats_variant_name((enum variant)i));
    }
    return words;
}

static const char *formats(void) {
    static char words[256];
    size_t len = 0;
    for (int i = 0; i < FILE_UNKNOWN; i++) {
        len = add_word(words, sizeof(words), len, file_format_name((enum file_format)i));
    }
    return words;
}

/* The words that an option's value can be, with a space after each; NULL if there is no list. */
static const char *words_of(const char *kind) {
    if (!kind) return NULL;
    if (strcmp(kind, "layout") == 0) return LAYOUTS(LAYOUT_AND_SPACE);
    if (strcmp(kind, "order") == 0) return "state utilisation key items capacity error bytes ";
    if (strcmp(kind, "states") == 0) {
        return "overfilled full nearly-full many-layers clock-behind ok ";
    }
    if (strcmp(kind, "hash") == 0) return "xxh64 fnv1a ";
    if (strcmp(kind, "variant") == 0) return variants();
    return strcmp(kind, "format") == 0 ? formats() : NULL;
}

static bool is_file(const char *kind) {
    return kind && strcmp(kind, "file") == 0;
}

static bool is_shown(const struct option_row *row, const struct command *command) {
    return row->help && row->commands & command->bit;
}

/* Inside single quotes, where a quote of its own ends them. */
static void print_quoted(const char *text, const char *escaped) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
            continue;
        }
        if (strchr(escaped, *text)) putchar('\\');
        putchar(*text);
    }
}

/* ---- bash --------------------------------------------------------------------------------- */

/* The patterns command:option of all options of one kind. */
static void print_bash_kind(const char *kind) {
    const char *between = "    ";
    for (size_t i = 0; i < table_ncommands; i++) {
        for (size_t j = 0; j < table_noptions; j++) {
            const struct option_row *row = &table_options[j];
            if (!is_shown(row, &table_commands[i]) || !row->argument) continue;
            if (strcmp(row->argument, kind) != 0) continue;
            printf("%s%s:--%s", between, table_commands[i].name, row->name);
            if (row->letter) printf("|%s:-%c", table_commands[i].name, row->letter);
            between = "|";
        }
    }
}

static void print_bash_values(void) {
    static const char *const kinds[] = {"format", "variant", "layout", "hash",
                                        "order",  "states",  "file"};
    puts("    case ${COMP_WORDS[1]}:$previous in");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        print_bash_kind(kinds[i]);
        const char *words = words_of(kinds[i]);
        if (words) {
            printf(
                ")\n        mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\"); return ;;\n",
                words);
        } else {
            puts(")\n        mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;");
        }
    }
    puts("    esac");
}

static void print_bash_command(const struct command *command) {
    printf("    %s) words='", command->name);
    for (size_t i = 0; i < table_noptions; i++) {
        if (is_shown(&table_options[i], command)) printf("--%s ", table_options[i].name);
    }
    puts("' ;;");
}

static void print_bash(void) {
    fputs(
        "# bash completions for bloomport, written by `bloomport completion bash`.\n"
        "_bloomport() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
        "    local commands='",
        stdout);
    for (size_t i = 0; i < table_ncommands; i++) printf("%s ", table_commands[i].name);
    puts("help'\n"
         "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$commands --help --version\" -- "
         "\"$current\"); return\n"
         "    fi");
    print_bash_values();
    puts("    case ${COMP_WORDS[1]} in\n    help) words=$commands; current=${current:-} ;;");
    for (size_t i = 0; i < table_ncommands; i++) print_bash_command(&table_commands[i]);
    puts("    esac\n"
         "    [ \"${COMP_WORDS[1]}\" = completion ] && words='bash zsh fish'\n"
         "    case ${COMP_WORDS[1]}:$current in\n"
         "    help:*|completion:*|*:-*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
         "\"$current\") ;;\n"
         "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n"
         "    esac\n"
         "}\n"
         "complete -o filenames -F _bloomport bloomport");
}

/* ---- zsh ---------------------------------------------------------------------------------- */

static void print_zsh_option(const struct option_row *row) {
    fputs(" \\\n        ", stdout);
    if (row->letter)
        printf("'(-%c --%s)'{-%c,--%s}", row->letter, row->name, row->letter, row->name);
    printf("'%s%s%s[", row->letter ? "" : "--", row->letter ? "" : row->name,
           row->argument && !row->letter ? "=" : "");
    print_quoted(row->help, "]");
    putchar(']');
    const char *words = words_of(row->argument);
    if (words) {
        printf(":%s:(%.*s)", row->argument, (int)strlen(words) - 1, words);
    } else if (row->argument) {
        printf(":%s:%s", row->argument, is_file(row->argument) ? "_files" : " ");
    }
    putchar('\'');
}

static void print_zsh(void) {
    puts("#compdef bloomport\n"
         "# zsh completions for bloomport, written by `bloomport completion zsh`.\n"
         "_bloomport() {\n    local -a commands\n    commands=(");
    for (size_t i = 0; i < table_ncommands; i++) {
        printf("        '%s:", table_commands[i].name);
        print_quoted(table_commands[i].summary, "");
        puts("'");
    }
    puts("        'help:the help of a command'\n    )\n"
         "    if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
         "    case $command in\n    help) _describe command commands ;;");
    for (size_t i = 0; i < table_ncommands; i++) {
        printf("    %s) _arguments -s", table_commands[i].name);
        for (size_t j = 0; j < table_noptions; j++) {
            if (is_shown(&table_options[j], &table_commands[i]))
                print_zsh_option(&table_options[j]);
        }
        bool is_completion = table_commands[i].bit == COMPLETION;
        printf(" \\\n        '*:%s' ;;\n", is_completion ? "shell:(bash zsh fish)" : "file:_files");
    }
    puts("    esac\n}\n_bloomport \"$@\"");
}

/* ---- fish --------------------------------------------------------------------------------- */

static void print_fish_option(const struct command *command, const struct option_row *row) {
    printf("complete -c bloomport -n '__fish_seen_subcommand_from %s'", command->name);
    if (row->letter) printf(" -s %c", row->letter);
    printf(" -l %s", row->name);
    const char *words = words_of(row->argument);
    if (words) {
        printf(" -x -a '%.*s'", (int)strlen(words) - 1, words);
    } else if (row->argument) {
        fputs(is_file(row->argument) ? " -r -F" : " -x", stdout);
    }
    fputs(" -d '", stdout);
    print_quoted(row->help, "");
    puts("'");
}

static void print_fish(void) {
    puts("# fish completions for bloomport, written by `bloomport completion fish`.");
    for (size_t i = 0; i < table_ncommands; i++) {
        const struct command *command = &table_commands[i];
        printf("complete -c bloomport -n __fish_use_subcommand -f -a %s -d '", command->name);
        print_quoted(command->summary, "");
        puts("'");
        for (size_t j = 0; j < table_noptions; j++) {
            if (is_shown(&table_options[j], command)) print_fish_option(command, &table_options[j]);
        }
    }
    puts("complete -c bloomport -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'");
}

int completion_run(const struct options *options) {
    options_need_operands(options, 1, 1, "the shell, bash, zsh or fish,");
    static const char *const shells[] = {"bash", "zsh", "fish"};
    static void (*const print[])(void) = {print_bash, print_zsh, print_fish};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(options->operands[0], shells[i]) != 0) continue;
        print[i]();
        return TOOL_OK;
    }
    tool_die("no completions for '%s', but for bash, zsh and fish", options->operands[0]);
}
