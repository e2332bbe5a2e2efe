/* A file that appears whole or not at all. See output.h. */

#define _GNU_SOURCE // mkstemp, fchmod, sigaction
#include "rdb/tool/output.h"

#include "module/core/mem.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    int fd;
    const char *name; // as the user gave it
    char *temporary;  // where the bytes are until all are there; NULL: written in place
} output = {-1, NULL, NULL};

/* A pipe or a device cannot be renamed over: it is written as it stands. */
static bool is_special(const char *path) {
    struct stat stat_of;
    return stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode);
}

/* Ctrl-C and the like: the file goes, and the program ends as it would have without us. */
static void end_by_signal(int number) {
    output_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;
        bool is_ignored = sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        if (!is_ignored) signal(numbers[i], end_by_signal); // nohup stays nohup
    }
}

static void open_temporary(const char *path) {
    static const char suffix[] = ".XXXXXX";
    size_t len = strlen(path);
    char *name = tool_alloc(len + sizeof(suffix));
    memcpy(name, path, len);
    memcpy(name + len, suffix, sizeof(suffix));
    output.fd = mkstemp(name);
    if (output.fd < 0) tool_die("%s: %s", path, strerror(errno));
    output.temporary = name;
    watch_signals();
    mode_t mask = umask(0); // mkstemp is stricter than the user asked for
    umask(mask);
    if (fchmod(output.fd, 0666 & ~mask) != 0) tool_die("%s: %s", path, strerror(errno));
}

void output_open(const char *path) {
    output.name = path ? path : "standard output";
    if (!path) {
        if (isatty(STDOUT_FILENO)) tool_die("a filter is not for a terminal: use -o file");
        output.fd = STDOUT_FILENO;
    } else if (is_special(path)) {
        output.fd = open(path, O_WRONLY | O_CLOEXEC);
        if (output.fd < 0) tool_die("%s: %s", path, strerror(errno));
    } else {
        open_temporary(path);
    }
}

void output_write(const void *bytes, size_t len) {
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(output.fd, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) tool_die("%s: %s", output.name, strerror(errno));
        at += n;
        len -= (size_t)n;
    }
}

void output_commit(void) {
    // Some file systems tell only now that the disk is full.
    if (close(output.fd) != 0) tool_die("%s: %s", output.name, strerror(errno));
    output.fd = -1;
    if (!output.temporary) return;
    if (rename(output.temporary, output.name) != 0) {
        tool_die("%s: %s", output.name, strerror(errno));
    }
    mem_free(output.temporary);
    output.temporary = NULL;
}

void output_abandon(void) {
    if (output.temporary) unlink(output.temporary);
    output.temporary = NULL;
}
