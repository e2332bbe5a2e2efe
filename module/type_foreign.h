/* Loading the types of other programs, whose filters are kept as they are: one driver, and a
 * loader for each type, in the file of its name. */

#ifndef BLOOMPORT_TYPE_FOREIGN_H
#define BLOOMPORT_TYPE_FOREIGN_H

#include "module/core/filter/filter.h"

#include <redismodule.h>

/* A value that is being loaded. */
struct loading {
    RedisModuleIO *io;
    int version; // of the encoding
    uint64_t max_bytes;
    struct filter *filter;   // NULL until take_fields has made it
    uint64_t nlayers, items; // as the fields state them
};

/* The functions return NULL, or why the value cannot be loaded. */
struct loader {
    int oldest, newest; // the versions of the encoding that it knows
    const char *unknown_version;

    /* Loads the fields before the layers, and makes the filter with room for them. */
    const char *(*take_fields)(struct loading *l);

    /* Loads layer i with its bits, and appends it. */
    const char *(*take_layer)(struct loading *l, uint64_t i);

    /* Checks the whole filter; its set bits are counted afterwards. */
    const char *(*check)(struct loading *l);
};

extern const char TYPE_TRUNCATED[];

/* Loads a value, for RedisModuleTypeLoadFunc. NULL: it cannot be loaded, and the log says why. */
void *type_foreign_load(enum origin origin, const struct loader *loader, RedisModuleIO *io,
                        int version);

#endif
