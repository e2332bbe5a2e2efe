/* The Bloom filter inside an .sst file, a table of RocksDB. Only the full filter block is taken:
 * partitioned filters, Ribbon filters and those of other policies are refused by name. */

#ifndef BLOOMPORT_TOOL_SST_H
#define BLOOMPORT_TOOL_SST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file, in memory or open. Of an open one, which may be large, only the parts that are needed are
 * read. */
struct sst {
    const uint8_t *bytes; // NULL: it is open
    int fd;
    const char *path; // for errors
    uint64_t size;
};

/* Whether the file ends in the magic number of a table. */
bool sst_is_table(const struct sst *table);

/* Copies the filter block, which the format `rocksdb` reads, to memory that the caller frees. NULL,
 * or why there is none to take. A file that cannot be read ends the program. */
const char *sst_take_filter(const struct sst *table, uint8_t **block, size_t *len);

#endif
