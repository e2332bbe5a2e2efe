/* What the bytes of a file are: a filter, or something else that people have beside their filters.
 */

#ifndef BLOOMPORT_TOOL_RECOGNISE_H
#define BLOOMPORT_TOOL_RECOGNISE_H

#include "rdb/tool/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The format of a filter's file. FILE_UNKNOWN if none fits. A damaged file has the format that its
 * first bytes tell, so that the decoder's error is that of the format; FORMAT_LEVELDB is never
 * returned, because such a file can have any first bytes and any length; nor is FORMAT_CASSANDRA,
 * whose variant the bytes do not tell. */
enum file_format recognise_format(const uint8_t *bytes, size_t len);

/* The variant of a Cassandra filter that the name of its file tells, as nb-1-big-Filter.db does.
 * VARIANT_NONE if it does not. */
enum variant recognise_variant(const char *path);

/* Whether bytes could be a Cassandra filter: k, the number of words and the length go together. */
bool recognise_cassandra(const uint8_t *bytes, size_t len);

/* What a file that is no filter looks like, as the words after "looks like". NULL: like nothing
 * known. */
const char *recognise_other(const uint8_t *bytes, size_t len);

/* What to say of a file that looks like nothing known. NULL: it begins as a portable file does,
 * whose decoder says what is wrong. */
const char *recognise_unknown(const uint8_t *bytes, size_t len);

#endif
