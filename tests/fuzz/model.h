/* The model of fuzz_program.c: a naive filter, one byte for each bit or counter, and when each item
 * was added. It is written from rdb/FORMAT.md and the documents, and not from the code. */

#ifndef BLOOMPORT_FUZZ_MODEL_H
#define BLOOMPORT_FUZZ_MODEL_H

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#define MOST_LAYERS 160

struct naive {
    uint8_t *bits; // one byte each; COUNTING: the counter
    uint64_t m, capacity, items, start;
    uint32_t k;
};

struct model {
    struct naive layers[MOST_LAYERS];
    uint32_t nlayers, expansion, generations;
    uint64_t window, step; // in ms; 0 without a window
    enum layout layout;
    enum scheme scheme;
    struct seed seed;             // sip13
    bool is_foreign, is_careless; // careless: an item was removed that had not been added
    uint64_t last[256];           // when a one-byte item was added, from 1; 0: never
    unsigned times[256];          // COUNTING: how often it was added and not removed
};

static uint64_t rotated(uint64_t x, unsigned by) {
    return x << by | x >> (64 - by);
}

static void naive_sip_round(uint64_t v[4]) {
    v[0] += v[1], v[1] = rotated(v[1], 13) ^ v[0], v[0] = rotated(v[0], 32);
    v[2] += v[3], v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotated(v[1], 17) ^ v[2], v[2] = rotated(v[2], 32);
}

/* SipHash-1-3 of a one-byte item: of the two words that its length, itself and the padding are. */
static uint64_t naive_sip13(uint64_t k0, uint64_t k1, uint8_t item) {
    const uint64_t words[] = {1, UINT64_C(9) << 56 | item};
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    for (int i = 0; i < 2; i++) {
        v[3] ^= words[i];
        naive_sip_round(v);
        v[0] ^= words[i];
    }
    v[2] ^= 255;
    for (int i = 0; i < 3; i++) naive_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void hash_words(const struct model *model, uint8_t item, uint64_t *h1, uint64_t *h2) {
    enum scheme scheme = model->scheme;
    struct hash hash = scheme_hash(scheme, &model->seed, &item, 1);
    if (scheme == SCHEME_SIP13) {
        const uint64_t *keys = model->seed.keys;
        *h1 = naive_sip13(keys[0], keys[1], item);
        *h2 = naive_sip13(keys[2], keys[3], item);
    } else if (scheme == SCHEME_XXH64) {
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
    hash_words(model, item, &h1, &h2);
    if (model->layout == LAYOUT_BLOCKED) {
        uint64_t block = ((h1 >> 32) * (layer->m / 256)) >> 32;
        return 256 * block + 32 * i + (((uint32_t)h1 * SALT[i]) >> 27);
    }
    uint64_t walk = h1 + i * h2;
    if (model->scheme == SCHEME_SIP13) {
        return (i == 0 ? h1 : i == 1 ? h2 : walk % UINT64_C(0xffffffffffffffc5)) % layer->m;
    }
    return (model->scheme == SCHEME_LEVELDB ? (uint32_t)walk : walk) % layer->m;
}

/* ---- Time ---- */

static uint64_t model_newest(const struct model *model) {
    return model->layers[model->nlayers - 1].start;
}

static uint64_t filter_time(const struct model *model, uint64_t clock) {
    return clock > model_newest(model) ? clock : model_newest(model);
}

static bool is_over(const struct model *model, const struct naive *layer, uint64_t time) {
    if (model->window == 0) return false;
    return layer->start == 0 || layer->start + (model->generations + 1) * model->step <= time;
}

/* The index of the first layer that adds look at. */
static uint32_t first_of_newest(const struct model *model) {
    uint32_t i = model->nlayers - 1;
    while (i > 0 && model->layers[i - 1].start == model->layers[i].start) i--;
    return i;
}

/* ---- Items ---- */

static unsigned naive_count(const struct model *model, const struct naive *layer, uint8_t item) {
    unsigned least = 15;
    for (uint32_t i = 0; i < layer->k; i++) {
        unsigned count = layer->bits[position(model, layer, item, i)];
        if (count < least) least = count;
    }
    return least;
}

static bool any_contains(const struct model *model, uint32_t from, uint32_t to, uint8_t item) {
    for (uint32_t i = from; i < to; i++) {
        if (naive_count(model, &model->layers[i], item) > 0) return true;
    }
    return false;
}

/* What a lookup answers at this time. */
static bool model_contains(const struct model *model, uint8_t item, uint64_t clock) {
    uint32_t from = 0;
    while (from < model->nlayers &&
           is_over(model, &model->layers[from], filter_time(model, clock))) {
        from++;
    }
    return any_contains(model, from, model->nlayers, item);
}

/* Whether the item was added so that it must be found. */
static bool must_contain(const struct model *model, uint8_t item, uint64_t clock) {
    if (model->layout == LAYOUT_COUNTING) return !model->is_careless && model->times[item] > 0;
    if (model->last[item] == 0 || model->window == 0) return model->last[item] != 0;
    uint64_t now = filter_time(model, clock);
    return now <= model->last[item] + model->window;
}

/* Whether position i is one of those before it. */
static bool is_repeated(const struct model *model, const struct naive *layer, uint8_t item,
                        uint32_t i) {
    uint64_t pos = position(model, layer, item, i);
    for (uint32_t j = 0; j < i; j++) {
        if (position(model, layer, item, j) == pos) return true;
    }
    return false;
}

/* Changes each counter of an item once, or sets its bits. Returns whether one changed. */
static bool naive_step(const struct model *model, struct naive *layer, uint8_t item, int by) {
    bool counts = model->layout == LAYOUT_COUNTING, changed = false;
    for (uint32_t i = 0; i < layer->k; i++) {
        uint8_t *bit = &layer->bits[position(model, layer, item, i)];
        bool stays = counts ? *bit == 15 || is_repeated(model, layer, item, i) : *bit != 0;
        if (stays) continue;
        *bit = (uint8_t)(*bit + by);
        changed = true;
    }
    return changed;
}

/* Adds to the newest layer, which must have room. Returns whether it changed. */
static bool model_add(struct model *model, uint8_t item) {
    struct naive *layer = &model->layers[model->nlayers - 1];
    bool changed = naive_step(model, layer, item, 1);
    layer->items += changed;
    return changed;
}

/* Removes an item that seems present. Returns whether a counter changed. */
static bool model_remove(struct model *model, uint8_t item) {
    struct naive *only = &model->layers[0];
    bool changed = naive_step(model, only, item, -1);
    if (changed && only->items > 0) only->items--;
    if (model->times[item] == 0) model->is_careless = true;
    if (model->times[item] > 0) model->times[item]--;
    return changed;
}

/* ---- Layers ---- */

/* The capacity of the next layer. A chain of our own is bounded: from the 17th layer on each has at
 * least as much as all before it. A window's generation is a chain of its own. */
static uint64_t model_next_capacity(const struct model *model) {
    uint64_t sum = 0, next = model->layers[model->nlayers - 1].capacity * model->expansion;
    uint32_t first = model->window ? first_of_newest(model) : 0;
    for (uint32_t i = first; i < model->nlayers; i++) sum += model->layers[i].capacity;
    return model->nlayers - first >= 16 && !model->is_foreign && sum > next ? sum : next;
}

/* The bits and hashes of a new layer are taken from the filter; everything in it is not. */
static void model_append(struct model *model, const struct layer *layer, uint64_t start) {
    CLAIM(model->nlayers < MOST_LAYERS);
    struct naive *fresh = &model->layers[model->nlayers++];
    *fresh = (struct naive){calloc(1, layer->nbits), layer->nbits, layer->capacity, 0, start,
                            layer->nhashes};
    CLAIM(fresh->bits);
}

static void model_grow(struct model *model, const struct layer *layer) {
    CLAIM(layer->capacity == model_next_capacity(model));
    model_append(model, layer, model_newest(model));
    struct naive *fresh = &model->layers[model->nlayers - 1];
    CLAIM(fresh[-1].items >= fresh[-1].capacity); // more if estimated
}

/* Frees the layers that are over at this time; they come first. */
static void model_drop(struct model *model, uint64_t time) {
    uint32_t n = 0;
    while (n < model->nlayers && is_over(model, &model->layers[n], time)) {
        free(model->layers[n++].bits);
    }
    model->nlayers -= n;
    memmove(model->layers, model->layers + n, model->nlayers * sizeof(model->layers[0]));
}

/* The start of the newest generation that is over; 0 if none is. */
static uint64_t model_over(const struct model *model, uint64_t clock) {
    uint64_t over = 0, time = filter_time(model, clock);
    for (uint32_t i = 0; i < model->nlayers; i++) {
        const struct naive *layer = &model->layers[i];
        if (layer->start != 0 && is_over(model, layer, time)) over = layer->start;
    }
    return over;
}

/* Drops what is over, which no clock that steps back brings again. If that is all, the first layer
 * is left, empty. */
static void model_drop_over(struct model *model, uint64_t clock) {
    uint64_t time = filter_time(model, clock);
    struct naive first = model->layers[0];
    for (size_t i = 0; i < 256; i++) {
        if (model->last[i] + model->window < time) model->last[i] = 0;
    }
    model_drop(model, time);
    if (model->nlayers > 0) return;
    first.bits = calloc(1, first.m);
    CLAIM(first.bits);
    first.items = first.start = 0;
    model->layers[model->nlayers++] = first;
}

/* The start of the generation that an add needs. */
static uint64_t model_due(const struct model *model, uint64_t clock) {
    uint64_t due = clock < model->step ? model->step : clock - clock % model->step;
    return due > model_newest(model) ? due : model_newest(model);
}

static void model_rotate(struct model *model, uint64_t start, const struct filter *filter) {
    if (model_newest(model) == 0) { // it has not begun
        model->layers[0].start = start;
        return;
    }
    const struct naive first = model->layers[first_of_newest(model)];
    model_drop(model, start);
    const struct layer *fresh = filter_newest(filter);
    CLAIM(fresh->capacity == first.capacity);
    CLAIM(fresh->nbits == first.m && fresh->nhashes == first.k && fresh->start == start);
    model_append(model, fresh, start);
}

/* A byte is found where it is, whatever became of the layers since the last one was. */
static void compare_places(const struct filter *filter) {
    uint64_t before = 0, within = 0, end = filter_array_bytes(filter);
    CLAIM(filter_locate(filter, end - 1, &within) == filter_newest(filter)); // not from byte 0
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        uint64_t size = layer_array_bytes(&filter->layers[i]);
        CLAIM(filter_locate(filter, before + size - 1, &within) == &filter->layers[i]);
        CLAIM(within == size - 1);
        before += size;
    }
    CLAIM(!filter_locate(filter, before, &within) && filter->before < before);
}

static void compare(const struct model *model, const struct filter *filter) {
    CLAIM(filter->nlayers == model->nlayers);
    compare_places(filter);
    for (uint32_t i = 0; i < model->nlayers; i++) {
        const struct naive *naive = &model->layers[i];
        const struct layer *layer = &filter->layers[i];
        CLAIM(layer->nbits == naive->m && layer->nhashes == naive->k);
        CLAIM(layer->items == naive->items && layer->capacity == naive->capacity);
        CLAIM(layer->start == naive->start);
        for (uint64_t p = 0; p < naive->m; p++) {
            bool counts = model->layout == LAYOUT_COUNTING;
            unsigned byte = layer->bits[counts ? p >> 1 : p >> 3];
            unsigned bit = counts ? byte >> (4 * (p & 1)) & 15 : byte >> (p & 7) & 1;
            CLAIM(bit == naive->bits[p]);
        }
    }
}

static void model_release(struct model *model) {
    for (uint32_t i = 0; i < model->nlayers; i++) free(model->layers[i].bits);
    model->nlayers = 0;
}

/* ---- Unions ---- */

static void naive_unite(const struct model *model, struct naive *to, const struct naive *from) {
    for (uint64_t p = 0; p < from->m; p++) {
        unsigned sum = to->bits[p] + from->bits[p];
        unsigned most = model->layout == LAYOUT_COUNTING ? 15 : 1;
        to->bits[p] = (uint8_t)(sum > most ? most : sum);
    }
}

static struct naive naive_copy(const struct naive *from) {
    struct naive copy = *from;
    copy.bits = malloc(from->m);
    CLAIM(copy.bits);
    memcpy(copy.bits, from->bits, from->m);
    return copy;
}

/* Adds the layers of `other`: to those of the same start, in their order, or in between. Then what
 * is over is dropped. */
static void model_unite(struct model *model, const struct model *other) {
    struct model result = *model;
    uint32_t i = 0, j = 0;
    for (result.nlayers = 0; i < model->nlayers || j < other->nlayers; result.nlayers++) {
        struct naive *to = &result.layers[result.nlayers];
        const struct naive *a = i < model->nlayers ? &model->layers[i] : NULL;
        const struct naive *b = j < other->nlayers ? &other->layers[j] : NULL;
        CLAIM(result.nlayers < MOST_LAYERS);
        bool has_a = a && (!b || a->start <= b->start), has_b = b && (!a || b->start <= a->start);
        *to = has_a ? *a : naive_copy(b);
        if (has_a && has_b) naive_unite(model, to, b);
        i += has_a;
        j += has_b;
    }
    if (model_newest(&result) != 0) model_drop(&result, model_newest(&result));
    *model = result;
}

/* The items of a union. */
static void model_unite_items(struct model *model, const struct model *other) {
    for (int i = 0; i < 256; i++) {
        if (other->last[i] > model->last[i]) model->last[i] = other->last[i];
        model->times[i] += other->times[i];
    }
}

#endif
