/* One layer, against a naive model: an array of bools, one per bit, and the formula of
 * rdb/FORMAT.md, position i = (a + i*b mod 2^64) mod m. */

#include "tests/unit/helpers.h"

#include <math.h>

struct model {
    bool *bit;
    uint64_t nbits;
    uint32_t nhashes;
    uint64_t items;
};

static struct model model_new(uint64_t nbits, uint32_t nhashes) {
    struct model model = {calloc(nbits, sizeof(bool)), nbits, nhashes, 0};
    assert_non_null(model.bit);
    return model;
}

static uint64_t model_position(const struct model *model, struct hash hash, uint32_t i) {
    uint64_t sum = hash.a;
    for (uint32_t step = 0; step < i; step++) sum += hash.b; // wraps at 2^64, as it must
    return sum - sum / model->nbits * model->nbits;
}

static bool model_contains(const struct model *model, struct hash hash) {
    for (uint32_t i = 0; i < model->nhashes; i++) {
        if (!model->bit[model_position(model, hash, i)]) return false;
    }
    return true;
}

static bool model_add(struct model *model, struct hash hash) {
    bool changed = !model_contains(model, hash);
    for (uint32_t i = 0; i < model->nhashes; i++) {
        model->bit[model_position(model, hash, i)] = true;
    }
    model->items += changed;
    return changed;
}

static uint64_t model_ones(const struct model *model) {
    uint64_t ones = 0;
    for (uint64_t i = 0; i < model->nbits; i++) ones += model->bit[i];
    return ones;
}

static bool layer_bit(const struct layer *layer, uint64_t i) {
    return layer->bits[i / 8] / (1U << i % 8) % 2 == 1;
}

static void assert_agree(const struct layer *layer, const struct model *model) {
    for (uint64_t i = 0; i < model->nbits; i++) {
        if (layer_bit(layer, i) != model->bit[i]) {
            fail_msg("bit %llu of m = %llu, k = %u differs", (unsigned long long)i,
                     (unsigned long long)model->nbits, model->nhashes);
        }
    }
    for (uint64_t i = model->nbits; i < 8 * layer_bytes(model->nbits); i++) {
        assert_false(layer_bit(layer, i));
    }
    assert_true(layer->ones == model_ones(model));
    assert_true(layer->items == model->items);
}

static struct layer new_layer(uint64_t nbits, uint32_t nhashes) {
    struct layer layer;
    struct sizing size = {nbits, nhashes};
    assert_int_equal(layer_init(&layer, size, CLASSIC, 100, 0.25), STATUS_OK);
    return layer;
}

/* Edges of bytes and words, powers of two and their neighbours, primes. */
static const uint64_t SIZES[] = {1,   2,   3,    7,    8,    9,    15,    16,   17,
                                 31,  63,  64,   65,   97,   127,  128,   129,  255,
                                 256, 257, 1000, 1023, 1024, 1025, 65536, 65537};
static const uint32_t HASHES[] = {1, 2, 3, 7, 8, 14, 30, 255};

/* Runs `test` on a fresh layer and model of every size and number of hashes. */
static void for_every_shape(void (*test)(struct layer *, struct model *, struct rng *)) {
    struct rng r = rng_seeded(3);
    for (size_t i = 0; i < COUNT(SIZES); i++) {
        for (size_t j = 0; j < COUNT(HASHES); j++) {
            struct layer layer = new_layer(SIZES[i], HASHES[j]);
            struct model model = model_new(SIZES[i], HASHES[j]);
            test(&layer, &model, &r);
            layer_clear(&layer);
            free(model.bit);
        }
    }
}

/* A random pair; now and then one at an edge: stride 0, full wrap, both tiny. */
static struct hash random_hash(struct rng *r) {
    static const uint64_t EDGES[] = {
        0, 1, 2, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, UINT32_MAX, UINT64_C(1) << 32};
    struct hash hash = {rng_next(r), rng_next(r)};
    if (rng_below(r, 8) == 0) hash.a = EDGES[rng_below(r, COUNT(EDGES))];
    if (rng_below(r, 8) == 0) hash.b = EDGES[rng_below(r, COUNT(EDGES))];
    return hash;
}

static void random_adds_on(struct layer *layer, struct model *model, struct rng *r) {
    for (int i = 0; i < 60; i++) {
        struct hash hash = random_hash(r);
        assert_int_equal(layer_add(layer, hash).answer, model_add(model, hash));
    }
    assert_agree(layer, model);
}

static void bits_and_counts_agree_with_the_naive_model_after_random_adds(void **state) {
    (void)state;
    for_every_shape(random_adds_on);
}

static void random_lookups_on(struct layer *layer, struct model *model, struct rng *r) {
    for (int i = 0; i < 20; i++) {
        struct hash hash = random_hash(r);
        layer_add(layer, hash);
        model_add(model, hash);
    }
    for (int i = 0; i < 200; i++) {
        struct hash hash = random_hash(r);
        assert_int_equal(layer_contains(layer, hash), model_contains(model, hash));
    }
    assert_agree(layer, model); // a lookup changes nothing
}

static void contains_agrees_with_the_naive_model(void **state) {
    (void)state;
    for_every_shape(random_lookups_on);
}

static void added_items_on(struct layer *layer, struct model *model, struct rng *r) {
    (void)model;
    struct hash added[50];
    for (size_t i = 0; i < COUNT(added); i++) {
        added[i] = random_hash(r);
        layer_add(layer, added[i]);
        for (size_t j = 0; j <= i; j++) assert_true(layer_contains(layer, added[j]));
    }
}

static void added_items_are_always_contained(void **state) {
    (void)state;
    for_every_shape(added_items_on);
}

static void second_adds_on(struct layer *layer, struct model *model, struct rng *r) {
    for (int i = 0; i < 20; i++) {
        struct hash hash = random_hash(r);
        layer_add(layer, hash);
        model_add(model, hash);
        assert_false(layer_add(layer, hash).answer);
    }
    assert_agree(layer, model);
}

static void adding_again_is_false_and_changes_nothing(void **state) {
    (void)state;
    for_every_shape(second_adds_on);
}

static void ones_on(struct layer *layer, struct model *model, struct rng *r) {
    for (int i = 0; i < 30; i++) {
        struct hash hash = random_hash(r);
        layer_add(layer, hash);
        model_add(model, hash);
        assert_true(layer->ones == layer_count_ones(layer));
    }
    assert_true(layer_count_ones(layer) == model_ones(model));
}

static void ones_are_kept_as_they_change(void **state) {
    (void)state;
    for_every_shape(ones_on);
}

static void tail_on(struct layer *layer, struct model *model, struct rng *r) {
    for (int i = 0; i < 30; i++) layer_add(layer, random_hash(r));
    assert_true(layer_tail_is_zero(layer));
    for (uint64_t i = model->nbits; i < 8 * layer_bytes(model->nbits); i++) {
        layer->bits[i / 8] ^= (uint8_t)(1U << i % 8);
        assert_false(layer_tail_is_zero(layer));
        layer->bits[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    memset(layer->bits, 0xff, layer_bytes(model->nbits));
    assert_int_equal(layer_tail_is_zero(layer), model->nbits % 8 == 0);
}

static void tail_is_zero_after_adds_and_any_stray_bit_in_it_is_seen(void **state) {
    (void)state;
    for_every_shape(tail_on);
}

static void copy_on(struct layer *layer, struct model *model, struct rng *r) {
    for (int i = 0; i < 20; i++) {
        struct hash hash = random_hash(r);
        layer_add(layer, hash);
        model_add(model, hash);
    }
    struct layer copy;
    assert_int_equal(layer_copy(&copy, layer), STATUS_OK);
    assert_true(same_layer(&copy, layer));
    assert_ptr_not_equal(copy.bits, layer->bits);
    memset(copy.bits, 0xff, layer_bytes(copy.nbits));
    assert_agree(layer, model);
    layer_clear(&copy);
}

static void copy_is_equal_and_independent(void **state) {
    (void)state;
    for_every_shape(copy_on);
}

static void fresh_layer_is_empty_and_has_what_it_was_given(void **state) {
    (void)state;
    struct layer layer;
    assert_int_equal(layer_init(&layer, (struct sizing){1001, 5}, CLASSIC, 77, 0.125), STATUS_OK);
    assert_true(layer.nbits == 1001 && layer.nhashes == 5 && layer.capacity == 77);
    assert_true(layer.error_rate == 0.125);
    assert_true(layer.items == 0 && layer.ones == 0);
    for (uint64_t i = 0; i < layer_bytes(1001); i++) assert_int_equal(layer.bits[i], 0);
    layer_clear(&layer);
}

static void fresh_layer_contains_nothing(void **state) {
    (void)state;
    struct rng r = rng_seeded(4);
    struct layer layer = new_layer(1000, 3);
    for (int i = 0; i < 1000; i++) assert_false(layer_contains(&layer, random_hash(&r)));
    layer_clear(&layer);
}

static void running_out_of_memory_leaks_nothing(void **state) {
    (void)state;
    struct layer layer = new_layer(1000, 3), copy;
    spy_fail_at(1);
    assert_int_equal(layer_init(&copy, (struct sizing){1000, 3}, CLASSIC, 1, 0.5), STATUS_NOMEM);
    spy_fail_at(1);
    assert_int_equal(layer_copy(&copy, &layer), STATUS_NOMEM);
    assert_int_equal(spy.live, 1);
    layer_clear(&layer);
}

static void bytes_are_bits_over_eight_rounded_up(void **state) {
    (void)state;
    assert_true(layer_bytes(0) == 0);
    assert_true(layer_bytes(1) == 1);
    assert_true(layer_bytes(8) == 1);
    assert_true(layer_bytes(9) == 2);
    assert_true(layer_bytes(UINT64_MAX) == UINT64_C(1) << 61);
}

/* Where double hashing makes no difference: in a large array, or with one hash. test_stated.c has
 * the others. */
static void in_large_arrays_the_current_error_rate_is_the_fill_to_the_power_k(void **state) {
    (void)state;
    static const uint32_t FEW[] = {1, 7, 10};
    struct layer layer = {.nhashes = 7};
    layer_set_geometry(&layer, CLASSIC);
    layer_set_nbits(&layer, 1000000007);
    for (size_t i = 0; i < COUNT(FEW); i++) {
        layer.nhashes = FEW[i];
        for (layer.ones = 300000000; layer.ones < layer.nbits; layer.ones += 100000000) {
            double fill = (double)layer.ones / (double)layer.nbits;
            double expected = pow(fill, layer.nhashes);
            assert_true(fabs(layer_current_error_rate(&layer) - expected) <= 1e-3 * expected);
        }
    }
}

static void with_one_hash_the_current_error_rate_is_the_fill(void **state) {
    (void)state;
    struct layer layer = {.nhashes = 1};
    layer_set_geometry(&layer, CLASSIC);
    layer_set_nbits(&layer, 10);
    for (layer.ones = 0; layer.ones <= 10; layer.ones++) {
        assert_true(layer_current_error_rate(&layer) == (double)layer.ones / 10);
    }
}

/* 5e9 bits, 625 MB of address space; only the probed pages take memory. If positions were cut to 32
 * bits, the high ones would never be set. */
static void positions_beyond_2_to_the_32_are_reached(void **state) {
    (void)state;
    if (UNDER_ASAN) {
        print_message("the sanitizer writes to its shadow of such a block, which takes memory\n");
        skip();
    }
    struct layer layer = new_layer(UINT64_C(5000000000), 2);
    struct hash high = {UINT64_C(4999999999), UINT64_C(4999999998)}; // then 9999999997 mod m
    assert_true(layer_add(&layer, high).answer);
    assert_true(layer_bit(&layer, UINT64_C(4999999999)));
    assert_true(layer_bit(&layer, UINT64_C(4999999997)));
    assert_true(layer.ones == 2);
    assert_true(layer_contains(&layer, high));
    layer_clear(&layer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(bits_and_counts_agree_with_the_naive_model_after_random_adds),
        spied(contains_agrees_with_the_naive_model),
        spied(added_items_are_always_contained),
        spied(adding_again_is_false_and_changes_nothing),
        spied(ones_are_kept_as_they_change),
        spied(tail_is_zero_after_adds_and_any_stray_bit_in_it_is_seen),
        spied(copy_is_equal_and_independent),
        spied(fresh_layer_is_empty_and_has_what_it_was_given),
        spied(fresh_layer_contains_nothing),
        spied(running_out_of_memory_leaks_nothing),
        cmocka_unit_test(bytes_are_bits_over_eight_rounded_up),
        cmocka_unit_test(in_large_arrays_the_current_error_rate_is_the_fill_to_the_power_k),
        cmocka_unit_test(with_one_hash_the_current_error_rate_is_the_fill),
        cmocka_unit_test(positions_beyond_2_to_the_32_are_reached),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
