/* The scalable filter: what a key holds. A chain of layers, the newest last; items go into the
 * newest, and when that holds its capacity a larger one is appended (Almeida et al. 2007).
 *
 *   struct filter            layers[0]        layers[1]      layers[nlayers - 1]
 *   parameters, promise ---> oldest, full --> full --> ... --> newest: items are added here
 *
 * "Contains" means "maybe": false is certain, true is wrong at most as often as promised.
 *
 * The promise. A filter sized by error rate p gives a false positive at most with probability p,
 * however far it grows; one sized by bits per key has exactly those bits in its first layer, and
 * grows within twice the rate they give. How the rate is shared among the layers stands in
 * sizing.c. Tuned for: far more lookups than adds, few layers, arrays larger than the caches.
 *
 * An add never grows a filter by itself: filter_add returns STATUS_GROW, the caller, who knows how
 * large it may become, calls filter_grow, and adds again. */

#ifndef BLOOMPORT_FILTER_H
#define BLOOMPORT_FILTER_H

#include "module/core/hash.h"
#include "module/core/layer.h"
#include "module/core/limits.h"
#include "module/core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_NO_LIMIT UINT64_MAX // for max_bytes

/* What a user chooses at creation. */
struct filter_params {
    uint64_t capacity;   // of the first layer, 1 to LIMITS_MAX_COUNT
    double error_rate;   // between 0 and 1, both excluded; not used if bits_per_key is
    double bits_per_key; // 1 to 256, or 0: sized by error_rate
    uint32_t expansion;  // 0 (non-scaling) to LIMITS_MAX_EXPANSION
    enum layout layout;
    enum scheme scheme;
    bool is_foreign; // as RedisBloom would make it: by error rate, CLASSIC, MURMUR
};

struct filter {
    uint8_t form;      // 0, which tells it from a packed one (packed.h); must come first
    bool is_loading;   // its bytes are still arriving, in pieces
    bool is_estimated; // the item counts are estimates from the set bits, as after an import
    bool is_foreign;   // RedisBloom's, and so are its growth and its bytes (rdb/formats/redisbloom.h)
    enum layout layout;
    enum scheme scheme;
    uint32_t nlayers;
    struct layer *layers; // at least one, oldest first
    uint32_t expansion;   // a new layer's capacity over the last one's; 0: non-scaling
    uint32_t growth;      // of a foreign filter: the same, but a non-scaling one has it too; else 0
    double error_rate;    // as in filter_params; 0 if sized by bits per key
    double bits_per_key;  // as in filter_params; 0 if sized by error rate
    uint64_t loaded;      // bytes that have arrived, over all layers; all if not is_loading
};

/* A fresh, empty filter of at most max_bytes bytes.
 * STATUS_PARAM: a parameter out of range, or more bits than layout and scheme can address.
 * STATUS_NOMEM: it would take more than max_bytes, or there is no memory. */
enum status filter_new(const struct filter_params *params, uint64_t max_bytes, struct filter **out);

/* A filter with room for `nlayers` layers, none of them there yet: for decoders, which fill in
 * everything. NULL if there is no memory. */
struct filter *filter_new_bare(uint32_t nlayers);

/* A filter of its own with the same contents. STATUS_NOMEM if there is no memory. */
enum status filter_copy(const struct filter *from, struct filter **out);

void filter_free(struct filter *filter);

/* Gives every layer of a decoded filter, none of which has bits yet, an array of zeroes.
 * STATUS_NOMEM if there is no memory. */
enum status filter_alloc_bits(struct filter *filter);

/* Removes all items: what is left is the first layer, empty, and the parameters. *changed: whether
 * it was any different. STATUS_NOMEM if it has more layers and there is no memory. */
enum status filter_empty(struct filter *filter, bool *changed);

/* The first layer's part of the error rate that was asked for. */
double filter_first_rate(double error_rate, uint32_t expansion);

/* The layer that takes new items. */
static inline struct layer *filter_newest(const struct filter *filter) {
    return &filter->layers[filter->nlayers - 1];
}

/* The hash of an item; layout and scheme are all that it needs of the filter. */
static inline struct hash filter_hash(const struct filter *filter, const void *item, size_t len) {
    return layer_hash(
        &(struct layer){.layout = (uint8_t)filter->layout, .scheme = (uint8_t)filter->scheme}, item,
        len);
}

/* False: surely never added. True: maybe added. */
bool filter_contains(const struct filter *filter, struct hash hash);

/* Adds an item. *added: whether the filter changed, that is, did not contain the item already.
 * STATUS_GROW: the newest layer holds its capacity. STATUS_FULL: the same, and the filter does not
 * scale. An item that is contained already is STATUS_OK, not added, even in a full filter. */
enum status filter_add(struct filter *filter, struct hash hash, bool *added);

/* Both for item i of a probe of the newest layer (layer_probe_all). */
bool filter_probed_contains(const struct filter *filter, const struct probe *probe, size_t i);
enum status filter_probed_add(struct filter *filter, const struct probe *probe, size_t i,
                              bool *added);

/* Appends a new, empty layer, the filter's size then being at most max_bytes bytes and, if it is
 * foreign, max_layers layers. STATUS_NOMEM: that or another limit (limits.h) is in the way, or
 * there is no memory; then the filter is as before. */
enum status filter_grow(struct filter *filter, uint64_t max_bytes, uint32_t max_layers);

/* Sums. In the header, since BF.ADD needs them before and after (metrics.h). */

/* Over all layers. */
static inline uint64_t filter_capacity(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].capacity;
    return sum;
}

/* Adds that changed it. */
static inline uint64_t filter_items(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].items;
    return sum;
}

/* The bit arrays alone. */
static inline uint64_t filter_array_bytes(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += layer_bytes(filter->layers[i].nbits);
    return sum;
}

/* All but the bit arrays that is asked of the allocator. */
static inline uint64_t filter_structure_bytes(uint64_t nlayers) {
    return sizeof(struct filter) + nlayers * sizeof(struct layer);
}

/* Both. */
static inline uint64_t filter_size_bytes(const struct filter *filter) {
    return filter_structure_bytes(filter->nlayers) + filter_array_bytes(filter);
}

#endif
