/* The table of schemes (scheme.h): numbers, names and limits; the libraries' own positions; every
 * walk against a naive model of it; and layers of every scheme, item by item, in probes and in
 * batches, against an array of bits that the model sets.
 *
 * Items are kept in one array: the words of GO and BIP37 are good as long as the item stays where
 * it is. */

#include "tests/unit/helpers.h"

#include "module/core/measure.h"
#include "tests/unit/foreign_rules.h"
#include "tests/unit/foreign_vectors.h"

#include <math.h>

/* ---- The table ---- */

/* Numbers, names and sizes of seeds are part of the file format: none may ever change. */
static void the_table_of_schemes_stays_as_it_is(void **state) {
    (void)state;
    static const struct {
        const char *name, *word;
        uint8_t seed_bytes, extra_bytes;
        bool grows, is_imported, reads_item;
    } ROWS[] = {
        {"XXH64", "xxh64", 0, 0, true, false, false},
        {"FNV1A", "fnv1a", 0, 0, true, false, false},
        {"MURMUR", "murmur", 0, 0, true, false, false},
        {"SIP13", "sip13", 32, 0, true, false, false},
        {"LEVELDB", "leveldb", 0, 0, true, false, false},
        {"GUAVA32", "guava32", 0, 0, true, true, false},
        {"GUAVA64", "guava64", 0, 0, true, true, false},
        {"SPARK1", "spark1", 0, 0, true, true, false},
        {"SPARK2", "spark2", 4, 0, true, true, false},
        {"CASSANDRA2", "cassandra2", 0, 0, true, true, false},
        {"CASSANDRA3", "cassandra3", 0, 0, true, true, false},
        {"GO", "go", 0, 0, true, true, true},
        {"BIP37", "bip37", 4, 1, false, true, true},
        {"ROCKSDB", "rocksdb", 0, 0, false, true, false},
        {"ROCKSDB4", "rocksdb4", 0, 0, false, true, false},
        {"DATASKETCHES", "datasketches", 8, 1, true, true, false},
        {"REDISSON", "redisson", 0, 0, true, true, false},
    };
    assert_int_equal(COUNT(ROWS), SCHEME_COUNT);
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        const struct scheme_row *row = scheme_row((enum scheme)i);
        assert_string_equal(row->name, ROWS[i].name);
        assert_string_equal(row->word, ROWS[i].word);
        assert_int_equal(row->seed_bytes, ROWS[i].seed_bytes);
        assert_int_equal(row->extra_bytes, ROWS[i].extra_bytes);
        assert_int_equal(row->grows, ROWS[i].grows);
        assert_int_equal(row->is_imported, ROWS[i].is_imported);
        assert_int_equal(row->reads_item, ROWS[i].reads_item);
        assert_true(row->max_bits <= SCHEME_MAX_BITS && row->reach_log2 <= 63);
    }
    assert_true(scheme_exists(SCHEME_COUNT - 1) && !scheme_exists(SCHEME_COUNT));
    assert_string_equal(scheme_row((enum scheme)200)->name, "XXH64");
}

static void the_numbers_of_schemes_stay_as_they_are(void **state) {
    (void)state;
    assert_true(SCHEME_XXH64 == 0 && SCHEME_FNV1A == 1 && SCHEME_MURMUR == 2 && SCHEME_SIP13 == 3);
    assert_true(SCHEME_LEVELDB == 4 && SCHEME_GUAVA32 == 5 && SCHEME_GUAVA64 == 6);
    assert_true(SCHEME_SPARK1 == 7 && SCHEME_SPARK2 == 8 && SCHEME_CASSANDRA2 == 9);
    assert_true(SCHEME_CASSANDRA3 == 10 && SCHEME_GO == 11 && SCHEME_BIP37 == 12);
    assert_true(SCHEME_ROCKSDB == 13 && SCHEME_ROCKSDB4 == 14 && SCHEME_DATASKETCHES == 15);
    assert_true(SCHEME_REDISSON == 16 && SCHEME_COUNT == 17);
}

/* The bytes kept for the format alone, flags and the like, make no other hash. */
static void seeds_are_the_same_if_the_bytes_of_the_hash_are(void **state) {
    (void)state;
    for (int i = 0; i < SCHEME_COUNT; i++) {
        enum scheme scheme = (enum scheme)i;
        for (size_t byte = 0; byte < HASH_SEED_BYTES; byte++) {
            struct seed a = ITEM_SEED, b = ITEM_SEED;
            b.keys[byte / 8] ^= UINT64_C(1) << byte % 8 * 8;
            assert_int_equal(scheme_is_same_seed(scheme, &a, &b),
                             byte >= scheme_row(scheme)->seed_bytes);
        }
    }
}

/* ---- The libraries' positions ---- */

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The positions of an item, in order, each once; their number. */
static size_t distinct_positions(enum scheme scheme, const struct foreign_shape *shape,
                                 const uint8_t *item, size_t len, uint64_t *out) {
    struct seed seed = {{shape->seed}};
    struct layer layer = {.nhashes = shape->k};
    layer_set_geometry(&layer, (struct geometry){LAYOUT_CLASSIC, scheme});
    layer_set_nbits(&layer, shape->m);
    struct hash hash = scheme_hash(scheme, &seed, item, len);
    struct walk walk = walk_begin(scheme_row(scheme)->rule, hash, shape->m);
    for (uint32_t i = 0; i < shape->k; i++) out[i] = layer_position(&layer, walk_next(&walk));
    qsort(out, shape->k, sizeof *out, by_number);
    size_t n = 0;
    for (uint32_t i = 0; i < shape->k; i++) {
        if (n == 0 || out[n - 1] != out[i]) out[n++] = out[i];
    }
    return n;
}

static const struct {
    enum scheme scheme;
    struct foreign_shape shape;
    const struct vector *vectors;
} VECTORS[] = {
    {SCHEME_GUAVA32, {192, 7, 0}, GUAVA32},
    {SCHEME_GUAVA64, {192, 7, 0}, GUAVA64},
    {SCHEME_GUAVA64, {192, 7, 0}, GUAVA64_LONGS},
    {SCHEME_GUAVA64, {192, 7, 0}, GUAVA64_UTF16},
    {SCHEME_SPARK1, {192, 7, 0}, SPARK1},
    {SCHEME_SPARK1, {192, 7, 0}, SPARK1_LONGS},
    {SCHEME_SPARK2, {192, 7, 0}, SPARK2},
    {SCHEME_SPARK2, {192, 7, 0xdeadbeef}, SPARK2_SEEDED},
    {SCHEME_CASSANDRA2, {192, 4, 0}, CASSANDRA2},
    {SCHEME_CASSANDRA3, {192, 4, 0}, CASSANDRA3},
    {SCHEME_GO, {192, 7, 0}, GO},
    {SCHEME_BIP37, {184, 6, 0}, BIP37},
    {SCHEME_BIP37, {184, 6, 0xdeadbeef}, BIP37_TWEAKED},
    {SCHEME_ROCKSDB, {512, 6, 0}, ROCKSDB},
    {SCHEME_ROCKSDB4, {512, 6, 0}, ROCKSDB4},
    {SCHEME_DATASKETCHES, {192, 7, (uint64_t)-5}, DATASKETCHES},
    {SCHEME_REDISSON, {191, 7, 0}, REDISSON},
};

static void every_scheme_gives_the_positions_that_its_library_set(void **state) {
    (void)state;
    for (size_t v = 0; v < COUNT(VECTORS); v++) {
        for (size_t i = 0; i < NVECTORS; i++) {
            uint8_t item[MAX_ITEM];
            uint64_t positions[8];
            size_t len = from_hex(VECTORS[v].vectors[i].item, item);
            size_t n =
                distinct_positions(VECTORS[v].scheme, &VECTORS[v].shape, item, len, positions);
            char text[100] = "";
            for (size_t j = 0; j < n; j++) {
                snprintf(text + strlen(text), sizeof text - strlen(text), j ? " %llu" : "%llu",
                         (unsigned long long)positions[j]);
            }
            assert_string_equal(text, VECTORS[v].vectors[i].positions);
        }
    }
}

/* ---- The naive model ---- */

#define MOST_HASHES 255

static const uint32_t HASHES[] = {1, 3, 7, 30, 32, 33, 64, 255};

/* Those of our own, LevelDB's and RedisBloom's: a + i*b of the words, where each rule is as
 * scheme.h says; test_hash.c has the words. */
static void plain_rule(enum scheme scheme, const struct foreign_shape *f, struct hash h,
                       uint64_t *pos) {
    const uint64_t prime = 0xffffffffffffffc5U;
    uint64_t value = h.a;
    for (uint32_t i = 0; i < f->k; i++, value += h.b) {
        uint64_t v = scheme == SCHEME_LEVELDB ? value >> 32 : value;
        if (scheme == SCHEME_SIP13 && i == 1) v = h.b;
        if (scheme == SCHEME_SIP13 && i > 1) v %= prime;
        pos[i] = v % f->m;
    }
}

static foreign_rule *const RULES[SCHEME_COUNT] = {
    [SCHEME_GUAVA32] = guava32_rule,
    [SCHEME_GUAVA64] = guava64_rule,
    [SCHEME_SPARK1] = spark1_rule,
    [SCHEME_SPARK2] = spark2_rule,
    [SCHEME_CASSANDRA2] = cassandra2_rule,
    [SCHEME_CASSANDRA3] = cassandra3_rule,
    [SCHEME_GO] = go_rule,
    [SCHEME_BIP37] = bip37_rule,
    [SCHEME_ROCKSDB] = rocksdb_rule,
    [SCHEME_ROCKSDB4] = rocksdb4_rule,
    [SCHEME_REDISSON] = redisson_rule,
    [SCHEME_DATASKETCHES] = datasketches_rule,
};

static void model_positions(enum scheme scheme, uint64_t nbits, uint32_t k, const uint8_t *item,
                            size_t len, uint64_t *pos) {
    struct foreign_shape shape = {nbits, k, ITEM_SEED.keys[0]};
    if (RULES[scheme]) {
        RULES[scheme](&shape, item, len, pos);
    } else {
        plain_rule(scheme, &shape, scheme_hash(scheme, &ITEM_SEED, item, len), pos);
    }
}

/* Items of every length from 0 on, which stay where they are. */
#define NITEMS 64
static uint8_t items[NITEMS][NITEMS];

static int make_items(void **state) {
    struct rng r = rng_seeded(1);
    for (size_t i = 0; i < NITEMS; i++) {
        for (size_t j = 0; j < NITEMS; j++) items[i][j] = (uint8_t)rng_next(&r);
    }
    return print_seed(state);
}

static struct hash hash_of(enum scheme scheme, size_t i) {
    return scheme_hash(scheme, &ITEM_SEED, items[i], i);
}

/* Lines: a multiple of 512 near it. */
static uint64_t size_for(enum scheme scheme, uint64_t nbits) {
    enum rule rule = scheme_row(scheme)->rule;
    return rule == RULE_LINE || rule == RULE_LINE4 ? (nbits / 512 + 1) * 512 : nbits;
}

static void assert_walk(enum scheme scheme, uint64_t nbits) {
    struct layer layer = {.nhashes = MOST_HASHES};
    layer_set_geometry(&layer, (struct geometry){LAYOUT_CLASSIC, scheme});
    layer_set_nbits(&layer, nbits);
    for (size_t i = 0; i < NITEMS; i++) {
        uint64_t expected[MOST_HASHES];
        model_positions(scheme, nbits, MOST_HASHES, items[i], i, expected);
        struct walk walk = walk_begin(scheme_row(scheme)->rule, hash_of(scheme, i), nbits);
        for (uint32_t j = 0; j < MOST_HASHES; j++) {
            uint64_t position = layer_position(&layer, walk_next(&walk));
            if (position != expected[j]) {
                fail_msg("%s, m %llu, item %zu: position %u", scheme_row(scheme)->name,
                         (unsigned long long)nbits, i, j);
            }
        }
    }
}

/* No array is needed: up to the largest that a scheme can have. */
static void every_walk_is_that_of_the_model_for_any_size(void **state) {
    (void)state;
    static const uint64_t SIZES[] = {1,
                                     2,
                                     3,
                                     191,
                                     1000,
                                     4096,
                                     65537,
                                     (UINT64_C(1) << 31) - 1,
                                     UINT64_C(2587965824),
                                     UINT64_C(1) << 32,
                                     (UINT64_C(1) << 36) + 12345,
                                     UINT64_C(1) << 60};
    struct rng r = rng_seeded(2);
    for (int s = 0; s < SCHEME_COUNT; s++) {
        uint64_t most = scheme_row((enum scheme)s)->max_bits;
        for (size_t i = 0; i < COUNT(SIZES) + 20; i++) {
            uint64_t drawn = 1 + rng_next(&r) % (UINT64_C(1) << (4 + rng_below(&r, 56)));
            uint64_t nbits = size_for((enum scheme)s, i < COUNT(SIZES) ? SIZES[i] : drawn);
            if (nbits <= most) assert_walk((enum scheme)s, nbits);
        }
        assert_walk((enum scheme)s, most); // lines: 2^32 of them
    }
}

/* ---- Layers ---- */

#define BITS_BYTES 65536

struct model {
    uint64_t nbits;
    uint32_t k;
    uint8_t bits[BITS_BYTES];
};

static bool model_contains(const struct model *m, enum scheme scheme, size_t i) {
    uint64_t pos[MOST_HASHES];
    model_positions(scheme, m->nbits, m->k, items[i], i, pos);
    for (uint32_t j = 0; j < m->k; j++) {
        if (!(m->bits[pos[j] / 8] >> pos[j] % 8 & 1)) return false;
    }
    return true;
}

static bool model_add(struct model *m, enum scheme scheme, size_t i) {
    uint64_t pos[MOST_HASHES];
    bool was_there = model_contains(m, scheme, i);
    model_positions(scheme, m->nbits, m->k, items[i], i, pos);
    for (uint32_t j = 0; j < m->k; j++) m->bits[pos[j] / 8] |= (uint8_t)(1U << pos[j] % 8);
    return !was_there;
}

static struct filter *filter_of(enum scheme scheme, uint64_t nbits, uint32_t k) {
    struct filter *filter = filter_new_bare(1);
    struct geometry geometry = {LAYOUT_CLASSIC, scheme};
    struct sizing size = {nbits, k};
    assert_int_equal(layer_init(&filter->layers[0], size, geometry, 1000, 0.01), STATUS_OK);
    filter->nlayers = 1;
    filter->scheme = scheme;
    filter->seed = ITEM_SEED;
    filter->error_rate = 0.01;
    filter->loaded = filter_array_bytes(filter);
    return filter;
}

/* The three steps of a lookup, and the two of an add, for eight items from `from` on. */
static void assert_probes(const struct layer *layer, const struct model *m, enum scheme scheme,
                          size_t from) {
    struct probe probe = {.n = PROBE_ITEMS};
    bool contained[PROBE_ITEMS];
    for (size_t i = 0; i < PROBE_ITEMS; i++) probe.hashes[i] = hash_of(scheme, from + i);
    layer_probe_first(layer, &probe);
    layer_probe_rest(layer, &probe);
    layer_probe_contains(layer, &probe, contained);
    for (size_t i = 0; i < PROBE_ITEMS; i++) {
        assert_int_equal(contained[i], model_contains(m, scheme, from + i));
    }
    layer_probe_all(layer, &probe);
    for (size_t i = 0; i < PROBE_ITEMS; i++) {
        assert_int_equal(layer_probed_contains(layer, &probe, i), contained[i]);
    }
}

/* Every way to look up gives the model's answers. */
static void assert_answers(const struct filter *filter, const struct model *m) {
    const struct layer *layer = &filter->layers[0];
    struct hash hashes[NITEMS];
    bool answers[NITEMS];
    for (size_t i = 0; i < NITEMS; i++) hashes[i] = hash_of(filter->scheme, i);
    batch_contains_many(filter, hashes, NITEMS, answers);
    for (size_t i = 0; i < NITEMS; i++) {
        bool expected = model_contains(m, filter->scheme, i);
        assert_int_equal(layer_contains(layer, hashes[i]), expected);
        assert_int_equal(filter_contains(filter, hashes[i]), expected);
        assert_int_equal(answers[i], expected);
    }
    for (size_t i = 0; i < NITEMS; i += PROBE_ITEMS) assert_probes(layer, m, filter->scheme, i);
}

static void assert_bits(const struct filter *filter, const struct model *m) {
    const struct layer *layer = &filter->layers[0];
    assert_memory_equal(layer->bits, m->bits, (size_t)layer_array_bytes(layer));
    assert_int_equal(layer->ones, layer_count_ones(layer));
}

enum way { BY_LAYER, BY_FILTER, BY_PROBE, BY_BATCH, WAYS };

/* Adds every third item in one of the ways, and in the model. */
static void add_thirds(struct filter *filter, struct model *m, enum way way) {
    struct layer *layer = &filter->layers[0];
    struct hash hashes[NITEMS];
    bool added[NITEMS], expected[NITEMS];
    size_t n = 0, done = 0;
    for (size_t i = 0; i < NITEMS; i += 3) {
        expected[n] = model_add(m, filter->scheme, i);
        hashes[n++] = hash_of(filter->scheme, i);
    }
    if (way == BY_BATCH) {
        assert_int_equal(add_many(filter, hashes, n, added, &done), STATUS_OK);
        assert_int_equal(done, n);
    }
    for (size_t i = 0; i < n && way != BY_BATCH; i++) {
        struct probe probe = {.n = 1, .hashes = {hashes[i]}};
        struct outcome outcome = {false, false};
        if (way == BY_LAYER) outcome = layer_add(layer, hashes[i]);
        if (way == BY_FILTER) assert_int_equal(filter_add(filter, hashes[i], &outcome), STATUS_OK);
        if (way == BY_PROBE) layer_probe_all(layer, &probe);
        if (way == BY_PROBE) outcome = layer_probed_add(layer, &probe, 0);
        added[i] = outcome.answer;
    }
    for (size_t i = 0; i < n; i++) assert_int_equal(added[i], expected[i]);
}

static void check_layer(enum scheme scheme, uint64_t nbits, uint32_t k) {
    static struct model m;
    for (int way = 0; way < WAYS; way++) {
        struct filter *filter = filter_of(scheme, nbits, k);
        m = (struct model){.nbits = nbits, .k = k};
        assert_answers(filter, &m);
        add_thirds(filter, &m, (enum way)way);
        assert_bits(filter, &m);
        assert_answers(filter, &m);
        filter_free(filter);
    }
}

/* Sizes with many false positives, and with few; k on both sides of PROBE_MAX_HASHES. */
static void layers_probes_and_batches_of_every_scheme_do_what_the_model_does(void **state) {
    (void)state;
    static const uint64_t SIZES[] = {63, 192, 1021, 1000, 4096, 65537, 8 * BITS_BYTES};
    for (int s = 0; s < SCHEME_COUNT; s++) {
        for (size_t i = 0; i < COUNT(SIZES); i++) {
            uint64_t nbits = size_for((enum scheme)s, SIZES[i]);
            if (nbits > 8 * BITS_BYTES) nbits = 8 * BITS_BYTES;
            for (size_t j = 0; j < COUNT(HASHES); j++) {
                check_layer((enum scheme)s, nbits, HASHES[j]);
            }
        }
    }
}

/* ---- Bits that no item reaches ---- */

/* GUAVA32 and SPARK1 reach the first 2^31 bits of any array. The array takes no memory but for the
 * pages that items are on. */
static void positions_of_32_bit_rules_stay_below_2_31(void **state) {
    (void)state;
    const uint64_t reach = UINT64_C(1) << 31, nbits = UINT64_C(2600000000);
    static const enum scheme SCHEMES[] = {SCHEME_GUAVA32, SCHEME_SPARK1};
    if (UNDER_VALGRIND) {
        print_message("all of the array would be written to\n");
        skip();
    }
    for (size_t s = 0; s < COUNT(SCHEMES); s++) {
        struct filter *filter = filter_of(SCHEMES[s], nbits, 7);
        struct layer *layer = &filter->layers[0];
        assert_true(scheme_reach(SCHEMES[s], nbits) == reach && scheme_reach(SCHEMES[s], 5) == 5);
        assert_true(scheme_reach(SCHEME_GUAVA64, nbits) == nbits);
        for (size_t i = 0; i < NITEMS; i++) {
            uint64_t pos[7];
            model_positions(SCHEMES[s], nbits, 7, items[i], i, pos);
            layer_add(layer, hash_of(SCHEMES[s], i));
            for (size_t j = 0; j < 7; j++) {
                assert_true(pos[j] < reach && layer->bits[pos[j] / 8] >> pos[j] % 8 & 1);
            }
        }
        assert_true(layer->items == NITEMS && layer_estimate_items(layer) == NITEMS);
        filter_free(filter);
    }
}

/* The estimate and the rates are those of a layer of 2^31 bits. */
static void estimates_and_rates_use_the_bits_that_can_be_set(void **state) {
    (void)state;
    const uint64_t reach = UINT64_C(1) << 31, n = 200000000;
    static const enum scheme SCHEMES[] = {SCHEME_GUAVA32, SCHEME_SPARK1};
    for (size_t s = 0; s < COUNT(SCHEMES); s++) {
        struct geometry geometry = {LAYOUT_CLASSIC, SCHEMES[s]};
        struct layer layer = {.nhashes = 7, .ones = reach / 2};
        layer_set_geometry(&layer, geometry);
        layer_set_nbits(&layer, UINT64_C(2600000000));
        double expected = (double)reach / 7 * log(2);
        assert_true(fabs(layer_estimate(&layer) / expected - 1) < 1e-9);
        assert_true(fabs(layer_current_error_rate(&layer) * 128 - 1) < 1e-4);
        layer.ones = reach;
        assert_true(layer_current_error_rate(&layer) == 1);
        struct sizing large = {layer.nbits, 7}, reached = {reach, 7}, size;
        assert_true(sizing_error_rate(n, large, geometry) ==
                    sizing_error_rate(n, reached, geometry));
        // what we size ourselves is no larger than that
        assert_true(sizing_by_error(200000000, 0.01, geometry, &size) && size.nbits <= reach);
        assert_false(sizing_by_error(300000000, 0.01, geometry, &size));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(the_table_of_schemes_stays_as_it_is),
        spied(the_numbers_of_schemes_stay_as_they_are),
        spied(seeds_are_the_same_if_the_bytes_of_the_hash_are),
        spied(every_scheme_gives_the_positions_that_its_library_set),
        spied(every_walk_is_that_of_the_model_for_any_size),
        spied(layers_probes_and_batches_of_every_scheme_do_what_the_model_does),
        cmocka_unit_test(positions_of_32_bit_rules_stay_below_2_31),
        cmocka_unit_test(estimates_and_rates_use_the_bits_that_can_be_set),
    };
    return cmocka_run_group_tests_name("schemes", tests, make_items, NULL);
}
