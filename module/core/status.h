/* The status codes of the pure code (module/core and rdb).
 *
 * A function that can fail returns a status. Its results go through out-parameters, which are
 * written only on STATUS_OK. On every other status its arguments are unchanged. */

#ifndef BLOOMPORT_STATUS_H
#define BLOOMPORT_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_NOMEM,   // a limit would be exceeded, or there is no memory
    STATUS_FULL,    // a non-scaling filter holds its capacity already
    STATUS_GROW,    // the filter must grow before the item can be added (filter_grow)
    STATUS_PARAM,   // a parameter is out of range, or a combination is impossible
    STATUS_CORRUPT, // the bytes break the rules of their format
};

#endif
