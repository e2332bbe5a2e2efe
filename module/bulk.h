/* Many items in one string: the data of BF.BULKEXISTS and BF.BULKADD. Items are cut, not copied.
 *
 *   WIDTH 3   | a b c | d e f | g h i |         every item has the same length
 *   LINES     | a b \n | \n | c d e f \n |      LF ends an item, and belongs to none
 *
 * CR is part of the item. A last line needs no LF. An LF at the end of the data is followed by no
 * further item, so "a\n" is one item, and "\n" is one empty item. */

#ifndef BLOOMPORT_BULK_H
#define BLOOMPORT_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bulk {
    const char *data;
    size_t len;
    size_t width; // the length of every item; 0: items are lines
};

#define BULK_MAX_WIDTH (1 << 20)

/* Where the item that begins at `at` ends: past its last byte. */
static inline const char *bulk_item_end(const struct bulk *bulk, const char *at) {
    if (bulk->width) return at + bulk->width;
    const char *end = bulk->data + bulk->len;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline : end;
}

/* Where the item begins that follows the one which ends at `end`. Past the last item, this is the
 * end of the data. */
static inline const char *bulk_item_after(const struct bulk *bulk, const char *end) {
    bool has_newline = bulk->width == 0 && end < bulk->data + bulk->len;
    return end + has_newline;
}

/* Whether the last line has no LF. */
static inline bool bulk_is_open(const struct bulk *bulk) {
    return bulk->width == 0 && bulk->len > 0 && bulk->data[bulk->len - 1] != '\n';
}

#endif
