/* Filters in the formats of other programs: one file for each, and one table, in formats.c, that
 * lists them. A whole filter is one run of bytes. FORMAT.md, section 5, has the layouts. A decoder
 * is bounded by the length it is given and checks every byte before there is a filter. */

#ifndef BLOOMPORT_FORMATS_H
#define BLOOMPORT_FORMATS_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every format and the word that names it, in the order in which messages list them. Each has a
 * file of its name, with a row in it (row.h). */
#define FORMATS(FORMAT)                                                                            \
    FORMAT(PORTABLE, "portable")                                                                   \
    FORMAT(SSTABLE, "sstable")                                                                     \
    FORMAT(LEVELDB, "leveldb")                                                                     \
    FORMAT(PARQUET, "parquet")                                                                     \
    FORMAT(REDISBLOOM, "redisbloom")                                                               \
    FORMAT(VALKEYBLOOM, "valkeybloom")                                                             \
    FORMAT(GUAVA, "guava")                                                                         \
    FORMAT(SPARK, "spark")                                                                         \
    FORMAT(GO, "go")                                                                               \
    FORMAT(CASSANDRA, "cassandra")                                                                 \
    FORMAT(BIP37, "bip37")                                                                         \
    FORMAT(ROCKSDB, "rocksdb")                                                                     \
    FORMAT(DATASKETCHES, "datasketches")                                                           \
    FORMAT(REDISSON, "redisson")

#define FORMATS_ENUMERATOR(NAME, word) FORMAT_##NAME,
enum format { FORMATS(FORMATS_ENUMERATOR) FORMAT_COUNT };

/* Which version of the format's own program reads the bytes. Those of `cassandra` do not say it. */
enum variant {
    VARIANT_NONE, // not given
    VARIANT_OLD,  // Cassandra before 3.0
    VARIANT_3X,   // Cassandra 3.0 to 3.11
    VARIANT_4X,   // Cassandra from 4.0 on
    VARIANT_V1,   // Spark's version 1, for new filters
    VARIANT_V2,   // Spark's version 2
    VARIANT_COUNT
};

/* The options that an import of a format can have. */
enum formats_takes {
    TAKES_CAPACITY = 1,
    TAKES_EXPANSION = 2,
    TAKES_HASH = 4,
    TAKES_VARIANT = 8, // it must have it
};

/* The word that names a format in commands, in lower case. */
const char *formats_name(enum format format);

/* All of these words: "portable, sstable, ...". */
const char *formats_list(void);

/* The format that a word of `len` bytes names, in any case. False: there is none. */
bool formats_find(const char *word, size_t len, enum format *out);

/* The variant of a format that a word names. False: it has none of that name. */
bool formats_find_variant(enum format format, const char *word, size_t len, enum variant *out);

/* The word that names a variant in commands. */
const char *formats_variant_name(enum variant variant);

/* The variant that a command's VARIANT names, of any format that takes one there. NULL, or the
 * error. */
const char *formats_parse_variant(const char *word, size_t len, enum variant *out);

/* The error if a command on a format has a VARIANT, or if an import has none. NULL: it is right. */
const char *formats_variant_error(enum format format, bool is_given);

bool formats_takes(enum format format, enum formats_takes option);

/* What BF.IMPORT replies to CAPACITY and EXPANSION if the bytes have their own; NULL if they do
 * not. */
const char *formats_own_sizes(enum format format);

/* What BF.IMPORT replies if it cannot have this format; NULL if it can. */
const char *formats_import_obstacle(enum format format);

/* Why a filter cannot be written in a format, and what would work: a format that does hold this
 * filter, or BF.SCANDUMP. NULL if it can. */
const char *formats_obstacle(const struct filter *filter, enum format format, enum variant variant);

/* The length of such a filter's bytes. */
uint64_t formats_size(const struct filter *filter, enum format format);

/* Writes formats_size() bytes of a filter without obstacle. */
void formats_encode(const struct filter *filter, enum format format, enum variant variant,
                    uint8_t *out);

/* What the bytes do not say by themselves. */
struct formats_options {
    uint64_t capacity;    // 0: m / bits per key (`sstable`), or m ln 2 / k: best for the bits
    uint32_t expansion;   // 0: non-scaling
    enum scheme scheme;   // of `portable` and `sstable`: XXH64 or FNV1A
    enum variant variant; // of `cassandra`
    bool keep_foreign;    // of `redisbloom` and `valkeybloom`: it stays foreign, else becomes ours
    // Of `redisson`, whose bytes are the bits alone:
    uint64_t nbits;
    uint32_t nhashes;
    double error_rate;
};

/* The filter that the bytes are.
 * STATUS_CORRUPT: *fault names the field that is wrong. STATUS_NOMEM: it would take more than
 * max_bytes, or there is no memory. */
enum status formats_decode(enum format format, const uint8_t *bytes, size_t len,
                           const struct formats_options *options, uint64_t max_bytes,
                           struct filter **out, const char **fault);

/* The format whose header and length these bytes have. False if there is none, or if the format is
 * one that has no such marks. A damaged file may be recognised; the decoder names what is wrong. */
bool formats_recognise(const uint8_t *bytes, size_t len, enum format *out);

/* What a filter of a format is to be made for. */
struct formats_request {
    uint64_t capacity;
    double error_rate;   // 0: bits_per_key is given
    double bits_per_key; // 0: error_rate is given
    enum variant variant;
};

/* Whether formats_new makes filters of this format: those with a hash of their own. */
bool formats_has_sizes(enum format format);

/* An empty filter, of the size that the format's own program would give it.
 * STATUS_PARAM: the format has no such size. STATUS_NOMEM: there is no memory. */
enum status formats_new(enum format format, const struct formats_request *request,
                        struct filter **out);

#endif
