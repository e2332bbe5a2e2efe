/* The one status of the pure code (module/core and rdb).
 *
 * A function that can fail returns a status; its results go through out-parameters, which are
 * written only on STATUS_OK. Whatever it was given is unchanged on every other value. */

#ifndef BLOOMPORT_STATUS_H
#define BLOOMPORT_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_NOMEM,   // over the caller's limit, or the allocator said no
    STATUS_FULL,    // a non-scaling filter holds its capacity already
    STATUS_PARAM,   // a parameter outside its range, or a combination that cannot be
    STATUS_CORRUPT, // bytes that are not what they claim to be
};

#endif
