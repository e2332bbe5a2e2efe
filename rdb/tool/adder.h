/* Hashes -> the bits of a fresh filter, by as many threads as there are cores. Each thread takes a
 * block from the source, hashes its items and adds them.
 *
 * There are two ways to add, and both set the same bits. The exact way is batch_run, block
 * after block in the order in which they were taken, while the next ones are being hashed. The
 * other way, that of sorter.h, serves filters whose exact count of items is not needed. The count
 * is then an estimate, as after an import. */

#ifndef BLOOMPORT_TOOL_ADDER_H
#define BLOOMPORT_TOOL_ADDER_H

#include "module/core/filter/batch.h"
#include "rdb/tool/items.h"

#include <stdbool.h>
#include <stddef.h>

/* What one thread works on. */
struct block {
    struct items items;
    struct hash *hashes;
    size_t n, room;
};

/* Makes room for n hashes. */
void block_reserve(struct block *block, size_t n);

struct source {
    const char *like; // the filter whose parameters are used, for messages; NULL: those of options
    /* The next block; false if there is none. One thread at a time. */
    bool (*take)(struct source *source, struct block *block);
    /* Writes the block's hashes to block->hashes. Several threads at a time. */
    void (*hash)(struct source *source, struct block *block);
};

/* Adds all items of the source, and returns how many there were. is_exact: the filter's items are
 * counted, and more of them than the capacity end the program. */
uint64_t adder_run(struct filter *filter, struct source *source, bool is_exact);

#endif
