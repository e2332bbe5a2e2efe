/* A filter on its way to a server. It is loaded under a staging key, which nobody else uses, and
 * takes its place when the server has all of it. So clients never see half a filter, two pushes do
 * not disturb each other, and an old filter answers until the new one replaces it.
 *
 *   BF.LOADCHUNK stage ..., PEXPIRE stage       for the header and for each piece
 *   BF.SCANDUMP stage 0                         the header must be the one that was sent
 *   PERSIST stage, RENAME stage key             RENAMENX unless an old filter may be replaced
 *   BF.MERGE key stage, UNLINK stage            with --merge, if the key exists
 *
 * After any error the staging key is deleted. If that is impossible, because the connection is lost
 * or the program was killed, the key expires an hour after the last piece. The first signal ends
 * the program after the server's next answer, a second one at once. */

#ifndef BLOOMPORT_TOOL_STAGE_H
#define BLOOMPORT_TOOL_STAGE_H

#include "rdb/tool/progress.h"
#include "rdb/tool/server.h"

struct options;

struct stage {
    struct server *server;
    const char *key;
    char *name; // the staging key
    uint8_t *header;
    size_t header_len;
    struct progress *progress; // which is erased before an error is printed
};

/* The name of a staging key, in the same slot of a cluster. The caller frees it. */
char *stage_name(const char *key);

/* Sends the header. The bytes are copied. Any error ends the program, here and below. */
void stage_begin(struct stage *stage, struct server *server, const char *key, const uint8_t *header,
                 size_t len, struct progress *progress);

/* Sends the bytes of the arrays that end at `end`. */
void stage_put(struct stage *stage, uint64_t end, const uint8_t *bytes, size_t len);

/* The same, but returns the server's error, or NULL. */
const char *stage_try(struct stage *stage, uint64_t end, const uint8_t *bytes, size_t len);

/* Checks that the server has the whole filter, and lets it take its place, as --replace and --merge
 * say, with this time to live unless it is 0. A filter that is merged into another keeps the time
 * to live of that one. A note says if the merged filter is overfilled. */
void stage_take_place(struct stage *stage, const struct options *options, uint64_t ttl_ms);

/* Deletes the temporary key. The end of the program does that too. */
void stage_delete(struct stage *stage);

/* Ends the program, if there is an error or a signal came. */
void stage_check_call(struct stage *stage, const char *error);

void stage_free(struct stage *stage);

#endif
