/* What the bytes of a file are: a filter, or something else that people have beside their filters.
 */

#ifndef BLOOMPORT_TOOL_RECOGNISE_H
#define BLOOMPORT_TOOL_RECOGNISE_H

#include "rdb/tool/file.h"

#include <stddef.h>
#include <stdint.h>

/* The format of a filter's file. FILE_UNKNOWN if none fits. A damaged file has the format that its
 * first bytes tell, so that the decoder's error is that of the format; FORMAT_LEVELDB is never
 * returned, because such a file can have any first bytes and any length. */
enum file_format recognise_format(const uint8_t *bytes, size_t len);

/* What a file that is no filter looks like, as the words after "looks like". NULL: like nothing
 * known. */
const char *recognise_other(const uint8_t *bytes, size_t len);

#endif
