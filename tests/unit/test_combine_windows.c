/* Unions of windows, generation by generation, and windows as one layer of bits. */

#include "tests/unit/windows.h"

#include "module/core/combine.h"
#include "rdb/codec.h"

#define STEP 15000 // d of 60 s in 4
#define START UINT64_C(1700000010000)

static struct filter *window_of(enum layout layout, uint64_t capacity) {
    struct filter_params params = {.capacity = capacity,
                                   .error_rate = 0.01,
                                   .expansion = 2,
                                   .layout = layout,
                                   .window = 60,
                                   .generations = 4};
    return filter_as(&params);
}

/* Adds n items from `first` on to the generation number `generation`. */
static void add_to(struct filter *filter, uint64_t generation, uint64_t first, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) add_at(filter, first + i, START + generation * STEP);
}

static bool unite(struct filter *into, const struct filter *other) {
    bool changed = false;
    struct mismatch mismatch;
    assert_true(combine_is_possible((const struct filter *[]){into, other}, 2, &mismatch));
    assert_int_equal(combine_union(into, &other, 1, FILTER_NO_LIMIT, &changed), STATUS_OK);
    return changed;
}

/* The layer of this start and depth; NULL if there is none. */
static const struct layer *layer_at(const struct filter *filter, uint64_t start, uint32_t depth) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        if (filter->layers[i].start == start && depth-- == 0) return &filter->layers[i];
    }
    return NULL;
}

static void assert_sound(const struct filter *filter) {
    const char *fault = limits_fault(filter);
    if (fault) fail_msg("not loadable: %s", fault);
    assert_true(codec_bits_are_sound(filter));
    assert_int_equal(filter->loaded, filter_array_bytes(filter));
    assert_true(generations_of(filter) <= filter->generations + 1);
}

/* ---- What a union is ---- */

/* Every layer is the OR of those of its start and depth, and none is missing but those that are
 * over when the newest begins. */
static void assert_union(const struct filter *result, const struct filter *a,
                         const struct filter *b) {
    uint64_t newest = filter_newest(a)->start, count = 0;
    if (filter_newest(b)->start > newest) newest = filter_newest(b)->start;
    for (uint64_t start = newest - 12 * STEP; start <= newest; start += STEP) {
        bool is_over = start + 5 * STEP <= newest;
        for (uint32_t depth = 0;; depth++) {
            const struct layer *x = layer_at(a, start, depth), *y = layer_at(b, start, depth);
            const struct layer *both = layer_at(result, start, depth);
            assert_int_equal(both != NULL, !is_over && (x || y));
            if (!both) break;
            for (uint64_t i = 0; i < layer_array_bytes(both); i++) {
                assert_int_equal(both->bits[i], (x ? x->bits[i] : 0) | (y ? y->bits[i] : 0));
            }
            count++;
        }
    }
    assert_int_equal(result->nlayers, count);
}

/* Random windows: some generations absent, some in chains, one window older than the other. */
static struct filter *random_window(struct rng *r, enum layout layout) {
    struct filter *filter = window_of(layout, 40);
    uint64_t first = 20 + rng_below(r, 8);
    for (uint64_t i = 0; i < 6; i++) {
        if (rng_below(r, 3) == 0) continue;
        add_to(filter, first + i, rng_below(r, 300), rng_below(r, 5) ? 9 : 60);
    }
    if (filter_newest(filter)->start == 0) add_to(filter, first, 1, 1);
    return filter;
}

static void generations_of_equal_start_are_united(void **state) {
    (void)state;
    struct rng r = rng_seeded(70);
    int dropped = 0, longer = 0;
    for (int round = 0; round < 600; round++) {
        enum layout layout = round % 2 ? LAYOUT_BLOCKED : LAYOUT_CLASSIC;
        struct filter *a = random_window(&r, layout), *b = random_window(&r, layout);
        struct filter *result = copy_of(a), *before = copy_of(b);
        unite(result, b);
        assert_true(same_filter(b, before));
        assert_union(result, a, b);
        assert_sound(result);
        uint64_t now = filter_newest(result)->start;
        for (uint64_t i = 0; i < 400; i++) {
            bool is_in_any = contains_at(a, i, now) || contains_at(b, i, now);
            assert_true(contains_at(result, i, now) || !is_in_any);
        }
        dropped += layer_at(result, a->layers[0].start, 0) == NULL;
        longer += result->nlayers > a->nlayers;
        assert_false(unite(result, b)); // a second time it adds nothing
        struct filter *all[] = {a, b, result, before};
        for (size_t i = 0; i < COUNT(all); i++) filter_free(all[i]);
    }
    assert_true(dropped > 20 && longer > 20); // or this would show nothing
}

/* An absent generation counts as empty, and the result goes on as any window does. */
static void a_union_takes_the_generations_that_it_lacks_in_their_order(void **state) {
    (void)state;
    struct filter *a = window_of(LAYOUT_CLASSIC, 400), *b = window_of(LAYOUT_CLASSIC, 400);
    add_to(a, 1, 100, 10);
    add_to(a, 3, 300, 10);
    add_to(b, 0, 0, 10);
    add_to(b, 2, 200, 10);
    add_to(b, 4, 400, 10);
    assert_true(unite(a, b));
    assert_int_equal(a->nlayers, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(a->layers[i].start, START + i * STEP);
        assert_true(contains_at(a, 100 * i + 5, START + 4 * STEP));
        assert_false(contains_at(a, 100 * i + 5, START + (i + 5) * STEP));
    }
    assert_true(a->is_estimated);
    add_to(a, 5, 500, 10);
    assert_int_equal(a->nlayers, 5);
    assert_false(contains_at(a, 5, START));
    filter_free(a);
    filter_free(b);
}

static void what_is_over_is_dropped_on_both_sides(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct filter *old = window_of(LAYOUT_CLASSIC, 400), *new = window_of(LAYOUT_CLASSIC, 400);
        for (uint64_t i = 0; i < 5; i++) add_to(old, i, 100 * i, 120); // chains of two layers
        add_to(new, 6, 600, 10);
        struct filter *into = way ? old : new, *other = way ? new : old;
        assert_true(unite(into, other));
        assert_int_equal(generations_of(into), 4); // 2, 3, 4 and 6
        assert_int_equal(into->layers[0].start, START + 2 * STEP);
        assert_int_equal(into->nlayers, 7);
        assert_sound(into);
        filter_free(old);
        filter_free(new);
    }
}

static void a_window_that_has_not_begun_adds_nothing_and_takes_all(void **state) {
    (void)state;
    struct filter *fresh = window_of(LAYOUT_CLASSIC, 400), *also = copy_of(fresh);
    assert_false(unite(fresh, also));
    assert_true(same_filter(fresh, also) && !fresh->is_estimated);
    struct filter *full = copy_of(fresh);
    for (uint64_t i = 0; i < 5; i++) add_to(full, i, 100 * i, 120);
    struct filter *before = copy_of(full);
    assert_false(unite(full, fresh));
    assert_true(same_filter(full, before) && !full->is_estimated);
    assert_true(unite(fresh, full));
    for (uint32_t i = 0; i < full->nlayers; i++) full->layers[i].items = fresh->layers[i].items;
    assert_true(same_filter(fresh, full) && fresh->is_estimated);
    struct filter *all[] = {fresh, also, full, before};
    for (size_t i = 0; i < COUNT(all); i++) filter_free(all[i]);
}

static void many_windows_are_united_at_once_the_result_among_them(void **state) {
    (void)state;
    struct rng r = rng_seeded(71);
    for (int round = 0; round < 100; round++) {
        struct filter *a = random_window(&r, LAYOUT_CLASSIC);
        struct filter *b = random_window(&r, LAYOUT_CLASSIC);
        struct filter *c = random_window(&r, LAYOUT_CLASSIC), *one = copy_of(a);
        unite(one, b);
        unite(one, c);
        const struct filter *others[] = {b, a, c};
        bool changed = false;
        assert_int_equal(combine_union(a, others, 3, FILTER_NO_LIMIT, &changed), STATUS_OK);
        assert_int_equal(a->nlayers, one->nlayers);
        for (uint32_t i = 0; i < a->nlayers; i++) {
            a->layers[i].items = one->layers[i].items; // estimates of the same bits, or counts
            assert_true(same_layer(&a->layers[i], &one->layers[i]));
        }
        struct filter *all[] = {a, b, c, one};
        for (size_t i = 0; i < COUNT(all); i++) filter_free(all[i]);
    }
}

/* ---- What is refused ---- */

static enum difference difference_of(const struct filter *a, const struct filter *b) {
    struct mismatch mismatch = {.at = 77};
    if (combine_is_possible((const struct filter *[]){b, a}, 2, &mismatch)) return DIFFERENCE_NONE;
    assert_int_equal(mismatch.at, 1);
    assert_ptr_equal(mismatch.other, b);
    return mismatch.difference;
}

static void windows_that_differ_are_refused(void **state) {
    (void)state;
    struct filter *a = window_of(LAYOUT_CLASSIC, 400), *b = copy_of(a);
    struct filter *plain = filter_by_error(100, 0.01, 2), *larger = window_of(LAYOUT_CLASSIC, 800);
    assert_int_equal(difference_of(a, b), DIFFERENCE_NONE);
    b->window = 61;
    assert_int_equal(difference_of(a, b), DIFFERENCE_WINDOW);
    b->window = 60;
    b->generations = 5;
    assert_int_equal(difference_of(a, b), DIFFERENCE_WINDOW);
    assert_int_equal(difference_of(a, plain), DIFFERENCE_WINDOW);
    assert_int_equal(difference_of(plain, a), DIFFERENCE_WINDOW);
    b->generations = 4;
    b->layers[0].nhashes++;
    assert_int_equal(difference_of(a, b), DIFFERENCE_HASHES);
    assert_int_equal(difference_of(a, larger), DIFFERENCE_BITS);
    add_to(a, 1, 0, 10); // no generation in common, and still refused: later ones would differ
    add_to(larger, 2, 0, 10);
    assert_int_equal(difference_of(a, larger), DIFFERENCE_BITS);
    struct filter *all[] = {a, b, plain, larger};
    for (size_t i = 0; i < COUNT(all); i++) filter_free(all[i]);
}

/* Only layers of equal start and depth must be alike. */
static void the_layer_that_differs_is_named_in_its_generation(void **state) {
    (void)state;
    struct filter *a = window_of(LAYOUT_CLASSIC, 400), *b = window_of(LAYOUT_CLASSIC, 400);
    add_to(a, 0, 0, 20);
    add_to(a, 1, 0, 120);
    b->expansion = 4; // so that second layers differ
    add_to(b, 1, 0, 20);
    add_to(b, 2, 0, 120);
    assert_int_equal(difference_of(a, b), DIFFERENCE_NONE);
    add_to(a, 2, 0, 120);
    struct mismatch mismatch;
    assert_false(combine_is_possible((const struct filter *[]){a, b}, 2, &mismatch));
    assert_true(mismatch.at == 1 && mismatch.other == a && mismatch.layer == 1);
    assert_int_equal(mismatch.difference, DIFFERENCE_BITS);
    assert_ptr_equal(mismatch.a, layer_at(b, START + 2 * STEP, 1));
    assert_ptr_equal(mismatch.b, layer_at(a, START + 2 * STEP, 1));
    filter_free(a);
    filter_free(b);
}

static void without_memory_the_window_is_unchanged(void **state) {
    (void)state;
    struct filter *a = window_of(LAYOUT_CLASSIC, 400), *b = window_of(LAYOUT_CLASSIC, 400);
    for (uint64_t i = 0; i < 4; i++) add_to(a, i, 100 * i, 120);
    for (uint64_t i = 2; i < 7; i++) add_to(b, i, 100 * i, 150);
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
        if (st != STATUS_NOMEM) break;
        assert_true(same_filter(a, before) && spy.live == live && !changed);
    }
    assert_int_equal(st, STATUS_OK);
    assert_int_equal(failed, 3 + 6); // the plan's two lists, the layers, and two for each of 4 to 6
    assert_union(a, before, b);
    filter_free(a);
    filter_free(b);
    filter_free(before);
}

static void a_union_is_held_to_max_bytes(void **state) {
    (void)state;
    struct filter *a = window_of(LAYOUT_CLASSIC, 400), *b = window_of(LAYOUT_CLASSIC, 400);
    add_to(a, 0, 0, 50);
    add_to(b, 1, 0, 50);
    struct filter *before = copy_of(a);
    const struct filter *other = b;
    bool changed = false;
    uint64_t bytes = filter_structure_bytes(2) + filter_array_bytes(a) + filter_array_bytes(b);
    assert_int_equal(combine_union(a, &other, 1, bytes - 1, &changed), STATUS_NOMEM);
    assert_true(same_filter(a, before) && !changed);
    assert_int_equal(combine_union(a, &other, 1, bytes, &changed), STATUS_OK);
    assert_int_equal(filter_size_bytes(a), bytes);
    filter_free(a);
    filter_free(b);
    filter_free(before);
}

/* A window whose only generation is a chain of as many layers, as a loader accepts it. */
static struct filter *long_chain(uint32_t nlayers, uint64_t generation) {
    struct filter *filter = filter_new_bare(nlayers);
    assert_non_null(filter);
    filter->error_rate = 0.01;
    filter->expansion = 1;
    filter->window = 60;
    filter->generations = 4;
    filter->window_capacity = 4;
    for (; filter->nlayers < nlayers; filter->nlayers++) {
        struct layer *layer = &filter->layers[filter->nlayers];
        assert_int_equal(layer_init(layer, (struct sizing){8, 1}, CLASSIC, 1, 0.01), STATUS_OK);
        layer->start = START + generation * STEP;
    }
    filter->loaded = filter_array_bytes(filter);
    assert_null(limits_fault(filter));
    return filter;
}

static void a_union_of_more_layers_than_a_filter_can_have_is_refused(void **state) {
    (void)state;
    const uint32_t half = LIMITS_MAX_LAYERS / 2;
    struct filter *a = long_chain(half, 0), *b = long_chain(half + 1, 1), *c = long_chain(half, 1);
    const struct filter *other = b;
    bool changed = false;
    assert_int_equal(combine_union(a, &other, 1, FILTER_NO_LIMIT, &changed), STATUS_PARAM);
    assert_true(!changed && a->nlayers == half);
    assert_true(unite(a, c));
    assert_int_equal(a->nlayers, LIMITS_MAX_LAYERS);
    assert_null(limits_fault(a));
    filter_free(a);
    filter_free(b);
    filter_free(c);
}

/* ---- One layer of bits ---- */

static void a_flattened_window_is_the_union_of_what_lives(void **state) {
    (void)state;
    for (int layout = LAYOUT_CLASSIC; layout <= LAYOUT_BLOCKED; layout++) {
        struct filter *filter = window_of((enum layout)layout, 400), view, *flat = NULL;
        for (uint64_t i = 0; i < 5; i++) add_to(filter, i, 100 * i, 50);
        struct filter *before = copy_of(filter);
        for (uint64_t age = 4; age < 11; age++) {
            const struct filter *live = window_live(filter, START + age * STEP, &view);
            assert_int_equal(live ? live->nlayers : 0, age < 9 ? 9 - age : 0);
            assert_int_equal(combine_flatten(live, filter, &flat), STATUS_OK);
            const struct layer *layer = &flat->layers[0];
            for (uint64_t byte = 0; byte < layer_array_bytes(layer); byte++) {
                uint8_t bits = 0;
                for (uint32_t i = 0; live && i < live->nlayers; i++) {
                    bits |= live->layers[i].bits[byte];
                }
                assert_int_equal(layer->bits[byte], bits);
            }
            assert_true(flat->nlayers == 1 && flat->window == 0 && flat->generations == 0);
            assert_true(flat->window_capacity == 0 && layer->start == 0 && flat->is_estimated);
            assert_int_equal(layer->capacity, 400);
            assert_sound(flat);
            filter_free(flat);
        }
        assert_true(same_filter(filter, before));
        filter_free(before);
        filter_free(filter);
    }
}

static void a_window_of_chains_has_no_one_size(void **state) {
    (void)state;
    struct filter *filter = window_of(LAYOUT_CLASSIC, 400), view, *flat = NULL;
    add_to(filter, 0, 0, 120);
    add_to(filter, 1, 0, 50);
    const struct filter *live = window_live(filter, START + STEP, &view);
    assert_int_equal(combine_flatten(live, filter, &flat), STATUS_PARAM);
    live = window_live(filter, START + 5 * STEP, &view); // the chain is over
    assert_int_equal(combine_flatten(live, filter, &flat), STATUS_OK);
    filter_free(flat);
    filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(generations_of_equal_start_are_united),
        spied(a_union_takes_the_generations_that_it_lacks_in_their_order),
        spied(what_is_over_is_dropped_on_both_sides),
        spied(a_window_that_has_not_begun_adds_nothing_and_takes_all),
        spied(many_windows_are_united_at_once_the_result_among_them),
        spied(windows_that_differ_are_refused),
        spied(the_layer_that_differs_is_named_in_its_generation),
        spied(without_memory_the_window_is_unchanged),
        spied(a_union_is_held_to_max_bytes),
        spied(a_union_of_more_layers_than_a_filter_can_have_is_refused),
        spied(a_flattened_window_is_the_union_of_what_lives),
        spied(a_window_of_chains_has_no_one_size),
    };
    return cmocka_run_group_tests_name("combine windows", tests, print_seed, NULL);
}
