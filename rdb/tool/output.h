/* A file that appears complete or not at all: it is written under a temporary name in the same
 * directory and renamed at the end. There is one at a time, as a command writes one file. */

#ifndef BLOOMPORT_TOOL_OUTPUT_H
#define BLOOMPORT_TOOL_OUTPUT_H

#include <stddef.h>

/* path NULL: standard output, refused if that is a terminal. A symbolic link is followed to the
 * file at its end, whether that exists or not. A file that is replaced keeps its mode, and its
 * owner and group where that is permitted. Pipes and devices are written directly. */
void output_open(const char *path);

void output_write(const void *bytes, size_t len);

/* Gives the file its name once all of it is on disk. */
void output_commit(void);

/* Removes the file that was being written, if there is one. Safe in a signal handler. */
void output_abandon(void);

#endif
