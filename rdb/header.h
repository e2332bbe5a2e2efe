/* The headers of filters, by origin (module/core/filter/origin.h): what comes before the bits in
 * the chunks of BF.SCANDUMP, in RDB files of our own type, and in dumps. A row for each; codec.h is
 * what the rest of the program uses. */

#ifndef BLOOMPORT_HEADER_H
#define BLOOMPORT_HEADER_H

#include "module/core/filter/filter.h"
#include "rdb/bytes.h"
#include "rdb/formats/formats.h"

#define HEADER_MAGIC_BYTES 8

struct header_row {
    const char *magic; // its first bytes; NULL: it has none, and is tried where no magic is found

    /* Its bytes, and writing them. */
    size_t (*size)(const struct filter *filter);
    void (*encode)(const struct filter *filter, uint8_t *out);

    /* Reads a header, and not a byte after it: a filter whose layers' bits are still NULL.
     * STATUS_CORRUPT: *fault names the field that is wrong, if there is a name. STATUS_NOMEM: there
     * is no memory. */
    enum status (*decode)(struct reader *r, struct filter **out, const char **fault);

    /* Makes a foreign filter of this origin, which fits our ranges, one of our own. NULL for ours.
     */
    void (*make_native)(struct filter *filter);

    /* The format in which the tool writes such filters if the user names none. FORMAT_COUNT for
     * ours: then it is a dump. */
    enum format format;
};

extern const struct header_row HEADER_OWN, HEADER_REDISBLOOM, HEADER_VALKEYBLOOM;

const struct header_row *header_row(enum origin origin);

/* The row whose magic these bytes have, or the one without a magic. */
const struct header_row *header_find(const uint8_t *bytes, size_t len);

/* Makes a foreign filter one of our own, which answers as before: counts that cannot be exact
 * become estimates. Its bits have been counted. NULL, or the name of the field that is out of our
 * range: then the filter is still foreign. */
const char *header_make_native(struct filter *filter);

#endif
