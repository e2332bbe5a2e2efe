/* Hashes that wait until they are counted. See spool.h. */

#define _GNU_SOURCE // mkstemp, pread
#include "rdb/tool/spool.h"

#include "module/core/mem.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPOOL_HASHES ((size_t)1 << 20) // 16 MiB of memory before the file begins

void spool_open(struct spool *spool) {
    *spool = (struct spool){.waiting = tool_alloc(SPOOL_HASHES * sizeof(struct hash)), .fd = -1};
}

void spool_close(struct spool *spool) {
    if (spool->fd >= 0) close(spool->fd);
    mem_free(spool->waiting);
}

/* ---- Writing ------------------------------------------------------------------------------ */

static void open_file(struct spool *spool) {
    char name[4096];
    const char *directory = getenv("TMPDIR");
    if (!directory || !*directory) directory = "/var/tmp"; // on disk where /tmp may be memory
    int len = snprintf(name, sizeof(name), "%s/bloomport.XXXXXX", directory);
    if (len < 0 || (size_t)len >= sizeof(name)) tool_die("TMPDIR is too long");
    spool->fd = mkstemp(name);
    if (spool->fd < 0) tool_die("%s: %s", name, strerror(errno));
    unlink(name); // the file is freed when the process ends, in any way
}

static void flush(struct spool *spool) {
    if (spool->fd < 0) open_file(spool);
    const char *at = (const char *)spool->waiting;
    for (size_t left = spool->nwaiting * sizeof(struct hash); left > 0;) {
        ssize_t n = write(spool->fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) tool_die("temporary file (TMPDIR names its directory): %s", strerror(errno));
        at += n;
        left -= (size_t)n;
    }
    spool->nstored += spool->nwaiting;
    spool->nwaiting = 0;
}

struct hash *spool_put(struct spool *spool, size_t n) {
    if (spool->nwaiting + n > SPOOL_HASHES) flush(spool);
    struct hash *room = spool->waiting + spool->nwaiting;
    spool->nwaiting += n;
    return room;
}

uint64_t spool_count(const struct spool *spool) {
    return spool->nstored + spool->nwaiting;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static void read_file(const struct spool *spool, struct hash *out, size_t n) {
    size_t want = n * sizeof(struct hash);
    for (size_t had = 0; had < want;) {
        off_t at = (off_t)(spool->nread * sizeof(struct hash) + had);
        ssize_t got = pread(spool->fd, (char *)out + had, want - had, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) tool_die("temporary file: %s", got < 0 ? strerror(errno) : "it is shorter");
        had += (size_t)got;
    }
}

size_t spool_take(struct spool *spool, struct hash *out) {
    bool is_stored = spool->nread < spool->nstored;
    uint64_t left = (is_stored ? spool->nstored : spool_count(spool)) - spool->nread;
    size_t n = left < SPOOL_BATCH ? (size_t)left : SPOOL_BATCH;
    if (is_stored) {
        read_file(spool, out, n);
    } else {
        memcpy(out, spool->waiting + (spool->nread - spool->nstored), n * sizeof(struct hash));
    }
    spool->nread += n;
    return n;
}
