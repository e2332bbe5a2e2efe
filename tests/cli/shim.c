/* Loaded before libc (LD_PRELOAD) by test_output.py and test_connections.py: records what the tool
 * does to its files, and causes faults and signals at an exact place.
 *
 *   SHIM_LOG      a file that gets one line a call: fsync file, fsync directory, rename, unlink
 *   SHIM_FAIL     file or directory: fsync of such a thing fails with EIO
 *   SHIM_SIGNAL   mkstemp or rename: SIGTERM comes when that call has just succeeded
 *   SHIM_CUT      a file's name, and SHIM_CUT_TO how many bytes of it stay when the call that
 *   SHIM_CUT_AT   names is made for it: fstat (after it), read or pread (before it; not
 *                 those of a few bytes, which look at what the file is)
 *   SHIM_POLL     silent: nothing becomes ready for as long as poll waits, which is over at once */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static bool is_set(const char *name, const char *value) {
    const char *found = getenv(name);
    return found && strcmp(found, value) == 0;
}

static void record(const char *line) {
    const char *path = getenv("SHIM_LOG");
    if (!path) return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (fd < 0 || write(fd, line, strlen(line)) < 0) abort();
    close(fd);
}

int fsync(int fd) {
    struct stat of;
    bool is_directory = NEXT(fstat)(fd, &of) == 0 && S_ISDIR(of.st_mode);
    record(is_directory ? "fsync directory\n" : "fsync file\n");
    if (!is_set("SHIM_FAIL", is_directory ? "directory" : "file")) return NEXT(fsync)(fd);
    errno = EIO;
    return -1;
}

int unlink(const char *path) {
    record("unlink\n");
    return NEXT(unlink)(path);
}

int rename(const char *from, const char *to) {
    int result = NEXT(rename)(from, to);
    record("rename\n");
    if (result == 0 && is_set("SHIM_SIGNAL", "rename")) raise(SIGTERM);
    return result;
}

int mkstemp(char *name) {
    int fd = NEXT(mkstemp)(name);
    if (fd >= 0 && is_set("SHIM_SIGNAL", "mkstemp")) raise(SIGTERM);
    return fd;
}

int mkostemp(char *name, int flags) {
    int fd = NEXT(mkostemp)(name, flags);
    if (fd >= 0 && is_set("SHIM_SIGNAL", "mkstemp")) raise(SIGTERM);
    return fd;
}

/* Once, when the file is open as fd. */
static void cut(int fd, const char *call) {
    static bool is_done;
    struct stat open_file, named;
    const char *path = getenv("SHIM_CUT");
    if (is_done || !path || !is_set("SHIM_CUT_AT", call)) return;
    if (NEXT(fstat)(fd, &open_file) != 0 || stat(path, &named) != 0) return;
    if (open_file.st_ino != named.st_ino || open_file.st_dev != named.st_dev) return;
    is_done = true;
    if (truncate(path, atol(getenv("SHIM_CUT_TO"))) != 0) abort();
}

int fstat(int fd, struct stat *out) {
    int result = NEXT(fstat)(fd, out);
    cut(fd, "fstat");
    return result;
}

ssize_t read(int fd, void *out, size_t n) {
    cut(fd, "read");
    return NEXT(read)(fd, out, n);
}

ssize_t pread(int fd, void *out, size_t n, off_t at) {
    if (n > 16) cut(fd, "pread");
    return NEXT(pread)(fd, out, n, at);
}

int poll(struct pollfd *fds, nfds_t n, int milliseconds) {
    if (milliseconds < 0 || !is_set("SHIM_POLL", "silent")) return NEXT(poll)(fds, n, milliseconds);
    return 0;
}
