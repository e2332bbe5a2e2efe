/* A server that does the same work in every run, for LD_PRELOAD: typical_instructions.py counts
 * instructions.
 *
 * Time goes on by a microsecond with every look at it, and not otherwise. The server's cron, about
 * a million instructions each time, is due after so many looks and not after so much of a slow
 * machine's time. Its timers still fire, so that it sleeps in between.
 *
 * Random numbers are zeros: /dev/urandom is where the server takes the seed of its hash tables
 * from, and in each run other names would share a bucket with the command that is looked up. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
#define BEGIN_SECONDS 1800000000 // of the epoch: January 2027
#define SECOND_US 1000000

static uint64_t looks;

static struct timeval next_time(void) {
    uint64_t us = __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
    return (struct timeval){BEGIN_SECONDS + (time_t)(us / SECOND_US),
                            (suseconds_t)(us % SECOND_US)};
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec *now) {
    (void)clock;
    struct timeval next = next_time();
    *now = (struct timespec){next.tv_sec, next.tv_usec * 1000};
    return 0;
}

EXPORTED int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    if (zone) *(struct timezone *)zone = (struct timezone){0};
    *now = next_time();
    return 0;
}

EXPORTED time_t time(time_t *out) {
    time_t now = next_time().tv_sec;
    if (out) *out = now;
    return now;
}

typedef FILE *(*opener)(const char *, const char *);

static FILE *open_calmly(const char *function, const char *path, const char *mode) {
    void *symbol = dlsym(RTLD_NEXT, function);
    opener really;
    memcpy(&really, &symbol, sizeof(really)); // ISO C has no cast from an object to a function
    return really(strcmp(path, "/dev/urandom") == 0 ? "/dev/zero" : path, mode);
}

EXPORTED FILE *fopen(const char *restrict path, const char *restrict mode) {
    return open_calmly("fopen", path, mode);
}

EXPORTED FILE *fopen64(const char *restrict path, const char *restrict mode) {
    return open_calmly("fopen64", path, mode);
}
