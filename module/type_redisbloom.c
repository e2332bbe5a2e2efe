/* RedisBloom's RDB encoding, version 4, for foreign filters: keys of its type `MBbloom--`. Its
 * files load here, and files that we write load there. All other functions of the type are in
 * type.c.
 *
 *   filter      items | layers | options | growth
 *   each layer  capacity | error rate | hashes | bits per item | bits | n2 | array | items
 *
 * Each field is a value of the server's RDB format: a number, a double, or for the array a string.
 * rdb/FORMAT.md, section 6, has the legal values. */

#include "module/config.h"
#include "module/metrics.h"
#include "module/type.h"
#include "module/type_foreign.h"
#include "rdb/formats/redisbloom.h"

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

void type_redisbloom_save(RedisModuleIO *io, void *value) {
    const struct filter *filter = value; // foreign filters are never packed
    struct redisbloom_fixed fixed = redisbloom_fixed_of(filter);
    RedisModule_SaveUnsigned(io, fixed.items);
    RedisModule_SaveUnsigned(io, fixed.nlayers);
    RedisModule_SaveUnsigned(io, fixed.options);
    RedisModule_SaveUnsigned(io, fixed.growth);
    for (uint32_t i = 0; i < filter->nlayers; i++) save_layer(io, &filter->layers[i]);
}

/* ---- Loading ------------------------------------------------------------------------------ */

static const char TRUNCATED[] = "truncated";

/* Loads the fields before the layers. Returns the filter without layers, or NULL and the reason in
 * *fault. */
static struct filter *load_fixed(RedisModuleIO *io, struct redisbloom_fixed *fixed,
                                 const char **fault) {
    fixed->items = RedisModule_LoadUnsigned(io);
    fixed->nlayers = RedisModule_LoadUnsigned(io);
    fixed->options = RedisModule_LoadUnsigned(io);
    fixed->growth = RedisModule_LoadUnsigned(io);
    if (RedisModule_IsIOError(io)) {
        *fault = TRUNCATED;
        return NULL;
    }
    struct filter *filter = redisbloom_new_bare(fixed, fault);
    if (!filter && !*fault) *fault = TYPE_NO_MEMORY;
    return filter;
}

/* Loads one layer. Returns NULL or the reason of the failure. The string that was read becomes the
 * layer's array, so that a large array needs no second copy. */
static const char *load_layer(RedisModuleIO *io, uint64_t max_bytes, struct filter *filter) {
    struct redisbloom_layer fields;
    fields.capacity = RedisModule_LoadUnsigned(io);
    fields.error_rate = RedisModule_LoadDouble(io);
    fields.nhashes = RedisModule_LoadUnsigned(io);
    fields.bits_per_item = RedisModule_LoadDouble(io);
    fields.nbits = RedisModule_LoadUnsigned(io);
    fields.n2 = RedisModule_LoadUnsigned(io);
    if (fields.nbits / 8 > max_bytes) return TYPE_NO_MEMORY;
    size_t len = 0;
    char *bits = RedisModule_LoadStringBuffer(io, &len);
    fields.items = RedisModule_LoadUnsigned(io);
    fields.nbytes = len;
    const char *fault = TRUNCATED;
    if (bits && !RedisModule_IsIOError(io)) fault = redisbloom_put_layer(filter, &fields);
    if (fault) {
        RedisModule_Free(bits);
        return fault;
    }
    struct layer *layer = &filter->layers[filter->nlayers - 1];
    layer->bits = (uint8_t *)bits;
    layer->ones = layer_count_ones(layer);
    return filter_size_bytes(filter) > max_bytes ? TYPE_NO_MEMORY : NULL;
}

void *type_redisbloom_load(RedisModuleIO *io, int encver) {
    const char *fault = NULL;
    struct filter *filter = NULL;
    struct redisbloom_fixed fixed = {0};
    uint64_t max_bytes = config_max_loaded_bytes();
    if (encver != TYPE_REDISBLOOM_ENCODING) {
        fault = "its encoding version is not 4, the only one known here";
    } else {
        filter = load_fixed(io, &fixed, &fault);
    }
    for (uint64_t i = 0; !fault && i < fixed.nlayers; i++) {
        fault = load_layer(io, max_bytes, filter);
    }
    if (!fault) fault = redisbloom_check_sums(filter, fixed.items);
    if (!fault) {
        metrics_hold(filter);
        return filter;
    }
    RedisModule_LogIOError(io, "warning", "bloomport: cannot load a filter of RedisBloom: %s",
                           fault);
    filter_free(filter);
    return NULL;
}
