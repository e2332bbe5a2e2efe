/* The one status of the pure code (module/core and rdb).
 *
 * A function that can fail returns a status; its results go through out-parameters, which are
 * written only on STATUS_OK. Whatever it was given is unchanged on every other value. */

#ifndef BLOOMPORT_STATUS_H
#define BLOOMPORT_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_NOMEM,   // over a limit, or there is no memory
    STATUS_FULL,    // a non-scaling filter holds its capacity already
    STATUS_GROW,    // the filter must grow before it can take the item (filter_grow)
    STATUS_PARAM,   // a parameter outside its range, or a combination that cannot be
    STATUS_CORRUPT, // bytes that are not what they claim to be
};

#endif
