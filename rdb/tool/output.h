/* A file that appears whole or not at all: it is written beside its name and renamed at the end.
 * One at a time, which is all that a command writes. */

#ifndef BLOOMPORT_TOOL_OUTPUT_H
#define BLOOMPORT_TOOL_OUTPUT_H

#include <stddef.h>

/* path NULL: standard output, refused if that is a terminal. Of a symbolic link the file at its end
 * is written, whether it exists or not. A file that is replaced keeps its mode, and its owner and
 * group where that is permitted. Pipes and devices are written as they stand. */
void output_open(const char *path);

void output_write(const void *bytes, size_t len);

/* Gives the file its name, when all of it is on disk. */
void output_commit(void);

/* Removes what was written; nothing if there is nothing. Safe in a signal handler. */
void output_abandon(void);

#endif
