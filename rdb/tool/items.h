/* Items from files and pipes: one a line, or one up to each NUL byte, as they are or in hex.
 *
 * Everything passes through one buffer, however large the input is; only an item longer than the
 * buffer makes it grow. An empty line is the empty item. The last item needs no newline. */

#ifndef BLOOMPORT_TOOL_ITEMS_H
#define BLOOMPORT_TOOL_ITEMS_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ITEMS_BATCH 256 // how many come at a time

struct item {
    const uint8_t *bytes; // the item itself
    size_t len;
    const uint8_t *line; // as it was written; the same unless in hex
    size_t line_len;
};

struct items {
    char **paths; // inputs that have not been opened yet
    int npaths;
    int fd; // -1: none open
    const char *name;
    uint8_t separator;
    bool is_hex;
    bool is_over;     // the open input has been read to its end
    uint8_t *buffer;  // start..end is not parsed yet
    uint8_t *decoded; // as large, for the bytes that hex digits mean
    size_t size, start, end;
    uint64_t line;       // of the open input, for complaints
    uint64_t bytes_read; // over all inputs
    uint64_t expected;   // of the open input, if it is a file: bytes that must still come
};

/* Reads from the files named, in order; "-", or none at all, is standard input. */
void items_open(struct items *items, char **paths, int npaths, bool nul, bool hex);

/* The next items, at most ITEMS_BATCH; 0 at the end of all inputs. They are valid until the next
 * call. */
size_t items_next(struct items *items, struct item *batch);

/* For several threads that parse side by side: moves the next whole items, a buffer full, from
 * `items` to `block`, which is opened with items_open_block and read with items_next; false at the
 * end of all inputs. One thread at a time; what was in the block before is gone. */
bool items_take_block(struct items *items, struct items *block);
void items_open_block(struct items *block, const struct items *items);

/* True if the next call of items_next will read: a moment to pass on what is done. */
bool items_are_drained(const struct items *items);

/* Closes what is open and releases the memory. */
void items_close(struct items *items);

/* True if all inputs are regular files, which can be read twice. *bytes: their size. */
bool items_are_files(char **paths, int npaths, uint64_t *bytes);

/* How many items such files have, counted by nthreads threads. Standard input stays where it is. */
uint64_t items_count(char **paths, int npaths, bool nul, unsigned nthreads);

#endif
