/* What is said on standard error. See report.h. */

#define _GNU_SOURCE // clock_gettime, pause
#include "rdb/tool/report.h"

#include "module/core/measure.h"
#include "rdb/tool/output.h"
#include "rdb/tool/tool.h"
#include "rdb/tool/undo.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    bool is_quiet;
    struct timespec begin;
} report;

/* ---- One printable line -------------------------------------------------------------------- */

/* The length of the printable UTF-8 character at the front of a text; 0 if there is none. Control
 * characters are not printable, nor are U+0080 to U+009F, which some terminals obey, in any
 * encoding of them. */
static size_t printable_length(const unsigned char *at) {
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    if (at[0] < 0x80) return at[0] >= 0x20 && at[0] != 0x7f;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    size_t len = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    uint32_t character = at[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0; // the end of the text too
        character = character << 6 | (at[i] & 0x3f);
    }
    return character >= least[len] ? len : 0;
}

void report_make_printable(char *text) {
    for (size_t len; *text; text += len) {
        len = printable_length((const unsigned char *)text);
        if (len == 0) *text = '?', len = 1;
    }
}

/* Prints one line to standard error, with what a terminal would not show replaced. */
static void print_line(const char *before, const char *format, va_list args) {
    char text[8192];
    vsnprintf(text, sizeof(text), format, args);
    report_make_printable(text);
    fprintf(stderr, "%s%s\n", before, text);
}

void tool_die(const char *format, ...) {
    static atomic_flag is_dying = ATOMIC_FLAG_INIT;
    static _Thread_local bool is_undoing;
    if (is_undoing) _exit(TOOL_TROUBLE);                 // the first error is printed
    while (atomic_flag_test_and_set(&is_dying)) pause(); // one line, of one thread
    va_list args;
    va_start(args, format);
    print_line("bloomport: ", format, args);
    va_end(args);
    output_abandon();
    fflush(stdout);
    is_undoing = true;
    undo_all();
    _exit(TOOL_TROUBLE); // memory that is still allocated is no leak
}

/* The state of the pipe decides, not errno, which calls after the failed write may have changed. */
void report_lost_output(void) {
    struct pollfd output = {.fd = STDOUT_FILENO};
    bool is_closed = poll(&output, 1, 0) > 0 && output.revents & POLLERR;
    if (is_closed) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    tool_die("cannot write to standard output");
}

/* ---- Notes and the summary ----------------------------------------------------------------- */

void report_begin(bool is_quiet) {
    report.is_quiet = is_quiet;
    clock_gettime(CLOCK_MONOTONIC, &report.begin);
}

void report_note(const char *format, ...) {
    if (report.is_quiet) return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void report_waiting(char **paths, int npaths) {
    bool reads = npaths == 0;
    for (int i = 0; i < npaths; i++) reads |= strcmp(paths[i], "-") == 0;
    if (reads && isatty(STDIN_FILENO)) {
        report_note("reading items from the terminal, one a line; Ctrl-D ends them");
    }
}

double report_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - report.begin.tv_sec) +
           (double)(now.tv_nsec - report.begin.tv_nsec) / 1e9;
}

const char *report_count(uint64_t number, char out[REPORT_COUNT]) {
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
    char *at = out;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return out;
}

const char *report_bytes(uint64_t bytes, char out[REPORT_COUNT]) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 999.95 && unit < 5; unit++) value /= 1000;
    snprintf(out, REPORT_COUNT, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
    return out;
}

static void summarise(const char *what, const struct filter *filter, uint64_t items,
                      const char *more) {
    char count[REPORT_COUNT], size[REPORT_COUNT];
    bool is_overfilled = measure_is_overfilled(filter);
    report_note("%s%s items%s, %.2f s, %s, error rate %.3g", what, report_count(items, count), more,
                report_seconds(), report_bytes(filter_array_bytes(filter), size),
                is_overfilled ? measure_error_rate(filter) : measure_promise(filter));
}

void report_filter(const char *what, const struct filter *filter, uint64_t items) {
    summarise(what, filter, items, "");
}

void report_built(const struct filter *filter, uint64_t lines) {
    char more[REPORT_COUNT + 32] = "", count[REPORT_COUNT];
    if (filter_items(filter) != lines) {
        snprintf(more, sizeof(more), ", %s%s of them new", filter->is_estimated ? "about " : "",
                 report_count(filter_items(filter), count));
    }
    summarise("", filter, lines, more);
}

void report_overfilled(const char *name, bool is_merged, double error_rate, double promise) {
    const char *why = is_merged ? "filters that had grown, or were nearly full, were merged: build "
                                  "one of all their items instead"
                                : "it holds more than it was made for, or was made too small";
    report_note("%s: the %sfilter is overfilled: its error rate is now %.2g, promised %.2g (%s)",
                name, is_merged ? "merged " : "", error_rate, promise, why);
}
