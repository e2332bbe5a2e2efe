/* The scalable filter. See filter.h. */

#include "module/core/filter.h"

#include "module/core/mem.h"
#include "module/core/sizing.h"

#include <string.h>

static bool params_are_valid(const struct filter_params *p) {
    bool by_bits = p->bits_per_key != 0;
    // Written so that a NaN fails.
    bool rate_ok = by_bits ? p->bits_per_key >= SIZING_MIN_BITS_PER_KEY &&
                                 p->bits_per_key <= SIZING_MAX_BITS_PER_KEY
                           : p->error_rate > 0 && p->error_rate < 1;
    return rate_ok && p->capacity >= 1 && p->capacity <= FILTER_MAX_CAPACITY &&
           (p->expansion <= FILTER_MAX_EXPANSION || p->is_adopted) && p->layout < LAYOUT_COUNT &&
           hash_is_scheme(p->scheme) && (p->layout == LAYOUT_CLASSIC || p->scheme == SCHEME_XXH64);
}

static struct geometry filter_geometry(const struct filter *filter) {
    return (struct geometry){filter->layout, filter->scheme};
}

double filter_first_rate(double error_rate, uint32_t expansion) {
    return expansion ? error_rate * SIZING_FIRST_SHARE : error_rate;
}

/* The size and the promised rate of the first layer. */
static bool size_first_layer(const struct filter_params *p, struct sizing *size, double *rate) {
    struct geometry geometry = {p->layout, p->scheme};
    if (p->is_adopted) {
        *rate = p->expansion ? p->error_rate / 2 : p->error_rate;
        return sizing_as_redisbloom(p->capacity, *rate, size);
    }
    if (p->bits_per_key != 0) {
        if (!sizing_by_bits(p->capacity, p->bits_per_key, geometry, size)) return false;
        *rate = sizing_error_rate(p->capacity, *size, geometry);
        return true;
    }
    *rate = filter_first_rate(p->error_rate, p->expansion);
    return sizing_by_error(p->capacity, *rate, geometry, size);
}

struct filter *filter_new_bare(uint32_t nlayers) {
    struct filter *filter = mem_alloc_zeroed(sizeof(*filter));
    if (!filter) return NULL;
    filter->layers = mem_alloc_zeroed(nlayers * sizeof(struct layer));
    if (!filter->layers) {
        mem_free(filter);
        return NULL;
    }
    return filter;
}

enum status filter_new(const struct filter_params *params, uint64_t max_bytes,
                       struct filter **out) {
    if (!params_are_valid(params)) return STATUS_PARAM;
    struct geometry geometry = {params->layout, params->scheme};
    struct sizing size;
    double rate;
    if (!size_first_layer(params, &size, &rate)) {
        return sizing_max_bits(geometry) != SIZING_MAX_BITS ? STATUS_PARAM : STATUS_NOMEM;
    }
    if (filter_structure_bytes(1) + layer_bytes(size.nbits) > max_bytes) return STATUS_NOMEM;

    struct filter *filter = filter_new_bare(1);
    if (!filter) return STATUS_NOMEM;
    if (layer_init(&filter->layers[0], size, geometry, params->capacity, rate) != STATUS_OK) {
        filter_free(filter);
        return STATUS_NOMEM;
    }
    filter->nlayers = 1;
    filter->expansion = params->expansion;
    filter->bits_per_key = params->bits_per_key;
    filter->error_rate = params->bits_per_key != 0 ? 0 : params->error_rate;
    filter->layout = params->layout;
    filter->scheme = params->scheme;
    filter->loaded = layer_bytes(size.nbits);
    if (params->is_adopted) {
        filter->is_adopted = true;
        filter->growth = params->expansion ? params->expansion : 2;
        filter->layers[0].bits_per_item = sizing_redisbloom_bits(rate);
    }
    *out = filter;
    return STATUS_OK;
}

enum status filter_copy(const struct filter *from, struct filter **out) {
    struct filter *filter = filter_new_bare(from->nlayers);
    if (!filter) return STATUS_NOMEM;
    struct layer *layers = filter->layers;
    *filter = *from;
    filter->layers = layers;
    for (filter->nlayers = 0; filter->nlayers < from->nlayers; filter->nlayers++) {
        uint32_t i = filter->nlayers;
        if (layer_copy(&layers[i], &from->layers[i]) != STATUS_OK) {
            filter_free(filter);
            return STATUS_NOMEM;
        }
    }
    *out = filter;
    return STATUS_OK;
}

void filter_free(struct filter *filter) {
    if (!filter) return;
    for (uint32_t i = 0; i < filter->nlayers; i++) layer_clear(&filter->layers[i]);
    mem_free(filter->layers);
    mem_free(filter);
}

enum status filter_alloc_bits(struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        struct layer *layer = &filter->layers[i];
        layer->bits = mem_alloc_zeroed((size_t)layer_bytes(layer->nbits));
        if (!layer->bits) return STATUS_NOMEM;
        layer_advise_pages(layer);
    }
    return STATUS_OK;
}

enum status filter_empty(struct filter *filter, bool *changed) {
    struct layer *first = &filter->layers[0];
    *changed = filter->nlayers > 1 || first->ones > 0 || filter->is_estimated;
    if (!*changed) return STATUS_OK; // its pages stay as they are
    if (filter->nlayers > 1) {
        struct layer *alone = mem_alloc(sizeof(*alone));
        if (!alone) return STATUS_NOMEM;
        *alone = *first;
        for (uint32_t i = 1; i < filter->nlayers; i++) layer_clear(&filter->layers[i]);
        mem_free(filter->layers);
        filter->layers = first = alone;
        filter->nlayers = 1;
        filter->loaded = layer_bytes(first->nbits);
    }
    mem_zero(first->bits, (size_t)layer_bytes(first->nbits));
    first->items = first->ones = 0;
    layer_advise_pages(first);
    filter->is_estimated = false;
    return STATUS_OK;
}

/* Whether any of the layers `from` to `to` - 1 contains the item. The newest first: it is the
 * largest, and holds what was added last. */
static bool any_contains(const struct layer *layers, uint32_t from, uint32_t to, struct hash hash) {
    for (uint32_t i = to; i-- > from;) {
        if (layer_contains(&layers[i], hash)) return true;
    }
    return false;
}

bool filter_contains(const struct filter *filter, struct hash hash) {
    return any_contains(filter->layers, 0, filter->nlayers, hash);
}

bool filter_contains_asked(const struct filter *filter, const struct group *group, size_t i) {
    uint32_t last = filter->nlayers - 1;
    return layer_asked_contains(&filter->layers[last], group, i) ||
           any_contains(filter->layers, 0, last, group->hashes[i]);
}

/* A group's way through the filter, step by step as layer.h has them. The newest layer is asked
 * first; what it surely does not hold asks for its first lines in the older ones on the way. */
static void ask_on(const struct filter *filter, struct group *group) {
    uint32_t newest = filter->nlayers - 1;
    layer_ask_on(&filter->layers[newest], group);
    for (uint32_t layer = newest; layer-- > 0;) {
        for (size_t i = 0; i < group->n; i++) {
            if (!group->hits[i]) layer_prefetch_first(&filter->layers[layer], group->hashes[i]);
        }
    }
}

static void answer(const struct filter *filter, struct group *group, bool *contained) {
    uint32_t newest = filter->nlayers - 1;
    layer_answer(&filter->layers[newest], group, contained);
    for (size_t i = 0; i < group->n && newest > 0; i++) {
        if (!contained[i]) contained[i] = any_contains(filter->layers, 0, newest, group->hashes[i]);
    }
}

/* How many items the group that begins at `from` has. */
static size_t group_size(size_t from, size_t n) {
    if (from >= n) return 0;
    return n - from < LAYER_GROUP ? n - from : LAYER_GROUP;
}

/* Three groups are under way: one is asked for, one asks on, and the eldest is answered. */
void filter_contains_each(const struct filter *filter, size_t n, filter_source *source,
                          filter_sink *sink, void *context) {
    const struct layer *newest = &filter->layers[filter->nlayers - 1];
    struct group groups[3];
    for (size_t step = 0; step * LAYER_GROUP < n + 2 * LAYER_GROUP; step++) {
        size_t from = step * LAYER_GROUP;
        struct group *group = &groups[step % 3];
        group->n = group_size(from, n);
        source(context, from, group->n, group->hashes);
        layer_ask(newest, group);
        if (step >= 1) ask_on(filter, &groups[(step - 1) % 3]);
        if (step >= 2) {
            bool contained[LAYER_GROUP];
            struct group *eldest = &groups[(step - 2) % 3];
            answer(filter, eldest, contained);
            sink(context, from - 2 * LAYER_GROUP, eldest->n, contained);
        }
    }
}

/* A batch that comes from one array and goes to another. */
struct arrays {
    const struct hash *hashes;
    bool *answers;
};

static void take_hashes(void *context, size_t from, size_t n, struct hash *out) {
    const struct arrays *arrays = context;
    if (n > 0) memcpy(out, arrays->hashes + from, n * sizeof(*out));
}

static void keep_answers(void *context, size_t from, size_t n, const bool *answers) {
    const struct arrays *arrays = context;
    if (n > 0) memcpy(arrays->answers + from, answers, n * sizeof(*answers));
}

void filter_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                          bool *contained) {
    struct arrays arrays = {hashes, contained};
    filter_contains_each(filter, n, take_hashes, keep_answers, &arrays);
}

/* The error rate left for the layer that comes next. RedisBloom's filters grow by its own rules, so
 * that they can go back. */
static double next_layer_rate(const struct filter *filter, uint64_t capacity) {
    if (filter->scheme == SCHEME_MURMUR) return filter->layers[filter->nlayers - 1].error_rate / 2;
    const struct layer *first = &filter->layers[0];
    double before = (double)filter_capacity(filter);
    double share = sizing_growth_share((double)first->capacity, before, before + (double)capacity);
    // By bits per key the growth may cost as much again as the first layer's rate.
    double budget = filter->bits_per_key != 0 ? first->error_rate
                                              : filter->error_rate * (1 - SIZING_FIRST_SHARE);
    return budget * share;
}

static bool size_next_layer(const struct filter *filter, uint64_t capacity, double rate,
                            struct sizing *size) {
    if (filter->scheme == SCHEME_MURMUR) {
        return sizing_as_redisbloom(capacity, rate, size) &&
               (filter->is_adopted || size->nhashes <= SIZING_MOST_HASHES);
    }
    return sizing_by_error(capacity, rate, filter_geometry(filter), size);
}

/* Puts a new layer behind the last. On any failure the filter is as before. */
static enum status grow(struct filter *filter, uint64_t max_bytes) {
    const struct layer *last = &filter->layers[filter->nlayers - 1];
    uint64_t capacity;
    struct sizing size;
    if (filter->nlayers == UINT32_MAX) return STATUS_NOMEM;
    if (__builtin_mul_overflow(last->capacity, filter->expansion, &capacity)) return STATUS_NOMEM;
    if (capacity > FILTER_MAX_CAPACITY - filter_capacity(filter)) return STATUS_NOMEM;
    double rate = next_layer_rate(filter, capacity);
    if (!size_next_layer(filter, capacity, rate, &size)) return STATUS_NOMEM;
    uint64_t more = layer_bytes(size.nbits) + sizeof(struct layer);
    if (filter_size_bytes(filter) + more > max_bytes) return STATUS_NOMEM;

    struct layer fresh;
    enum status st = layer_init(&fresh, size, filter_geometry(filter), capacity, rate);
    if (st != STATUS_OK) return st;
    if (filter->is_adopted) fresh.bits_per_item = sizing_redisbloom_bits(rate);
    struct layer *layers = mem_alloc((filter->nlayers + 1) * sizeof(*layers));
    if (!layers) {
        layer_clear(&fresh);
        return STATUS_NOMEM;
    }
    memcpy(layers, filter->layers, filter->nlayers * sizeof(*layers));
    layers[filter->nlayers] = fresh;
    mem_free(filter->layers);
    filter->layers = layers;
    filter->nlayers++;
    filter->loaded += layer_bytes(size.nbits);
    return STATUS_OK;
}

static bool layer_is_full(const struct layer *layer) {
    return layer->items >= layer->capacity;
}

/* What remains of an add when the item is in no older layer and the newest is full. */
static enum status add_to_new_layer(struct filter *filter, struct hash hash, uint64_t max_bytes,
                                    bool *added) {
    if (filter->expansion == 0) return STATUS_FULL;
    enum status st = grow(filter, max_bytes);
    if (st == STATUS_OK) *added = layer_add(&filter->layers[filter->nlayers - 1], hash);
    return st;
}

enum status filter_add_asked(struct filter *filter, const struct group *group, size_t i,
                             uint64_t max_bytes, bool *added) {
    struct hash hash = group->hashes[i];
    uint32_t last = filter->nlayers - 1;
    struct layer *newest = &filter->layers[last];
    bool known = any_contains(filter->layers, 0, last, hash);
    if (!known && layer_is_full(newest)) {
        known = layer_asked_contains(newest, group, i);
        if (!known) return add_to_new_layer(filter, hash, max_bytes, added);
    }
    *added = !known && layer_asked_add(newest, group, i);
    return STATUS_OK;
}

enum status filter_add(struct filter *filter, struct hash hash, uint64_t max_bytes, bool *added) {
    struct group item;
    item.n = 1;
    item.hashes[0] = hash;
    layer_ask_all(&filter->layers[filter->nlayers - 1], &item);
    return filter_add_asked(filter, &item, 0, max_bytes, added);
}

static void ask_to_add(const struct filter *filter, struct group *group) {
    uint32_t newest = filter->nlayers - 1;
    layer_ask_all(&filter->layers[newest], group);
    for (uint32_t layer = newest; layer-- > 0;) {
        for (size_t i = 0; i < group->n; i++) {
            layer_prefetch_first(&filter->layers[layer], group->hashes[i]);
        }
    }
}

/* Lets a group ask, and adds one that has asked layer `asked`: *done of its items. */
static enum status ask_and_add(struct filter *filter, struct group *asking, uint32_t asked,
                               const struct group *group, uint64_t max_bytes, bool *added,
                               size_t *done) {
    struct layer *newest = &filter->layers[filter->nlayers - 1];
    if (filter->nlayers == 1 && newest->items + group->n <= newest->capacity) {
        layer_ask_and_add(newest, asking, group, added); // nothing can happen on the way
        *done = group->n;
        return STATUS_OK;
    }
    ask_to_add(filter, asking);
    for (*done = 0; *done < group->n; ++*done) {
        bool has_asked = asked == filter->nlayers - 1; // else it has grown since
        enum status st = has_asked
                             ? filter_add_asked(filter, group, *done, max_bytes, &added[*done])
                             : filter_add(filter, group->hashes[*done], max_bytes, &added[*done]);
        if (st != STATUS_OK) return st;
    }
    return STATUS_OK;
}

/* One group asks while another, that has asked before, is added: of CLASSIC the one before; of
 * BLOCKED, where a group asks for few lines, the one before that. */
enum status filter_add_each(struct filter *filter, size_t n, uint64_t max_bytes,
                            filter_source *source, filter_sink *sink, void *context, size_t *done) {
    const size_t lag = filter->layout == LAYOUT_BLOCKED ? 2 : 1;
    struct group groups[3];
    uint32_t asked[3] = {0}; // the layer that was the newest when the group asked
    enum status st = STATUS_OK;
    *done = 0;
    groups[0].n = groups[1].n = groups[2].n = 0;
    for (size_t step = 0; *done < n && st == STATUS_OK; step++) {
        struct group *asking = &groups[step % 3];
        size_t elder = (step + 3 - lag) % 3, some;
        bool added[LAYER_GROUP];
        asking->n = group_size(step * LAYER_GROUP, n);
        source(context, step * LAYER_GROUP, asking->n, asking->hashes);
        asked[step % 3] = filter->nlayers - 1;
        st = ask_and_add(filter, asking, asked[elder], &groups[elder], max_bytes, added, &some);
        sink(context, *done, some, added);
        *done += some;
    }
    return st;
}

enum status filter_add_many(struct filter *filter, const struct hash *hashes, size_t n,
                            uint64_t max_bytes, bool *added, size_t *done) {
    struct arrays arrays = {hashes, added};
    return filter_add_each(filter, n, max_bytes, take_hashes, keep_answers, &arrays, done);
}
