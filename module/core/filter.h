/* The scalable filter: what a key holds. A chain of layers, the newest last; items go into the
 * newest, and when that holds its capacity a larger one is put behind it (Almeida et al. 2007).
 *
 * "Contains" means "maybe": false is certain, true is wrong at most as often as promised.
 *
 * The promise. A filter asked for by error rate p answers a false yes at most with probability p,
 * however far it grows; one asked for by bits per key has exactly those bits in its first layer,
 * and grows within twice the rate they give. How the rate is shared among the layers stands in
 * sizing.c. Tuned for: far more lookups than adds, few layers, arrays larger than the caches. */

#ifndef BLOOMPORT_FILTER_H
#define BLOOMPORT_FILTER_H

#include "module/core/hash.h"
#include "module/core/layer.h"
#include "module/core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_MAX_CAPACITY INT64_MAX // what an integer of the protocol can say
#define FILTER_MAX_EXPANSION 32768
#define FILTER_NO_LIMIT UINT64_MAX // for max_bytes

/* What a user chooses at creation. */
struct filter_params {
    uint64_t capacity;   // of the first layer, 1 to FILTER_MAX_CAPACITY
    double error_rate;   // between 0 and 1, both excluded; not used if bits_per_key is
    double bits_per_key; // 1 to 256, or 0: sized by error_rate
    uint32_t expansion;  // 0 (non-scaling) to FILTER_MAX_EXPANSION
    enum layout layout;
    enum scheme scheme;
    bool is_adopted; // as RedisBloom would make it: by error rate, CLASSIC, MURMUR
    bool is_default; // nobody named them: they are those of the settings
};

struct filter {
    uint8_t form;      // 0, which tells it from a packed one (packed.h); must come first
    bool is_loading;   // its bytes are still arriving, in pieces
    bool is_estimated; // the item counts are estimates from the set bits, as after an import
    bool is_adopted;   // RedisBloom's, and so are its growth and its bytes (rdb/redisbloom.h)
    enum layout layout;
    enum scheme scheme;
    uint32_t nlayers;
    struct layer *layers; // at least one, oldest first
    uint32_t expansion;   // a new layer's capacity over the last one's; 0: non-scaling
    uint32_t growth;     // of an adopted filter: the same, but a non-scaling one has it too; else 0
    double error_rate;   // as in filter_params; 0 if sized by bits per key
    double bits_per_key; // as in filter_params; 0 if sized by error rate
    uint64_t loaded;     // bytes that have arrived, over all layers; all if not is_loading
};

/* A fresh, empty filter of at most max_bytes bytes.
 * STATUS_PARAM: a parameter out of range, or more bits than layout and scheme can address.
 * STATUS_NOMEM: it would take more than max_bytes, or the allocator said no. */
enum status filter_new(const struct filter_params *params, uint64_t max_bytes, struct filter **out);

/* A filter with room for `nlayers` layers, none of them there yet: for decoders, which fill in
 * everything. NULL if the allocator says no. */
struct filter *filter_new_bare(uint32_t nlayers);

/* A filter of its own with the same contents. STATUS_NOMEM if the allocator says no. */
enum status filter_copy(const struct filter *from, struct filter **out);

void filter_free(struct filter *filter);

/* Gives every layer of a decoded filter, none of which has bits yet, an array of zeroes.
 * STATUS_NOMEM if the allocator says no. */
enum status filter_alloc_bits(struct filter *filter);

/* Takes all items out: what is left is the first layer, empty, and the parameters. *changed:
 * whether it was any different. STATUS_NOMEM if it has more layers and the allocator says no. */
enum status filter_empty(struct filter *filter, bool *changed);

/* The first layer's part of the error rate that was asked for. */
double filter_first_rate(double error_rate, uint32_t expansion);

static inline struct hash filter_hash(const struct filter *filter, const void *item, size_t len) {
    // A blocked layer looks at one word only.
    if (filter->layout == LAYOUT_BLOCKED) return (struct hash){XXH64(item, len, 0), 0};
    return hash_item(filter->scheme, item, len);
}

/* False: surely never added. True: maybe added. */
bool filter_contains(const struct filter *filter, struct hash hash);

/* Where the items of a batch come from and where the answers go: a few at a time, in order. The
 * source puts the hashes of items `from` to `from` + n - 1 into `out`; the sink is told whether
 * each of them is contained, or was added. While they work, the memory of others arrives. */
typedef void filter_source(void *context, size_t from, size_t n, struct hash *out);
typedef void filter_sink(void *context, size_t from, size_t n, const bool *answers);

/* filter_contains for items 0 to n - 1, with the cost of memory shared among them. */
void filter_contains_each(const struct filter *filter, size_t n, filter_source *source,
                          filter_sink *sink, void *context);

/* The same for an array of hashes: contained[i] answers for hashes[i]. */
void filter_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                          bool *contained);

/* Adds an item, growing the filter if it is full, to at most max_bytes bytes.
 * *added: whether the filter changed, that is, did not contain the item already.
 * STATUS_FULL: a non-scaling filter holds its capacity. STATUS_NOMEM: it cannot grow.
 * An item that is contained already is STATUS_OK, not added, even in a full filter. */
enum status filter_add(struct filter *filter, struct hash hash, uint64_t max_bytes, bool *added);

/* Both for item i of a group that has asked the newest layer for all its lines (layer.h). */
bool filter_contains_asked(const struct filter *filter, const struct group *group, size_t i);
enum status filter_add_asked(struct filter *filter, const struct group *group, size_t i,
                             uint64_t max_bytes, bool *added);

/* Adds items 0 to n - 1, in order, exactly as n calls of filter_add would, with the cost of memory
 * shared among them. Stops at the first item that is not STATUS_OK and returns its status; *done is
 * then its index, else n. The sink is told of the items before *done. */
enum status filter_add_each(struct filter *filter, size_t n, uint64_t max_bytes,
                            filter_source *source, filter_sink *sink, void *context, size_t *done);

/* The same for an array of hashes: added[i] answers for hashes[i], i < *done. */
enum status filter_add_many(struct filter *filter, const struct hash *hashes, size_t n,
                            uint64_t max_bytes, bool *added, size_t *done);

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
