/* Lists of names, some of which may stand there several times. */

#ifndef BLOOMPORT_NAMES_H
#define BLOOMPORT_NAMES_H

#include <stddef.h>

struct name {
    const char *bytes;
    size_t len;
    size_t at; // its index in the list, which the caller sets; no two are equal
};

/* Keeps the first of equal names, in the order of the list, and returns how many are left. It takes
 * O(n log n) comparisons. */
size_t names_drop_repeated(struct name *names, size_t n);

#endif
