/* Where does the time go? The core alone, no server: nanoseconds per item for hashing, looking up
 * and adding, against the size of the filter.
 *
 *   bench_core [rounds, 7] [size ..., 256K 1M 4M 32M 238M]       for `make bench-core`
 *
 * What makes the numbers honest:
 *   - items are the texts of the server's benchmark, key:%012d, in random order; they are written
 *     before the clock starts, a window of 4096 at a time (64 KiB: they stay in the L2 cache);
 *   - every result is summed up and printed, so no call can be optimised out, and present items
 *     that are not found end the run;
 *   - the clock is the thread's CPU time, so other programs can only evict cache lines;
 *   - a round measures every row once, in turn; the median of the rounds is printed with the least
 *     and the most.
 *
 * Also where items are looked up one by one, the CPU begins the next item while it waits for the
 * cache lines of this one. Between two commands of a server it cannot, so a single BF.EXISTS pays
 * more for memory than the same row here. */

#define _GNU_SOURCE
#include "module/core/filter/prefetch.h"
#include "tests/unit/growing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW 4096
#define ITEM_BYTES 16
#define BITS_PER_KEY 10
#define MAX_ROUNDS 101
#define ITEMS_PER_ROUND (1 << 18)
/* Filters of up to this many items are filled item by item. Larger ones get random bits, half of
 * them set, as a full filter has, and then the present items: at most a sixteenth of the capacity,
 * which moves the share of set bits from 0.50 to 0.52 at most. */
#define FILLED_REALLY (1 << 24)
#define PRESENT_IN_LARGE (1 << 20)

static uint64_t checksum;

struct state {
    struct filter *filter;
    uint8_t *snapshot;    // the bits as they were before fresh items were added
    uint64_t present;     // items 0 .. present-1 are in the filter
    uint64_t next_absent; // items from here on have never been used
    uint64_t random;
    char items[WINDOW][ITEM_BYTES];
};

static uint64_t next_random(struct state *s) {
    return hash_splitmix(s->random++);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_item(char *out, uint64_t number) {
    char text[32];
    snprintf(text, sizeof(text), "key:%012llu", (unsigned long long)number % 1000000000000U);
    memcpy(out, text, ITEM_BYTES);
}

static void write_present(struct state *s, size_t n) {
    for (size_t i = 0; i < n; i++) write_item(s->items[i], next_random(s) % s->present);
}

static void write_absent(struct state *s, size_t n) {
    for (size_t i = 0; i < n; i++) write_item(s->items[i], s->next_absent++);
}

static void write_mixed(struct state *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool is_present = next_random(s) & 1;
        write_item(s->items[i], is_present ? next_random(s) % s->present : s->next_absent++);
    }
}

static void write_nothing(struct state *s, size_t n) {
    (void)s, (void)n;
}

/* ---- The rows: what is done with a window of items, under the clock ------------------------ */

static uint64_t hash_only(struct state *s, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        struct hash hash = filter_hash(s->filter, s->items[i], ITEM_BYTES);
        sum += hash.a ^ hash.b;
    }
    return sum;
}

static uint64_t contains_each(struct state *s, size_t n) {
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++) {
        found += filter_contains(s->filter, filter_hash(s->filter, s->items[i], ITEM_BYTES));
    }
    return found;
}

static uint64_t add_each(struct state *s, size_t n) {
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        bool added = false;
        struct hash hash = filter_hash(s->filter, s->items[i], ITEM_BYTES);
        if (add_growing(s->filter, hash, FILTER_NO_LIMIT, &added) != STATUS_OK) abort();
        count += added;
    }
    return count;
}

/* ---- Batches: the window goes through the filter together --------------------------------- */

/* As in the server: a few items are hashed at a time, while the cache lines of others arrive. */
struct window_feed {
    struct feed feed;
    const struct state *s;
    size_t n;
    size_t taken;
    uint64_t yes;
};

static size_t window_next(struct feed *feed, const struct filter *filter, struct hash *out) {
    struct window_feed *w = (struct window_feed *)feed;
    size_t left = w->n - w->taken, some = left < PROBE_ITEMS ? left : PROBE_ITEMS;
    for (size_t i = 0; i < some; i++) {
        out[i] = filter_hash(filter, w->s->items[w->taken + i], ITEM_BYTES);
    }
    w->taken += some;
    return some;
}

static void window_emit(struct feed *feed, const struct outcome *outcomes, size_t n) {
    for (size_t i = 0; i < n; i++) ((struct window_feed *)feed)->yes += outcomes[i].answer;
}

static enum batch_verdict window_make_room(struct feed *feed, enum status st,
                                           struct filter **filter) {
    (void)feed, (void)st, (void)filter;
    abort();
}

static uint64_t run_batch(struct state *s, enum batch_work work, size_t n) {
    struct window_feed w = {.feed = {window_next, window_emit, window_make_room}, .s = s, .n = n};
    batch_run(s->filter, work, &w.feed);
    return w.yes;
}

static uint64_t contains_batch(struct state *s, size_t n) {
    return run_batch(s, BATCH_LOOK_UP, n);
}

static uint64_t add_batch(struct state *s, size_t n) {
    return run_batch(s, BATCH_ADD, n);
}

/* ---- The machine's own cost: random cache lines of the same array, and nothing else --------- */

static uint64_t random_byte(const struct state *s, uint64_t number) {
    const struct layer *layer = &s->filter->layers[0];
    return (uint64_t)(((unsigned __int128)hash_splitmix(number) * layer->nbits) >> 67);
}

/* Each address depends on the byte at the one before, as between two commands. */
static uint64_t line_after_line(struct state *s, size_t n) {
    uint64_t sum = 0, number = next_random(s);
    for (size_t i = 0; i < n; i++) {
        number += 1 + s->filter->layers[0].bits[random_byte(s, number)];
        sum ^= number;
    }
    return sum;
}

#define LINES_AHEAD 16

static uint64_t lines_at_once(struct state *s, size_t n) {
    uint64_t sum = 0, number = next_random(s);
    const uint8_t *bits = s->filter->layers[0].bits;
    for (size_t i = 0; i < n; i++, number++) {
        prefetch_line(bits + random_byte(s, number + LINES_AHEAD));
        sum += bits[random_byte(s, number)];
    }
    return sum;
}

static uint64_t lines_changed(struct state *s, size_t n) {
    uint64_t number = next_random(s);
    uint8_t *bits = s->filter->layers[0].bits;
    for (size_t i = 0; i < n; i++, number++) {
        prefetch_line(bits + random_byte(s, number + LINES_AHEAD));
        bits[random_byte(s, number)] |= 1;
    }
    return 0;
}

enum expect { ANY, ALL, NONE }; // of the items, how many must answer 1

static const struct question {
    const char *name;
    void (*write)(struct state *, size_t);
    uint64_t (*run)(struct state *, size_t);
    enum expect expect;
    bool changes_filter;
} QUESTIONS[] = {
    {"hash only", write_mixed, hash_only, ANY, false},
    {"contains, present", write_present, contains_each, ALL, false},
    {"contains, absent", write_absent, contains_each, ANY, false},
    {"contains, half and half", write_mixed, contains_each, ANY, false},
    {"add, fresh", write_absent, add_each, ANY, true},
    {"add, present", write_present, add_each, NONE, false},
    {"batch: contains, present", write_present, contains_batch, ALL, false},
    {"batch: contains, absent", write_absent, contains_batch, ANY, false},
    {"batch: contains, half and half", write_mixed, contains_batch, ANY, false},
    {"batch: add, fresh", write_absent, add_batch, ANY, true},
    {"batch: add, present", write_present, add_batch, NONE, false},
    {"a line, one after another", write_nothing, line_after_line, ANY, false},
    {"a line, many at once", write_nothing, lines_at_once, ANY, false},
    {"a line changed, many at once", write_nothing, lines_changed, ANY, true},
};
#define NQUESTIONS (sizeof(QUESTIONS) / sizeof(QUESTIONS[0]))

/* ---- Filters ------------------------------------------------------------------------------ */

static struct layer *only_layer(struct state *s) {
    return &s->filter->layers[0];
}

static void add_first_items(struct state *s, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        bool added;
        write_item(s->items[0], i);
        struct hash hash = filter_hash(s->filter, s->items[0], ITEM_BYTES);
        if (add_growing(s->filter, hash, FILTER_NO_LIMIT, &added) != STATUS_OK) abort();
    }
}

/* Sets the count of items to 0, so that fresh items have room: the bits are those of a full one. */
static void fill(struct state *s) {
    struct layer *layer = only_layer(s);
    uint64_t bytes = layer_bytes(layer->nbits);
    s->present = layer->capacity;
    if (layer->capacity > FILLED_REALLY) {
        layer->ones = layer->nbits / 2;
        layer_advise_pages(layer);                    // as one that is loaded
        for (uint64_t i = 0; i + 8 < bytes; i += 8) { // not the last byte: its end must be zero
            uint64_t word = next_random(s);
            memcpy(layer->bits + i, &word, 8);
        }
        s->present = PRESENT_IN_LARGE;
    }
    add_first_items(s, s->present);
    layer->ones = layer_count_ones(layer);
    layer->items = 0;
    memcpy(s->snapshot, layer->bits, bytes);
}

static void restore(struct state *s) {
    struct layer *layer = only_layer(s);
    memcpy(layer->bits, s->snapshot, layer_bytes(layer->nbits));
    layer->ones = layer_count_ones(layer);
    layer->items = 0;
}

static struct state *new_state(enum layout layout, uint64_t bytes) {
    struct filter_params params = {.capacity = bytes * 8 / BITS_PER_KEY,
                                   .bits_per_key = BITS_PER_KEY,
                                   .layout = layout,
                                   .scheme = SCHEME_XXH64};
    struct state *s = calloc(1, sizeof(*s));
    if (!s || filter_new(&params, FILTER_NO_LIMIT, &s->filter) != STATUS_OK) abort();
    s->snapshot = malloc(layer_bytes(only_layer(s)->nbits));
    if (!s->snapshot) abort();
    fill(s);
    s->next_absent = params.capacity * 2;
    return s;
}

static void free_state(struct state *s) {
    filter_free(s->filter);
    free(s->snapshot);
    free(s);
}

/* ---- Measuring ---------------------------------------------------------------------------- */

/* The CPU seconds of one window. */
static double time_window(struct state *s, const struct question *q, size_t n) {
    q->write(s, n);
    double begin = cpu_seconds();
    uint64_t result = q->run(s, n);
    double took = cpu_seconds() - begin;
    if ((q->expect == ALL && result != n) || (q->expect == NONE && result != 0)) {
        fprintf(stderr, "%s: %llu of %zu answered 1\n", q->name, (unsigned long long)result, n);
        exit(1);
    }
    checksum += result;
    return took;
}

/* ITEMS_PER_ROUND items. Fresh ones may fill 2 % of the filter before it is put back as it was. */
static double time_round(struct state *s, const struct question *q) {
    double took = 0;
    uint64_t room = only_layer(s)->capacity / 50, fresh = 0;
    for (int done = 0; done < ITEMS_PER_ROUND; done += WINDOW) {
        took += time_window(s, q, WINDOW);
        fresh += WINDOW;
        bool is_last = done + WINDOW >= ITEMS_PER_ROUND;
        if (q->changes_filter && (fresh + WINDOW > room || is_last)) {
            restore(s);
            fresh = 0;
        }
    }
    return took / ITEMS_PER_ROUND * 1e9;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_size(enum layout layout, uint64_t bytes, int rounds) {
    static double ns[NQUESTIONS][MAX_ROUNDS];
    struct state *s = new_state(layout, bytes);
    for (int r = 0; r < rounds; r++) {
        for (size_t q = 0; q < NQUESTIONS; q++) ns[q][r] = time_round(s, &QUESTIONS[q]);
    }
    for (size_t q = 0; q < NQUESTIONS; q++) {
        qsort(ns[q], (size_t)rounds, sizeof(double), compare_doubles);
        printf("| %s | %.4g MiB | %-30s | %6.1f (%.1f..%.1f) |\n", layout_name(layout),
               (double)bytes / (1 << 20), QUESTIONS[q].name, ns[q][rounds / 2], ns[q][0],
               ns[q][rounds - 1]);
    }
    fflush(stdout);
    free_state(s);
}

/* 256K, 1M, 4G; 0 is never returned. */
static uint64_t parse_size(const char *text) {
    char *unit;
    uint64_t n = strtoull(text, &unit, 10);
    unsigned shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
    if (n == 0 || n > 1 << 20 || shift == 0) {
        fprintf(stderr, "not a size: %s (256K, 1M, 4G)\n", text);
        exit(1);
    }
    return n << shift;
}

int main(int argc, char **argv) {
    static const char *const DEFAULTS[] = {"256K", "1M", "4M", "32M", "238M"};
    int rounds = argc > 1 ? atoi(argv[1]) : 7;
    if (rounds < 1 || rounds > MAX_ROUNDS) rounds = 7;
    int nsizes = argc > 2 ? argc - 2 : (int)(sizeof(DEFAULTS) / sizeof(DEFAULTS[0]));
    printf("| layout | filter | what | ns per item, CPU: median (least..most of %d rounds) |\n",
           rounds);
    printf("| --- | --- | --- | --- |\n");
    for (int layout = LAYOUT_CLASSIC; layout < LAYOUT_COUNT; layout++) {
        for (int i = 0; i < nsizes; i++) {
            const char *text = argc > 2 ? argv[i + 2] : DEFAULTS[i];
            print_size((enum layout)layout, parse_size(text), rounds);
        }
    }
    printf("\nchecksum %llu\n", (unsigned long long)checksum);
    return 0;
}
