/* A random program of operations on one filter, against a model: a plain set of the items that were
 * added, and a naive filter, one byte for each bit, written from rdb/FORMAT.md and not from the
 * code.
 *
 *   shape: capacity u8, rate u8, expansion u8, layout and scheme u8
 *   then operations: what u8, item or count u8. The high half of `what` is the allocation that
 * fails in it (0: none); then nothing may have changed. */

#include "tests/fuzz/fuzz.h"

#include "module/core/combine.h"
#include "module/core/mem.h"
#include "module/core/packed.h"
#include "rdb/codec.h"

#include <stdlib.h>

#define MOST_LAYERS 48
#define MOST_OPERATIONS 64
#define MOST_BATCH 20
#define MOST_BYTES (1 << 16)

/* ---- The model ------------------------------------------------------------------------------ */

struct naive {
    uint8_t *bits; // one byte each
    uint64_t m, capacity, items;
    uint32_t k;
};

struct model {
    struct naive layers[MOST_LAYERS];
    uint32_t nlayers, expansion;
    enum layout layout;
    enum scheme scheme;
    bool is_foreign;
    bool has[256]; // which one-byte items were added
};

static void hash_words(enum scheme scheme, uint8_t item, uint64_t *h1, uint64_t *h2) {
    struct hash hash = hash_item(scheme, &item, 1);
    if (scheme == SCHEME_XXH64) {
        *h1 = XXH64(&item, 1, 0);
        *h2 = XXH64(&item, 1, 1);
    } else if (scheme == SCHEME_FNV1A) {
        uint64_t x = (UINT64_C(0xcbf29ce484222325) ^ item) * UINT64_C(0x100000001b3);
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        *h1 = (uint32_t)x;
        *h2 = x >> 32;
    } else if (scheme == SCHEME_LEVELDB) {
        uint32_t h = UINT32_C(0xbc9f1d34) ^ UINT32_C(0xc6a4a793);
        h = (h + item) * UINT32_C(0xc6a4a793);
        h ^= h >> 24;
        *h1 = h;
        *h2 = (h >> 17) | (h << 15);
    } else {
        *h1 = hash.a;
        *h2 = hash.b;
    }
}

static uint64_t position(const struct model *model, const struct naive *layer, uint8_t item,
                         uint32_t i) {
    static const uint32_t SALT[] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                    0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    uint64_t h1, h2;
    hash_words(model->scheme, item, &h1, &h2);
    if (model->layout == LAYOUT_BLOCKED) {
        uint64_t block = ((h1 >> 32) * (layer->m / 256)) >> 32;
        return 256 * block + 32 * i + (((uint32_t)h1 * SALT[i]) >> 27);
    }
    uint64_t walk = h1 + i * h2;
    return (model->scheme == SCHEME_LEVELDB ? (uint32_t)walk : walk) % layer->m;
}

static bool naive_contains(const struct model *model, const struct naive *layer, uint8_t item) {
    for (uint32_t i = 0; i < layer->k; i++) {
        if (!layer->bits[position(model, layer, item, i)]) return false;
    }
    return true;
}

static bool model_contains(const struct model *model, uint8_t item) {
    for (uint32_t i = 0; i < model->nlayers; i++) {
        if (naive_contains(model, &model->layers[i], item)) return true;
    }
    return false;
}

/* The capacity of the next layer. A chain of our own is bounded: from the 17th layer on each has at
 * least as much as all before it. */
static uint64_t model_next_capacity(const struct model *model) {
    uint64_t sum = 0, next = model->layers[model->nlayers - 1].capacity * model->expansion;
    for (uint32_t i = 0; i < model->nlayers; i++) sum += model->layers[i].capacity;
    return model->nlayers >= 16 && !model->is_foreign && sum > next ? sum : next;
}

/* The bits and hashes of a new layer are taken from the filter; everything in it is not. */
static void model_grow(struct model *model, const struct layer *layer) {
    CLAIM(model->nlayers < MOST_LAYERS);
    if (model->nlayers > 0) CLAIM(layer->capacity == model_next_capacity(model));
    struct naive *fresh = &model->layers[model->nlayers++];
    *fresh =
        (struct naive){calloc(1, layer->nbits), layer->nbits, layer->capacity, 0, layer->nhashes};
    CLAIM(fresh->bits);
    if (model->nlayers == 1) return;
    CLAIM(fresh[-1].items >= fresh[-1].capacity); // more if estimated
}

/* Adds to the newest layer, which must have room. */
static void model_add(struct model *model, uint8_t item) {
    struct naive *layer = &model->layers[model->nlayers - 1];
    for (uint32_t i = 0; i < layer->k; i++) layer->bits[position(model, layer, item, i)] = 1;
    layer->items++;
}

static void compare(const struct model *model, const struct filter *filter) {
    CLAIM(filter->nlayers == model->nlayers);
    for (uint32_t i = 0; i < model->nlayers; i++) {
        const struct naive *naive = &model->layers[i];
        const struct layer *layer = &filter->layers[i];
        CLAIM(layer->nbits == naive->m && layer->nhashes == naive->k);
        CLAIM(layer->items == naive->items && layer->capacity == naive->capacity);
        for (uint64_t p = 0; p < naive->m; p++) {
            CLAIM((layer->bits[p >> 3] >> (p & 7) & 1) == naive->bits[p]);
        }
    }
}

/* ---- Operations ----------------------------------------------------------------------------- */

/* The value of a key, its model, and the parameters it was made with. */
struct state {
    void *value;
    struct model model;
    struct filter_params params;
};

/* Adds the item to the model, given how the filter answered. */
static void model_follows(struct model *model, const struct filter *filter, enum status st,
                          bool added, uint8_t item) {
    const struct naive *newest = &model->layers[model->nlayers - 1];
    bool known = model_contains(model, item);
    CLAIM(known || !model->has[item]); // no false negative
    if (known) {
        CLAIM(st == STATUS_OK && !added);
    } else if (st == STATUS_OK) {
        if (newest->items >= newest->capacity) model_grow(model, &filter->layers[model->nlayers]);
        model_add(model, item);
        CLAIM(added);
    } else {
        CLAIM(newest->items >= newest->capacity);
        CLAIM((st == STATUS_FULL) == (model->expansion == 0));
    }
    if (st == STATUS_OK) model->has[item] = true;
}

/* As key_grow of module/key.c: a packed filter cannot grow, its successor does. */
static enum status grow(struct state *s, struct filter **filter) {
    if (!packed_is_packed(s->value)) return filter_grow(*filter, MOST_BYTES, LIMITS_MAX_LAYERS);
    packed_close(s->value, *filter);
    struct filter *whole = packed_unpack(s->value);
    if (!whole) return STATUS_NOMEM;
    enum status st = filter_grow(whole, MOST_BYTES, LIMITS_MAX_LAYERS);
    if (st == STATUS_OK) {
        packed_free(s->value);
        s->value = *filter = whole;
    } else {
        filter_free(whole);
    }
    return st;
}

/* Whether the model has layers for whatever one operation adds. */
static bool has_room(const struct model *model) {
    return model->nlayers <= MOST_LAYERS - MOST_BATCH;
}

static void op_add(struct state *s, uint8_t item) {
    if (!has_room(&s->model)) return;
    struct packed_view view;
    struct filter *filter = packed_open(s->value, &view);
    struct hash hash = filter_hash(filter, &item, 1);
    struct outcome outcome = {false, false};
    enum status st;
    while ((st = filter_add(filter, hash, &outcome)) == STATUS_GROW) {
        st = grow(s, &filter);
        if (st != STATUS_OK) break;
    }
    packed_close(s->value, filter);
    model_follows(&s->model, filter, st, outcome.added, item);
}

/* What became of each item of a batch. */
struct answers {
    enum status status[MOST_BATCH];
    bool added[MOST_BATCH];
    size_t n;
};

static void note(struct answers *answers, const struct outcome *outcomes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        answers->status[answers->n] = STATUS_OK;
        answers->added[answers->n++] = outcomes[i].added;
    }
}

/* As make_room of module/commands.c: false ends the batch. */
static bool make_room(struct state *s, struct batch *batch, enum status st,
                      struct answers *answers) {
    if (st == STATUS_GROW) st = grow(s, &batch->filter);
    if (st == STATUS_OK) return true;
    answers->status[answers->n] = st;
    answers->added[answers->n++] = false;
    batch_skip(batch);
    return st != STATUS_FULL;
}

/* As add_each of module/commands.c. */
static void add_batch(struct state *s, struct batch *batch, const struct hash *hashes, size_t n,
                      struct answers *answers) {
    for (size_t taken = 0; answers->n < n;) {
        struct outcome outcomes[PROBE_ITEMS];
        size_t ready, some = n - taken < PROBE_ITEMS ? n - taken : PROBE_ITEMS;
        enum status st = batch_add(batch, hashes + taken, some, outcomes, &ready);
        taken += some;
        note(answers, outcomes, ready);
        while (st != STATUS_OK) {
            if (!make_room(s, batch, st, answers)) return;
            st = batch_resume(batch, outcomes, &ready);
            note(answers, outcomes, ready);
        }
    }
}

static void op_add_many(struct state *s, uint8_t count) {
    if (!has_room(&s->model)) return;
    size_t n = count % MOST_BATCH;
    struct packed_view view;
    struct filter *filter = packed_open(s->value, &view);
    struct hash hashes[MOST_BATCH];
    for (size_t i = 0; i < n; i++) {
        uint8_t item = (uint8_t)(count + 7 * i);
        hashes[i] = filter_hash(filter, &item, 1);
    }
    struct batch batch;
    struct answers answers = {.n = 0};
    batch_init(&batch, filter);
    add_batch(s, &batch, hashes, n, &answers);
    packed_close(s->value, batch.filter);
    CLAIM(answers.n == n || answers.status[answers.n - 1] == STATUS_FULL);
    for (size_t i = 0; i < answers.n; i++) {
        model_follows(&s->model, batch.filter, answers.status[i], answers.added[i],
                      (uint8_t)(count + 7 * i));
    }
}

static void op_contains(const struct state *s, uint8_t item) {
    struct packed_view view;
    const struct filter *filter = packed_view(s->value, &view);
    bool maybe = filter_contains(filter, filter_hash(filter, &item, 1));
    CLAIM(maybe == model_contains(&s->model, item));
    CLAIM(maybe || !s->model.has[item]);
}

static void op_contains_many(const struct state *s, uint8_t count) {
    struct packed_view view;
    const struct filter *filter = packed_view(s->value, &view);
    size_t n = count % MOST_BATCH;
    struct hash hashes[MOST_BATCH];
    bool answers[MOST_BATCH];
    for (size_t i = 0; i < n; i++) {
        uint8_t item = (uint8_t)(count - i);
        hashes[i] = filter_hash(filter, &item, 1);
    }
    batch_contains_many(filter, hashes, n, answers);
    for (size_t i = 0; i < n; i++) {
        CLAIM(answers[i] == model_contains(&s->model, (uint8_t)(count - i)));
    }
}

/* The value becomes a copy of itself, if there is memory for one. */
static void op_copy(struct state *s) {
    struct filter *copy = packed_unpack(s->value);
    if (!copy) return;
    packed_free(s->value);
    s->value = copy;
}

static void op_pack(struct state *s) {
    if (!packed_is_packed(s->value)) s->value = packed_pack(s->value);
}

static void op_save_and_load(struct state *s) {
    struct packed_view view;
    fuzz_fail_at(0);
    struct image image = fuzz_image(packed_view(s->value, &view));
    packed_free(s->value);
    s->value = fuzz_load(&image);
    fuzz_release(&image);
}

static void model_release(struct model *model) {
    for (uint32_t i = 0; i < model->nlayers; i++) free(model->layers[i].bits);
    model->nlayers = 0;
}

/* The first layer alone stays, without a bit. */
static void op_empty(struct state *s) {
    struct packed_view view;
    struct filter *filter = packed_open(s->value, &view);
    bool changed = false;
    enum status st = filter_empty(filter, &changed);
    packed_close(s->value, filter);
    struct model *model = &s->model;
    CLAIM(st == STATUS_OK || (st == STATUS_NOMEM && model->nlayers > 1));
    if (st != STATUS_OK) return;
    while (model->nlayers > 1) free(model->layers[--model->nlayers].bits);
    memset(model->layers[0].bits, 0, model->layers[0].m);
    memset(model->has, 0, sizeof(model->has));
    model->layers[0].items = 0;
}

/* Adds the bits and items of `other`. The counts become estimates, which the filter computes. */
static void model_unite(struct model *model, const struct model *other,
                        const struct filter *filter) {
    for (uint32_t i = 0; i < other->nlayers; i++) {
        const struct naive *from = &other->layers[i];
        struct naive *to = &model->layers[i];
        if (i == model->nlayers) {
            *to = *from;
            to->bits = calloc(1, from->m);
            CLAIM(to->bits);
            model->nlayers++;
        }
        for (uint64_t p = 0; p < from->m; p++) to->bits[p] |= from->bits[p];
    }
    for (uint32_t i = 0; i < model->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        CLAIM(layer->items <= layer->ones && layer->items * layer->nhashes >= layer->ones);
        model->layers[i].items = layer->items;
    }
    for (int i = 0; i < 256; i++) model->has[i] |= other->has[i];
}

/* The union with a filter made the same way, of some items, in a chain that may be longer. */
static void op_unite(struct state *s, uint8_t count) {
    struct state other = {.params = s->params, .model = s->model};
    other.model.nlayers = 0;
    memset(other.model.has, 0, sizeof(other.model.has));
    struct filter *from = NULL;
    if (filter_new(&s->params, FILTER_NO_LIMIT, &from) != STATUS_OK) return;
    other.value = from;
    model_grow(&other.model, &from->layers[0]);
    for (uint8_t i = 0; i < count % 8; i++) op_add(&other, (uint8_t)(count + i));
    from = other.value;

    op_copy(s); // unpacked, as it must be to grow
    if (!packed_is_packed(s->value)) {
        struct filter *into = s->value;
        const struct filter *others[] = {from};
        const struct filter *both[] = {into, from};
        struct mismatch mismatch;
        bool changed = false;
        CLAIM(combine_is_possible(both, 2, &mismatch));
        struct image before = fuzz_image(into);
        enum status st = combine_union(into, others, 1, MOST_BYTES, &changed);
        if (st == STATUS_OK && changed) {
            model_unite(&s->model, &other.model, into);
        } else {
            fuzz_claim_same(into, &before);
            for (int i = 0; st == STATUS_OK && i < 256; i++) s->model.has[i] |= other.model.has[i];
        }
        fuzz_release(&before);
    }
    packed_free(other.value);
    model_release(&other.model);
}

static void operate(struct state *s, uint8_t what, uint8_t number) {
    fuzz_fail_at(what >> 4);
    switch (what % 10) {
    case 0:
    case 1: op_add(s, number); break;
    case 2: op_add_many(s, number); break;
    case 3: op_contains(s, number); break;
    case 4: op_contains_many(s, number); break;
    case 5: op_copy(s); break;
    case 6: op_pack(s); break;
    case 7: op_empty(s); break;
    case 8: op_unite(s, number); break;
    default: op_save_and_load(s); break;
    }
}

/* Whatever was done, the filter is one that every loader takes, and comes back as it is. */
static void claim_loadable(const struct state *s) {
    struct packed_view view;
    const struct filter *filter = packed_view(s->value, &view);
    fuzz_fail_at(0);
    CLAIM(!limits_fault(filter));
    struct image image = fuzz_image(filter);
    struct filter *again = fuzz_load(&image);
    fuzz_claim_same(again, &image);
    filter_free(again);
    fuzz_release(&image);
}

/* ---- The program ---------------------------------------------------------------------------- */

static struct filter_params take_shape(struct reader *r) {
    static const double RATES[] = {0.5, 0.1, 0.01, 0.001};
    static const enum scheme SCHEMES[] = {SCHEME_XXH64, SCHEME_FNV1A, SCHEME_MURMUR,
                                          SCHEME_LEVELDB};
    struct filter_params params = {.capacity = 1 + take_u8(r) % 24};
    uint8_t rate = take_u8(r);
    if (rate & 4) {
        params.bits_per_key = 1 + rate % 16;
    } else {
        params.error_rate = RATES[rate % 4];
    }
    params.expansion = take_u8(r) % 4;
    uint8_t kind = take_u8(r);
    params.layout = kind & 4 ? LAYOUT_BLOCKED : LAYOUT_CLASSIC;
    params.scheme = kind & 4 ? SCHEME_XXH64 : SCHEMES[kind % 4];
    params.is_foreign = params.scheme == SCHEME_MURMUR && (kind & 8) && params.bits_per_key == 0;
    return params;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct reader r = {data, size, false};
    fuzz_begin(0);
    struct filter_params params = take_shape(&r);
    struct filter *filter = NULL;
    CLAIM(filter_new(&params, FILTER_NO_LIMIT, &filter) == STATUS_OK);
    struct state s = {.value = filter, .params = params};
    s.model = (struct model){.expansion = params.expansion,
                             .layout = params.layout,
                             .scheme = params.scheme,
                             .is_foreign = params.is_foreign};
    model_grow(&s.model, &filter->layers[0]);
    for (int i = 0; i < MOST_OPERATIONS && r.left > 0; i++) {
        uint8_t what = take_u8(&r);
        operate(&s, what, take_u8(&r));
        claim_loadable(&s);
    }
    struct packed_view view;
    compare(&s.model, packed_view(s.value, &view));
    fuzz_check(packed_view(s.value, &view));
    model_release(&s.model);
    packed_free(s.value);
    fuzz_end();
    return 0;
}
