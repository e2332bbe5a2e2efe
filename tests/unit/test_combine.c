/* Filters combined (combine.h, bits.h) and emptied (filter_empty): a union is, bit by bit, the
 * filter of all items; an intersection contains what all contain; and when memory runs out at any
 * point, the filters are unchanged. */

#define _GNU_SOURCE // MAP_ANONYMOUS
#include "tests/unit/helpers.h"

#include "module/core/combine.h"
#include "module/core/filter/bits.h"
#include "rdb/codec.h"

#include <sys/mman.h>

/* ---- Bits ---- */

#define RUN 200

static void fill_random(struct rng *r, uint8_t *bytes, size_t n, unsigned per_cent) {
    for (size_t i = 0; i < n * 8; i++) {
        uint8_t mask = (uint8_t)(1U << (i & 7));
        if (rng_below(r, 100) < per_cent) {
            bytes[i >> 3] |= mask;
        } else {
            bytes[i >> 3] &= (uint8_t)~mask;
        }
    }
}

static uint64_t ones_of(const uint8_t *bytes, size_t n) {
    uint64_t ones = 0;
    for (size_t i = 0; i < n * 8; i++) ones += bytes[i >> 3] >> (i & 7) & 1;
    return ones;
}

static void runs_of_any_length_and_place_are_combined_bit_by_bit(void **state) {
    (void)state;
    struct rng r = rng_seeded(1);
    for (size_t len = 0; len < 80; len++) {
        size_t at = rng_below(&r, 16);
        uint8_t a[RUN], b[RUN], united[RUN], common[RUN];
        fill_random(&r, a, RUN, 50);
        fill_random(&r, b, RUN, (unsigned)rng_below(&r, 101));
        memcpy(united, a, RUN);
        memcpy(common, a, RUN);
        assert_int_equal(bits_count(a + at, len), ones_of(a + at, len));
        uint64_t fresh = bits_unite(united + at, b + at, len);
        uint64_t lost = bits_intersect(common + at, b + at, len);
        for (size_t i = 0; i < RUN; i++) {
            bool inside = i >= at && i < at + len;
            assert_int_equal(united[i], inside ? a[i] | b[i] : a[i]);
            assert_int_equal(common[i], inside ? a[i] & b[i] : a[i]);
        }
        assert_int_equal(fresh, ones_of(united, RUN) - ones_of(a, RUN));
        assert_int_equal(lost, ones_of(a, RUN) - ones_of(common, RUN));
    }
}

static void uniting_with_a_subset_writes_nothing(void **state) {
    (void)state;
    size_t len = 4096;
    uint8_t *whole = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(whole != MAP_FAILED);
    struct rng r = rng_seeded(2);
    uint8_t part[4096];
    fill_random(&r, whole, len, 50);
    for (size_t i = 0; i < len; i++) part[i] = whole[i] & (uint8_t)rng_next(&r);
    assert_int_equal(mprotect(whole, len, PROT_READ), 0); // from now on a write ends the program
    assert_int_equal(bits_unite(whole, part, len), 0);
    assert_int_equal(bits_unite(whole, part, len - 3), 0);
    assert_int_equal(munmap(whole, len), 0);
}

/* ---- Filters of every geometry ---- */

static const struct geometry GEOMETRIES[] = {{LAYOUT_CLASSIC, SCHEME_XXH64},
                                             {LAYOUT_CLASSIC, SCHEME_FNV1A},
                                             {LAYOUT_CLASSIC, SCHEME_MURMUR},
                                             {LAYOUT_CLASSIC, SCHEME_LEVELDB},
                                             {LAYOUT_BLOCKED, SCHEME_XXH64}};

static struct filter *filter_of(struct geometry geometry, uint64_t capacity, uint32_t expansion) {
    struct filter_params params = {.capacity = capacity,
                                   .error_rate = 0.01,
                                   .expansion = expansion,
                                   .layout = geometry.layout,
                                   .scheme = geometry.scheme};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    return filter;
}

static struct hash hash_of(const struct filter *filter, uint64_t i) {
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)i);
    return filter_hash(filter, text, (size_t)len);
}

static void add(struct filter *filter, uint64_t i) {
    bool added;
    assert_int_equal(add_growing(filter, hash_of(filter, i), FILTER_NO_LIMIT, &added), STATUS_OK);
}

static bool holds(const struct filter *filter, uint64_t i) {
    return filter_contains(filter, hash_of(filter, i));
}

/* A combined filter passes the checks of every decoder too. */
static void assert_sound(const struct filter *filter) {
    size_t len = codec_header_size(filter);
    uint8_t *header = malloc(len);
    assert_non_null(header);
    codec_encode_header(filter, header);
    struct filter *decoded = NULL;
    assert_int_equal(codec_decode_header(header, len, FILTER_NO_LIMIT, &decoded), STATUS_OK);
    filter_free(decoded);
    free(header);
    assert_true(codec_bits_are_sound(filter));
    assert_int_equal(filter->loaded, filter_array_bytes(filter));
}

static bool unite(struct filter *into, const struct filter *other) {
    bool changed = false;
    assert_int_equal(combine_union(into, &other, 1, FILTER_NO_LIMIT, &changed), STATUS_OK);
    return changed;
}

/* Three random sets out of 1500 numbers: bit j of in[i] says whether set j has i. */
#define NUMBERS 1500

static void choose_sets(struct rng *r, uint8_t *in) {
    for (size_t i = 0; i < NUMBERS; i++) in[i] = (uint8_t)rng_below(r, 8);
}

static void a_union_is_the_filter_of_all_items(void **state) {
    (void)state;
    struct rng r = rng_seeded(3);
    for (size_t g = 0; g < COUNT(GEOMETRIES); g++) {
        for (int round = 0; round < 10; round++) {
            uint8_t in[NUMBERS];
            choose_sets(&r, in);
            struct filter *sets[3], *all = filter_of(GEOMETRIES[g], 2000, 0);
            for (int j = 0; j < 3; j++) sets[j] = filter_of(GEOMETRIES[g], 2000, 0);
            for (uint64_t i = 0; i < NUMBERS; i++) {
                for (int j = 0; j < 3; j++) {
                    if (in[i] >> j & 1) add(sets[j], i);
                }
                if (in[i]) add(all, i);
            }
            bool changed = false;
            const struct filter *others[] = {sets[1], sets[2], sets[0]}; // itself among them
            assert_int_equal(combine_union(sets[0], others, 3, FILTER_NO_LIMIT, &changed),
                             STATUS_OK);
            assert_true(changed && sets[0]->is_estimated);
            assert_int_equal(sets[0]->layers[0].items, layer_estimate_items(&sets[0]->layers[0]));
            assert_sound(sets[0]);
            sets[0]->layers[0].items = all->layers[0].items;
            assert_true(same_filter(sets[0], all));
            for (int j = 0; j < 3; j++) filter_free(sets[j]);
            filter_free(all);
        }
    }
}

static void an_intersection_holds_what_all_hold(void **state) {
    (void)state;
    struct rng r = rng_seeded(4);
    for (size_t g = 0; g < COUNT(GEOMETRIES); g++) {
        uint8_t in[NUMBERS];
        choose_sets(&r, in);
        struct filter *sets[3], *common = NULL;
        for (int j = 0; j < 3; j++) sets[j] = filter_of(GEOMETRIES[g], 2000, 0);
        for (uint64_t i = 0; i < NUMBERS; i++) {
            for (int j = 0; j < 3; j++) {
                if (in[i] >> j & 1) add(sets[j], i);
            }
        }
        const struct filter *sources[] = {sets[0], sets[1], sets[2]};
        assert_int_equal(combine_intersection(sources, 3, FILTER_NO_LIMIT, &common), STATUS_OK);
        for (uint64_t i = 0; i < NUMBERS; i++) assert_true(in[i] != 7 || holds(common, i));
        const struct layer *layer = &common->layers[0];
        for (uint64_t i = 0; i < layer_bytes(layer->nbits); i++) {
            uint8_t bits = sets[0]->layers[0].bits[i] & sets[1]->layers[0].bits[i];
            assert_int_equal(layer->bits[i], bits & sets[2]->layers[0].bits[i]);
        }
        assert_true(common->is_estimated);
        assert_int_equal(layer->items, layer_estimate_items(layer));
        assert_sound(common);
        for (int j = 0; j < 3; j++) filter_free(sets[j]);
        filter_free(common);
    }
}

/* ---- Chains ---- */

static void chains_of_unequal_length_merge_either_way(void **state) {
    (void)state;
    for (size_t g = 0; g < COUNT(GEOMETRIES); g++) {
        for (int way = 0; way < 2; way++) {
            struct filter *shorter = filter_of(GEOMETRIES[g], 50, 2);
            struct filter *longer = filter_of(GEOMETRIES[g], 50, 2);
            for (uint64_t i = 0; i < 100; i++) add(shorter, i);
            for (uint64_t i = 80; i < 1000; i++) add(longer, i);
            assert_true(shorter->nlayers < longer->nlayers);
            struct filter *into = way ? longer : shorter, *other = way ? shorter : longer;
            uint32_t nlayers = longer->nlayers;
            assert_true(unite(into, other));
            assert_int_equal(into->nlayers, nlayers);
            for (uint64_t i = 0; i < 1000; i++) assert_true(holds(into, i));
            assert_sound(into);
            assert_false(unite(into, other)); // a second time it adds nothing
            add(into, 5000);                  // and it takes adds as any filter does
            assert_true(holds(into, 5000));
            filter_free(shorter);
            filter_free(longer);
        }
    }
}

static void a_layer_that_is_missing_is_taken_from_the_first_that_has_it(void **state) {
    (void)state;
    struct filter *into = filter_of(CLASSIC, 50, 0), *a = filter_of(CLASSIC, 50, 2), *b;
    filter_free(into);
    into = copy_of(a);
    into->expansion = 0;
    into->layers[0].capacity = 7;
    for (uint64_t i = 0; i < 120; i++) add(a, i);
    b = copy_of(a);
    assert_int_equal(a->nlayers, 2);
    b->layers[1].capacity = 99;
    const struct filter *others[] = {into, b, a};
    bool changed;
    assert_int_equal(combine_union(into, others, 3, FILTER_NO_LIMIT, &changed), STATUS_OK);
    assert_int_equal(into->layers[0].capacity, 7);
    assert_int_equal(into->layers[1].capacity, 99);
    assert_int_equal(into->expansion, 0);
    filter_free(into);
    filter_free(a);
    filter_free(b);
}

static void a_subset_changes_nothing(void **state) {
    (void)state;
    struct filter *whole = filter_of(CLASSIC, 500, 2), *part = filter_of(CLASSIC, 500, 2);
    for (uint64_t i = 0; i < 400; i++) add(whole, i);
    for (uint64_t i = 0; i < 400; i += 3) add(part, i);
    struct filter *before = copy_of(whole);
    assert_false(unite(whole, part));
    assert_false(unite(whole, whole));
    assert_true(same_filter(whole, before) && !whole->is_estimated);
    filter_free(whole);
    filter_free(part);
    filter_free(before);
}

static void a_union_of_empty_filters_is_empty_for_sure(void **state) {
    (void)state;
    struct filter *a = filter_of(CLASSIC, 10, 2), *b = filter_of(CLASSIC, 10, 2), *common = NULL;
    assert_false(unite(a, b));
    assert_false(a->is_estimated);
    const struct filter *sources[] = {a, b};
    assert_int_equal(combine_intersection(sources, 2, FILTER_NO_LIMIT, &common), STATUS_OK);
    assert_true(same_filter(a, common) && !common->is_estimated);
    filter_free(a);
    filter_free(b);
    filter_free(common);
}

/* ---- What cannot be combined ---- */

static enum difference difference_of(const struct filter *a, const struct filter *b,
                                     uint32_t *layer) {
    const struct filter *both[] = {b, a};
    struct mismatch mismatch;
    if (combine_is_possible(both, 2, &mismatch)) return DIFFERENCE_NONE;
    assert_int_equal(mismatch.at, 1);
    assert_ptr_equal(mismatch.other, b);
    *layer = mismatch.layer;
    return mismatch.difference;
}

static void the_first_difference_is_named(void **state) {
    (void)state;
    uint32_t layer = 77;
    struct filter *a = filter_of(CLASSIC, 50, 2), *b = copy_of(a);
    for (uint64_t i = 0; i < 300; i++) add(b, i);
    assert_true(b->nlayers > 2);
    assert_int_equal(difference_of(a, b, &layer),
                     DIFFERENCE_NONE); // a longer chain is no conflict
    struct filter *c = copy_of(b);
    assert_int_equal(difference_of(b, c, &layer), DIFFERENCE_NONE);
    c->layers[2].nhashes++;
    assert_int_equal(difference_of(b, c, &layer), DIFFERENCE_HASHES);
    assert_int_equal(layer, 2);
    layer_set_nbits(&c->layers[1], c->layers[1].nbits - 1);
    assert_int_equal(difference_of(c, b, &layer), DIFFERENCE_BITS);
    assert_int_equal(layer, 1);
    c->layout = LAYOUT_BLOCKED;
    assert_int_equal(difference_of(c, b, &layer), DIFFERENCE_LAYOUT);
    c->scheme = SCHEME_FNV1A;
    assert_int_equal(difference_of(c, b, &layer), DIFFERENCE_SCHEME);
    filter_free(a);
    filter_free(b);
    filter_free(c);
}

static void too_large_a_union_is_refused_and_changes_nothing(void **state) {
    (void)state;
    struct filter *a = filter_of(CLASSIC, 50, 2), *b = copy_of(a);
    add(a, 1);
    for (uint64_t i = 0; i < 300; i++) add(b, i);
    struct filter *before = copy_of(a), *common = NULL;
    bool changed = false;
    const struct filter *other = b;
    uint64_t size = filter_size_bytes(b);
    assert_int_equal(combine_union(a, &other, 1, size - 1, &changed), STATUS_NOMEM);
    assert_true(same_filter(a, before) && !changed);
    assert_int_equal(combine_intersection(&other, 1, size - 1, &common), STATUS_NOMEM);
    a->layers[0].capacity = LIMITS_MAX_COUNT;
    assert_int_equal(combine_union(a, &other, 1, FILTER_NO_LIMIT, &changed), STATUS_PARAM);
    a->layers[0].capacity = 50;
    assert_true(same_filter(a, before) && !changed);
    assert_int_equal(combine_union(a, &other, 1, size, &changed), STATUS_OK);
    // No layer is new any more, so no limit is checked.
    add(b, 7777);
    assert_int_equal(combine_union(a, &other, 1, 0, &changed), STATUS_OK);
    assert_true(changed && holds(a, 7777));
    filter_free(a);
    filter_free(b);
    filter_free(before);
}

static void without_memory_nothing_changes(void **state) {
    (void)state;
    struct filter *a = filter_of(CLASSIC, 50, 2), *b = copy_of(a);
    add(a, 1);
    for (uint64_t i = 0; i < 1000; i++) add(b, i);
    struct filter *before = copy_of(a);
    const struct filter *other = b;
    enum status st = STATUS_NOMEM;
    long failed = 0;
    for (; st == STATUS_NOMEM; failed++) {
        bool changed = false;
        long live = spy.live;
        spy_fail_at(failed + 1);
        st = combine_union(a, &other, 1, FILTER_NO_LIMIT, &changed);
        spy_fail_at(0);
        if (st == STATUS_NOMEM) assert_true(same_filter(a, before) && spy.live == live);
    }
    assert_int_equal(st, STATUS_OK);
    // the plan's two lists, the list of layers, and a copy of each layer but the first
    assert_int_equal(failed - 1, 2 + b->nlayers);
    st = STATUS_NOMEM;
    struct filter *common = NULL;
    for (failed = 0; st == STATUS_NOMEM; failed++) {
        long live = spy.live;
        spy_fail_at(failed + 1);
        st = combine_intersection((const struct filter *[]){before, before}, 2, FILTER_NO_LIMIT,
                                  &common);
        spy_fail_at(0);
        if (st == STATUS_NOMEM) assert_true(common == NULL && spy.live == live);
    }
    assert_int_equal(failed - 1, 3);
    filter_free(common);
    filter_free(a);
    filter_free(b);
    filter_free(before);
}

/* ---- Emptying ---- */

static void an_emptied_filter_is_as_it_was_made(void **state) {
    (void)state;
    for (size_t g = 0; g < COUNT(GEOMETRIES); g++) {
        // 400,000: so large that its pages are given back
        for (uint64_t capacity = 20; capacity <= 400000; capacity *= 20000) {
            struct filter *fresh = filter_of(GEOMETRIES[g], capacity, 2), *filter = copy_of(fresh);
            bool changed = true;
            assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
            assert_false(changed);
            for (uint64_t i = 0; i < 1000; i++) add(filter, i);
            assert_int_equal(filter->nlayers > 1, capacity == 20);
            filter->is_estimated = true;
            assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
            assert_true(changed && !filter->is_estimated);
            assert_true(same_filter(filter, fresh));
            assert_sound(filter);
            filter_free(filter);
            filter_free(fresh);
        }
    }
}

static void a_chain_that_cannot_be_emptied_stays(void **state) {
    (void)state;
    struct filter *filter = filter_of(CLASSIC, 20, 2);
    for (uint64_t i = 0; i < 100; i++) add(filter, i);
    struct filter *before = copy_of(filter);
    bool changed;
    spy_fail_at(1);
    assert_int_equal(filter_empty(filter, &changed), STATUS_NOMEM);
    assert_true(same_filter(filter, before));
    filter_free(filter);
    filter_free(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_any_length_and_place_are_combined_bit_by_bit),
        cmocka_unit_test(uniting_with_a_subset_writes_nothing),
        spied(a_union_is_the_filter_of_all_items),
        spied(an_intersection_holds_what_all_hold),
        spied(chains_of_unequal_length_merge_either_way),
        spied(a_layer_that_is_missing_is_taken_from_the_first_that_has_it),
        spied(a_subset_changes_nothing),
        spied(a_union_of_empty_filters_is_empty_for_sure),
        spied(the_first_difference_is_named),
        spied(too_large_a_union_is_refused_and_changes_nothing),
        spied(without_memory_nothing_changes),
        spied(an_emptied_filter_is_as_it_was_made),
        spied(a_chain_that_cannot_be_emptied_stays),
    };
    return cmocka_run_group_tests_name("combine", tests, print_seed, NULL);
}
