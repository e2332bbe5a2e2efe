/* A clock that a test can move, for LD_PRELOAD: gettimeofday(), time() and clock_gettime() of the
 * real-time clocks show another time than the machine's; CLOCK_MONOTONIC stays as it is, so
 * that timers and time limits keep working.
 *
 * BLOOMPORT_TEST_CLOCK names a file of 16 bytes, little-endian on every machine, which is mapped
 * into memory: a test changes the clock of a running server by writing 8 bytes.
 * tests/server/clock.py does that.
 *
 *   int64  offset   ms that are added to the time
 *   int64  stopped  if not 0, the clock stands still: the time is this, in ms since the epoch,
 *                   plus the offset
 *
 * Without the variable the time is the machine's. It is asked for by the raw system call: calling
 * the C library's functions from here would end in these again. */

#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define MS_NSEC 1000000
#define SECOND_MS 1000
#define SECOND_NSEC 1000000000

struct shown {
    uint64_t offset_ms;
    uint64_t stopped_ms;
};

static const struct shown *shown; // NULL: the machine's time

/* A file that was named and cannot be used would let every test of it pass by chance. */
static void die(const char *why) {
    ssize_t written = write(STDERR_FILENO, why, strlen(why));
    (void)written;
    abort();
}

__attribute__((constructor)) static void map_file(void) {
    const char *path = getenv("BLOOMPORT_TEST_CLOCK");
    if (!path) return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) die("BLOOMPORT_TEST_CLOCK: no such file\n");
    if (lseek(file, 0, SEEK_END) < (off_t)sizeof(*shown)) die("BLOOMPORT_TEST_CLOCK: too short\n");
    void *mapped = mmap(NULL, sizeof(*shown), PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) die("BLOOMPORT_TEST_CLOCK: mmap failed\n");
    close(file);
    shown = mapped;
}

static int machine_time(clockid_t clock, struct timespec *now) {
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static int64_t read_ms(const uint64_t *field) {
    return (int64_t)le64toh(__atomic_load_n(field, __ATOMIC_RELAXED));
}

/* Times before the epoch come out right too: nanoseconds are never under 0. */
static void move(struct timespec *now) {
    if (!shown) return;
    int64_t stopped = read_ms(&shown->stopped_ms);
    if (stopped) *now = (struct timespec){0};
    int64_t ms = stopped + read_ms(&shown->offset_ms);
    now->tv_sec += ms / SECOND_MS;
    now->tv_nsec += ms % SECOND_MS * MS_NSEC;
    if (now->tv_nsec < 0) {
        now->tv_nsec += SECOND_NSEC;
        now->tv_sec--;
    } else if (now->tv_nsec >= SECOND_NSEC) {
        now->tv_nsec -= SECOND_NSEC;
        now->tv_sec++;
    }
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = machine_time(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(now);
    return failed;
}

EXPORTED int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec fine;
    if (zone) *(struct timezone *)zone = (struct timezone){0};
    if (clock_gettime(CLOCK_REALTIME, &fine)) return -1;
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return 0;
}

EXPORTED time_t time(time_t *out) {
    struct timespec fine;
    if (clock_gettime(CLOCK_REALTIME, &fine)) return (time_t)-1;
    if (out) *out = fine.tv_sec;
    return fine.tv_sec;
}
