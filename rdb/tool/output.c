/* A file that appears complete or not at all. See output.h. */

#define _GNU_SOURCE // mkostemp, fchmod, sigaction
#include "rdb/tool/output.h"

#include "rdb/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 // the most links in a chain; the kernel's own limit

/* Names are arrays and not pointers: a signal handler reads them at any time. */
static struct {
    int fd;
    const char *name;         // as the user gave it
    char target[PATH_MAX];    // the file it leads to, links followed
    char temporary[PATH_MAX]; // the file that is written until all bytes are there
    volatile sig_atomic_t has_temporary;
} output = {.fd = -1};

static _Noreturn void die_of(int error) {
    tool_die("%s: %s", output.name, strerror(error));
}

/* ---- Signals ------------------------------------------------------------------------------ */

static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
#define NNUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* Ctrl-C and the like: removes the file, then ends the program as the signal does by default. */
static void end_by_signal(int number) {
    output_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void) {
    for (size_t i = 0; i < NNUMBERS; i++) {
        struct sigaction old;
        bool is_ignored = sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        if (!is_ignored) signal(numbers[i], end_by_signal); // nohup stays nohup
    }
}

/* Signals are blocked while a name and has_temporary do not agree. */
static void hold_signals(sigset_t *before) {
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < NNUMBERS; i++) sigaddset(&held, numbers[i]);
    sigprocmask(SIG_BLOCK, &held, before);
}

static void release_signals(const sigset_t *before) {
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* ---- The file that a name leads to --------------------------------------------------------- */

/* The length of a name's directory part, with the slash. */
static int directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* output.target: the file at the end of all links, existing or not. */
static void follow_links(const char *path) {
    char link[PATH_MAX], next[PATH_MAX];
    int len = snprintf(output.target, sizeof(output.target), "%s", path);
    for (int links = 0; len < PATH_MAX; links++) {
        ssize_t n = readlink(output.target, link, sizeof(link) - 1);
        if (n < 0) return; // it is not a link; other errors show when it is opened
        if (links == LINKS_MAX) die_of(ELOOP);
        link[n] = '\0';
        int kept = link[0] == '/' ? 0 : directory_length(output.target);
        len = snprintf(next, sizeof(next), "%.*s%s", kept, output.target, link);
        memcpy(output.target, next, sizeof(next));
    }
    die_of(ENAMETOOLONG);
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_standard_output(const struct stat *file) {
    struct stat ours;
    return fstat(STDOUT_FILENO, &ours) == 0 && is_same(file, &ours);
}

/* A pipe or a device cannot be renamed over; nor can a file that has no name, which links below
 * /proc can lead to. */
static bool is_replaceable(const struct stat *file) {
    struct stat named;
    return S_ISREG(file->st_mode) && stat(output.target, &named) == 0 && is_same(file, &named);
}

/* ---- Opening ------------------------------------------------------------------------------ */

/* The new file gets the mode, owner and group of the file that it replaces. If the group cannot be
 * kept, the new file's group gets no more rights than everybody has. */
static void keep_access(const struct stat *old) {
    mode_t mode = old->st_mode & 07777;
    if (fchown(output.fd, old->st_uid, old->st_gid) != 0) {
        mode &= 0777;
        bool has_group = fchown(output.fd, (uid_t)-1, old->st_gid) == 0;
        if (!has_group) mode = (mode & ~(mode_t)070) | (mode & 07) << 3;
    }
    if (fchmod(output.fd, mode) != 0) die_of(errno);
}

static void give_default_access(void) {
    mode_t mask = umask(0); // mkostemp is stricter than the umask
    umask(mask);
    if (fchmod(output.fd, 0666 & ~mask) != 0) die_of(errno);
}

/* old: the file that will be replaced, or NULL. */
static void open_temporary(const struct stat *old) {
    int len = snprintf(output.temporary, sizeof(output.temporary), "%s.XXXXXX", output.target);
    if (len >= PATH_MAX) die_of(ENAMETOOLONG);
    watch_signals();
    sigset_t before;
    hold_signals(&before);
    output.fd = mkostemp(output.temporary, O_CLOEXEC);
    int error = errno;
    output.has_temporary = output.fd >= 0;
    release_signals(&before);
    if (output.fd < 0) die_of(error);
    if (old) {
        keep_access(old);
    } else {
        give_default_access();
    }
}

static void open_named(const char *path) {
    struct stat old;
    bool exists = stat(path, &old) == 0;
    follow_links(path);
    if (exists && is_standard_output(&old)) { // "/dev/stdout", whatever it leads to
        output.fd = STDOUT_FILENO;
    } else if (!exists || is_replaceable(&old)) {
        open_temporary(exists ? &old : NULL);
    } else {
        output.fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (output.fd < 0) die_of(errno);
    }
}

void output_open(const char *path) {
    output.name = path ? path : "standard output";
    if (path) {
        open_named(path);
    } else {
        if (isatty(STDOUT_FILENO)) tool_die("a filter is not for a terminal: use -o file");
        output.fd = STDOUT_FILENO;
    }
}

void output_write(const void *bytes, size_t len) {
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(output.fd, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) die_of(errno);
        at += n;
        len -= (size_t)n;
    }
}

/* ---- The end ------------------------------------------------------------------------------ */

static void rename_temporary(void) {
    sigset_t before;
    hold_signals(&before);
    int error = rename(output.temporary, output.target) == 0 ? 0 : errno;
    if (!error) output.has_temporary = false;
    release_signals(&before);
    if (error) die_of(error);
}

/* The new name is on disk only when its directory is. A directory that may be written but not read
 * cannot be opened for fsync, and some file systems have no fsync of directories (EINVAL): neither
 * is an error. */
static void sync_directory(void) {
    char name[PATH_MAX] = ".";
    int len = directory_length(output.target);
    if (len > 0) snprintf(name, sizeof(name), "%.*s", len, output.target);
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) return;
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL)) {
        tool_die("%s: written, but may be lost in a power cut: %s", output.name, strerror(errno));
    }
    close(fd);
}

void output_commit(void) {
    if (output.has_temporary && fsync(output.fd) != 0) die_of(errno);
    // Some file systems report a full disk only on close.
    if (close(output.fd) != 0) die_of(errno);
    output.fd = -1;
    if (!output.has_temporary) return;
    rename_temporary();
    sync_directory();
}

void output_abandon(void) {
    if (output.has_temporary) unlink(output.temporary);
    output.has_temporary = false;
}
