/* Layout COUNTING against an exact model: a multiset of the items, and one plain counter for each
 * position, computed from the definition. */

#include "tests/unit/feeds.h"
#include "tests/unit/helpers.h"

#include "module/core/combine.h"
#include "module/core/filter/counting.h"
#include "rdb/codec.h"

static const enum scheme SCHEMES[] = {SCHEME_XXH64, SCHEME_FNV1A, SCHEME_MURMUR, SCHEME_LEVELDB};

/* ---- The model ---- */

#define ITEMS 400

struct model {
    uint8_t *counters; // one byte each
    uint64_t m, items, capacity;
    uint32_t k;
    enum scheme scheme;
    uint64_t times[ITEMS]; // how often an item was added and not removed
};

static struct model model_of(const struct filter *filter) {
    const struct layer *layer = &filter->layers[0];
    return (struct model){.counters = calloc(1, layer->nbits),
                          .m = layer->nbits,
                          .capacity = layer->capacity,
                          .k = layer->nhashes,
                          .scheme = filter->scheme};
}

/* The distinct positions of an item; returns how many there are. */
static uint32_t positions_of(const struct model *model, uint64_t item, uint64_t out[32]) {
    struct hash hash = item_hash(model->scheme, item);
    uint32_t n = 0;
    for (uint32_t i = 0; i < model->k; i++) {
        uint64_t walk = hash.a + i * hash.b, pos, j = 0;
        if (model->scheme == SCHEME_LEVELDB) walk >>= 32;
        pos = walk % model->m;
        while (j < n && out[j] != pos) j++;
        if (j == n) out[n++] = pos;
    }
    return n;
}

static unsigned model_count(const struct model *model, uint64_t item) {
    uint64_t pos[32];
    unsigned least = 15;
    for (uint32_t n = positions_of(model, item, pos); n-- > 0;) {
        if (model->counters[pos[n]] < least) least = model->counters[pos[n]];
    }
    return least;
}

/* Adds `by`, 1 or -1, to the counters under 15; returns how many changed. */
static unsigned model_step(struct model *model, uint64_t item, int by) {
    uint64_t pos[32];
    unsigned changed = 0;
    for (uint32_t n = positions_of(model, item, pos); n-- > 0;) {
        uint8_t *counter = &model->counters[pos[n]];
        if (*counter == 15) continue;
        *counter = (uint8_t)(*counter + by);
        changed++;
    }
    return changed;
}

static void assert_same(const struct filter *filter, const struct model *model) {
    const struct layer *layer = &filter->layers[0];
    uint64_t ones = 0;
    for (uint64_t p = 0; p < model->m; p++) {
        assert_int_equal(counting_at(layer->bits, p), model->counters[p]);
        ones += model->counters[p] > 0;
    }
    assert_int_equal(layer->ones, ones);
    assert_int_equal(counting_ones(layer->bits, layer_array_bytes(layer)), ones);
    assert_int_equal(layer->items, model->items);
    assert_null(limits_fault(filter));
    assert_true(codec_bits_are_sound(filter));
}

/* ---- One item at a time ---- */

static struct filter *counting_filter(uint64_t capacity, double rate, enum scheme scheme) {
    struct filter_params params = {
        .capacity = capacity, .error_rate = rate, .layout = LAYOUT_COUNTING, .scheme = scheme};
    return filter_as(&params);
}

static void add(struct filter *filter, struct model *model, uint64_t item) {
    struct outcome outcome = {true, true};
    enum status st = filter_add(filter, item_hash(filter->scheme, item), &outcome);
    bool was_present = model_count(model, item) > 0;
    if (!was_present && model->items >= model->capacity) {
        assert_int_equal(st, STATUS_FULL);
        assert_false(outcome.answer || outcome.changed);
        return;
    }
    assert_int_equal(st, STATUS_OK); // also of a present item in a full filter
    assert_int_equal(outcome.answer, !was_present);
    bool changes = model_step(model, item, 1) > 0;
    assert_int_equal(outcome.changed, changes);
    model->items += changes;
    model->times[item]++;
}

static void remove_item(struct filter *filter, struct model *model, uint64_t item) {
    bool changed = true, was_present = model_count(model, item) > 0;
    bool removed = filter_remove(filter, item_hash(filter->scheme, item), &changed);
    assert_int_equal(removed, was_present);
    if (!was_present) {
        assert_false(changed);
        return;
    }
    bool changes = model_step(model, item, -1) > 0;
    assert_int_equal(changed, changes);
    if (changes && model->items > 0) model->items--;
    if (model->times[item] > 0) model->times[item]--;
}

static void look_up(const struct filter *filter, const struct model *model, uint64_t item) {
    struct hash hash = item_hash(filter->scheme, item);
    unsigned count = filter_count(filter, hash);
    assert_int_equal(count, model_count(model, item));
    assert_int_equal(filter_contains(filter, hash), count > 0);
}

/* If only what was added is removed, every item that is left is found. */
static void run_program(struct filter *filter, struct rng *r, bool is_careful) {
    struct model model = model_of(filter);
    for (int i = 0; i < 20000; i++) {
        // few of the items often, so that counters saturate
        uint64_t item = rng_below(r, rng_below(r, 4) ? ITEMS : 8);
        bool adds = rng_below(r, 100) < 52;
        if (adds) {
            add(filter, &model, item);
        } else if (!is_careful || model.times[item] > 0) {
            remove_item(filter, &model, item);
        }
        look_up(filter, &model, rng_below(r, ITEMS));
        if (i % 500 == 0) assert_same(filter, &model);
        if (!is_careful || i % 100 != 0) continue;
        for (uint64_t j = 0; j < ITEMS; j++) {
            uint64_t least = model.times[j] < 15 ? model.times[j] : 15;
            assert_true(filter_count(filter, item_hash(filter->scheme, j)) >= least);
        }
    }
    assert_same(filter, &model);
    free(model.counters);
}

static void random_adds_and_removals_agree_with_the_multiset(void **state) {
    (void)state;
    struct rng r = rng_seeded(50);
    for (size_t s = 0; s < COUNT(SCHEMES); s++) {
        for (int careful = 0; careful < 2; careful++) {
            struct filter *filter = counting_filter(300, 0.02, SCHEMES[s]);
            run_program(filter, &r, careful);
            filter_free(filter);
        }
    }
}

/* In arrays of a few counters most items have a position twice. */
static void positions_that_repeat_count_once(void **state) {
    (void)state;
    struct rng r = rng_seeded(51);
    for (uint64_t m = 1; m <= 40; m++) {
        struct filter *filter = counting_filter(1000, 0.02, SCHEME_XXH64);
        layer_clear(&filter->layers[0]);
        assert_int_equal(layer_init(&filter->layers[0], (struct sizing){m, 1 + (uint32_t)m % 30},
                                    COUNTING, 1000, 0.02),
                         STATUS_OK);
        filter->loaded = filter_array_bytes(filter);
        run_program(filter, &r, false);
        filter_free(filter);
    }
}

static void an_item_takes_as_many_removals_as_it_had_adds(void **state) {
    (void)state;
    struct filter *filter = counting_filter(100, 0.01, SCHEME_XXH64), *empty = copy_of(filter);
    struct model model = model_of(filter);
    for (unsigned times = 1; times <= 14; times++) {
        for (unsigned i = 0; i < times; i++) add(filter, &model, 7);
        assert_int_equal(filter_count(filter, item_hash(SCHEME_XXH64, 7)), times);
        assert_int_equal(filter_items(filter), times); // a count of copies
        for (unsigned i = 0; i < times; i++) remove_item(filter, &model, 7);
        assert_true(same_filter(filter, empty));
        remove_item(filter, &model, 7); // which is absent
        assert_true(same_filter(filter, empty));
    }
    filter_free(filter);
    filter_free(empty);
    free(model.counters);
}

static void a_counter_that_reached_15_stays(void **state) {
    (void)state;
    struct filter *filter = counting_filter(100, 0.01, SCHEME_XXH64);
    struct model model = model_of(filter);
    struct hash hash = item_hash(SCHEME_XXH64, 7);
    for (int i = 0; i < 15; i++) add(filter, &model, 7);
    struct filter *before = copy_of(filter);
    struct outcome outcome = {true, true};
    bool changed = true;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(filter_add(filter, hash, &outcome), STATUS_OK);
        assert_false(outcome.answer || outcome.changed);
        assert_true(same_filter(filter, before));
    }
    for (int i = 0; i < 40; i++) {
        assert_true(filter_remove(filter, hash, &changed)); // it answers 1 and changes nothing
        assert_false(changed);
        assert_true(same_filter(filter, before));
    }
    assert_int_equal(filter_count(filter, hash), 15);
    filter_free(filter);
    filter_free(before);
    free(model.counters);
}

/* Fresh items are added, and the oldest removed, for a long time. Some adds find their item
 * present, as a false positive: those are removed too, like all others. What is left must be the
 * filter of the items that are held, to the last counter and item. Of 1,000 items in 6,236
 * counters, 4 each, no counter ever comes near 15 (its mean is 0.64). */
static void first_in_first_out_leaves_exactly_the_items_that_are_held(void **state) {
    (void)state;
    const uint64_t held = 1000, rounds = RUNS_SLOWLY ? 20000 : 200000;
    struct filter *filter = counting_filter(held, 0.05, SCHEME_XXH64);
    struct filter *fresh = copy_of(filter);
    uint64_t present = 0;
    for (uint64_t i = 0; i < held + rounds; i++) {
        struct outcome outcome;
        bool changed;
        if (i >= held) {
            struct hash oldest = item_hash(SCHEME_XXH64, i - held);
            assert_true(filter_remove(filter, oldest, &changed) && changed);
        }
        assert_int_equal(filter_add(filter, item_hash(SCHEME_XXH64, i), &outcome), STATUS_OK);
        assert_true(outcome.changed);
        present += !outcome.answer;
        assert_int_equal(filter_items(filter), i < held ? i + 1 : held);
    }
    assert_in_range(present, rounds / 40, rounds / 15); // false positives: about 5 %
    for (uint64_t i = rounds; i < held + rounds; i++) add_item(fresh, i);
    assert_true(same_filter(filter, fresh));
    filter_free(filter);
    filter_free(fresh);
}

/* Adds of present items are taken beyond the capacity, one by one and in groups, and count. */
static void copies_count_beyond_the_capacity(void **state) {
    (void)state;
    struct filter *filter = counting_filter(10, 0.001, SCHEME_XXH64);
    struct model model = model_of(filter);
    struct hash hashes[12];
    bool added[COUNT(hashes)];
    size_t done;
    for (uint64_t i = 0; i < 10; i++) add(filter, &model, i);
    for (uint64_t i = 0; i < 10; i++) add(filter, &model, i);
    assert_int_equal(filter_items(filter), 20);
    for (size_t i = 0; i < COUNT(hashes); i++) hashes[i] = item_hash(SCHEME_XXH64, i);
    assert_int_equal(add_many(filter, hashes, COUNT(hashes), added, &done), STATUS_FULL);
    assert_int_equal(done, 10);
    assert_int_equal(filter_items(filter), 30);
    assert_null(limits_fault(filter));
    for (uint64_t i = 0; i < 10; i++) model_step(&model, i, 1);
    model.items = 30;
    for (uint64_t i = 0; i < 7; i++) {
        for (int copy = 0; copy < 3; copy++) remove_item(filter, &model, i);
    }
    assert_int_equal(filter_items(filter), 9);
    add(filter, &model, 100); // there is room for one new item again
    assert_int_equal(filter_items(filter), 10);
    assert_same(filter, &model);
    filter_free(filter);
    free(model.counters);
}

/* A count at the largest legal value, as a loader accepts it, stays loadable. */
static void the_number_of_items_stops_at_its_limit(void **state) {
    (void)state;
    struct filter *filter = counting_filter(10, 0.01, SCHEME_XXH64);
    struct outcome outcome;
    add_item(filter, 7);
    filter->layers[0].items = LIMITS_MAX_COUNT;
    assert_null(limits_fault(filter));
    assert_int_equal(filter_add(filter, item_hash(SCHEME_XXH64, 7), &outcome), STATUS_OK);
    assert_true(outcome.changed);
    assert_int_equal(filter_items(filter), LIMITS_MAX_COUNT);
    assert_null(limits_fault(filter));
    filter_free(filter);
}

/* What one batch did: an outcome for each item, up to one that could not be added. */
struct answers {
    struct outcome outcomes[512];
    size_t n;
    bool forces; // items without room are added all the same
    size_t nrefused;
    enum status status; // of the last of them
    size_t group;
    struct rng *r;
};

/* Groups of `group` hashes a call, or of random lengths if it is 0. */
static size_t group_of(void *argument, size_t left) {
    struct answers *a = argument;
    size_t some = a->group ? a->group : 1 + (size_t)rng_below(a->r, PROBE_ITEMS);
    return some < left ? some : left;
}

static void take(void *argument, struct outcome outcome) {
    struct answers *a = argument;
    a->outcomes[a->n++] = outcome;
}

static enum batch_verdict make_room(void *argument, enum status st, struct filter **filter) {
    (void)filter;
    struct answers *a = argument;
    a->status = st;
    a->nrefused++;
    return a->forces ? BATCH_FORCE : BATCH_END;
}

static void run_in_groups(struct filter *filter, enum batch_work work, const struct hash *hashes,
                          size_t n, size_t group, struct rng *r, struct answers *out) {
    struct hashes_feed feed = {.hashes = hashes,
                               .n = n,
                               .group = group_of,
                               .argument = out,
                               .take = take,
                               .make_room = make_room};
    out->group = group;
    out->r = r;
    hashes_run(filter, work, &feed);
}

/* What a replayed add does: one by one, and within a group. */
static void a_forced_add_is_taken_by_a_full_filter(void **state) {
    (void)state;
    struct filter *filter = counting_filter(3, 0.0001, SCHEME_XXH64);
    struct hash hashes[PROBE_ITEMS];
    struct answers answers = {.forces = true};
    for (size_t i = 0; i < PROBE_ITEMS; i++) hashes[i] = item_hash(SCHEME_XXH64, i);
    run_in_groups(filter, BATCH_ADD, hashes, PROBE_ITEMS, PROBE_ITEMS, NULL, &answers);
    assert_int_equal(answers.nrefused, PROBE_ITEMS - 3);
    assert_int_equal(answers.n, PROBE_ITEMS);
    for (size_t i = 0; i < PROBE_ITEMS; i++) {
        assert_true(answers.outcomes[i].answer && answers.outcomes[i].changed);
    }
    for (size_t i = 0; i < PROBE_ITEMS; i++) assert_true(filter_contains(filter, hashes[i]));
    assert_int_equal(filter_items(filter), PROBE_ITEMS);
    assert_null(limits_fault(filter));
    filter_free(filter);
}

/* What a loader accepts: counters with a count of 0 items. */
static void the_number_of_items_does_not_fall_below_zero(void **state) {
    (void)state;
    struct filter *filter = counting_filter(100, 0.01, SCHEME_XXH64);
    struct model model = model_of(filter);
    for (uint64_t i = 0; i < 3; i++) add(filter, &model, i);
    filter->layers[0].items = model.items = 1;
    for (uint64_t i = 0; i < 3; i++) remove_item(filter, &model, i);
    assert_int_equal(filter_items(filter), 0);
    assert_same(filter, &model);
    filter_free(filter);
    free(model.counters);
}

static void emptying_clears_all_counters(void **state) {
    (void)state;
    struct filter *filter = counting_filter(1000, 0.01, SCHEME_XXH64), *empty = copy_of(filter);
    struct model model = model_of(filter);
    for (uint64_t i = 0; i < ITEMS; i++) add(filter, &model, i);
    bool changed = false;
    assert_int_equal(filter_empty(filter, &changed), STATUS_OK);
    assert_true(changed && same_filter(filter, empty));
    filter_free(filter);
    filter_free(empty);
    free(model.counters);
}

static void counting_never_grows_and_has_no_window(void **state) {
    (void)state;
    struct filter_params params = {
        .capacity = 10, .error_rate = 0.01, .expansion = 2, .layout = LAYOUT_COUNTING};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_PARAM);
    params.expansion = 0;
    params.window = 60;
    params.generations = 4;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_PARAM);
    params.window = params.generations = 0;
    filter = filter_as(&params);
    assert_int_equal(filter_new_bytes(&params), filter_size_bytes(filter));
    assert_int_equal(filter_grow(filter, FILTER_NO_LIMIT, LIMITS_MAX_LAYERS), STATUS_NOMEM);
    assert_int_equal(filter_grown_bytes(filter), UINT64_MAX);
    filter_free(filter);
}

/* ---- Batches ---- */

static void assert_adds_alike(struct filter *filter, const struct hash *hashes, size_t n,
                              size_t group, struct rng *r) {
    struct filter *single = copy_of(filter);
    struct answers many = {.n = 0};
    run_in_groups(filter, BATCH_ADD, hashes, n, group, r, &many);
    for (size_t i = 0; i < many.n; i++) {
        struct outcome one;
        assert_int_equal(filter_add(single, hashes[i], &one), STATUS_OK);
        assert_int_equal(one.answer, many.outcomes[i].answer);
        assert_int_equal(one.changed, many.outcomes[i].changed);
    }
    if (many.n < n) {
        struct outcome one;
        assert_int_equal(many.status, STATUS_FULL);
        assert_int_equal(filter_add(single, hashes[many.n], &one), STATUS_FULL);
    }
    assert_true(same_filter(filter, single));
    filter_free(single);
}

static void assert_removals_alike(struct filter *filter, const struct hash *hashes, size_t n,
                                  size_t group, struct rng *r) {
    struct filter *single = copy_of(filter);
    struct answers many = {.n = 0};
    run_in_groups(filter, BATCH_REMOVE, hashes, n, group, r, &many);
    assert_int_equal(many.n, n);
    for (size_t i = 0; i < n; i++) {
        bool changed;
        assert_int_equal(filter_remove(single, hashes[i], &changed), many.outcomes[i].answer);
        assert_int_equal(changed, many.outcomes[i].changed);
    }
    assert_true(same_filter(filter, single));
    filter_free(single);
}

static void batches_do_what_single_items_do(void **state) {
    (void)state;
    struct rng r = rng_seeded(52);
    struct hash hashes[200];
    for (size_t s = 0; s < COUNT(SCHEMES); s++) {
        for (size_t group = 0; group <= PROBE_ITEMS; group++) {
            struct filter *filter = counting_filter(150, 0.02, SCHEMES[s]);
            for (int round = 0; round < 30; round++) {
                size_t n = (size_t)rng_below(&r, COUNT(hashes) + 1);
                uint64_t universe = round % 2 ? 250 : 30; // or the same item many times in a group
                for (size_t i = 0; i < n; i++) {
                    hashes[i] = item_hash(SCHEMES[s], rng_below(&r, universe));
                }
                assert_adds_alike(filter, hashes, n, group, &r);
                bool contained[COUNT(hashes)];
                batch_contains_many(filter, hashes, n, contained);
                for (size_t i = 0; i < n; i++) {
                    assert_int_equal(contained[i], filter_contains(filter, hashes[i]));
                }
                assert_removals_alike(filter, hashes, (size_t)rng_below(&r, n + 1), group, &r);
            }
            filter_free(filter);
        }
    }
}

/* ---- Other filters ---- */

/* The CLASSIC filter of the same size and items has a bit where a counter is over 0. */
static void flattened_it_is_the_classic_filter_of_the_items_that_are_left(void **state) {
    (void)state;
    struct rng r = rng_seeded(53);
    for (size_t s = 0; s < COUNT(SCHEMES); s++) {
        struct filter_params params = {.capacity = 1000, .error_rate = 0.01, .scheme = SCHEMES[s]};
        struct filter *classic = filter_as(&params), *flat = NULL;
        struct filter *counting = counting_filter(1000, 0.01, SCHEMES[s]);
        struct model model = model_of(counting);
        for (uint64_t i = 0; i < ITEMS; i++) {
            add(counting, &model, i);
            if (rng_below(&r, 2)) add(counting, &model, i);
        }
        for (uint64_t i = 0; i < ITEMS; i++) {
            uint64_t left = rng_below(&r, 2);
            while (model.times[i] > left) remove_item(counting, &model, i);
            if (left) add_item(classic, i);
        }
        struct filter *before = copy_of(counting);
        assert_int_equal(combine_flatten(counting, counting, &flat), STATUS_OK);
        assert_true(same_filter(counting, before));
        assert_true(flat->is_estimated && flat->layout == LAYOUT_CLASSIC);
        assert_int_equal(flat->layers[0].items, layer_estimate_items(&flat->layers[0]));
        flat->layers[0].items = classic->layers[0].items;
        assert_true(same_filter(flat, classic));
        filter_free(before);
        filter_free(flat);
        filter_free(counting);
        filter_free(classic);
        free(model.counters);
    }
}

static void flattening_without_memory_leaves_nothing(void **state) {
    (void)state;
    struct filter *counting = counting_filter(100, 0.01, SCHEME_XXH64), *flat = NULL;
    long failed = 0;
    enum status st = STATUS_NOMEM;
    for (; st == STATUS_NOMEM; failed++) {
        long live = spy.live;
        spy_fail_at(failed + 1);
        st = combine_flatten(counting, counting, &flat);
        spy_fail_at(0);
        if (st == STATUS_NOMEM) assert_true(flat == NULL && spy.live == live);
    }
    assert_int_equal(st, STATUS_OK);
    assert_int_equal(failed - 1, 3);
    filter_free(flat);
    filter_free(counting);
}

/* Fills a filter with random items, some of them often. */
static struct filter *random_counting(struct rng *r) {
    struct filter *filter = counting_filter(1000, 0.02, SCHEME_XXH64);
    struct model model = model_of(filter);
    for (int i = 0; i < 1500; i++) add(filter, &model, rng_below(r, rng_below(r, 3) ? ITEMS : 20));
    free(model.counters);
    return filter;
}

static void a_union_adds_counters_and_an_intersection_keeps_the_smaller(void **state) {
    (void)state;
    struct rng r = rng_seeded(54);
    for (int round = 0; round < 20; round++) {
        struct filter *a = random_counting(&r), *b = random_counting(&r), *c = random_counting(&r);
        struct filter *sum = copy_of(a), *least = NULL;
        const struct filter *all[] = {a, b, c};
        bool changed = false;
        struct mismatch mismatch;
        assert_true(combine_is_possible(all, 3, &mismatch));
        assert_int_equal(combine_union(sum, all + 1, 2, 0, &changed), STATUS_OK);
        assert_int_equal(combine_intersection(all, 3, FILTER_NO_LIMIT, &least), STATUS_OK);
        const struct layer *s = &sum->layers[0], *l = &least->layers[0];
        for (uint64_t p = 0; p < s->nbits; p++) {
            unsigned x = counting_at(a->layers[0].bits, p), y = counting_at(b->layers[0].bits, p);
            unsigned z = counting_at(c->layers[0].bits, p);
            unsigned xy = x < y ? x : y;
            assert_int_equal(counting_at(s->bits, p), x + y + z < 15 ? x + y + z : 15);
            assert_int_equal(counting_at(l->bits, p), xy < z ? xy : z);
        }
        assert_true(changed && sum->is_estimated && least->is_estimated);
        assert_int_equal(s->ones, layer_count_ones(s));
        assert_int_equal(l->ones, layer_count_ones(l));
        assert_int_equal(s->items, layer_estimate_items(s));
        assert_true(!limits_fault(sum) && !limits_fault(least));
        struct filter *made[] = {a, b, c, sum, least};
        for (size_t i = 0; i < COUNT(made); i++) filter_free(made[i]);
    }
}

static void a_union_with_an_empty_filter_changes_nothing(void **state) {
    (void)state;
    struct rng r = rng_seeded(55);
    struct filter *filter = random_counting(&r), *before = copy_of(filter);
    struct filter *empty = counting_filter(1000, 0.02, SCHEME_XXH64);
    struct filter *classic = filter_by_error(1000, 0.02, 0);
    const struct filter *other = empty, *both[] = {filter, classic};
    struct mismatch mismatch;
    bool changed = true;
    assert_int_equal(combine_union(filter, &other, 1, FILTER_NO_LIMIT, &changed), STATUS_OK);
    assert_true(!changed && same_filter(filter, before) && !filter->is_estimated);
    assert_false(combine_is_possible(both, 2, &mismatch)); // of the same m and k, but bits
    assert_int_equal(mismatch.difference, DIFFERENCE_LAYOUT);
    filter_free(filter);
    filter_free(before);
    filter_free(empty);
    filter_free(classic);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(random_adds_and_removals_agree_with_the_multiset),
        spied(positions_that_repeat_count_once),
        spied(an_item_takes_as_many_removals_as_it_had_adds),
        spied(a_counter_that_reached_15_stays),
        spied(first_in_first_out_leaves_exactly_the_items_that_are_held),
        spied(copies_count_beyond_the_capacity),
        spied(the_number_of_items_stops_at_its_limit),
        spied(a_forced_add_is_taken_by_a_full_filter),
        spied(the_number_of_items_does_not_fall_below_zero),
        spied(emptying_clears_all_counters),
        spied(counting_never_grows_and_has_no_window),
        spied(batches_do_what_single_items_do),
        spied(flattened_it_is_the_classic_filter_of_the_items_that_are_left),
        spied(flattening_without_memory_leaves_nothing),
        spied(a_union_adds_counters_and_an_intersection_keeps_the_smaller),
        spied(a_union_with_an_empty_filter_changes_nothing),
    };
    return cmocka_run_group_tests_name("counting", tests, print_seed, NULL);
}
