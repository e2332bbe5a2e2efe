/* A progress bar on standard error, with the time that is left, drawn only if that is a terminal.
 */

#ifndef BLOOMPORT_TOOL_PROGRESS_H
#define BLOOMPORT_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; // "adding"
    uint64_t total;   // 0: the total is not known; only a number is shown
    uint64_t begin_ns;
    uint64_t next_ns; // when to draw again
    bool is_on, is_drawn;
};

void progress_begin(struct progress *progress, const char *what, uint64_t total);

/* Cheap enough to call for every batch of items: draws ten times a second, after the first
 * second. */
void progress_show(struct progress *progress, uint64_t done);

/* Erases the bar. */
void progress_end(struct progress *progress);

#endif
