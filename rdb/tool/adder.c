/* Hashes -> the bits of a fresh filter. See adder.h. */

#define _GNU_SOURCE // pthread
#include "rdb/tool/adder.h"

#include "module/core/mem.h"
#include "rdb/tool/sorter.h"
#include "rdb/tool/threads.h"
#include "rdb/tool/tool.h"

#include <pthread.h>
#include <string.h>

struct adder {
    struct filter *filter;
    struct source *source;
    struct sorter *sorter; // NULL: the exact way is used
    pthread_mutex_t taking;
    uint64_t taken; // blocks
    pthread_mutex_t adding;
    pthread_cond_t has_added;
    uint64_t added;          // blocks
    _Atomic uint64_t nitems; // of all blocks, repeated ones included
};

struct worker {
    struct adder *adder;
    unsigned number;
};

void block_reserve(struct block *block, size_t n) {
    if (n <= block->room) return;
    mem_free(block->hashes);
    block->hashes = tool_alloc(n * sizeof(struct hash));
    block->room = n;
}

static bool take(struct adder *adder, struct block *block, uint64_t *turn) {
    pthread_mutex_lock(&adder->taking);
    *turn = adder->taken++;
    bool is_taken = adder->source->take(adder->source, block);
    pthread_mutex_unlock(&adder->taking);
    return is_taken;
}

/* A block's hashes as a feed of the batch driver. */
struct block_feed {
    struct feed feed;
    const struct block *block;
    size_t taken;
    const char *like; // the file that the filter is like, or NULL
};

static size_t block_next(struct feed *feed, const struct filter *filter, struct hash *hashes) {
    (void)filter;
    struct block_feed *b = (struct block_feed *)feed;
    size_t left = b->block->n - b->taken, n = left < PROBE_ITEMS ? left : PROBE_ITEMS;
    for (size_t i = 0; i < n; i++) hashes[i] = b->block->hashes[b->taken + i];
    b->taken += n;
    return n;
}

static void block_emit(struct feed *feed, const struct outcome *outcomes, size_t n) {
    (void)feed, (void)outcomes, (void)n; // nobody asks which items were new
}

static enum batch_verdict block_make_room(struct feed *feed, enum status st,
                                          struct filter **filter) {
    const char *like = ((struct block_feed *)feed)->like;
    unsigned long long capacity = filter_capacity(*filter);
    if (st == STATUS_FULL && like) {
        tool_die("'%s' does not grow and holds %llu: a filter like it cannot take more", like,
                 capacity);
    }
    if (st == STATUS_FULL) {
        tool_die("there are more items than the capacity, %llu: --capacity makes it larger, "
                 "--expansion makes it grow",
                 capacity);
    }
    if (filter_grow(*filter, FILTER_NO_LIMIT, LIMITS_MAX_LAYERS) != STATUS_OK) {
        tool_die("no memory for another layer after %llu items",
                 (unsigned long long)filter_items(*filter));
    }
    return BATCH_RETRY;
}

/* Waits until the blocks that were taken before this one are added. */
static void add_in_turn(struct adder *adder, const struct block *block, uint64_t turn) {
    struct block_feed b = {.feed = {block_next, block_emit, block_make_room},
                           .block = block,
                           .like = adder->source->like};
    pthread_mutex_lock(&adder->adding);
    while (adder->added != turn) pthread_cond_wait(&adder->has_added, &adder->adding);
    pthread_mutex_unlock(&adder->adding);
    batch_run(adder->filter, BATCH_ADD, &b.feed);
    pthread_mutex_lock(&adder->adding);
    adder->added++;
    pthread_cond_broadcast(&adder->has_added);
    pthread_mutex_unlock(&adder->adding);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct adder *adder = worker->adder;
    struct block block = {0};
    for (uint64_t turn; take(adder, &block, &turn);) {
        adder->source->hash(adder->source, &block);
        adder->nitems += block.n;
        if (adder->sorter) {
            sorter_add(adder->sorter, worker->number, block.hashes, block.n);
        } else {
            add_in_turn(adder, &block, turn);
        }
    }
    if (adder->sorter) sorter_flush(adder->sorter, worker->number);
    items_close(&block.items);
    mem_free(block.hashes);
    return NULL;
}

/* The estimate can be a little too high, but no more items can be in the filter than there were. */
static void estimate_items(struct filter *filter, uint64_t nitems) {
    struct layer *layer = &filter->layers[0];
    layer->ones = layer_count_ones(layer);
    layer->items = layer_estimate_items(layer);
    if (layer->items > nitems) layer->items = nitems;
    filter->is_estimated = true;
}

uint64_t adder_run(struct filter *filter, struct source *source, bool is_exact) {
    struct adder adder = {.filter = filter, .source = source};
    struct worker workers[THREADS_MAX];
    unsigned n = threads_number();
    bool can_sort = filter->layers[0].rule == RULE_STRIDE; // sorter.c knows no other
    if (!is_exact && can_sort) adder.sorter = sorter_new(filter, n);
    pthread_mutex_init(&adder.taking, NULL);
    pthread_mutex_init(&adder.adding, NULL);
    pthread_cond_init(&adder.has_added, NULL);
    for (unsigned i = 0; i < n; i++) workers[i] = (struct worker){&adder, i};
    threads_run(n, work, workers, sizeof(workers[0]));
    pthread_cond_destroy(&adder.has_added);
    pthread_mutex_destroy(&adder.adding);
    pthread_mutex_destroy(&adder.taking);
    if (adder.sorter) {
        sorter_free(adder.sorter);
        estimate_items(filter, adder.nitems);
    }
    return adder.nitems;
}
