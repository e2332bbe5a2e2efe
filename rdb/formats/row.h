/* One format's row in the table of formats.c. Only the files of this directory include it.
 *
 * Every filter has at most one *home*, the format that is made for its layout and hash. Other
 * formats turn it away and advise that one; `sstable`, which is home to none, holds what is at
 * home in `portable`. */

#ifndef BLOOMPORT_FORMATS_ROW_H
#define BLOOMPORT_FORMATS_ROW_H

#include "module/core/filter/filter.h"
#include "rdb/bytes.h"
#include "rdb/formats/formats.h"
#include "rdb/formats/single.h"

struct format_row {
    unsigned takes;           // bits of enum formats_takes
    enum variant variants[2]; // the first and the last of its variants, if it has some

    /* TAKES_VARIANT: the errors if VARIANT is no word of these, is missing, or comes with a format
     * that takes none. */
    const char *bad_variant, *no_variant, *variant_elsewhere;

    /* The error when BF.IMPORT gives the bytes, which have their own, a capacity or an expansion.
     * NULL: they have none. */
    const char *own_sizes;

    /* Whether this format is the filter's home. NULL: it is home to none. */
    bool (*is_home)(const struct filter *filter);

    /* Why it cannot hold a filter whose home it is; NULL if it can. */
    const char *(*limit)(const struct filter *filter, enum variant variant);

    /* The error when a filter at home here is to be written in another format. NULL: that format's
     * needs, below, are the error. */
    const char *advice;

    /* The error when a filter at home in `portable` is to be written here. NULL: it can be. */
    const char *needs;

    /* The reply when BF.IMPORT names the format. NULL: it can. */
    const char *no_import;

    /* formats_size and formats_encode of this format. */
    uint64_t (*size)(const struct filter *filter);
    void (*encode)(const struct filter *filter, enum variant variant, struct writer *w);

    /* Reading. A format of one layer has `take`, which reads the header, checks it, and finds the
     * bits; it returns the field at fault, or NULL. The others have `decode`, which is
     * formats_decode. */
    const char *(*take)(struct reader *r, const struct formats_options *options, struct single *s);
    enum status (*decode)(struct reader *r, const struct formats_options *options,
                          uint64_t max_bytes, struct filter **out, const char **fault);

    /* How to recognise the format. `is_marked`: what `take` accepts is of this format, since the
     * fields state the length. `recognise`: a further condition, or the only one. A format that has
     * neither has nothing to recognise it by. */
    bool is_marked;
    bool (*recognise)(const uint8_t *bytes, size_t len);

    /* The size that the format's own program would choose. False: it has none. NULL: filters of
     * this format are sized as ours. */
    bool (*plan)(const struct formats_request *request, struct single *s);
};

#define FORMATS_DECLARATION(NAME, word) extern const struct format_row NAME##_ROW;
FORMATS(FORMATS_DECLARATION)

#endif
