/* The same work done by several threads at a time. */

#ifndef BLOOMPORT_TOOL_THREADS_H
#define BLOOMPORT_TOOL_THREADS_H

#include <stddef.h>

/* As many as the machine has cores, but at most THREADS_MAX. */
#define THREADS_MAX 4
unsigned threads_number(void);

/* Calls `work` in n threads, the caller's among them, with `first`, `first` + size, ..., and waits
 * for all of them. Size 0: all threads get `first`. */
void threads_run(unsigned n, void *(*work)(void *), void *first, size_t size);

#endif
