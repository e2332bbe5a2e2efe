/* RedisBloom's RDB encoding, version 4, for foreign filters: keys of its type `MBbloom--`. Its
 * files load here, and files that we write load there. All other functions of the type are in
 * type.c.
 *
 *   filter      items | layers | options | growth
 *   each layer  capacity | error rate | hashes | bits per item | bits | n2 | array | items
 *
 * Each field is a value of the server's RDB format: a number, a double, or for the array a string.
 * rdb/FORMAT.md, section 6, has the legal values. */

#include "module/type.h"
#include "module/type_foreign.h"
#include "rdb/formats/redisbloom.h"

#define ENCODING_VERSION 4

/* ---- Saving ------------------------------------------------------------------------------- */

/* The server's rdbcompression applies to the array, as it does for RedisBloom. So the files are the
 * same to the last byte. */
static void save_layer(RedisModuleIO *io, const struct layer *layer) {
    struct redisbloom_layer fields = redisbloom_layer_of(layer);
    RedisModule_SaveUnsigned(io, fields.capacity);
    RedisModule_SaveDouble(io, fields.error_rate);
    RedisModule_SaveUnsigned(io, fields.nhashes);
    RedisModule_SaveDouble(io, fields.bits_per_item);
    RedisModule_SaveUnsigned(io, fields.nbits);
    RedisModule_SaveUnsigned(io, fields.n2);
    RedisModule_SaveStringBuffer(io, (const char *)layer->bits, (size_t)fields.nbytes);
    RedisModule_SaveUnsigned(io, fields.items);
}

static void on_save(RedisModuleIO *io, void *value) {
    const struct filter *filter = value; // foreign filters are never packed
    struct redisbloom_fixed fixed = redisbloom_fixed_of(filter);
    RedisModule_SaveUnsigned(io, fixed.items);
    RedisModule_SaveUnsigned(io, fixed.nlayers);
    RedisModule_SaveUnsigned(io, fixed.options);
    RedisModule_SaveUnsigned(io, fixed.growth);
    for (uint32_t i = 0; i < filter->nlayers; i++) save_layer(io, &filter->layers[i]);
}

/* ---- Loading ------------------------------------------------------------------------------ */

static const char *take_fields(struct loading *l) {
    struct redisbloom_fixed fixed;
    fixed.items = RedisModule_LoadUnsigned(l->io);
    fixed.nlayers = RedisModule_LoadUnsigned(l->io);
    fixed.options = RedisModule_LoadUnsigned(l->io);
    fixed.growth = RedisModule_LoadUnsigned(l->io);
    if (RedisModule_IsIOError(l->io)) return TYPE_TRUNCATED;
    const char *fault;
    l->filter = redisbloom_new_bare(&fixed, &fault);
    l->nlayers = fixed.nlayers;
    l->items = fixed.items;
    return l->filter || fault ? fault : TYPE_NO_MEMORY;
}

/* The string that was read becomes the layer's array, so that a large array needs no second copy.
 */
static const char *take_layer(struct loading *l, uint64_t i) {
    (void)i;
    RedisModuleIO *io = l->io;
    struct redisbloom_layer fields;
    fields.capacity = RedisModule_LoadUnsigned(io);
    fields.error_rate = RedisModule_LoadDouble(io);
    fields.nhashes = RedisModule_LoadUnsigned(io);
    fields.bits_per_item = RedisModule_LoadDouble(io);
    fields.nbits = RedisModule_LoadUnsigned(io);
    fields.n2 = RedisModule_LoadUnsigned(io);
    if (fields.nbits / 8 > l->max_bytes) return TYPE_NO_MEMORY;
    size_t len = 0;
    char *bits = RedisModule_LoadStringBuffer(io, &len);
    fields.items = RedisModule_LoadUnsigned(io);
    fields.nbytes = len;
    const char *fault = TYPE_TRUNCATED;
    if (bits && !RedisModule_IsIOError(io)) fault = redisbloom_put_layer(l->filter, &fields);
    if (fault) {
        RedisModule_Free(bits);
        return fault;
    }
    filter_newest(l->filter)->bits = (uint8_t *)bits;
    return filter_size_bytes(l->filter) > l->max_bytes ? TYPE_NO_MEMORY : NULL;
}

static const char *check(struct loading *l) {
    return redisbloom_check_sums(l->filter, l->items);
}

static void *on_load(RedisModuleIO *io, int version) {
    static const struct loader LOADER = {
        .oldest = ENCODING_VERSION,
        .newest = ENCODING_VERSION,
        .unknown_version = "its encoding version is not 4, the only one known here",
        .take_fields = take_fields,
        .take_layer = take_layer,
        .check = check,
    };
    return type_foreign_load(ORIGIN_REDISBLOOM, &LOADER, io, version);
}

/* ---- The type ----------------------------------------------------------------------------- */

static uint64_t size_bytes(const void *value) {
    const struct filter *filter = value;
    return 32 + 64 * (uint64_t)filter->nlayers + filter_array_bytes(filter);
}

struct type_row type_redisbloom = {
    .name = "MBbloom--",
    .encoding = ENCODING_VERSION,
    .save = on_save,
    .load = on_load,
    .size = size_bytes,
};
