/* bloomport build: items -> a filter.
 *
 * A filter must know its capacity before the first item goes in. Files are therefore read twice,
 * the first time only to count newlines. What cannot be read twice is hashed as it comes, and the
 * hashes, 16 bytes an item, wait in a spool until they are counted: in memory as long as they are
 * few, then in a temporary file without a name. With --capacity neither is needed.
 *
 * Tuned for tens of millions of short items, where hashing an item costs less than the cache misses
 * of setting its bits: that is done beside it, in the way that adder.h describes. */

#define _GNU_SOURCE // mkstemp, pread
#include "module/core/mem.h"
#include "rdb/tool/adder.h"
#include "rdb/tool/items.h"
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_ERROR_RATE 0.01
#define SPOOL_HASHES ((size_t)1 << 20) // 16 MiB of memory before the file begins

/* ---- The filter --------------------------------------------------------------------------- */

static struct filter *new_filter(const struct options *options, uint64_t capacity) {
    struct filter_params params = {.capacity = capacity ? capacity : 1,
                                   .bits_per_key = options->bits_per_key,
                                   .layout = options->layout,
                                   .scheme = options->scheme};
    if (options->bits_per_key == 0) {
        params.error_rate = options->error_rate != 0 ? options->error_rate : DEFAULT_ERROR_RATE;
    }
    struct filter *filter;
    enum status st = filter_new(&params, FILTER_NO_LIMIT, &filter);
    if (st == STATUS_NOMEM) tool_die("no memory for a filter of this size");
    if (st != STATUS_OK) {
        tool_die("layout %s with hash %s cannot address a filter of this size",
                 tool_layout_name(options->layout), tool_scheme_name(options->scheme));
    }
    if (options->format != FILE_UNKNOWN) file_check_format(filter, options->format);
    return filter;
}

/* Counts are needed only where they are written, or hold a capacity that the user gave. */
static struct adder *begin_adding(struct filter *filter, const struct options *options) {
    return adder_begin(filter, options->capacity != 0 || options->format == FILE_DUMP);
}

static void hash_batch(const struct filter *shape, const struct item *batch, size_t n,
                       struct hash *hashes) {
    for (size_t i = 0; i < n; i++) hashes[i] = filter_hash(shape, batch[i].bytes, batch[i].len);
}

/* ---- Items that can be read twice, or a capacity that is given ----------------------------- */

static void add_all(struct filter *filter, struct items *items, const struct options *options,
                    uint64_t bytes) {
    struct adder *adder = begin_adding(filter, options);
    struct item batch[ITEMS_BATCH];
    struct progress progress;
    progress_begin(&progress, "adding", bytes);
    for (size_t n; (n = items_next(items, batch)) > 0;) {
        hash_batch(filter, batch, n, adder_room(adder));
        adder_take(adder, n);
        progress_show(&progress, items->bytes_read);
    }
    adder_end(adder);
    progress_end(&progress);
}

/* ---- Items that come once ------------------------------------------------------------------ */

struct spool {
    struct hash *waiting; // SPOOL_HASHES of them
    size_t nwaiting;
    uint64_t nstored; // in the file
    int fd;           // -1: no file yet
};

static void spool_open_file(struct spool *spool) {
    char name[4096];
    const char *directory = getenv("TMPDIR");
    if (!directory || !*directory) directory = "/var/tmp"; // on disk where /tmp may be memory
    int len = snprintf(name, sizeof(name), "%s/bloomport.XXXXXX", directory);
    if (len < 0 || (size_t)len >= sizeof(name)) tool_die("TMPDIR is too long");
    spool->fd = mkstemp(name);
    if (spool->fd < 0) tool_die("%s: %s", name, strerror(errno));
    unlink(name); // goes away with the process, however that ends
}

static void spool_flush(struct spool *spool) {
    if (spool->fd < 0) spool_open_file(spool);
    const char *at = (const char *)spool->waiting;
    for (size_t left = spool->nwaiting * sizeof(struct hash); left > 0;) {
        ssize_t n = write(spool->fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) tool_die("temporary file (TMPDIR says where): %s", strerror(errno));
        at += n;
        left -= (size_t)n;
    }
    spool->nstored += spool->nwaiting;
    spool->nwaiting = 0;
}

/* Puts the next hashes of the file into `waiting`. */
static void spool_read(struct spool *spool, uint64_t from) {
    uint64_t left = spool->nstored - from;
    size_t want = (size_t)(left < SPOOL_HASHES ? left : SPOOL_HASHES) * sizeof(struct hash);
    for (size_t had = 0; had < want;) {
        off_t at = (off_t)(from * sizeof(struct hash) + had);
        ssize_t n = pread(spool->fd, (char *)spool->waiting + had, want - had, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) tool_die("temporary file: %s", n < 0 ? strerror(errno) : "it is shorter now");
        had += (size_t)n;
    }
    spool->nwaiting = want / sizeof(struct hash);
}

static void spool_items(struct spool *spool, struct items *items, const struct options *options) {
    struct filter shape = {.layout = options->layout, .scheme = options->scheme};
    struct item batch[ITEMS_BATCH];
    struct progress progress;
    progress_begin(&progress, "hashing", 0);
    for (size_t n; (n = items_next(items, batch)) > 0;) {
        if (spool->nwaiting + n > SPOOL_HASHES) spool_flush(spool);
        hash_batch(&shape, batch, n, spool->waiting + spool->nwaiting);
        spool->nwaiting += n;
        progress_show(&progress, spool->nstored + spool->nwaiting);
    }
    progress_end(&progress);
}

static void add_waiting(struct adder *adder, const struct spool *spool) {
    for (size_t i = 0; i < spool->nwaiting; i += ITEMS_BATCH) {
        size_t left = spool->nwaiting - i;
        size_t n = left < ITEMS_BATCH ? left : ITEMS_BATCH;
        memcpy(adder_room(adder), spool->waiting + i, n * sizeof(struct hash));
        adder_take(adder, n);
    }
}

static struct filter *build_from_spool(struct items *items, const struct options *options) {
    struct spool spool = {tool_alloc(SPOOL_HASHES * sizeof(struct hash)), 0, 0, -1};
    spool_items(&spool, items, options);
    uint64_t count = spool.nstored + spool.nwaiting;
    struct filter *filter = new_filter(options, count);
    struct adder *adder = begin_adding(filter, options);
    add_waiting(adder, &spool);
    struct progress progress;
    progress_begin(&progress, "adding", count);
    for (uint64_t from = 0; from < spool.nstored; from += spool.nwaiting) {
        spool_read(&spool, from);
        add_waiting(adder, &spool);
        progress_show(&progress, from);
    }
    adder_end(adder);
    progress_end(&progress);
    if (spool.fd >= 0) close(spool.fd);
    mem_free(spool.waiting);
    return filter;
}

int build_run(const struct options *options) {
    struct items items;
    struct filter *filter;
    uint64_t bytes = 0;
    bool are_files = items_are_files(options->operands, options->noperands, &bytes);
    items_open(&items, options->operands, options->noperands, options->nul, options->hex);
    if (options->capacity || are_files) {
        uint64_t capacity = options->capacity;
        if (!capacity) capacity = items_count(options->operands, options->noperands, options->nul);
        filter = new_filter(options, capacity);
        add_all(filter, &items, options, are_files ? bytes : 0);
    } else {
        filter = build_from_spool(&items, options);
    }
    items_close(&items);
    bool is_chosen = options->format != FILE_UNKNOWN;
    file_save(filter, is_chosen ? options->format : file_default_format(filter), options->output);
    filter_free(filter);
    return TOOL_OK;
}
