/* Lookups in runs of layers: chain_contains and the batches answer what layer_contains answers
 * layer by layer, in every scheme and layout, for runs of any length and layers of any number of
 * hashes. test_layer.c and test_blocked.c compare layer_contains with a naive model. */

#include "tests/unit/helpers.h"

#include "module/core/filter/batch.h"
#include "module/core/filter/chain.h"

/* The lengths around RECENT_LAYERS (chain.c) and around CHAIN_LAYERS, once and twice. */
static const uint32_t LENGTHS[] = {1, 2, 3, 4, 7, 17, 31, 32, 33, 34, 35, 64, 65, 67};

/* A byte with a share of `fill` quarters of its bits set. */
static uint8_t random_byte(struct rng *r, unsigned fill) {
    uint8_t a = (uint8_t)rng_next(r), b = (uint8_t)rng_next(r);
    const uint8_t bytes[] = {0, a & b, a, a | b, 0xff};
    return bytes[fill];
}

/* A chain of random layers: of any size, with 1 to 40 hashes, and so many of the bits set. */
static struct filter *random_chain(struct rng *r, struct geometry geometry, uint32_t nlayers,
                                   unsigned fill) {
    struct filter *filter = filter_new_bare(nlayers);
    assert_non_null(filter);
    filter->layout = geometry.layout;
    filter->scheme = geometry.scheme;
    filter->seed = ITEM_SEED;
    for (; filter->nlayers < nlayers; filter->nlayers++) {
        struct layer *layer = &filter->layers[filter->nlayers];
        bool is_short = geometry.layout == LAYOUT_COUNTING; // at most PROBE_MAX_HASHES
        struct sizing size = {512 * (1 + rng_below(r, 8)),
                              (uint32_t)(1 + rng_below(r, is_short ? 30 : 40))};
        if (scheme_row(geometry.scheme)->rule < RULE_LINE) size.nbits -= rng_below(r, 500);
        if (geometry.layout == LAYOUT_BLOCKED)
            size = (struct sizing){256 * (1 + rng_below(r, 9)), 8};
        assert_int_equal(layer_init(layer, size, geometry, 1, 0.5), STATUS_OK);
        uint64_t size_bytes = layer_array_bytes(layer);
        for (uint64_t i = 0; i < size_bytes; i++) layer->bits[i] = random_byte(r, fill);
    }
    return filter;
}

/* The definition: the number of the layers that contain the item. */
static uint32_t count_layers(const struct filter *filter, struct hash hash) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) n += layer_contains(&filter->layers[i], hash);
    return n;
}

#define ITEMS 50 // item_hash keeps the texts of more

/* Compares the answers for some items; returns how many are contained. */
static size_t assert_alike(const struct filter *filter, uint64_t first) {
    struct hash hashes[ITEMS];
    bool contained[ITEMS];
    size_t hits = 0;
    for (size_t i = 0; i < ITEMS; i++) hashes[i] = item_hash(filter->scheme, first + i);
    batch_contains_many(filter, hashes, ITEMS, contained);
    for (size_t i = 0; i < ITEMS; i++) {
        bool expected = count_layers(filter, hashes[i]) > 0;
        assert_int_equal(chain_contains(filter->layers, filter->nlayers, hashes[i]), expected);
        assert_int_equal(filter_contains(filter, hashes[i]), expected);
        assert_int_equal(contained[i], expected);
        hits += expected;
    }
    return hits;
}

static void assert_geometry(struct rng *r, struct geometry geometry) {
    size_t hits = 0, items = 0;
    for (size_t i = 0; i < COUNT(LENGTHS); i++) {
        for (unsigned fill = 1; fill <= 3; fill++) {
            struct filter *filter = random_chain(r, geometry, LENGTHS[i], fill);
            hits += assert_alike(filter, items);
            items += ITEMS;
            filter_free(filter);
        }
    }
    assert_true(hits > items / 50 && hits < items - items / 50); // else this would show little
}

static void a_chain_of_any_scheme_and_layout_answers_as_its_layers_do(void **state) {
    (void)state;
    struct rng r = rng_seeded(1);
    for (int scheme = 0; scheme < SCHEME_COUNT; scheme++) {
        for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
            struct geometry geometry = {(enum layout)layout, (enum scheme)scheme};
            if (limits_is_geometry(geometry)) assert_geometry(&r, geometry);
        }
    }
}

/* One layer of the run contains an item, each layer in its turn. */
static void an_item_is_found_in_whatever_layer_it_is(void **state) {
    (void)state;
    struct rng r = rng_seeded(2);
    static const enum scheme SCHEMES[] = {SCHEME_XXH64, SCHEME_SIP13, SCHEME_MURMUR};
    for (size_t s = 0; s < COUNT(SCHEMES); s++) {
        struct geometry geometry = {LAYOUT_CLASSIC, SCHEMES[s]};
        for (size_t i = 0; i < COUNT(LENGTHS); i++) {
            for (uint32_t at = 0; at < LENGTHS[i]; at++) {
                struct filter *filter = random_chain(&r, geometry, LENGTHS[i], 0);
                struct hash hash = item_hash(SCHEMES[s], at), other = item_hash(SCHEMES[s], 1000);
                layer_add(&filter->layers[at], hash);
                bool contained[2];
                batch_contains_many(filter, (struct hash[]){other, hash}, 2, contained);
                assert_true(chain_contains(filter->layers, filter->nlayers, hash));
                assert_true(contained[1]);
                bool is_other = layer_contains(&filter->layers[at], other);
                assert_int_equal(chain_contains(filter->layers, filter->nlayers, other), is_other);
                assert_int_equal(contained[0], is_other);
                filter_free(filter);
            }
        }
    }
}

static void no_layer_contains_nothing(void **state) {
    (void)state;
    struct rng r = rng_seeded(3);
    struct filter *filter = random_chain(&r, CLASSIC, 1, 4);
    assert_true(chain_contains(filter->layers, 1, item_hash(SCHEME_XXH64, 1)));
    assert_false(chain_contains(filter->layers, 0, item_hash(SCHEME_XXH64, 1)));
    filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_any_scheme_and_layout_answers_as_its_layers_do),
        cmocka_unit_test(an_item_is_found_in_whatever_layer_it_is),
        cmocka_unit_test(no_layer_contains_nothing),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
