/* A filter on a server, read in pieces (BF.SCANDUMP) and yet as it was at one moment, however many
 * clients change it meanwhile. No header can tell whether the pieces belong together: as much may
 * have been deleted as was added. The server can:
 *
 *   live      WATCH key, BF.SCANDUMP key ..., MULTI, EXEC    EXEC answers nil if anybody touched
 *                                                            the key: its bits, its TTL, its name
 *   whole     MULTI, BF.SCANDUMP key ..., EXEC               all pieces in one answer, if the
 * filter is no larger than MOMENT_WHOLE_BYTES snapshot  COPY key snapshot, BF.SCANDUMP snapshot ...
 * nobody else knows its name
 *
 * They are tried in this order. The first two only read, so that they work on replicas. What the
 * last one makes is deleted at the end, and expires if the program is killed. */

#ifndef BLOOMPORT_TOOL_MOMENT_H
#define BLOOMPORT_TOOL_MOMENT_H

#include "rdb/tool/progress.h"
#include "rdb/tool/server.h"

/* What a server may be asked to answer at once: it holds the answer in memory, and other clients
 * wait 0.1 s while it makes it (98 ms measured, 64 MiB, busy machine). */
#define MOMENT_WHOLE_BYTES (UINT64_C(64) << 20)

enum moment_way { MOMENT_LIVE, MOMENT_WHOLE, MOMENT_SNAPSHOT };

struct moment {
    struct server *server;
    const char *key;
    bool wants_ttl;
    struct progress progress; // of the bytes read
    /* Of this attempt: */
    uint8_t *header;
    size_t header_len;
    enum moment_way way;
    unsigned wholes; // attempts that the filter's growth has spoilt
    uint64_t at;     // bytes read
    size_t element;  // whole: the next one of the answer
    char *snapshot;
    long long ttl_ms;   // as PTTL answers; -1: none
    double ttl_seconds; // when that was
    char fault[300];    // an error that may come from a change
};

/* `what` is for the progress bar. wants_ttl: the time to live belongs to the moment. Any error ends
 * the program, here and below. */
void moment_open(struct moment *moment, struct server *server, const char *key, const char *what,
                 bool wants_ttl);

/* Begins an attempt: moment->header is there. */
void moment_begin(struct moment *moment);

/* The next piece, valid until the next call; 0: there are no more. */
size_t moment_next(struct moment *moment, const uint8_t **bytes);

/* Ends an attempt. False: what was read is not one moment. Forget it, and begin again. */
bool moment_end(struct moment *moment);

/* The time to live that is left, in milliseconds; 0: it has none. */
uint64_t moment_ttl(const struct moment *moment);

void moment_close(struct moment *moment);

#endif
