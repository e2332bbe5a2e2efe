/* Hashes that wait until they are counted: in memory as long as they are few, then in a temporary
 * file without a name. All are written before the first is read. */

#ifndef BLOOMPORT_TOOL_SPOOL_H
#define BLOOMPORT_TOOL_SPOOL_H

#include "module/core/hash/hash.h"

#include <stddef.h>
#include <stdint.h>

struct spool {
    struct hash *waiting; // the last ones, in memory
    size_t nwaiting;
    uint64_t nstored; // in the file, the first ones
    uint64_t nread;   // of both, in order
    int fd;           // -1: no file yet
};

void spool_open(struct spool *spool);
void spool_close(struct spool *spool);

/* Room for n hashes, at most SPOOL_BATCH, which count as written. */
#define SPOOL_BATCH ((size_t)8192)
struct hash *spool_put(struct spool *spool, size_t n);

uint64_t spool_count(const struct spool *spool);

/* The next hashes, at most SPOOL_BATCH; 0 if there are no more. */
size_t spool_take(struct spool *spool, struct hash *out);

#endif
