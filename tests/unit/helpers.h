/* What the unit tests share: cmocka, a random source with a fixed seed, allocator hooks that count,
 * dirty and fail, items by number, and the one "same filter?" helper. */

#ifndef BLOOMPORT_TESTS_HELPERS_H
#define BLOOMPORT_TESTS_HELPERS_H

#include "module/core/filter/filter.h"
#include "module/core/mem.h"
#include "tests/unit/growing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> // after the headers above, which it needs

__attribute__((unused)) static const struct geometry CLASSIC = {LAYOUT_CLASSIC, SCHEME_XXH64};
__attribute__((unused)) static const struct geometry BLOCKED = {LAYOUT_BLOCKED, SCHEME_XXH64};
__attribute__((unused)) static const struct geometry COUNTING = {LAYOUT_COUNTING, SCHEME_XXH64};

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif

#if defined(LAZY_ZERO_BYTES) // as the Makefile sets it for valgrind
#define UNDER_VALGRIND 1
#else
#define UNDER_VALGRIND 0
#endif

#if !defined(UNDER_EMULATION) // as tests/platforms.mk sets it
#define UNDER_EMULATION 0
#endif

#define RUNS_SLOWLY (UNDER_ASAN || UNDER_VALGRIND || UNDER_EMULATION)

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define UNUSED __attribute__((unused)) // not every program uses every helper

#define TEST_SEED UINT64_C(0x5eed0b100f117e25)

/* ---- Random numbers: xoshiro256** (Blackman and Vigna), seeded by a linear congruence ---- */

struct rng {
    uint64_t s[4];
};

static inline uint64_t rng_rotl(uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
}

static inline uint64_t rng_next(struct rng *r) {
    uint64_t *s = r->s;
    uint64_t result = rng_rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotl(s[3], 45);
    return result;
}

static inline uint64_t rng_below(struct rng *r, uint64_t bound) {
    return rng_next(r) % bound;
}

static inline struct rng rng_seeded(uint64_t stream) {
    struct rng r;
    uint64_t x = TEST_SEED + stream;
    for (int i = 0; i < 4; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        r.s[i] = x;
    }
    for (int i = 0; i < 16; i++) rng_next(&r);
    return r;
}

UNUSED static int print_seed(void **state) {
    (void)state;
    print_message("seed %#llx\n", (unsigned long long)TEST_SEED);
    return 0;
}

/* ---- Items: the number `i` as decimal text ---- */

/* The seed of item_hash; filters of scheme sip13 that items are added to should have it. */
UNUSED static const struct seed ITEM_SEED = {{UINT64_C(0x0706050403020100), 1, UINT64_MAX, 3}};

/* The texts stay for a while: the hashes of some schemes have their addresses (scheme.h). */
UNUSED static struct hash item_hash(enum scheme scheme, uint64_t i) {
    static char texts[1024][24];
    static size_t next;
    char *text = texts[next++ % COUNT(texts)];
    int len = snprintf(text, sizeof texts[0], "%llu", (unsigned long long)i);
    return scheme_hash(scheme, &ITEM_SEED, text, (size_t)len);
}

/* Value i of an item's walk. */
UNUSED static uint64_t walk_value(enum scheme scheme, struct hash hash, uint64_t nbits,
                                  uint32_t i) {
    struct walk walk = walk_begin(scheme_row(scheme)->rule, hash, nbits);
    for (uint32_t j = 0; j < i; j++) walk_next(&walk);
    return walk_next(&walk);
}

/* ---- An allocator that counts, hands out dirty memory, and fails on demand ---- */

#define SPY_HEADER 64 // room for the size, keeping every alignment

static struct {
    long live;        // blocks allocated and not freed
    uint64_t bytes;   // in them
    long calls;       // since spy_reset
    long fail_at;     // the call that fails, counted from 1; 0: none
    bool fail_always; // every call from fail_at on fails
    uint64_t largest; // the largest size requested since spy_reset
} spy;

static void *spy_alloc(size_t size) {
    spy.calls++;
    if (size > spy.largest) spy.largest = size;
    bool fails = spy.fail_always ? spy.calls >= spy.fail_at : spy.calls == spy.fail_at;
    if (fails && spy.fail_at != 0) return NULL;
    if (size > ((size_t)1 << 32)) return NULL; // this machine is not that large
    uint8_t *block = malloc(size + SPY_HEADER);
    if (block == NULL) return NULL;
    memcpy(block, &size, sizeof size);
    memset(block + SPY_HEADER, 0xAA, size);
    spy.live++;
    spy.bytes += size;
    return block + SPY_HEADER;
}

static void spy_release(void *ptr) {
    if (ptr == NULL) return;
    uint8_t *block = (uint8_t *)ptr - SPY_HEADER;
    size_t size;
    memcpy(&size, block, sizeof size);
    spy.live--;
    spy.bytes -= size;
    free(block);
}

static void *plain_alloc(size_t size) {
    return malloc(size);
}

/* Everything allocated before must have been freed. */
UNUSED static int spy_install(void **state) {
    (void)state;
    memset(&spy, 0, sizeof spy);
    mem_set_hooks((struct mem_hooks){spy_alloc, spy_release});
    return 0;
}

/* The teardown of tests that use the spy: what leaked fails the test. */
UNUSED static int spy_remove(void **state) {
    (void)state;
    mem_set_hooks((struct mem_hooks){plain_alloc, free});
    if (spy.live == 0 && spy.bytes == 0) return 0;
    print_error("%ld blocks of %llu bytes leaked\n", spy.live, (unsigned long long)spy.bytes);
    return 1;
}

/* From now on, the `n`-th allocation fails; 0: none. */
UNUSED static void spy_fail_at(long n) {
    spy.calls = 0;
    spy.fail_at = n;
    spy.fail_always = false;
    spy.largest = 0;
}

#define spied(test) cmocka_unit_test_setup_teardown(test, spy_install, spy_remove)

/* ---- Filters ---- */

/* The filter of these parameters; creating it must succeed. */
UNUSED static struct filter *filter_as(const struct filter_params *params) {
    struct filter *filter = NULL;
    assert_int_equal(filter_new(params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    return filter;
}

/* A filter by error rate; creating it must succeed. */
UNUSED static struct filter *filter_by_error(uint64_t capacity, double error_rate,
                                             uint32_t expansion) {
    struct filter_params params = {
        .capacity = capacity, .error_rate = error_rate, .expansion = expansion};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    return filter;
}

/* A filter by bits per key; creating it must succeed. */
UNUSED static struct filter *filter_by_bits(uint64_t capacity, double bits_per_key,
                                            uint32_t expansion) {
    struct filter_params params = {
        .capacity = capacity, .bits_per_key = bits_per_key, .expansion = expansion};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    return filter;
}

/* Adds item `i`, which must succeed; true if it counted. */
UNUSED static bool add_item(struct filter *filter, uint64_t i) {
    bool added = false;
    assert_int_equal(add_growing(filter, item_hash(filter->scheme, i), FILTER_NO_LIMIT, &added),
                     STATUS_OK);
    return added;
}

/* Adds items next, next + 1, ... until `items` have counted; the number after the last. */
UNUSED static uint64_t fill_to(struct filter *filter, uint64_t items, uint64_t next) {
    uint64_t limit = next + 100 * items + 10000; // a broken filter may never count them
    while (filter_items(filter) < items && next < limit) add_item(filter, next++);
    assert_true(filter_items(filter) >= items);
    return next;
}

UNUSED static struct filter *copy_of(const struct filter *filter) {
    struct filter *copy = NULL;
    assert_int_equal(filter_copy(filter, &copy), STATUS_OK);
    return copy;
}

/* The first number from `from` on that the filter does not contain. */
UNUSED static uint64_t absent_item(const struct filter *filter, uint64_t from) {
    for (uint64_t tries = 0; filter_contains(filter, item_hash(filter->scheme, from)); tries++) {
        if (tries == 1000000) fail_msg("the filter contains everything");
        from++;
    }
    return from;
}

UNUSED static enum status try_add(struct filter *filter, uint64_t item, uint64_t max_bytes,
                                  bool *added) {
    return add_growing(filter, item_hash(filter->scheme, item), max_bytes, added);
}

static inline bool same_layer(const struct layer *a, const struct layer *b) {
    return a->nbits == b->nbits && a->capacity == b->capacity && a->items == b->items &&
           a->ones == b->ones && a->nhashes == b->nhashes && a->start == b->start &&
           a->layout == b->layout && a->scheme == b->scheme &&
           memcmp(&a->error_rate, &b->error_rate, sizeof a->error_rate) == 0 &&
           memcmp(&a->bits_per_item, &b->bits_per_item, sizeof a->bits_per_item) == 0 &&
           memcmp(a->bits, b->bits, layer_array_bytes(a)) == 0;
}

/* True if the two filters are equal in every field and every bit; pointers may differ. */
UNUSED static bool same_filter(const struct filter *a, const struct filter *b) {
    if (a->nlayers != b->nlayers || a->expansion != b->expansion || a->layout != b->layout ||
        a->scheme != b->scheme || a->origin != b->origin || a->kept != b->kept ||
        a->is_loading != b->is_loading || a->loaded != b->loaded || a->window != b->window ||
        a->generations != b->generations || a->window_capacity != b->window_capacity ||
        a->ratio != b->ratio || memcmp(&a->seed, &b->seed, sizeof a->seed) != 0 ||
        memcmp(&a->error_rate, &b->error_rate, sizeof a->error_rate) != 0 ||
        memcmp(&a->bits_per_key, &b->bits_per_key, sizeof a->bits_per_key) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->nlayers; i++) {
        if (!same_layer(&a->layers[i], &b->layers[i])) return false;
    }
    return true;
}

#endif
