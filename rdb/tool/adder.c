/* Hashes -> the bits of a fresh filter. See adder.h. */

#include "rdb/tool/adder.h"

#include "module/core/mem.h"
#include "rdb/tool/items.h"
#include "rdb/tool/measure.h"
#include "rdb/tool/tool.h"

#include <pthread.h>
#include <string.h>

/* A batch is what one thread hands to the other: large enough that handing over costs nothing. */
#define BATCH ((size_t)16 * 1024)

/* A region of 2^20 bits is 128 KiB, and with what is sorted into it stays within the 512 KiB or
 * more of a second-level cache. It is visited when 2^14 positions wait for it: 8 for each of its
 * cache lines, so that fetching the line is shared. More than 2,048 regions are made larger ones,
 * which bounds the memory to 128 MiB. */
#define REGION_LOG2 20
#define REGION_WAITING ((size_t)1 << 14)
#define MAX_REGIONS 2048
#define MIN_SORTED_BITS ((uint64_t)1 << 23) // 1 MiB: smaller ones are in the cache as they are

struct batch {
    struct hash hashes[BATCH];
    size_t n;
    bool is_ready; // filled, and not added yet
};

struct adder {
    struct filter *filter;
    struct batch batches[2]; // one is filled while the other is added
    int filling;
    bool is_over;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    // The sorted way; NULL: the exact one.
    uint32_t *waiting; // REGION_WAITING positions within its region for each region
    uint32_t *nwaiting;
    uint64_t nregions;
    unsigned region_log2;
};

/* ---- The exact way ------------------------------------------------------------------------ */

static void add_exactly(struct filter *filter, const struct hash *hashes, size_t n) {
    static bool added[BATCH]; // nobody asks
    size_t done;
    if (filter_add_many(filter, hashes, n, FILTER_NO_LIMIT, added, &done)) {
        tool_die("there are more items than the capacity, %llu",
                 (unsigned long long)filter_capacity(filter));
    }
}

/* ---- The sorted way ----------------------------------------------------------------------- */

static void set_region(struct adder *adder, uint64_t region) {
    uint8_t *bits = adder->filter->layers[0].bits + (region << adder->region_log2 >> 3);
    const uint32_t *positions = adder->waiting + region * REGION_WAITING;
    uint32_t n = adder->nwaiting[region];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pos = positions[i];
        bits[pos >> 3] |= (uint8_t)(1U << (pos & 7));
    }
    adder->nwaiting[region] = 0;
}

/* The positions of FORMAT.md, section 1. */
static void add_sorted(struct adder *adder, const struct hash *hashes, size_t n) {
    const struct layer layer = adder->filter->layers[0]; // a copy: the compiler keeps it at hand
    unsigned log2 = adder->region_log2;
    uint32_t mask = (uint32_t)(((uint64_t)1 << log2) - 1);
    for (size_t i = 0; i < n; i++) {
        uint64_t walk = hashes[i].a;
        for (uint32_t j = 0; j < layer.nhashes; j++, walk += hashes[i].b) {
            uint64_t pos = layer_position(&layer, walk), region = pos >> log2;
            uint32_t *count = &adder->nwaiting[region];
            adder->waiting[region * REGION_WAITING + *count] = (uint32_t)pos & mask;
            if (++*count == REGION_WAITING) set_region(adder, region);
        }
    }
}

/* False if there is no memory for it: the exact way needs none. */
static bool prepare_sorting(struct adder *adder) {
    uint64_t nbits = adder->filter->layers[0].nbits;
    for (adder->region_log2 = REGION_LOG2;; adder->region_log2++) {
        adder->nregions = (nbits >> adder->region_log2) + 1;
        if (adder->nregions <= MAX_REGIONS) break;
    }
    if (adder->region_log2 > 32) return false; // positions would not fit; filters over a terabyte
    adder->waiting = mem_alloc(adder->nregions * REGION_WAITING * sizeof(uint32_t));
    adder->nwaiting = mem_alloc_zeroed(adder->nregions * sizeof(uint32_t));
    if (adder->waiting && adder->nwaiting) return true;
    mem_free(adder->waiting);
    mem_free(adder->nwaiting);
    adder->waiting = NULL;
    return false;
}

static void finish_sorting(struct adder *adder) {
    for (uint64_t i = 0; i < adder->nregions; i++) set_region(adder, i);
    struct layer *layer = &adder->filter->layers[0];
    layer->ones = layer_count_ones(layer);
    layer->items = layer_estimate_items(layer);
    adder->filter->is_estimated = true;
    mem_free(adder->waiting);
    mem_free(adder->nwaiting);
}

/* ---- The thread --------------------------------------------------------------------------- */

static void wait_until(struct adder *adder, const struct batch *batch, bool is_ready) {
    pthread_mutex_lock(&adder->mutex);
    while (batch->is_ready != is_ready && !adder->is_over) {
        pthread_cond_wait(&adder->changed, &adder->mutex);
    }
    pthread_mutex_unlock(&adder->mutex);
}

static void say(struct adder *adder, bool *flag, bool value) {
    pthread_mutex_lock(&adder->mutex);
    *flag = value;
    pthread_cond_signal(&adder->changed);
    pthread_mutex_unlock(&adder->mutex);
}

static void *run(void *argument) {
    struct adder *adder = argument;
    for (int turn = 0;; turn = !turn) {
        struct batch *batch = &adder->batches[turn];
        wait_until(adder, batch, true);
        if (!batch->is_ready) return NULL; // it is over
        if (adder->waiting) {
            add_sorted(adder, batch->hashes, batch->n);
        } else {
            add_exactly(adder->filter, batch->hashes, batch->n);
        }
        batch->n = 0;
        say(adder, &batch->is_ready, false);
    }
}

struct adder *adder_begin(struct filter *filter, bool is_exact) {
    struct adder *adder = tool_alloc(sizeof(*adder));
    memset(adder, 0, sizeof(*adder));
    adder->filter = filter;
    bool is_large = filter->layers[0].nbits >= MIN_SORTED_BITS;
    if (!is_exact && is_large && filter->layout == LAYOUT_CLASSIC) prepare_sorting(adder);
    pthread_mutex_init(&adder->mutex, NULL);
    pthread_cond_init(&adder->changed, NULL);
    if (pthread_create(&adder->thread, NULL, run, adder) != 0) tool_die("cannot start a thread");
    return adder;
}

struct hash *adder_room(struct adder *adder) {
    struct batch *batch = &adder->batches[adder->filling];
    return batch->hashes + batch->n;
}

/* Hands the batch over, and waits until the other one is free. */
static void hand_over(struct adder *adder) {
    say(adder, &adder->batches[adder->filling].is_ready, true);
    adder->filling = !adder->filling;
    wait_until(adder, &adder->batches[adder->filling], false);
}

void adder_take(struct adder *adder, size_t n) {
    struct batch *batch = &adder->batches[adder->filling];
    batch->n += n;
    if (BATCH - batch->n < ITEMS_BATCH) hand_over(adder);
}

void adder_end(struct adder *adder) {
    hand_over(adder); // now the one before it has been added,
    wait_until(adder, &adder->batches[!adder->filling], false); // and now this one
    say(adder, &adder->is_over, true);
    pthread_join(adder->thread, NULL);
    if (adder->waiting) finish_sorting(adder);
    pthread_cond_destroy(&adder->changed);
    pthread_mutex_destroy(&adder->mutex);
    mem_free(adder);
}
