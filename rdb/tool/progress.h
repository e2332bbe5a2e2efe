/* A bar on standard error while something takes long; nothing at all unless that is a terminal. */

#ifndef BLOOMPORT_TOOL_PROGRESS_H
#define BLOOMPORT_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; // "adding"
    uint64_t total;   // 0: not known, and only a number is shown
    uint64_t next_ns; // when to draw again
    bool is_on, is_drawn;
};

void progress_begin(struct progress *progress, const char *what, uint64_t total);

/* Cheap enough for every batch of items: it draws ten times a second, from the second on. */
void progress_show(struct progress *progress, uint64_t done);

/* Takes the bar away. */
void progress_end(struct progress *progress);

#endif
