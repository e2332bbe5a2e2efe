/* A filter <-> a file, in any of the formats of rdb/formats/formats.h and in one more:
 *
 *   dump   the header of rdb/FORMAT.md, section 2, then the bits of all layers, oldest first. It
 *          holds any filter, with its counts and its error rate or bits per key.
 *
 * and reads, but does not write:
 *
 *   sst    a table of RocksDB, with a filter block of the format rocksdb inside
 *
 * Files are not trusted: all bytes pass through the decoders of rdb. */

#ifndef BLOOMPORT_TOOL_FILE_H
#define BLOOMPORT_TOOL_FILE_H

#include "rdb/formats/formats.h"

/* An enum format, or one of these. */
enum file_format {
    FILE_PORTABLE = FORMAT_PORTABLE,
    FILE_CASSANDRA = FORMAT_CASSANDRA,
    FILE_REDISSON = FORMAT_REDISSON,
    FILE_DUMP = FORMAT_COUNT,
    FILE_SST, // is read only
    FILE_UNKNOWN
};

struct options;

/* FILE_UNKNOWN if there is no such format. */
enum file_format file_format_of(const char *name);
const char *file_format_name(enum file_format format);

/* Reads the filter in a file ("-": standard input), as --from, --variant, --hash and --capacity
 * say. *format is the format it had, if format is not NULL. Any error ends the program. */
struct filter *file_load(const char *path, const struct options *options, enum file_format *format);

/* The same, but if the file holds no filter that can be read, NULL: then `fault` says why. */
#define FILE_FAULT 512
struct filter *file_try(const char *path, const struct options *options, enum file_format *format,
                        char fault[FILE_FAULT]);

/* The filter as lookups see it at this moment: without the generations of a window that are over.
 * Returns the filter itself, *view, or NULL if no generation lives, as window_live does. */
const struct filter *file_live(const struct filter *filter, struct filter *view);

/* The format of a filter when the user names none: redisbloom if it is RedisBloom's, valkeybloom if
 * it is valkey-bloom's, else dump, which loses nothing: the capacity, the error rate and the counts
 * that a server shows are those of the file. */
enum file_format file_default_format(const struct filter *filter);

/* Ends the program if the format cannot hold the filter. */
void file_check_format(const struct filter *filter, enum file_format format,
                       const struct options *options);

/* Writes the filter to --output, in this format and the variant of --variant. A format other than
 * dump gets what a window or a counting filter holds at this moment, as one layer of bits, as
 * BF.EXPORT does. */
void file_save(const struct filter *filter, enum file_format format, const struct options *options);

#endif
