/* What is said on standard error besides the progress bar: errors (tool_die), notes, and one line
 * of summary at the end. */

#ifndef BLOOMPORT_TOOL_REPORT_H
#define BLOOMPORT_TOOL_REPORT_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts the clock. is_quiet: nothing but errors will be said. */
void report_begin(bool is_quiet);

/* Prints one printable line, unless all is to be quiet. */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Texts of servers and file names must not move a cursor or rename a window: bytes that are not
 * printable become '?'. */
void report_make_printable(char *text);

/* Says what is waited for if standard input is a terminal and among the inputs. */
void report_waiting(char **paths, int npaths);

/* Ends the program because standard output cannot be written: silently, as SIGPIPE does, if its
 * reader is gone (head), else with an error. */
_Noreturn void report_lost_output(void);

/* Since report_begin. */
double report_seconds(void);

/* 10,000,000 and 17.9 MB, which counts in 1000. Both return `out`. */
#define REPORT_COUNT 32
const char *report_count(uint64_t number, char out[REPORT_COUNT]);
const char *report_bytes(uint64_t bytes, char out[REPORT_COUNT]);

/* The summary: "10,000,000 items, 0.57 s, 17.9 MB, error rate 0.001" after `what`. The rate is the
 * promised one or, of a filter that merges have overfilled, the one that it has now. */
void report_filter(const char *what, const struct filter *filter, uint64_t items);

/* The same after build, with how many of the lines were counted as new, if not all were. */
void report_built(const struct filter *filter, uint64_t lines);

/* Says that merges have overfilled a filter. A layer of a merged filter holds the items of all its
 * sources, and where they had grown its first layers were full already. */
void report_overfilled(const char *name, bool is_merged, double error_rate, double promise);

#endif
