/* Every limit of module/core/limits.h at, below and above its value; growth up to the limits of a
 * chain; and that copies and batches do what single steps do. */

#include "tests/unit/feeds.h"
#include "tests/unit/helpers.h"

#include "module/core/filter/blocked.h"

#include <math.h>

#define TOO_MANY ((uint64_t)INT64_MAX + 1)

static void assert_fault(const char *found, const char *expected, int line) {
    if (!found || !expected) {
        if (found != expected) fail_msg("line %d: %s", line, found ? found : "no fault");
        return;
    }
    if (strcmp(found, expected) != 0) fail_msg("line %d: %s, not %s", line, found, expected);
}

/* What is wrong with a layer that is good but for the given fields, or with such a filter. */
#define LAYER_FAULT(filter, expected, ...)                                                         \
    assert_fault(limits_layer_fault(&(filter), &(struct layer){__VA_ARGS__}), expected, __LINE__)
#define FAULT(expected, ...)                                                                       \
    assert_fault(limits_fault(&(struct filter){__VA_ARGS__}), expected, __LINE__)

#define NATIVE .nbits = 1000, .capacity = 100, .error_rate = 0.01, .nhashes = 7
#define COUNTED .nbits = 1000, .error_rate = 0.01, .nhashes = 7
#define FOREIGN .nbits = 1000, .capacity = 100, .error_rate = 0.01, .nhashes = 7, .bits_per_item = 9

/* Overriding an initialiser is what these tables do. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct filter CLASSIC_FILTER = {.layout = LAYOUT_CLASSIC, .scheme = SCHEME_XXH64};
static const struct filter FNV1A_FILTER = {.layout = LAYOUT_CLASSIC, .scheme = SCHEME_FNV1A};
static const struct filter SIP13_FILTER = {.layout = LAYOUT_CLASSIC, .scheme = SCHEME_SIP13};
static const struct filter BLOCKED_FILTER = {.layout = LAYOUT_BLOCKED, .scheme = SCHEME_XXH64};
static const struct filter ESTIMATED_FILTER = {.is_estimated = true};
static const struct filter FOREIGN_FILTER = {.origin = ORIGIN_REDISBLOOM, .scheme = SCHEME_MURMUR};

/* ---- One layer ---- */

static void fields_of_a_native_layer_have_limits(void **state) {
    (void)state;
    const struct filter f = CLASSIC_FILTER;
    LAYER_FAULT(f, NULL, NATIVE);
    LAYER_FAULT(f, "bits", NATIVE, .nbits = 0);
    LAYER_FAULT(f, NULL, NATIVE, .nbits = 1);
    LAYER_FAULT(f, NULL, NATIVE, .nbits = SIZING_MAX_BITS);
    LAYER_FAULT(f, "bits", NATIVE, .nbits = SIZING_MAX_BITS + 1);
    LAYER_FAULT(f, "hashes", NATIVE, .nhashes = 0);
    LAYER_FAULT(f, NULL, NATIVE, .nhashes = 1);
    LAYER_FAULT(f, NULL, NATIVE, .nhashes = SIZING_MOST_HASHES);
    LAYER_FAULT(f, "hashes", NATIVE, .nhashes = SIZING_MOST_HASHES + 1);
    LAYER_FAULT(SIP13_FILTER, NULL, NATIVE, .nhashes = SIZING_INCUMBENT_HASHES);
    LAYER_FAULT(SIP13_FILTER, "hashes", NATIVE, .nhashes = SIZING_INCUMBENT_HASHES + 1);
    LAYER_FAULT(f, "capacity", NATIVE, .capacity = 0);
    LAYER_FAULT(f, NULL, NATIVE, .capacity = 1);
    LAYER_FAULT(f, NULL, NATIVE, .capacity = LIMITS_MAX_COUNT);
    LAYER_FAULT(f, "capacity", NATIVE, .capacity = TOO_MANY);
    LAYER_FAULT(f, "error rate", NATIVE, .error_rate = 0);
    LAYER_FAULT(f, "error rate", NATIVE, .error_rate = -0.01);
    LAYER_FAULT(f, "error rate", NATIVE, .error_rate = NAN);
    LAYER_FAULT(f, NULL, NATIVE, .error_rate = 0x1p-1074);
    LAYER_FAULT(f, NULL, NATIVE, .error_rate = 1);
    LAYER_FAULT(f, "error rate", NATIVE, .error_rate = nextafter(1, 2));
}

static void bits_of_a_native_layer_are_those_its_hash_and_layout_address(void **state) {
    (void)state;
    const uint64_t most_blocks = BLOCKED_MAX_BLOCKS * BLOCKED_BLOCK_BITS;
    LAYER_FAULT(FNV1A_FILTER, NULL, NATIVE, .nbits = (uint64_t)1 << 32);
    LAYER_FAULT(FNV1A_FILTER, "bits", NATIVE, .nbits = ((uint64_t)1 << 32) + 1);
    LAYER_FAULT(BLOCKED_FILTER, "bits", NATIVE, .nhashes = 8, .nbits = 255);
    LAYER_FAULT(BLOCKED_FILTER, NULL, NATIVE, .nhashes = 8, .nbits = 256);
    LAYER_FAULT(BLOCKED_FILTER, "bits", NATIVE, .nhashes = 8, .nbits = 257);
    LAYER_FAULT(BLOCKED_FILTER, NULL, NATIVE, .nhashes = 8, .nbits = most_blocks);
    LAYER_FAULT(BLOCKED_FILTER, "bits", NATIVE, .nhashes = 8, .nbits = most_blocks + 256);
    LAYER_FAULT(BLOCKED_FILTER, "hashes", NATIVE, .nhashes = 7, .nbits = 256);
    LAYER_FAULT(BLOCKED_FILTER, "hashes", NATIVE, .nhashes = 9, .nbits = 256);
}

static void items_of_a_native_layer_fit_its_capacity_and_its_set_bits(void **state) {
    (void)state;
    const struct filter f = CLASSIC_FILTER;
    LAYER_FAULT(f, NULL, COUNTED, .capacity = 100, .items = 100, .ones = 500);
    LAYER_FAULT(f, "items", COUNTED, .capacity = 100, .items = 101, .ones = 500);
    LAYER_FAULT(ESTIMATED_FILTER, NULL, COUNTED, .capacity = 100, .items = 101, .ones = 500);
    LAYER_FAULT(f, NULL, COUNTED, .capacity = 100, .items = 50, .ones = 50);
    LAYER_FAULT(f, "items", COUNTED, .capacity = 100, .items = 51, .ones = 50);
    LAYER_FAULT(f, "items", COUNTED, .capacity = 100, .items = 1, .ones = 0);
    LAYER_FAULT(f, NULL, COUNTED, .capacity = 100, .items = 50, .ones = 350);
    LAYER_FAULT(f, "items", COUNTED, .capacity = 100, .items = 50, .ones = 351);
    LAYER_FAULT(f, "items", COUNTED, .capacity = 100, .items = 0, .ones = 1);
    LAYER_FAULT(ESTIMATED_FILTER, "items", COUNTED, .capacity = 100, .items = 50, .ones = 351);
    LAYER_FAULT(f, NULL, COUNTED, .capacity = 1000, .items = 200, .ones = 1000);
    LAYER_FAULT(f, "set bits", COUNTED, .capacity = 1000, .items = 200, .ones = 1001);
}

static void fields_of_a_foreign_layer_have_limits(void **state) {
    (void)state;
    const struct filter f = FOREIGN_FILTER;
    LAYER_FAULT(f, NULL, FOREIGN);
    LAYER_FAULT(f, "bits", FOREIGN, .nbits = 0);
    LAYER_FAULT(f, "bits", FOREIGN, .nbits = 7);
    LAYER_FAULT(f, NULL, FOREIGN, .nbits = 8);
    LAYER_FAULT(f, "bits", FOREIGN, .nbits = 9);
    LAYER_FAULT(f, NULL, FOREIGN, .nbits = SIZING_MAX_BITS);
    LAYER_FAULT(f, "bits", FOREIGN, .nbits = SIZING_MAX_BITS + 8);
    LAYER_FAULT(f, "hashes", FOREIGN, .nhashes = 0);
    LAYER_FAULT(f, NULL, FOREIGN, .nhashes = SIZING_INCUMBENT_HASHES);
    LAYER_FAULT(f, "hashes", FOREIGN, .nhashes = SIZING_INCUMBENT_HASHES + 1);
    LAYER_FAULT(f, "capacity", FOREIGN, .capacity = 0);
    LAYER_FAULT(f, NULL, FOREIGN, .capacity = LIMITS_MAX_COUNT);
    LAYER_FAULT(f, "capacity", FOREIGN, .capacity = TOO_MANY);
    LAYER_FAULT(f, NULL, FOREIGN, .items = LIMITS_MAX_COUNT); // with no bit set, too
    LAYER_FAULT(f, "items", FOREIGN, .items = TOO_MANY);
    LAYER_FAULT(f, "error rate", FOREIGN, .error_rate = 0);
    LAYER_FAULT(f, "error rate", FOREIGN, .error_rate = NAN);
    LAYER_FAULT(f, NULL, FOREIGN, .error_rate = 0x1p-1074);
    LAYER_FAULT(f, NULL, FOREIGN, .error_rate = nextafter(1, 0));
    LAYER_FAULT(f, "error rate", FOREIGN, .error_rate = 1);
    LAYER_FAULT(f, "bits per item", FOREIGN, .bits_per_item = 0);
    LAYER_FAULT(f, "bits per item", FOREIGN, .bits_per_item = NAN);
    LAYER_FAULT(f, NULL, FOREIGN, .bits_per_item = nextafter(10000, 0));
    LAYER_FAULT(f, "bits per item", FOREIGN, .bits_per_item = 10000);
}

/* ---- The filter ---- */

static void fields_of_a_filter_have_limits(void **state) {
    (void)state;
    struct layer layer = {NATIVE}, theirs = {FOREIGN}, blocked = {NATIVE, .nhashes = 8};
    blocked.nbits = 256;
#define ONE .nlayers = 1, .layers = &layer, .error_rate = 0.01
#define THEIRS                                                                                     \
    .nlayers = 1, .layers = &theirs, .error_rate = 0.01, .origin = ORIGIN_REDISBLOOM,              \
    .scheme = SCHEME_MURMUR
    FAULT(NULL, ONE);
    FAULT("number of layers", ONE, .nlayers = 0);
    FAULT("number of layers", ONE, .nlayers = LIMITS_MAX_LAYERS + 1);
    FAULT("layout", ONE, .layout = LAYOUT_COUNT);
    FAULT("hash", ONE, .scheme = SCHEME_COUNT);
    FAULT(NULL, ONE, .layout = LAYOUT_BLOCKED, .layers = &blocked);
    FAULT("hash", ONE, .layout = LAYOUT_BLOCKED, .layers = &blocked, .scheme = SCHEME_FNV1A);
    FAULT(NULL, ONE, .expansion = LIMITS_MAX_EXPANSION);
    FAULT("expansion", ONE, .expansion = LIMITS_MAX_EXPANSION + 1);
    FAULT(NULL, THEIRS, .expansion = UINT32_MAX);
    FAULT(NULL, ONE, .expansion = UINT32_MAX, .scheme = SCHEME_MURMUR); // imported from there
    FAULT(NULL, ONE, .expansion = UINT32_MAX, .scheme = SCHEME_SIP13);
    FAULT("expansion", ONE, .expansion = LIMITS_MAX_EXPANSION + 1, .scheme = SCHEME_LEVELDB);
    FAULT("error rate", ONE, .error_rate = 0);
    FAULT("error rate", ONE, .error_rate = 1);
    FAULT("error rate", ONE, .error_rate = NAN);
    FAULT("error rate", ONE, .error_rate = -0.0, .bits_per_key = 10);
    FAULT("error rate", ONE, .bits_per_key = -0.0);
    FAULT("error rate", ONE, .bits_per_key = 10); // and the rate: one of the two is 0
    FAULT("error rate", ONE, .error_rate = 0, .bits_per_key = nextafter(1, 0));
    FAULT(NULL, ONE, .error_rate = 0, .bits_per_key = 1);
    FAULT(NULL, ONE, .error_rate = 0, .bits_per_key = 256);
    FAULT("error rate", ONE, .error_rate = 0, .bits_per_key = nextafter(256, 257));
    FAULT("error rate", ONE, .error_rate = 0, .bits_per_key = NAN);
    layer.nhashes = 0;
    FAULT("hashes", ONE); // each layer is looked at
}

static void the_number_of_layers_ends_at_65536(void **state) {
    (void)state;
    struct layer *layers = calloc(LIMITS_MAX_LAYERS + 1, sizeof(*layers));
    for (uint32_t i = 0; i <= LIMITS_MAX_LAYERS; i++) layers[i] = (struct layer){NATIVE};
    FAULT(NULL, .layers = layers, .error_rate = 0.01, .nlayers = LIMITS_MAX_LAYERS);
    FAULT("number of layers", .layers = layers, .error_rate = 0.01,
          .nlayers = LIMITS_MAX_LAYERS + 1);
    layers[LIMITS_MAX_LAYERS - 1].capacity = 0;
    FAULT("capacity", .layers = layers, .error_rate = 0.01, .nlayers = LIMITS_MAX_LAYERS);
    free(layers);
}

static void sums_over_the_layers_have_limits(void **state) {
    (void)state;
    struct layer two[2] = {{NATIVE, .capacity = LIMITS_MAX_COUNT - 100}, {NATIVE}};
#define TWO .nlayers = 2, .layers = two, .error_rate = 0.01
    FAULT(NULL, TWO);
    two[1].capacity = 101;
    FAULT("capacity", TWO);
    two[1].capacity = LIMITS_MAX_COUNT; // both at their limit: the sum is 2^64 - 2
    FAULT("capacity", TWO);

    struct layer theirs[2] = {{FOREIGN, .items = LIMITS_MAX_COUNT - 100}, {FOREIGN}};
#define BOTH .nlayers = 2, .layers = theirs, .error_rate = 0.01, .origin = ORIGIN_REDISBLOOM
    FAULT(NULL, BOTH); // the second may yet count up to its capacity
    theirs[1].capacity = 101;
    FAULT("capacity", BOTH);
    theirs[1] = (struct layer){FOREIGN, .items = 101};
    FAULT("items", BOTH);

    struct layer nine[9]; // of 2^57 bytes each
    for (size_t i = 0; i < 9; i++) nine[i] = (struct layer){NATIVE, .nbits = SIZING_MAX_BITS};
    FAULT(NULL, .nlayers = 8, .layers = nine, .error_rate = 0.01);
    FAULT("bits", .nlayers = 9, .layers = nine, .error_rate = 0.01);
}

static void room_for_a_layer_ends_where_the_limits_of_the_filter_do(void **state) {
    (void)state;
    struct layer layers[2] = {{NATIVE, .capacity = LIMITS_MAX_COUNT - 300}, {NATIVE}};
    struct filter filter = {.nlayers = 2, .layers = layers, .error_rate = 0.01};
    assert_false(limits_has_room(&filter, 0, 1));
    assert_true(limits_has_room(&filter, 1, 1));
    assert_true(limits_has_room(&filter, 200, 1));
    assert_false(limits_has_room(&filter, 201, 1));
    assert_false(limits_has_room(&filter, LIMITS_MAX_COUNT, 1));
    assert_false(limits_has_room(&filter, TOO_MANY, 1));
    layers[1].items = 150; // an estimate over its capacity of 100
    assert_true(limits_has_room(&filter, 150, 1));
    assert_false(limits_has_room(&filter, 151, 1));
    uint64_t left = SIZING_MAX_BITS - filter_array_bytes(&filter);
    assert_true(limits_has_room(&filter, 1, left));
    assert_false(limits_has_room(&filter, 1, left + 1));
    assert_false(limits_has_room(&filter, 1, UINT64_MAX));
}

#pragma GCC diagnostic pop

/* ---- Growth ---- */

/* A chain of n small empty layers. */
static struct filter *chain(uint32_t n, bool is_foreign) {
    struct geometry geometry = {LAYOUT_CLASSIC, is_foreign ? SCHEME_MURMUR : SCHEME_XXH64};
    struct filter *filter = filter_new_bare(n);
    assert_non_null(filter);
    while (filter->nlayers < n) {
        struct layer *layer = &filter->layers[filter->nlayers++];
        assert_int_equal(layer_init(layer, (struct sizing){64, 7}, geometry, 1, 0.01), STATUS_OK);
        if (is_foreign) layer->bits_per_item = sizing_redisbloom_bits(0.01);
    }
    filter->error_rate = 0.01;
    filter->expansion = 1;
    filter->scheme = geometry.scheme;
    filter->origin = is_foreign ? ORIGIN_REDISBLOOM : ORIGIN_OWN;
    filter->loaded = filter_array_bytes(filter);
    assert_null(limits_fault(filter));
    return filter;
}

static void assert_cannot_grow(struct filter *filter, uint32_t max_layers) {
    struct filter *before = copy_of(filter);
    assert_int_equal(filter_grow(filter, FILTER_NO_LIMIT, max_layers), STATUS_NOMEM);
    assert_true(same_filter(filter, before));
    filter_free(before);
}

static void assert_grows(struct filter *filter, uint32_t max_layers) {
    uint32_t before = filter->nlayers;
    assert_int_equal(filter_grow(filter, FILTER_NO_LIMIT, max_layers), STATUS_OK);
    assert_int_equal(filter->nlayers, before + 1);
    assert_null(limits_fault(filter));
}

static void a_native_chain_grows_to_65536_layers_whoever_asks(void **state) {
    (void)state;
    struct filter *filter = chain(LIMITS_MAX_LAYERS - 1, false);
    assert_grows(filter, 1); // the limit of clients is for foreign ones
    assert_int_equal(filter_newest(filter)->capacity, LIMITS_MAX_LAYERS - 1);
    assert_cannot_grow(filter, LIMITS_MAX_LAYERS);
    assert_cannot_grow(filter, UINT32_MAX);
    filter_free(filter);
}

static void a_foreign_chain_grows_to_1024_layers_by_clients_and_on_where_it_is_replayed(void **s) {
    (void)s;
    struct filter *filter = chain(LIMITS_CLIENT_LAYERS - 1, true);
    assert_grows(filter, LIMITS_CLIENT_LAYERS);
    assert_int_equal(filter_newest(filter)->capacity, 1); // by its own rule, without a bound
    assert_cannot_grow(filter, LIMITS_CLIENT_LAYERS);
    assert_grows(filter, LIMITS_MAX_LAYERS);
    filter_free(filter);
    filter = chain(LIMITS_MAX_LAYERS - 1, true);
    assert_grows(filter, LIMITS_MAX_LAYERS);
    assert_cannot_grow(filter, LIMITS_MAX_LAYERS);
    filter_free(filter);
}

/* Its rate is halved from layer to layer, and a number ends at 2^-1074. */
static void a_foreign_chain_that_began_here_grows_until_its_rate_is_too_small(void **state) {
    (void)state;
    struct filter_params params = {.capacity = 1,
                                   .error_rate = 0.01,
                                   .expansion = 1,
                                   .scheme = SCHEME_MURMUR,
                                   .origin = ORIGIN_REDISBLOOM};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    while (filter_grow(filter, FILTER_NO_LIMIT, LIMITS_MAX_LAYERS) == STATUS_OK) {
        assert_null(limits_layer_fault(filter, filter_newest(filter)));
    }
    assert_null(limits_fault(filter));
    assert_in_range(filter->nlayers, LIMITS_CLIENT_LAYERS, 1074);
    assert_cannot_grow(filter, LIMITS_MAX_LAYERS);
    filter_free(filter);
}

/* The rule in plain words: up to 16 layers by expansion, from the 17th on at least the sum of all
 * before. */
static void assert_capacities(uint64_t first, uint32_t expansion, uint32_t nlayers) {
    struct filter *filter = filter_by_error(first, 0.01, expansion);
    uint64_t expected = first, sum = first;
    while (filter->nlayers < nlayers) {
        assert_grows(filter, 1);
        expected *= expansion;
        if (filter->nlayers > 16 && sum > expected) expected = sum;
        assert_int_equal(filter_newest(filter)->capacity, expected);
        sum += expected;
    }
    assert_int_equal(filter_capacity(filter), sum);
    filter_free(filter);
}

static void capacities_of_expansion_1_2_and_4_follow_the_table(void **state) {
    (void)state;
    static const uint64_t EXPANSION_1[] = {3, 3, 3, 3, 3, 3,  3,  3,   3,   3,   3,
                                           3, 3, 3, 3, 3, 48, 96, 192, 384, 768, 1536};
    struct filter *filter = filter_by_error(3, 0.01, 1);
    while (filter->nlayers < COUNT(EXPANSION_1)) assert_grows(filter, 1);
    for (size_t i = 0; i < COUNT(EXPANSION_1); i++) {
        assert_int_equal(filter->layers[i].capacity, EXPANSION_1[i]);
    }
    filter_free(filter);
    assert_capacities(1, 1, 30);
    assert_capacities(1, 2, 20); // 2, 4, 8: twice the last is more than the sum of all before
    assert_capacities(1, 4, 10);
}

static void from_the_17th_layer_on_the_larger_of_expansion_and_sum_counts(void **state) {
    (void)state;
    static const struct {
        uint64_t last, sum_before;
        uint32_t expansion;
        uint64_t next;
    } CASES[] = {
        {1, 15, 1, 16}, {1, 15, 4, 16}, {5, 15, 4, 20}, {6, 15, 4, 24}, {10, 15, 4, 40},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct filter *filter = chain(16, false);
        filter->expansion = CASES[i].expansion;
        filter_newest(filter)->capacity = CASES[i].last;
        assert_int_equal(filter_capacity(filter), CASES[i].sum_before + CASES[i].last);
        assert_grows(filter, 1);
        assert_int_equal(filter_newest(filter)->capacity, CASES[i].next);
        filter_free(filter);
    }
    struct filter *filter = chain(15, false); // the 16th is as ever
    assert_grows(filter, 1);
    assert_int_equal(filter_newest(filter)->capacity, 1);
    filter_free(filter);
}

/* ---- Copies ---- */

static void assert_copied(struct layer *from) {
    struct layer to;
    assert_int_equal(layer_copy(&to, from), STATUS_OK);
    assert_ptr_not_equal(to.bits, from->bits);
    assert_true(same_layer(&to, from));
    layer_clear(&to);
}

static void a_copy_of_a_sparse_or_a_dense_layer_has_the_same_bits(void **state) {
    (void)state;
    static const uint64_t BITS[] = {1, 100, 255, 256, 4096 * 8, 5 * 4096 * 8 + 13, 300 * 8192 + 1};
    for (size_t i = 0; i < COUNT(BITS); i++) {
        struct layer layer;
        uint64_t last = BITS[i] - 1;
        assert_int_equal(layer_init(&layer, (struct sizing){BITS[i], 3}, CLASSIC, 10, 0.1),
                         STATUS_OK);
        assert_copied(&layer); // empty, into dirty memory
        layer.bits[last >> 3] |= (uint8_t)(1U << (last & 7));
        assert_copied(&layer); // a bit that is not counted, as while it is loading
        layer.ones = layer_count_ones(&layer);
        assert_copied(&layer);
        for (uint64_t item = 0; layer.ones < BITS[i] / 256 + 1 && item < 100000; item++) {
            layer_add(&layer, item_hash(SCHEME_XXH64, item));
            if (item % 64 == 0) assert_copied(&layer);
        }
        assert_copied(&layer); // dense
        layer_clear(&layer);
    }
}

/* ---- Emptying ---- */

static void a_foreign_filter_that_counts_items_without_bits_is_emptied(void **state) {
    (void)state;
    struct filter *filter = chain(1, true);
    bool changed = true;
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    assert_false(changed);
    filter->layers[0].items = 5;
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    assert_true(changed);
    assert_int_equal(filter_items(filter), 0);
    filter_free(filter);
}

/* ---- Batches that are gone on with ---- */

#define MOST_ITEMS 80

/* Which growths are refused: bit i of `refused` says it of the i-th that is asked for. */
struct run {
    struct filter *filter;
    uint32_t refused;
    unsigned asked;
    enum status status[MOST_ITEMS];
    bool added[MOST_ITEMS];
    size_t n;
};

static enum status ask_to_grow(struct run *run) {
    bool is_refused = run->refused >> (run->asked++ % 32) & 1;
    return filter_grow(run->filter, is_refused ? 0 : FILTER_NO_LIMIT, LIMITS_MAX_LAYERS);
}

static void answer(struct run *run, enum status st, bool added) {
    assert_true(run->n < MOST_ITEMS);
    run->status[run->n] = st;
    run->added[run->n++] = added;
}

static void one_by_one(struct run *run, const struct hash *hashes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct outcome outcome = {false, false};
        enum status st = filter_add(run->filter, hashes[i], &outcome);
        if (st == STATUS_GROW) {
            st = ask_to_grow(run);
            if (st == STATUS_OK) st = filter_add(run->filter, hashes[i], &outcome);
        }
        answer(run, st, outcome.answer);
    }
}

static void take(void *run, struct outcome outcome) {
    answer(run, STATUS_OK, outcome.answer);
}

static enum batch_verdict make_room(void *run, enum status st, struct filter **filter) {
    (void)filter; // it stays where it is
    if (st == STATUS_GROW) st = ask_to_grow(run);
    if (st == STATUS_OK) return BATCH_RETRY;
    answer(run, st, false);
    return BATCH_SKIP;
}

static void in_a_batch(struct run *run, const struct hash *hashes, size_t n) {
    struct hashes_feed feed = {
        .hashes = hashes, .n = n, .argument = run, .take = take, .make_room = make_room};
    hashes_run(run->filter, BATCH_ADD, &feed);
    assert_int_equal(run->n, n);
}

static void assert_runs_alike(struct filter *filter, uint32_t refused, const struct hash *hashes,
                              size_t n) {
    struct run a = {.filter = copy_of(filter), .refused = refused};
    struct run b = {.filter = copy_of(filter), .refused = refused};
    one_by_one(&a, hashes, n);
    in_a_batch(&b, hashes, n);
    assert_int_equal(b.n, n);
    assert_int_equal(a.asked, b.asked);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a.status[i], b.status[i]);
        assert_int_equal(a.added[i], b.added[i]);
    }
    assert_true(same_filter(a.filter, b.filter));
    assert_null(limits_fault(b.filter));
    filter_free(a.filter);
    filter_free(b.filter);
}

static void a_batch_that_skips_and_resumes_equals_one_by_one(void **state) {
    (void)state;
    static const uint32_t REFUSED[] = {0, UINT32_MAX, 1, 2, 0x55555555, 0xfffffffe, 0x0f0f0f0f};
    struct rng r = rng_seeded(15);
    for (int round = 0; round < 1500; round++) {
        bool is_blocked = rng_below(&r, 3) == 0, by_bits = rng_below(&r, 3) == 0;
        struct filter_params params = {.capacity = 1 + rng_below(&r, 20),
                                       .error_rate = by_bits ? 0 : 0.01,
                                       .bits_per_key = by_bits ? 1 + (double)rng_below(&r, 60) : 0,
                                       .expansion = (uint32_t)rng_below(&r, 3),
                                       .layout = is_blocked ? LAYOUT_BLOCKED : LAYOUT_CLASSIC,
                                       .scheme = SCHEME_XXH64};
        struct filter *filter = NULL;
        assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
        size_t n = rng_below(&r, MOST_ITEMS + 1);
        struct hash hashes[MOST_ITEMS];
        for (size_t i = 0; i < n; i++) hashes[i] = item_hash(SCHEME_XXH64, rng_below(&r, 60));
        for (uint64_t i = rng_below(&r, 30); i > 0; i--) {
            bool added;
            add_growing(filter, item_hash(SCHEME_XXH64, i), FILTER_NO_LIMIT, &added);
        }
        assert_runs_alike(filter, REFUSED[rng_below(&r, COUNT(REFUSED))], hashes, n);
        filter_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_native_layer_have_limits),
        cmocka_unit_test(bits_of_a_native_layer_are_those_its_hash_and_layout_address),
        cmocka_unit_test(items_of_a_native_layer_fit_its_capacity_and_its_set_bits),
        cmocka_unit_test(fields_of_a_foreign_layer_have_limits),
        cmocka_unit_test(fields_of_a_filter_have_limits),
        cmocka_unit_test(the_number_of_layers_ends_at_65536),
        cmocka_unit_test(sums_over_the_layers_have_limits),
        cmocka_unit_test(room_for_a_layer_ends_where_the_limits_of_the_filter_do),
        spied(a_native_chain_grows_to_65536_layers_whoever_asks),
        spied(a_foreign_chain_grows_to_1024_layers_by_clients_and_on_where_it_is_replayed),
        spied(a_foreign_chain_that_began_here_grows_until_its_rate_is_too_small),
        spied(capacities_of_expansion_1_2_and_4_follow_the_table),
        spied(from_the_17th_layer_on_the_larger_of_expansion_and_sum_counts),
        spied(a_copy_of_a_sparse_or_a_dense_layer_has_the_same_bits),
        spied(a_foreign_filter_that_counts_items_without_bits_is_emptied),
        spied(a_batch_that_skips_and_resumes_equals_one_by_one),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
