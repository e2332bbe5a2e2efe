/* Hashes -> the bits of a fresh filter, by as many threads as there are cores. Each of them takes a
 * block from the source, which hashes it, and adds it.
 *
 * Two ways. The exact one is batch_add_many, block after block in the order in which they were
 * taken, while the next ones are being hashed. The other, for filters whose exact count of items
 * nobody asks for, is that of sorter.h; the count is then the estimate, as after an import. The
 * bits are the same. */

#ifndef BLOOMPORT_TOOL_ADDER_H
#define BLOOMPORT_TOOL_ADDER_H

#include "module/core/batch.h"
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
    /* The next block; false if there is none. One thread at a time. */
    bool (*take)(struct source *source, struct block *block);
    /* Puts its hashes into block->hashes. Several threads at a time. */
    void (*hash)(struct source *source, struct block *block);
};

/* Adds all that the source has. is_exact: items must be counted and held to the capacity; more of
 * them end the program. */
void adder_run(struct filter *filter, struct source *source, bool is_exact);

#endif
