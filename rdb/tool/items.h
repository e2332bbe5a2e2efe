/* Items from files and pipes: one a line, or one up to each NUL byte; the line itself or one of its
 * columns, raw or in hexadecimal. gzip, zstd and xz data is decoded on the way.
 *
 * Everything passes through one buffer, however large the input is; only an item longer than the
 * buffer makes it grow. An empty line is the empty item. The last item needs no newline. */

#ifndef BLOOMPORT_TOOL_ITEMS_H
#define BLOOMPORT_TOOL_ITEMS_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ITEMS_BATCH 256 // the most items at a time

struct item {
    const uint8_t *bytes; // the item itself
    size_t len;
    const uint8_t *line; // as it was written; equal to the item unless a column, or in hex
    size_t line_len;
};

/* How items are written. */
struct items_how {
    bool nul;           // a NUL byte ends an item, not a newline
    bool hex;           // two digits a byte
    uint32_t column;    // of a line, from 1; 0: the whole line
    uint8_t delimiter;  // between columns
    uint64_t from_line; // the first item that counts, from 1, over all inputs; 0 and 1: all do
};

struct decoder;

struct items {
    char **paths; // inputs that have not been opened yet
    int npaths;
    int fd; // -1: none open
    const char *name;
    struct items_how how;
    uint8_t separator;
    bool is_over;            // the open input has been read to its end
    bool is_fresh;           // nothing of the open input has been read
    struct decoder *decoder; // of the open input, if it is compressed
    uint8_t *buffer;         // start..end is not parsed yet
    uint8_t *decoded;        // of equal size, for items that are not the lines as they stand
    size_t size, start, end;
    uint64_t line;         // of the open input, for error messages
    uint64_t lines_before; // of the inputs before it, which --from-line counts too
    char fault[512];       // what is wrong with the next item; "": nothing
    void (*on_fault)(void *context, const char *fault); // does not return; NULL: tool_die
    void *context;
    uint64_t bytes_read; // over all inputs
    uint64_t expected;   // of the open input, if it is a file: bytes still to read
};

/* Reads from the files named, in order; "-", or none at all, is standard input. */
void items_open(struct items *items, char **paths, int npaths, const struct items_how *how);

/* The next items, at most ITEMS_BATCH; 0 at the end of all inputs. They are valid until the next
 * call. An item that cannot be read ends the program, or calls on_fault, when all items before it
 * have been returned. */
size_t items_next(struct items *items, struct item *batch);

/* For threads that parse side by side: moves the next complete items, a buffer full, from `items`
 * to `block`. A block is opened with items_open_block and read with items_next. False at the end
 * of all inputs. One thread at a time; the block's former items are overwritten. */
bool items_take_block(struct items *items, struct items *block);
void items_open_block(struct items *block, const struct items *items);

/* True if the next call of items_next will read: a caller flushes its output before it blocks. */
bool items_are_drained(const struct items *items);

/* True if the next call of items_next would wait for bytes that are not there yet. */
bool items_would_wait(const struct items *items);

/* Closes what is open and releases the memory. */
void items_close(struct items *items);

/* True if all inputs are regular files, which can be read twice. *bytes: their size, or 0 if some
 * input is no such file. Compressed files have a size, but are better not read twice: false. */
bool items_are_files(char **paths, int npaths, uint64_t *bytes);

/* How many items such files have, counted by nthreads threads. The position in standard input is
 * kept. */
uint64_t items_count(char **paths, int npaths, const struct items_how *how, unsigned nthreads);

#endif
