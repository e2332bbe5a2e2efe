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
#include "module/metrics.h"
#include "module/replay.h"
#include "module/type.h"
#include "module/type_foreign.h"
#include "rdb/formats/valkeybloom.h"

#include <string.h>

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

void type_valkeybloom_save(RedisModuleIO *io, void *value) {
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

static const char TRUNCATED[] = "truncated";

/* Loads the fields before the layers. Returns the filter without layers, or NULL and the reason in
 * *fault. */
static struct filter *load_fixed(RedisModuleIO *io, int encver, struct valkeybloom_fixed *fixed,
                                 const char **fault) {
    fixed->nlayers = RedisModule_LoadUnsigned(io);
    fixed->expansion = RedisModule_LoadUnsigned(io);
    if (encver == 0) {
        fixed->error_rate = (double)RedisModule_LoadFloat(io);
        fixed->ratio = VALKEYBLOOM_OLD_RATIO;
        fixed->flag = 0;
    } else {
        fixed->error_rate = RedisModule_LoadDouble(io);
        fixed->ratio = RedisModule_LoadDouble(io);
        fixed->flag = RedisModule_LoadUnsigned(io);
    }
    if (RedisModule_IsIOError(io)) {
        *fault = TRUNCATED;
        return NULL;
    }
    struct filter *filter = valkeybloom_new_bare(fixed, fault);
    if (!filter && !*fault) *fault = TYPE_NO_MEMORY;
    return filter;
}

/* Gives the layer that was appended last its bits. */
static const char *put_bits(struct filter *filter, const char *bits, uint64_t max_bytes) {
    struct layer *layer = &filter->layers[filter->nlayers - 1];
    size_t size = (size_t)layer_array_bytes(layer);
    if (filter_size_bytes(filter) > max_bytes) return TYPE_NO_MEMORY;
    layer->bits = mem_alloc(size);
    if (!layer->bits) return TYPE_NO_MEMORY;
    memcpy(layer->bits, bits, size);
    layer_advise_pages(layer);
    return NULL;
}

static const char *load_layer(RedisModuleIO *io, bool is_last, uint64_t max_bytes,
                              struct filter *filter) {
    struct valkeybloom_layer fields = {.capacity = RedisModule_LoadUnsigned(io)};
    fields.items = is_last ? RedisModule_LoadUnsigned(io) : fields.capacity;
    size_t len = 0;
    char *array = RedisModule_LoadStringBuffer(io, &len);
    if (!array || RedisModule_IsIOError(io)) {
        RedisModule_Free(array);
        return TRUNCATED;
    }
    const char *fault = valkeybloom_decode_array_header((const uint8_t *)array, len, &fields.nbits,
                                                        &fields.nhashes, &fields.seed);
    if (!fault) fault = valkeybloom_put_layer(filter, &fields);
    if (!fault) fault = put_bits(filter, array + VALKEYBLOOM_ARRAY_HEADER, max_bytes);
    RedisModule_Free(array);
    return fault;
}

/* The same for version 0. */
static const char *load_old_layer(RedisModuleIO *io, bool is_last, uint64_t max_bytes,
                                  struct filter *filter) {
    size_t len = 0;
    char *bits = RedisModule_LoadStringBuffer(io, &len);
    struct valkeybloom_layer fields = {.seed = VALKEYBLOOM_FIXED_SEED};
    fields.nbits = RedisModule_LoadUnsigned(io);
    fields.nhashes = RedisModule_LoadUnsigned(io);
    fields.capacity = RedisModule_LoadUnsigned(io);
    fields.items = is_last ? RedisModule_LoadUnsigned(io) : fields.capacity;
    const char *fault = TRUNCATED;
    if (bits && !RedisModule_IsIOError(io)) {
        fault = fields.nbits / 8 == len ? NULL : "bits";
        if (!fault) fault = valkeybloom_put_layer(filter, &fields);
        if (!fault) {
            valkeybloom_reverse_bits((uint8_t *)bits, len);
            fault = put_bits(filter, bits, max_bytes);
        }
    }
    RedisModule_Free(bits);
    return fault;
}

static void count_ones(struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        filter->layers[i].ones = layer_count_ones(&filter->layers[i]);
    }
}

void *type_valkeybloom_load(RedisModuleIO *io, int encver) {
    const char *fault = NULL;
    struct filter *filter = NULL;
    struct valkeybloom_fixed fixed = {0};
    uint64_t max_bytes = config_max_loaded_bytes();
    if (encver > TYPE_VALKEYBLOOM_ENCODING) {
        fault = "its encoding version is neither 1 nor 0, the only ones known here";
    } else {
        filter = load_fixed(io, encver, &fixed, &fault);
    }
    for (uint64_t i = 0; !fault && i < fixed.nlayers; i++) {
        bool is_last = i + 1 == fixed.nlayers;
        fault = encver == 0 ? load_old_layer(io, is_last, max_bytes, filter)
                            : load_layer(io, is_last, max_bytes, filter);
    }
    if (!fault) fault = valkeybloom_check_sums(filter);
    if (!fault) {
        count_ones(filter);
        metrics_hold(filter);
        replay_note_explicit_value();
        return filter;
    }
    RedisModule_LogIOError(io, "warning", "bloomport: cannot load a filter of valkey-bloom: %s",
                           fault);
    filter_free(filter);
    return NULL;
}
