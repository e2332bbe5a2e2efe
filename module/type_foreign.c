/* The types of other programs. See type_foreign.h. */

#include "module/type_foreign.h"

static uint64_t redisblooms_size(const struct filter *filter) {
    return 32 + 64 * (uint64_t)filter->nlayers + filter_array_bytes(filter);
}

/* Its list of layers has room for one, or for a power of two from 4 on. */
static uint64_t valkeyblooms_size(const struct filter *filter) {
    uint64_t room = filter->nlayers == 1 ? 1 : 4;
    while (room < filter->nlayers) room *= 2;
    return 48 + 8 * room + 208 * (uint64_t)filter->nlayers + filter_array_bytes(filter);
}

struct type_foreign type_foreign[TYPE_FOREIGN_COUNT] = {
    {.name = "MBbloom--",
     .encoding = TYPE_REDISBLOOM_ENCODING,
     .growth = GROWTH_HALVING,
     .save = type_redisbloom_save,
     .load = type_redisbloom_load,
     .size = redisblooms_size},
    {.name = "bloomfltr",
     .encoding = TYPE_VALKEYBLOOM_ENCODING,
     .growth = GROWTH_RATIO,
     .save = type_valkeybloom_save,
     .load = type_valkeybloom_load,
     .size = valkeyblooms_size},
};

struct type_foreign *type_foreign_of(const struct filter *filter) {
    return &type_foreign[filter->growth == GROWTH_RATIO ? 1 : 0];
}
