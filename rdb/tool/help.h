/* What the program says of itself: usage, the help of a command, its version, and what somebody may
 * have meant who wrote a word that does not exist. */

#ifndef BLOOMPORT_TOOL_HELP_H
#define BLOOMPORT_TOOL_HELP_H

#include "rdb/tool/table.h"

#include <stddef.h>
#include <stdio.h>

void help_usage(FILE *out);
void help_version(void);
void help_command(const struct command *command);

/* " (did you mean --error?)" for the name nearest to the word, or "" if none is near. Valid until
 * the next call. */
const char *help_suggestion(const char *word, const char *const *names, size_t n);

/* Ends the program, naming the command or the option that was not found. */
_Noreturn void help_refuse_command(const char *word);
_Noreturn void help_refuse_option(const struct command *command, const char *word);

/* "a, b and c". */
void help_list(const char *const *names, size_t n, char *out, size_t size);

#endif
