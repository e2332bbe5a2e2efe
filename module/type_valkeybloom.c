/* valkey-bloom's RDB encoding, for foreign filters: keys of its type `bloomfltr`. Its files load
 * here, and files that we write load there. All other functions of the type are in type.c.
 *
 *   version 1   layers | expansion | error rate | tightening ratio | seed flag
 *               each layer: capacity | items, only of the last one | array with its header
 *   version 0   layers | expansion | error rate (float)
 *               each layer: bits | m | k | capacity | items, only of the last one
 *
 * Each field is a value of the server's RDB format. rdb/FORMAT.md has the legal values. Version 0
 * is only loaded: its bits have the other order, and its seed is fixed. */

#include "module/config.h"
#include "module/core/mem.h"
#include "module/type.h"
#include "module/type_foreign.h"
#include "rdb/formats/valkeybloom.h"

#include <string.h>

#define ENCODING_VERSION 1

/* ---- Saving ------------------------------------------------------------------------------- */

/* The array with its header is one string, so a copy of it is needed. As in encode_header of
 * type.c, the allocator that aborts is right here. */
static void save_layer(RedisModuleIO *io, const struct filter *filter, uint32_t i) {
    const struct layer *layer = &filter->layers[i];
    size_t size = (size_t)layer_array_bytes(layer);
    RedisModule_SaveUnsigned(io, layer->capacity);
    if (i + 1 == filter->nlayers) RedisModule_SaveUnsigned(io, layer->items);
    uint8_t *array = RedisModule_Alloc(VALKEYBLOOM_ARRAY_HEADER + size);
    valkeybloom_encode_array_header(filter, layer, array);
    memcpy(array + VALKEYBLOOM_ARRAY_HEADER, layer->bits, size);
    RedisModule_SaveStringBuffer(io, (const char *)array, VALKEYBLOOM_ARRAY_HEADER + size);
    RedisModule_Free(array);
}

static void on_save(RedisModuleIO *io, void *value) {
    const struct filter *filter = value; // foreign filters are never packed
    struct valkeybloom_fixed fixed = valkeybloom_fixed_of(filter);
    RedisModule_SaveUnsigned(io, fixed.nlayers);
    RedisModule_SaveUnsigned(io, fixed.expansion);
    RedisModule_SaveDouble(io, fixed.error_rate);
    RedisModule_SaveDouble(io, fixed.ratio);
    RedisModule_SaveUnsigned(io, fixed.flag);
    for (uint32_t i = 0; i < filter->nlayers; i++) save_layer(io, filter, i);
}

/* ---- Loading ------------------------------------------------------------------------------ */

static const char *take_fields(struct loading *l) {
    struct valkeybloom_fixed fixed = {.ratio = VALKEYBLOOM_OLD_RATIO};
    fixed.nlayers = RedisModule_LoadUnsigned(l->io);
    fixed.expansion = RedisModule_LoadUnsigned(l->io);
    if (l->version == 0) {
        fixed.error_rate = (double)RedisModule_LoadFloat(l->io);
    } else {
        fixed.error_rate = RedisModule_LoadDouble(l->io);
        fixed.ratio = RedisModule_LoadDouble(l->io);
        fixed.flag = RedisModule_LoadUnsigned(l->io);
    }
    if (RedisModule_IsIOError(l->io)) return TYPE_TRUNCATED;
    const char *fault;
    l->filter = valkeybloom_new_bare(&fixed, &fault);
    l->nlayers = fixed.nlayers;
    return l->filter || fault ? fault : TYPE_NO_MEMORY;
}

/* Gives the layer that was appended last its bits. */
static const char *put_bits(struct loading *l, const char *bits) {
    struct layer *layer = filter_newest(l->filter);
    size_t size = (size_t)layer_array_bytes(layer);
    if (filter_size_bytes(l->filter) > l->max_bytes) return TYPE_NO_MEMORY;
    layer->bits = mem_alloc(size);
    if (!layer->bits) return TYPE_NO_MEMORY;
    memcpy(layer->bits, bits, size);
    layer_advise_pages(layer);
    return NULL;
}

static const char *take_new_layer(struct loading *l, bool is_last) {
    RedisModuleIO *io = l->io;
    struct valkeybloom_layer fields = {.capacity = RedisModule_LoadUnsigned(io)};
    fields.items = is_last ? RedisModule_LoadUnsigned(io) : fields.capacity;
    size_t len = 0;
    char *array = RedisModule_LoadStringBuffer(io, &len);
    if (!array || RedisModule_IsIOError(io)) {
        RedisModule_Free(array);
        return TYPE_TRUNCATED;
    }
    const char *fault = valkeybloom_decode_array_header((const uint8_t *)array, len, &fields.nbits,
                                                        &fields.nhashes, &fields.seed);
    if (!fault) fault = valkeybloom_put_layer(l->filter, &fields);
    if (!fault) fault = put_bits(l, array + VALKEYBLOOM_ARRAY_HEADER);
    RedisModule_Free(array);
    return fault;
}

/* The same for version 0. */
static const char *take_old_layer(struct loading *l, bool is_last) {
    RedisModuleIO *io = l->io;
    size_t len = 0;
    char *bits = RedisModule_LoadStringBuffer(io, &len);
    struct valkeybloom_layer fields = {.seed = VALKEYBLOOM_FIXED_SEED};
    fields.nbits = RedisModule_LoadUnsigned(io);
    fields.nhashes = RedisModule_LoadUnsigned(io);
    fields.capacity = RedisModule_LoadUnsigned(io);
    fields.items = is_last ? RedisModule_LoadUnsigned(io) : fields.capacity;
    const char *fault = TYPE_TRUNCATED;
    if (bits && !RedisModule_IsIOError(io)) {
        fault = fields.nbits / 8 == len ? NULL : "bits";
        if (!fault) fault = valkeybloom_put_layer(l->filter, &fields);
        if (!fault) {
            valkeybloom_reverse_bits((uint8_t *)bits, len);
            fault = put_bits(l, bits);
        }
    }
    RedisModule_Free(bits);
    return fault;
}

static const char *take_layer(struct loading *l, uint64_t i) {
    bool is_last = i + 1 == l->nlayers;
    return l->version == 0 ? take_old_layer(l, is_last) : take_new_layer(l, is_last);
}

static const char *check(struct loading *l) {
    return valkeybloom_check_sums(l->filter);
}

static void *on_load(RedisModuleIO *io, int version) {
    static const struct loader LOADER = {
        .oldest = 0,
        .newest = ENCODING_VERSION,
        .unknown_version = "its encoding version is neither 1 nor 0, the only ones known here",
        .take_fields = take_fields,
        .take_layer = take_layer,
        .check = check,
    };
    return type_foreign_load(ORIGIN_VALKEYBLOOM, &LOADER, io, version);
}

/* ---- The type ----------------------------------------------------------------------------- */

/* Its list of layers has room for one, or for a power of two from 4 on. */
static uint64_t bytes_of(uint64_t nlayers, uint64_t array_bytes) {
    uint64_t room = nlayers == 1 ? 1 : 4;
    while (room < nlayers) room *= 2;
    return 48 + 8 * room + 208 * nlayers + array_bytes;
}

static uint64_t size_bytes(const void *value) {
    const struct filter *filter = value;
    return bytes_of(filter->nlayers, filter_array_bytes(filter));
}

#define DEFAULT_LIMIT ((uint64_t)128 * 1024 * 1024) // of a filter's bytes

/* By its own count of bytes, within bf.max-bytes or, if that is not set, its default. */
static uint64_t max_capacity(const struct filter *filter) {
    uint64_t limit = config_own_max_bytes() ? config_own_max_bytes() : DEFAULT_LIMIT;
    uint64_t sum = filter_capacity(filter), bytes = filter_array_bytes(filter);
    uint64_t capacity = filter_newest(filter)->capacity;
    for (uint32_t n = filter->nlayers; n < LIMITS_MAX_LAYERS; n++) {
        double rate = sizing_valkeybloom_rate(filter->error_rate, filter->ratio, n);
        struct sizing size;
        if (__builtin_mul_overflow(capacity, filter->expansion, &capacity)) break;
        if (capacity > LIMITS_MAX_COUNT - sum) break;
        if (!sizing_as_valkeybloom(capacity, rate, &size)) break;
        bytes += layer_bytes(size.nbits);
        if (bytes_of((uint64_t)n + 1, bytes) > limit) break;
        sum += capacity;
    }
    return sum;
}

struct type_row type_valkeybloom = {
    .name = "bloomfltr",
    .encoding = ENCODING_VERSION,
    .is_explicit = true,
    .save = on_save,
    .load = on_load,
    .size = size_bytes,
    .max_capacity = max_capacity,
};
