/* One format's row in the table of formats.c, and the rows there are. Only the files of this
 * directory include it.
 *
 * Every filter has at most one *home*, the format that is made for its layout and hash. Other
 * formats turn it away and advise that one; `sstable`, which is home to none, holds what is at
 * home in `portable`. */

#ifndef BLOOMPORT_FORMATS_ROW_H
#define BLOOMPORT_FORMATS_ROW_H

#include "module/core/filter.h"
#include "rdb/bytes.h"
#include "rdb/formats/formats.h"

struct format_row {
    const char *name;

    /* Whether this format is the filter's home. NULL: it is home to none. */
    bool (*is_home)(const struct filter *filter);

    /* Why it cannot hold a filter whose home it is; NULL if it can. */
    const char *(*limit)(const struct filter *filter);

    /* The error when a filter at home here is to be written in another format. NULL: that format's
     * needs, below, are the error. */
    const char *advice;

    /* The error when a filter at home in `portable` is to be written here. NULL: it can be. */
    const char *needs;

    /* formats_size, formats_encode and formats_decode of this format. */
    uint64_t (*size)(const struct filter *filter);
    void (*encode)(const struct filter *filter, struct writer *w);
    enum status (*decode)(struct reader *r, const struct formats_options *options,
                          uint64_t max_bytes, struct filter **out, const char **fault);
};

extern const struct format_row PORTABLE_ROW, SSTABLE_ROW, LEVELDB_ROW, PARQUET_ROW, REDISBLOOM_ROW,
    VALKEYBLOOM_ROW;

#endif
