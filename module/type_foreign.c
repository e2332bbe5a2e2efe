/* The types of other programs. See type_foreign.h. */

#include "module/type_foreign.h"

#include "module/config.h"

static uint64_t redisblooms_size(const struct filter *filter) {
    return 32 + 64 * (uint64_t)filter->nlayers + filter_array_bytes(filter);
}

/* Its list of layers has room for one, or for a power of two from 4 on. */
static uint64_t valkeyblooms_bytes(uint64_t nlayers, uint64_t array_bytes) {
    uint64_t room = nlayers == 1 ? 1 : 4;
    while (room < nlayers) room *= 2;
    return 48 + 8 * room + 208 * nlayers + array_bytes;
}

static uint64_t valkeyblooms_size(const struct filter *filter) {
    return valkeyblooms_bytes(filter->nlayers, filter_array_bytes(filter));
}

#define VALKEYBLOOM_LIMIT ((uint64_t)128 * 1024 * 1024)

uint64_t type_foreign_max_capacity(const struct filter *filter) {
    uint64_t limit = config_own_max_bytes() ? config_own_max_bytes() : VALKEYBLOOM_LIMIT;
    uint64_t sum = filter_capacity(filter), bytes = filter_array_bytes(filter);
    uint64_t capacity = filter_newest(filter)->capacity;
    for (uint32_t n = filter->nlayers; n < LIMITS_MAX_LAYERS; n++) {
        double rate = sizing_valkeybloom_rate(filter->error_rate, filter->ratio, n);
        struct sizing size;
        if (__builtin_mul_overflow(capacity, filter->expansion, &capacity)) break;
        if (capacity > LIMITS_MAX_COUNT - sum) break;
        if (!sizing_as_valkeybloom(capacity, rate, &size)) break;
        bytes += layer_bytes(size.nbits);
        if (valkeyblooms_bytes((uint64_t)n + 1, bytes) > limit) break;
        sum += capacity;
    }
    return sum;
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
