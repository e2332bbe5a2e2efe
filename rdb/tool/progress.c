/* The progress bar. See progress.h. */

#define _GNU_SOURCE // clock_gettime, isatty
#include "rdb/tool/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define WIDTH 40

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total) {
    *progress = (struct progress){.what = what, .total = total, .is_on = isatty(STDERR_FILENO)};
    if (!progress->is_on) return;
    progress->begin_ns = now_ns();
    progress->next_ns = progress->begin_ns + SECOND_NS;
}

/* The time that is left if the rest takes as long as what is done, as 1:05 or 2:00:00. */
static void print_left(const struct progress *progress, double share) {
    double passed = (double)(now_ns() - progress->begin_ns) / (double)SECOND_NS;
    double seconds = passed * (1 - share) / share + 0.5;
    if (!(share > 0) || seconds > 360000) return; // 100 hours: nobody knows
    unsigned left = (unsigned)seconds;
    if (left >= 3600) {
        fprintf(stderr, " %u:%02u:%02u left", left / 3600, left / 60 % 60, left % 60);
    } else {
        fprintf(stderr, " %u:%02u left", left / 60, left % 60);
    }
}

static void draw(const struct progress *progress, uint64_t done) {
    if (progress->total == 0) {
        fprintf(stderr, "\r%-9s %llu", progress->what, (unsigned long long)done);
        return;
    }
    double share = (double)done / (double)progress->total;
    if (share > 1) share = 1;
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) bar[i] = i < (int)(share * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r%-9s [%s] %3d %%", progress->what, bar, (int)(share * 100));
    print_left(progress, share);
    fputs("\033[K", stderr); // what is left of a longer line
}

void progress_show(struct progress *progress, uint64_t done) {
    if (!progress->is_on) return;
    uint64_t now = now_ns();
    if (now < progress->next_ns) return;
    progress->next_ns = now + SECOND_NS / 10;
    progress->is_drawn = true;
    draw(progress, done);
}

void progress_end(struct progress *progress) {
    if (progress->is_drawn) fputs("\r\033[K", stderr);
    progress->is_drawn = false;
}
