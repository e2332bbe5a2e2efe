/* The types of other programs, whose filters are kept as they are. A row of the table has what
 * differs between them; everything else about a foreign filter is the same for all, and follows
 * from its scheme and its growth rule (core/filter.h). args_foreign.h has the words with which each
 * program writes a creation to its stream. */

#ifndef BLOOMPORT_TYPE_FOREIGN_H
#define BLOOMPORT_TYPE_FOREIGN_H

#include "module/core/filter.h"

#include <redismodule.h>

struct type_foreign {
    const char *name; // nine characters
    int encoding;     // the version of the RDB encoding that is written
    enum growth growth;
    RedisModuleTypeSaveFunc save;
    RedisModuleTypeLoadFunc load;

    /* The bytes that the program itself would show in BF.INFO, so that a user's monitoring sees no
     * change. */
    uint64_t (*size)(const struct filter *filter);
    RedisModuleType *type; // once it is registered
};

#define TYPE_FOREIGN_COUNT 2
extern struct type_foreign type_foreign[TYPE_FOREIGN_COUNT];

/* The row of a foreign filter. */
struct type_foreign *type_foreign_of(const struct filter *filter);

/* The capacity to which valkey-bloom would let its scaling filter grow: by its own count of bytes,
 * within bf.max-bytes or, if that is not set, within valkey-bloom's default of 128 MiB. */
uint64_t type_foreign_max_capacity(const struct filter *filter);

void type_redisbloom_save(RedisModuleIO *io, void *value);
void *type_redisbloom_load(RedisModuleIO *io, int encver);
#define TYPE_REDISBLOOM_ENCODING 4

void type_valkeybloom_save(RedisModuleIO *io, void *value);
void *type_valkeybloom_load(RedisModuleIO *io, int encver);
#define TYPE_VALKEYBLOOM_ENCODING 1

#endif
