/* Many items to a filter on a server, and the answers back: gathered into pieces, of which several
 * are under way at a time. A piece is one BF.BULKADD or BF.BULKEXISTS where the server has them and
 * no item of the piece holds a newline, else one BF.MADD or BF.MEXISTS.
 *
 * One piece at a time is under way in a cluster, where each may be redirected to another node, and
 * to a filter that counts its items, where what is added twice must be deleted twice.
 *
 * Whatever ends a stream early, the message names the line from which --from-line continues, and
 * which lines may have been counted already. */

#ifndef BLOOMPORT_TOOL_STREAM_H
#define BLOOMPORT_TOOL_STREAM_H

#include "rdb/tool/items.h"
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/server.h"

/* One command of 10,000 items holds the server for a millisecond, about. */
#define STREAM_ITEMS ((size_t)10000)
#define STREAM_BYTES ((size_t)1 << 20) // of data; a longer item is a piece alone
#define STREAM_DEPTH 4                 // pieces under way: the server never waits for us

/* Bytes one after the other, and where each run ends. */
struct runs {
    uint8_t *bytes;
    size_t len, room;
    size_t ends[STREAM_ITEMS]; // without the separator
};

struct piece {
    struct runs items; // each ends in a newline
    struct runs lines; // as they were written, if they are other bytes and wanted
    size_t n;
    bool has_newline; // in an item
    bool is_bulk;     // how it was sent
    bool is_answered; // the server's reply is there
};

struct stream {
    struct server *server;
    const char *key;
    const char *what;        // for the progress bar
    const char *bulk, *many; // the commands; bulk NULL: the server has none
    bool wants_lines;
    bool counts; // adding an item twice is not adding it once; true if the server does not say
    bool waits;  // one piece at a time
    uint64_t capacity; // of a new filter, which the first piece creates; 0: as the server makes it
    void (*answer)(void *context, const uint8_t *line, size_t len, bool is_yes);
    void *context;
    void (*begun)(void *context);      // called once, when the first piece is answered; may be NULL
    struct piece pieces[STREAM_DEPTH]; // used in turn
    size_t first, n;                   // under way
    uint64_t line;                     // of the first item without an answer
    uint64_t answered;
    struct progress progress;
};

/* `adds`: BF.BULKADD and BF.MADD; else lookups. The key must be on the server's current node. */
void stream_open(struct stream *stream, struct server *server, const struct options *options,
                 bool adds);

/* All items of the inputs. answer(context, line, ...) is called for each, in order. Any error ends
 * the program. */
void stream_run(struct stream *stream, struct items *items, uint64_t bytes);

void stream_close(struct stream *stream);

#endif
