/* The short record: version 3 of the bytes. It is a small filter, header and bits, in one string
 * (rdb/FORMAT.md, section 2). Only RDB files and DUMP have it; offsets in bytes:
 *
 *   0  version, 3    1  k     2  expansion     4  m     6  capacity     8  items
 *  10  error rate   18  bits, ceil(m / 8) bytes         18 + ceil(m / 8)  checksum (4 bytes)
 *
 * A server that keeps a filter per user saves millions of them. A header of version 1 and the
 * strings after it take 112 bytes besides the bits of each; this takes 22, and less time. The
 * filters that have this record are those that are packed in memory (packed.h), and they are
 * decoded into a packed value. What a short record leaves out follows from the rest: the set bits
 * are counted, and the layer's error rate is the first layer's share of the filter's.
 *
 * The fields go through the same checks as those of the other versions (limits.h). */

#ifndef BLOOMPORT_SHORT_RECORD_H
#define BLOOMPORT_SHORT_RECORD_H

#include "module/core/filter/packed.h"
#include "module/core/measure.h"
#include "module/core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHORT_RECORD_FIXED_BYTES 22 // without the bits
#define SHORT_RECORD_MOST_BYTES (SHORT_RECORD_FIXED_BYTES + PACKED_MAX_BITS / 8)

/* Writes the record and returns its length. 0 if the filter is none that has a short record. */
size_t short_record_encode(const struct filter *filter, uint8_t out[SHORT_RECORD_MOST_BYTES]);

/* Whether these bytes, the first string of a value, begin as a short record. A header begins with
 * another byte. */
static inline bool short_record_begins(const uint8_t *bytes, size_t len) {
    return len > 0 && bytes[0] == 3;
}

/* Makes the packed value that the record describes. The memo is for measure_safe_fill, or NULL.
 * STATUS_CORRUPT: the bytes are no short record, or one that contradicts itself.
 * STATUS_NOMEM: the filter would be larger than max_bytes, or there is no memory. */
enum status short_record_decode(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                                struct measure_memo *memo, void **value);

#endif
