/* Filters in the formats of other programs: one file for each, and one table, in formats.c, that
 * lists them. A whole filter is one run of bytes. FORMAT.md, section 5, has the layouts. A decoder
 * is bounded by the length it is given and checks every byte before there is a filter. */

#ifndef BLOOMPORT_FORMATS_H
#define BLOOMPORT_FORMATS_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum format {
    FORMAT_PORTABLE,    // k u32 | m u64 | bits
    FORMAT_SSTABLE,     // m u64 | k u32 | bits per key u32 | bits
    FORMAT_LEVELDB,     // bits | k u8
    FORMAT_PARQUET,     // Thrift header | blocks
    FORMAT_REDISBLOOM,  // RedisBloom's dump header | bits of all layers
    FORMAT_VALKEYBLOOM, // the string of valkey-bloom's BF.LOAD
    FORMAT_COUNT
};

/* The word that names a format in commands, in lower case. */
const char *formats_name(enum format format);

/* The format that a word of `len` bytes names, in any case. False: there is none. */
bool formats_find(const char *word, size_t len, enum format *out);

/* Why a filter cannot be written in a format, and what would work: a format that does hold this
 * filter, or BF.SCANDUMP. NULL if it can. */
const char *formats_obstacle(const struct filter *filter, enum format format);

/* The length of such a filter's bytes. */
uint64_t formats_size(const struct filter *filter, enum format format);

/* Writes formats_size() bytes of a filter without obstacle. */
void formats_encode(const struct filter *filter, enum format format, uint8_t *out);

/* What the bytes do not say by themselves. */
struct formats_options {
    uint64_t capacity;  // 0: m / bits per key (`sstable`), or m ln 2 / k: best for the bits
    uint32_t expansion; // 0: non-scaling
    enum scheme scheme; // of `portable` and `sstable`: XXH64 or FNV1A
    bool keep_foreign;  // of `redisbloom` and `valkeybloom`: it stays foreign, else it becomes ours
};

/* The filter that the bytes are.
 * STATUS_CORRUPT: *fault names the field that is wrong. STATUS_NOMEM: it would take more than
 * max_bytes, or there is no memory. */
enum status formats_decode(enum format format, const uint8_t *bytes, size_t len,
                           const struct formats_options *options, uint64_t max_bytes,
                           struct filter **out, const char **fault);

#endif
