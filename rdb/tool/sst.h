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

#define SST_EXTRACTOR 64

/* A filter and what its items are. */
struct sst_filter {
    uint8_t *block; // which the format `rocksdb` reads; the caller frees it
    size_t len;
    bool has_keys, has_prefixes;
    char extractor[SST_EXTRACTOR]; // what makes prefixes of keys, in RocksDB's words; "": not said
};

/* Copies the filter block out of a table. NULL, or why there is none to take. A filter of prefixes
 * alone would deny the keys that the table has: it is taken only if prefixes are wanted, and one
 * without prefixes only if they are not. A file that cannot be read ends the program. */
const char *sst_take_filter(const struct sst *table, bool wants_prefixes,
                            struct sst_filter *filter);

#endif
