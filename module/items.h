/* Many items in one string: the data of BF.BULKEXISTS and BF.BULKADD. Items are cut, not copied.
 *
 *   WIDTH 3   | a b c | d e f | g h i |         every item has the same length
 *   LINES     | a b \n | \n | c d e f \n |      LF ends an item, and belongs to none
 *
 * CR is part of the item. A last line needs no LF. An LF at the end of the data is followed by no
 * further item, so "a\n" is one item, and "\n" is one empty item. */

#ifndef BLOOMPORT_ITEMS_H
#define BLOOMPORT_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct items {
    const char *data;
    size_t len;
    size_t width; // the length of every item; 0: items are lines
};

#define ITEMS_MAX_WIDTH (1 << 20)

/* Where the item that begins at `at` ends: past its last byte. */
static inline const char *items_end(const struct items *items, const char *at) {
    if (items->width) return at + items->width;
    const char *end = items->data + items->len;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline : end;
}

/* Where the item begins that follows the one which ends at `end`. Past the last item, this is the
 * end of the data. */
static inline const char *items_after(const struct items *items, const char *end) {
    bool has_newline = items->width == 0 && end < items->data + items->len;
    return end + has_newline;
}

/* Whether the last line has no LF. */
static inline bool items_is_open(const struct items *items) {
    return items->width == 0 && items->len > 0 && items->data[items->len - 1] != '\n';
}

/* How many items there are. */
static inline size_t items_count(const struct items *items) {
    if (items->width) return items->len / items->width;
    size_t n = items_is_open(items);
    for (size_t i = 0; i < items->len; i++) n += items->data[i] == '\n';
    return n;
}

#endif
