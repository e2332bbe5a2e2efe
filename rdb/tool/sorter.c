/* Hashes -> bits, sorted by region. See sorter.h.
 *
 * The words that wait for a region of a CLASSIC filter are positions within the region. Those of a
 * BLOCKED filter are hashes, two words each. */

#define _GNU_SOURCE // madvise
#include "rdb/tool/sorter.h"

#include "module/core/filter/blocked.h"
#include "module/core/mem.h"
#include "rdb/tool/threads.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

/* A region of 2^20 bits is 128 KiB. With the words that wait for it, it fits into the 512 KiB or
 * more of a second-level cache. It is visited when 2^14 words wait for it: 8 for each of its cache
 * lines, so that they share the cost of fetching the line. If there were more than 2,048 regions,
 * each is made larger, which bounds the memory to 128 MiB a thread. */
#define REGION_LOG2 20
#define REGION_WORDS ((size_t)1 << 14)
#define REGION_WAITING_BYTES (REGION_WORDS * sizeof(uint32_t))
#define MAX_REGIONS 2048
#define MIN_BITS ((uint64_t)1 << 23) // 1 MiB: smaller filters fit into the cache
#define LINE_BYTES 64
#define HUGE_PAGE ((size_t)2 << 20)
#define LOCKS 256

/* What one thread has for all regions. */
struct lane {
    void *block;       // the memory of `waiting`
    uint32_t *waiting; // REGION_WORDS for each region
    uint32_t **next;   // where its next word goes, for each region
};

struct sorter {
    struct layer *layer;
    uint64_t nregions;
    unsigned region_log2;
    struct lane lanes[THREADS_MAX];
    pthread_mutex_t mutexes[LOCKS]; // of region i: number i mod LOCKS
};

/* ---- Memory ------------------------------------------------------------------------------- */

static void *round_up(void *at, size_t to) {
    return (void *)(((uintptr_t)at + to - 1) & ~(uintptr_t)(to - 1));
}

/* Requests huge pages, which need fewer TLB entries. A refusal does no harm. */
static void use_huge_pages(void *block, size_t size) {
    char *from = round_up(block, HUGE_PAGE), *end = (char *)block + size;
    if (from < end) madvise(from, (size_t)(end - from) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
}

static bool prepare(struct lane *lane, size_t nregions) {
    size_t size = nregions * REGION_WAITING_BYTES + HUGE_PAGE;
    lane->block = mem_alloc(size);
    lane->next = mem_alloc(nregions * sizeof(*lane->next));
    if (!lane->block || !lane->next) return false;
    use_huge_pages(lane->block, size);
    lane->waiting = round_up(lane->block, HUGE_PAGE); // and so to a multiple of a region's bytes
    for (size_t i = 0; i < nregions; i++) lane->next[i] = lane->waiting + i * REGION_WORDS;
    return true;
}

struct sorter *sorter_new(struct filter *filter, unsigned nthreads) {
    struct layer *layer = &filter->layers[0];
    unsigned log2 = REGION_LOG2;
    while ((layer->nbits >> log2) + 1 > MAX_REGIONS) log2++;
    if (layer->nbits < MIN_BITS || log2 > 32) return NULL;
    struct sorter *sorter = mem_alloc_zeroed(sizeof(*sorter));
    if (!sorter) return NULL;
    sorter->layer = layer;
    sorter->region_log2 = log2;
    sorter->nregions = (layer->nbits >> log2) + 1;
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&sorter->mutexes[i], NULL);
    for (unsigned i = 0; i < nthreads; i++) {
        if (prepare(&sorter->lanes[i], (size_t)sorter->nregions)) continue;
        sorter_free(sorter);
        return NULL;
    }
    use_huge_pages(layer->bits, (size_t)layer_array_bytes(layer));
    return sorter;
}

void sorter_free(struct sorter *sorter) {
    for (int i = 0; i < THREADS_MAX; i++) {
        mem_free(sorter->lanes[i].block);
        mem_free(sorter->lanes[i].next);
    }
    for (int i = 0; i < LOCKS; i++) pthread_mutex_destroy(&sorter->mutexes[i]);
    mem_free(sorter);
}

static bool has_blocks(const struct sorter *sorter) {
    return layout_row((enum layout)sorter->layer->layout)->has_blocks;
}

/* ---- Setting ------------------------------------------------------------------------------ */

/* Prefetching the region's lines in order is faster than in the order of the positions. */
static uint8_t *fetch_region(const struct sorter *sorter, uint64_t region) {
    uint64_t from = region << sorter->region_log2 >> 3;
    uint64_t left = layer_array_bytes(sorter->layer) - from;
    uint64_t bytes = (uint64_t)1 << sorter->region_log2 >> 3;
    uint8_t *bits = sorter->layer->bits + from;
    if (bytes > left) bytes = left;
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES) __builtin_prefetch(bits + at, 1, 2);
    return bits;
}

static void set_positions(uint8_t *bits, const uint32_t *words, size_t n) {
    for (size_t i = 0; i < n; i++) bits[words[i] >> 3] |= (uint8_t)(1U << (words[i] & 7));
}

static void set_blocks(struct layer *layer, const uint32_t *words, size_t n) {
    for (size_t i = 0; i < n; i += 2) {
        blocked_add(layer->bits, layer->nbits, (uint64_t)words[i] << 32 | words[i + 1]);
    }
}

static void set_region(struct sorter *sorter, uint64_t region, const uint32_t *words, size_t n) {
    pthread_mutex_t *mutex = &sorter->mutexes[region % LOCKS];
    pthread_mutex_lock(mutex);
    uint8_t *bits = fetch_region(sorter, region);
    if (has_blocks(sorter)) {
        set_blocks(sorter->layer, words, n);
    } else {
        set_positions(bits, words, n);
    }
    pthread_mutex_unlock(mutex);
}

void sorter_flush(struct sorter *sorter, unsigned thread) {
    struct lane *lane = &sorter->lanes[thread];
    for (uint64_t i = 0; i < sorter->nregions; i++) {
        uint32_t *words = lane->waiting + i * REGION_WORDS;
        size_t n = (size_t)(lane->next[i] - words);
        if (n > 0) set_region(sorter, i, words, n);
        lane->next[i] = words;
    }
}

/* ---- Sorting ------------------------------------------------------------------------------ */

/* A region's words begin at a multiple of their total size, so a full region ends at one. */
static inline bool is_full(const uint32_t *next) {
    return ((uintptr_t)next & (REGION_WAITING_BYTES - 1)) == 0;
}

/* The line is in the cache when the words reach it. This saves some 8 % of the time of a build. */
static inline void prefetch_next_line(const uint32_t *next) {
    __builtin_prefetch((const char *)next + LINE_BYTES, 1, 3);
}

static void empty_region(struct sorter *sorter, struct lane *lane, uint64_t region) {
    lane->next[region] -= REGION_WORDS;
    set_region(sorter, region, lane->next[region], REGION_WORDS);
}

/* Inlined, so that the compiler unrolls the loop over the positions where k is a constant. */
static inline __attribute__((always_inline)) void sort_walks(struct sorter *sorter,
                                                             struct lane *lane,
                                                             const struct hash *hashes, size_t n,
                                                             const uint32_t k) {
    const struct layer layer = *sorter->layer; // a copy, which the compiler keeps in a register
    const unsigned log2 = sorter->region_log2;
    const uint32_t mask = (uint32_t)(((uint64_t)1 << log2) - 1);
    uint32_t **next = lane->next;
    for (size_t i = 0; i < n; i++) {
        uint64_t walk = hashes[i].a;
#pragma GCC unroll 16
        for (uint32_t j = 0; j < k; j++, walk += hashes[i].b) {
            uint64_t pos = layer_position(&layer, walk), region = pos >> log2;
            uint32_t *at = next[region];
            *at++ = (uint32_t)pos & mask;
            next[region] = at;
            prefetch_next_line(at);
            if (is_full(at)) empty_region(sorter, lane, region);
        }
    }
}

/* 7 is the k of an error rate of 1 % and of 10 bits per key. A constant k saves up to 10 % of the
 * time of a build. */
static void sort_positions(struct sorter *sorter, struct lane *lane, const struct hash *hashes,
                           size_t n) {
    uint32_t k = sorter->layer->nhashes;
    if (k == 7) {
        sort_walks(sorter, lane, hashes, n, 7);
    } else {
        sort_walks(sorter, lane, hashes, n, k);
    }
}

static void sort_blocks(struct sorter *sorter, struct lane *lane, const struct hash *hashes,
                        size_t n) {
    const uint64_t nbits = sorter->layer->nbits;
    const unsigned log2 = sorter->region_log2 - 3; // of bytes
    for (size_t i = 0; i < n; i++) {
        uint64_t region = blocked_offset(nbits, hashes[i].a) >> log2;
        uint32_t *at = lane->next[region];
        *at++ = (uint32_t)(hashes[i].a >> 32);
        *at++ = (uint32_t)hashes[i].a;
        lane->next[region] = at;
        prefetch_next_line(at);
        if (is_full(at)) empty_region(sorter, lane, region);
    }
}

void sorter_add(struct sorter *sorter, unsigned thread, const struct hash *hashes, size_t n) {
    struct lane *lane = &sorter->lanes[thread];
    if (has_blocks(sorter)) {
        sort_blocks(sorter, lane, hashes, n);
    } else {
        sort_positions(sorter, lane, hashes, n);
    }
}
