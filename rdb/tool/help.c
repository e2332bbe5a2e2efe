/* What the program says of itself. See help.h. */

#include "rdb/tool/help.h"

#include "module/core/version.h"
#include "rdb/formats/formats.h"
#include "rdb/tool/tool.h"

#include <string.h>

void help_version(void) {
    printf("bloomport %d.%d.%d\n", VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH);
}

void help_usage(FILE *out) {
    fputs("usage: bloomport command [options] ...\n\n", out);
    for (size_t i = 0; i < table_ncommands; i++) {
        fprintf(out, "  %-10s %s\n", table_commands[i].name, table_commands[i].summary);
    }
    fputs("\nbloomport --version prints the version."
          "\nbloomport help command has the options of a command and examples; man bloomport"
          " explains them.\nExit status: 0 found or done, 1 nothing found (list: a filter is "
          "full), 2 error.\n",
          out);
}

/* ---- The help of a command ---------------------------------------------------------------- */

static void print_option(const struct option_row *row) {
    char left[40], letter[8] = "   ";
    if (row->letter) snprintf(letter, sizeof(letter), "-%c,", row->letter);
    snprintf(left, sizeof(left), "--%s%s%s", row->name, row->argument ? " " : "",
             row->argument ? row->argument : "");
    printf("  %s %-22s %s\n", letter, left, row->help);
}

/* Examples stand one a line; each is shown as it is typed. */
static void print_examples(const char *lines) {
    fputs("\nexamples:\n", stdout);
    for (const char *end; *lines; lines = end + 1) {
        end = strchr(lines, '\n');
        printf("  %.*s\n", (int)(end - lines), lines);
    }
}

void help_command(const struct command *command) {
    printf("usage: bloomport %s [options]%s%s\n\n%s\n\n", command->name,
           *command->operands ? " " : "", command->operands, command->summary);
    bool has_format = false;
    for (size_t i = 0; i < table_noptions; i++) {
        const struct option_row *row = &table_options[i];
        if (!row->help || !(row->commands & command->bit)) continue;
        print_option(row);
        has_format |= row->argument && strcmp(row->argument, "format") == 0;
    }
    if (has_format) printf("\nformats: %s, dump, sst (which is read only)\n", formats_list());
    print_examples(command->examples);
}

/* ---- Words that do not exist -------------------------------------------------------------- */

#define WORD_MAX 31 // longer ones resemble nothing

static size_t least(size_t a, size_t b, size_t c) {
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* The edit distance: how many characters to insert, delete, replace, or swap with the next one
 * (Damerau 1964). d[i][j]: that of the first i characters of a and the first j of b. */
static size_t distance(const char *a, const char *b) {
    size_t d[WORD_MAX + 1][WORD_MAX + 1], na = strlen(a), nb = strlen(b);
    if (na > WORD_MAX || nb > WORD_MAX) return WORD_MAX;
    for (size_t i = 0; i <= na; i++) {
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1, replaced);
            bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swap && d[i - 2][j - 2] + 1 < d[i][j]) d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[na][nb];
}

const char *help_suggestion(const char *word, const char *const *names, size_t n) {
    static char text[64];
    const char *best = NULL;
    size_t len = strlen(word), letters = len - strspn(word, "-");
    size_t nearest = letters / 3; // one mistake in three characters
    for (size_t i = 0; i < n; i++) {
        bool begins = letters > 1 && strncmp(names[i], word, len) == 0;
        size_t far = begins ? 0 : distance(word, names[i]);
        if (far > nearest || (best && far == nearest)) continue;
        nearest = far;
        best = names[i];
    }
    text[0] = '\0';
    if (best) snprintf(text, sizeof(text), " (did you mean %s?)", best);
    return text;
}

void help_list(const char *const *names, size_t n, char *out, size_t size) {
    size_t len = 0;
    for (size_t i = 0; i < n && len < size; i++) {
        const char *between = i == 0 ? "" : i == n - 1 ? " and " : ", ";
        len += (size_t)snprintf(out + len, size - len, "%s%s", between, names[i]);
    }
}

void help_refuse_command(const char *word) {
    const char *names[32];
    for (size_t i = 0; i < table_ncommands; i++) names[i] = table_commands[i].name;
    tool_die("unknown command '%s'%s, see bloomport --help", word,
             help_suggestion(word, names, table_ncommands));
}

void help_refuse_option(const struct command *command, const char *word) {
    const char *names[128];
    char dashed[128][32];
    size_t n = 0;
    for (size_t i = 0; i < table_noptions && n < 128; i++) {
        if (!table_options[i].help || !(table_options[i].commands & command->bit)) continue;
        snprintf(dashed[n], sizeof(dashed[n]), "--%s", table_options[i].name);
        names[n] = dashed[n];
        n++;
    }
    char bare[WORD_MAX + 1];
    snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(word, "="), word); // --eror=0.1
    bool wants_key = strcmp(bare, "--key") == 0 && command->bit & (BUILD | MERGE | CONVERT);
    tool_die("%s has no option %s%s, see bloomport help %s", command->name, bare,
             wants_key ? " (push puts a file to a key)" : help_suggestion(bare, names, n),
             command->name);
}
