/* The scalable filter: what a key holds. A filter is a chain of layers. Items are added to the
 * newest layer; when that layer holds its capacity, a new one is appended (Almeida et al. 2007).
 *
 *   struct filter           layers[0]    layers[1]          layers[nlayers - 1]
 *   +------------+          +--------+   +--------+         +--------+
 *   | parameters |          | oldest |   |        |         | newest |   items are added here
 *   | layers ----|--------> | full   |   | full   |   ...   |        |
 *   | nlayers    |          | bits   |   | bits   |         | bits   |
 *   +------------+          +---|----+   +---|----+         +---|----+
 *                               v            v                  v
 *                            m bits       m bits             m bits       one array per layer
 *
 * "Contains" means "maybe". False is certain; true is wrong at most as often as promised.
 *
 * The promise. A filter sized by error rate p gives a false positive with probability p at most,
 * however far it grows. A filter sized by bits per key has exactly those bits in its first layer,
 * and grows within twice the false-positive rate that they give. sizing.c says how the layers share
 * the rate. The code is tuned for far more lookups than adds, few layers, and arrays larger than
 * the caches.
 *
 * An add never grows a filter: filter_add returns STATUS_GROW. The caller, who has the limits,
 * calls filter_grow and adds the item again.
 *
 * Two kinds of filters forget. A *window* drops its oldest layers as time passes (window.h). A
 * filter of layout COUNTING has counters, so that single items can be removed (counting.h). */

#ifndef BLOOMPORT_FILTER_H
#define BLOOMPORT_FILTER_H

#include "module/core/filter/layer.h"
#include "module/core/filter/origin.h"
#include "module/core/hash/hash.h"
#include "module/core/limits.h"
#include "module/core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_NO_LIMIT UINT64_MAX // for max_bytes

/* What a user chooses at creation. */
struct filter_params {
    uint64_t capacity;   // of the first layer, 1 to LIMITS_MAX_COUNT
    double error_rate;   // over 0, under 1; ignored if bits_per_key is over 0
    double bits_per_key; // 1 to 256, or 0: sized by error_rate
    uint32_t expansion;  // 0 (non-scaling) to LIMITS_MAX_EXPANSION
    enum layout layout;
    enum scheme scheme;
    enum origin origin;   // a foreign filter is CLASSIC, and sized by error rate
    struct seed seed;     // sip13 only; else zero
    double ratio;         // valkey-bloom's tightening ratio; else 0
    uint32_t window;      // seconds, for which `capacity` items are expected; 0: no window
    uint32_t generations; // of the window, 1 to LIMITS_MAX_GENERATIONS; 0 without one
};

struct filter {
    uint8_t form;      // 0; a packed filter has PACKED_FORM here (packed.h); must come first
    bool is_loading;   // the bytes are still arriving, in pieces
    bool is_estimated; // the item counts are estimates from the set bits, as after an import
    enum origin origin : 8;
    enum layout layout : 8;
    enum scheme scheme : 8;
    uint32_t place;   // a hint (filter_locate): a layer, by its index
    float safe_fill;  // how full the newest layer may be, or MEASURE_OVERFILLED; 0: unknown
    uint64_t before;  // the bytes of the layers before `place`
    struct seed seed; // as in filter_params
    uint32_t nlayers;
    struct layer *layers; // at least one, oldest first
    uint32_t expansion;   // a new layer's capacity over the last one's; 0: non-scaling
    uint32_t kept;        // a field of foreign files on which nothing depends (rdb/formats); else 0
    double ratio;         // as in filter_params
    double error_rate;    // as in filter_params; 0 if sized by bits per key
    double bits_per_key;  // as in filter_params; 0 if sized by error rate
    uint32_t window;      // as in filter_params
    uint32_t generations;
    uint64_t window_capacity; // the capacity of the whole window, as in filter_params; else 0
    uint64_t loaded; // bytes of bits that have arrived, over all layers; all if not is_loading
};

/* Whether two sets of parameters make the same filter: every field is the same. */
bool filter_params_are_equal(const struct filter_params *a, const struct filter_params *b);

/* Makes an empty filter of at most max_bytes bytes.
 * STATUS_PARAM: a parameter is out of range, or layout and scheme cannot address so many bits.
 * STATUS_NOMEM: the filter would be larger than max_bytes, or there is no memory. */
enum status filter_new(const struct filter_params *params, uint64_t max_bytes, struct filter **out);

/* The two steps of filter_new, for callers who make many filters alike. A *shape* is an empty
 * filter whose one layer, *layer, has no bits. filter_shape takes no memory: STATUS_NOMEM means
 * that no memory would be enough. */
enum status filter_shape(const struct filter_params *params, struct filter *shape,
                         struct layer *layer);
enum status filter_new_shaped(const struct filter *shape, uint64_t max_bytes, struct filter **out);

/* Returns the bytes that such a filter takes; UINT64_MAX if filter_new would return STATUS_PARAM.
 * A window takes the bytes of all generations that live at a time, g+1 of them. */
uint64_t filter_new_bytes(const struct filter_params *params);

/* Makes a filter with room for `nlayers` layers and nlayers = 0. Decoders fill in every field. NULL
 * if there is no memory. */
struct filter *filter_new_bare(uint32_t nlayers);

/* Makes a deep copy. STATUS_NOMEM if there is no memory. */
enum status filter_copy(const struct filter *from, struct filter **out);

void filter_free(struct filter *filter);

/* Replaces the item counts by estimates from the set bits. Only the count of an empty filter is
 * exact: 0. */
void filter_estimate_items(struct filter *filter);

/* Before a foreign filter becomes one of our own: counts that cannot be exact become estimates, as
 * after a merge beyond the capacity. The set bits have been counted. */
void filter_settle_items(struct filter *filter);

/* Gives every layer of a decoded filter an array of zeroes; no layer may have an array yet.
 * STATUS_NOMEM if there is no memory. */
enum status filter_alloc_bits(struct filter *filter);

/* Removes all items. The parameters and the first layer, empty, are left. *changed: whether the
 * filter was different before. STATUS_NOMEM if it has several layers and there is no memory. */
enum status filter_empty(struct filter *filter, bool *changed);

/* The layer of byte `offset` of the arrays, counted from 0 over all layers, and the byte's offset
 * within it; NULL past the end. Looked for from where the last one was found. */
struct layer *filter_locate(const struct filter *filter, uint64_t offset, uint64_t *within);

/* Whoever changes the list of layers, but for one at its end, calls this. */
static inline void filter_forget_place(struct filter *filter) {
    filter->place = 0;
    filter->before = 0;
}

/* The size and the error rate of the first layer of such a filter; of a window, of each generation.
 * The parameters are legal. False if layout and scheme cannot address so many bits. */
bool filter_first_layer(const struct filter_params *params, struct sizing *size, double *rate);

/* The first layer's part of the error rate of a filter without a window. */
double filter_first_rate(double error_rate, uint32_t expansion);

/* Whether it is a window, or items can be removed from it. Formats of other programs carry such a
 * filter only as one layer of bits (combine_flatten). */
static inline bool filter_forgets(const struct filter *filter) {
    return filter->window != 0 || layout_row(filter->layout)->removes;
}

/* Whether it is another program's, kept as it is (origin.h). */
static inline bool filter_is_foreign(const struct filter *filter) {
    return origin_row(filter->origin)->is_foreign;
}

/* The layer that takes new items. */
static inline struct layer *filter_newest(const struct filter *filter) {
    return &filter->layers[filter->nlayers - 1];
}

/* The hash of an item, which depends on the filter's layout, scheme and seed only. */
static inline struct hash filter_hash(const struct filter *filter, const void *item, size_t len) {
    return layer_hash_as(filter->layout, filter->scheme, &filter->seed, item, len);
}

/* False: the item was certainly never added. True: it may have been added. */
bool filter_contains(const struct filter *filter, struct hash hash);

/* The same for all layers but the newest. */
bool filter_older_contains(const struct filter *filter, struct hash hash);

/* Adds an item; in a window, to the newest generation. The caller has seen to it that the window
 * holds no generation that is over (window_rotate).
 * STATUS_GROW: the newest layer holds its capacity.
 * STATUS_FULL: the newest layer holds its capacity, and the filter is non-scaling.
 * An item that the filter (in a window, the newest generation) contains already gives STATUS_OK,
 * even if the filter is full. */
enum status filter_add(struct filter *filter, struct hash hash, struct outcome *outcome);

/* COUNTING. filter_remove returns whether the filter contained the item, and decrements its
 * counters if it did. *changed: whether a counter changed. filter_count returns the item's smallest
 * counter: an upper bound on how often it was added and not removed.
 * The number of items is that of the adds that changed a counter, minus the removals that changed
 * one: a count of copies. So an item that is added three times counts three times, and what is
 * added once and removed once leaves nothing, also if the add found it present. It never falls
 * below 0. Adds of present items may take it over the capacity. */
bool filter_remove(struct filter *filter, struct hash hash, bool *changed);
unsigned filter_count(const struct filter *filter, struct hash hash);

/* Look up or add item i of a probe that layer_probe_all filled with the newest layer. */
bool filter_probed_contains(const struct filter *filter, const struct probe *probe, size_t i);
enum status filter_probed_add(struct filter *filter, const struct probe *probe, size_t i,
                              struct outcome *outcome);

/* What the layers other than the newest one say of an item. */
struct older {
    bool is_in_generation; // one of the newest generation contains it; without a window, any one
    bool is_before;        // one of an older generation contains it
};

/* filter_probed_add for an item that was looked up in those layers already. */
enum status filter_add_newest(struct filter *filter, const struct probe *probe, size_t i,
                              struct older older, struct outcome *outcome);

/* COUNTING: adds item i of such a probe though the filter is full. For replayed adds: another
 * server, perhaps of version 0.2.0 with its other count of items, has accepted them. */
struct outcome filter_probed_force(struct filter *filter, const struct probe *probe, size_t i);

/* COUNTING: filter_remove for item i of such a probe. */
bool filter_probed_remove(struct filter *filter, const struct probe *probe, size_t i,
                          bool *changed);

/* Appends an empty layer. Afterwards the filter has max_bytes bytes at most and, if it is foreign,
 * max_layers layers at most. STATUS_NOMEM: one of these limits or of limits.h would be exceeded, or
 * there is no memory; the filter is unchanged. */
enum status filter_grow(struct filter *filter, uint64_t max_bytes, uint32_t max_layers);

/* Returns the bytes that a filter with these parameters takes when it has grown to `items` items, 1
 * or more; a window, when each of its generations has grown to its share of them. UINT64_MAX if it
 * never can. */
uint64_t filter_scaled_bytes(const struct filter_params *params, uint64_t items);

/* Returns the bytes that the filter takes when it has grown; UINT64_MAX if it never can. */
uint64_t filter_grown_bytes(const struct filter *filter);

/* ---- Sums over all layers. They are inline, since BF.ADD computes them twice (metrics.h). ---- */

/* The capacity of a window is what was asked for, whatever its layers have. */
static inline uint64_t filter_capacity(const struct filter *filter) {
    if (filter->window) return filter->window_capacity;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].capacity;
    return sum;
}

/* The adds that changed the filter; COUNTING: see filter_remove. */
static inline uint64_t filter_items(const struct filter *filter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].items;
    return sum;
}

/* The bytes of the bit arrays. All layers have the filter's layout. */
static inline uint64_t filter_array_bytes(const struct filter *filter) {
    const unsigned shift = layout_row(filter->layout)->byte_shift;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        sum += layout_bytes_by(shift, filter->layers[i].nbits);
    }
    return sum;
}

/* The bytes that a filter allocates besides its bit arrays. */
static inline uint64_t filter_structure_bytes(uint64_t nlayers) {
    return sizeof(struct filter) + nlayers * sizeof(struct layer);
}

/* All bytes that a filter allocates. */
static inline uint64_t filter_size_bytes(const struct filter *filter) {
    return filter_structure_bytes(filter->nlayers) + filter_array_bytes(filter);
}

#endif
