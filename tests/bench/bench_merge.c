/* How near is a merge to the memory's own speed? The core unites and intersects two filters of
 * `bytes` each, half of their bits set; reading and copying as much plain memory is the reference.
 *
 *   bench_merge [rounds, 7] [MiB, 1024]       for `make bench-merge`
 *
 * A round measures each row once, in turn, in the thread's CPU time; the median is printed with the
 * least and the most. Before a union its target is restored, off the clock: a second union would
 * find nothing new and write nothing (which is the row "again"). */

#define _GNU_SOURCE
#include "module/core/combine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ROUNDS 101

static uint64_t checksum;
static struct filter *into, *from;
static uint8_t *snapshot;
static size_t size;

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void unite(void) {
    const struct filter *other = from;
    bool changed;
    if (combine_union(into, &other, 1, FILTER_NO_LIMIT, &changed) != STATUS_OK) abort();
    checksum += changed;
}

static void restore(void) {
    memcpy(into->layers[0].bits, snapshot, size);
    into->layers[0].ones = layer_count_ones(&into->layers[0]);
}

static void nothing(void) {
}

static void copy(void) {
    memcpy(into->layers[0].bits, from->layers[0].bits, size);
}

static void read_both(void) {
    const uint8_t *a = into->layers[0].bits, *b = from->layers[0].bits;
    uint64_t sum[4] = {0}; // apart, so that no addition waits for the last
    for (size_t i = 0; i + 32 <= size; i += 32) {
        uint64_t words[8];
        memcpy(words, a + i, 32);
        memcpy(words + 4, b + i, 32);
        for (int j = 0; j < 4; j++) sum[j] += words[j] ^ words[j + 4];
    }
    checksum += sum[0] + sum[1] + sum[2] + sum[3];
}

static const struct row {
    const char *name;
    void (*before)(void);
    void (*run)(void);
} ROWS[] = {
    {"read both arrays", nothing, read_both},
    {"memcpy one onto the other", nothing, copy},
    {"unite, as BF.MERGE", restore, unite},
    {"unite again, nothing new", nothing, unite},
};
#define NROWS (sizeof(ROWS) / sizeof(ROWS[0]))

static struct filter *random_filter(uint64_t seed) {
    struct filter_params params = {.capacity = size * 8 / 10, .bits_per_key = 10};
    struct filter *filter;
    if (filter_new(&params, FILTER_NO_LIMIT, &filter) != STATUS_OK) abort();
    struct layer *layer = &filter->layers[0];
    size = (size_t)layer_bytes(layer->nbits) / 8 * 8;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = hash_splitmix(seed + i);
        memcpy(layer->bits + i, &word, 8);
    }
    layer->ones = layer_count_ones(layer);
    return filter;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 7;
    size = (size_t)(argc > 2 ? atoi(argv[2]) : 1024) << 20;
    if (rounds < 1 || rounds > MAX_ROUNDS || size == 0) return 2;
    into = random_filter(1);
    from = random_filter(2);
    snapshot = malloc(size);
    if (!snapshot) return 2;
    memcpy(snapshot, into->layers[0].bits, size);

    static double seconds[NROWS][MAX_ROUNDS];
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < NROWS; i++) {
            ROWS[i].before();
            double start = cpu_seconds();
            ROWS[i].run();
            seconds[i][round] = cpu_seconds() - start;
        }
    }
    printf("two filters of %zu MiB, %d rounds, checksum %llu\n", size >> 20, rounds,
           (unsigned long long)checksum);
    for (size_t i = 0; i < NROWS; i++) {
        qsort(seconds[i], (size_t)rounds, sizeof(double), by_value);
    }
    for (size_t i = 0; i < NROWS; i++) {
        double median = seconds[i][rounds / 2];
        printf("%-28s %7.1f ms (%.1f to %.1f), %5.2f GB/s of one filter, %.2f x memcpy\n",
               ROWS[i].name, median * 1e3, seconds[i][0] * 1e3, seconds[i][rounds - 1] * 1e3,
               (double)size / median / 1e9, median / seconds[1][rounds / 2]);
    }
    return 0;
}
