/* A random program of operations on one filter, against a model (model.h).
 *
 *   shape: capacity u8, rate u8, expansion u8, kind u8 (layout, scheme, window and its generations)
 *   then operations: what u8, item or count u8. The high half of `what` is the allocation that
 * fails in it (0: none); then nothing may have changed. */

#include "tests/fuzz/model.h"
#include "tests/unit/feeds.h"

#include "module/core/combine.h"
#include "module/core/filter/packed.h"
#include "module/core/filter/window.h"
#include "module/core/mem.h"
#include "rdb/codec.h"

#include <stdlib.h>

#define MOST_OPERATIONS 64
#define MOST_BATCH 20
#define MOST_BYTES (1 << 16)

/* ---- Operations ----------------------------------------------------------------------------- */

/* The value of a key, its model, the parameters it was made with, and the clock. */
struct state {
    void *value;
    struct model model;
    struct filter_params params;
    uint64_t clock;
};

/* Adds the item to the model, given how the filter answered. */
static void model_follows(struct state *s, const struct filter *filter, enum status st,
                          struct outcome outcome, uint8_t item) {
    struct model *model = &s->model;
    const struct naive *newest = &model->layers[model->nlayers - 1];
    uint32_t first = model->window ? first_of_newest(model) : 0;
    bool has_it = any_contains(model, first, model->nlayers, item); // the newest generation
    bool known = any_contains(model, 0, model->nlayers, item);
    bool counts = model->layout == LAYOUT_COUNTING, is_full = newest->items >= newest->capacity;
    CLAIM(known || !must_contain(model, item, s->clock)); // no false negative
    if (has_it && !counts) {
        CLAIM(st == STATUS_OK && !outcome.answer && !outcome.changed);
    } else if (st == STATUS_OK) {
        if (!has_it && is_full) model_grow(model, &filter->layers[model->nlayers]);
        CLAIM(outcome.changed == model_add(model, item));
        CLAIM(outcome.answer == !known);
    } else {
        CLAIM(is_full && !has_it && !outcome.answer && !outcome.changed);
        CLAIM((st == STATUS_FULL) == (model->expansion == 0));
    }
    if (st != STATUS_OK) return;
    model->last[item] = filter_time(model, s->clock);
    model->times[item]++;
}

/* Begins a generation if one is due, as the server does before each add. False if there is no
 * memory. */
static bool rotate(struct state *s) {
    if (s->params.window == 0) return true;
    struct filter *filter = s->value, *dropped = NULL; // a window is never packed
    uint64_t due = window_due(filter, s->clock);
    CLAIM(due == model_due(&s->model, s->clock));
    CLAIM(window_is_due(filter, s->clock) == (due != model_newest(&s->model)));
    if (!window_is_due(filter, s->clock)) return true;
    struct image before = fuzz_image(filter);
    uint64_t bytes = window_rotated_bytes(filter, due);
    enum status st = window_rotate(filter, due, MOST_BYTES, &dropped);
    if (st == STATUS_OK) {
        CLAIM(filter_size_bytes(filter) == bytes);
        model_rotate(&s->model, due, filter);
        filter_free(dropped);
    } else {
        CLAIM(st == STATUS_NOMEM && !dropped);
        fuzz_claim_same(filter, &before);
    }
    fuzz_release(&before);
    return st == STATUS_OK;
}

/* Drops what is over, as BF.ROTATE does. */
static void drop(struct state *s) {
    struct filter *filter = s->value, *dropped = NULL;
    if (s->params.window == 0) return;
    uint64_t over = window_over(filter, s->clock);
    CLAIM(over == model_over(&s->model, s->clock));
    if (over == 0) return;
    struct image before = fuzz_image(filter);
    enum status st = window_drop(filter, over, &dropped);
    if (st == STATUS_OK) {
        model_drop_over(&s->model, s->clock);
        filter_free(dropped);
    } else {
        CLAIM(st == STATUS_NOMEM && !dropped);
        fuzz_claim_same(filter, &before);
    }
    fuzz_release(&before);
}

/* The filter as lookups see it; NULL if nothing of it lives. */
static const struct filter *look(const struct state *s, struct packed_view *view,
                                 struct filter *live) {
    return window_live(packed_view(s->value, view), s->clock, live);
}

/* As key_grow of module/key.c: a packed filter cannot grow, its successor does. */
static enum status grow(struct state *s, struct filter **filter) {
    if (!packed_is_packed(s->value)) return filter_grow(*filter, MOST_BYTES, LIMITS_MAX_LAYERS);
    packed_close(s->value, *filter);
    struct filter *whole = packed_unpack(s->value);
    if (!whole) return STATUS_NOMEM;
    enum status st = filter_grow(whole, MOST_BYTES, LIMITS_MAX_LAYERS);
    if (st == STATUS_OK) {
        packed_free(s->value);
        s->value = *filter = whole;
    } else {
        filter_free(whole);
    }
    return st;
}

/* Whether the model has layers for whatever one operation adds. Two such models have room for their
 * union. */
static bool has_room(const struct model *model) {
    return model->nlayers <= MOST_LAYERS / 2 - MOST_BATCH - 1;
}

static void op_add(struct state *s, uint8_t item) {
    if (!has_room(&s->model) || !rotate(s)) return;
    struct packed_view view;
    struct filter *filter = packed_open(s->value, &view);
    struct hash hash = filter_hash(filter, &item, 1);
    struct outcome outcome = {false, false};
    enum status st;
    while ((st = filter_add(filter, hash, &outcome)) == STATUS_GROW) {
        st = grow(s, &filter);
        if (st != STATUS_OK) break;
    }
    packed_close(s->value, filter);
    model_follows(s, filter, st, outcome, item);
}

/* What became of each item of a batch. */
struct answers {
    enum status status[MOST_BATCH];
    struct outcome outcomes[MOST_BATCH];
    size_t n;
};

/* A batch under way. */
struct run {
    struct state *s;
    struct filter *filter;
    struct answers answers;
};

static void take(void *argument, struct outcome outcome) {
    struct answers *answers = &((struct run *)argument)->answers;
    answers->status[answers->n] = STATUS_OK;
    answers->outcomes[answers->n++] = outcome;
}

/* As make_room of module/commands.c. */
static enum batch_verdict make_room(void *argument, enum status st, struct filter **filter) {
    struct run *run = argument;
    if (st == STATUS_GROW) st = grow(run->s, filter);
    run->filter = *filter;
    if (st == STATUS_OK) return BATCH_RETRY;
    take(run, (struct outcome){false, false});
    run->answers.status[run->answers.n - 1] = st;
    return st == STATUS_FULL ? BATCH_END : BATCH_SKIP;
}

static void op_add_many(struct state *s, uint8_t count) {
    if (!has_room(&s->model) || !rotate(s)) return;
    size_t n = count % MOST_BATCH;
    struct packed_view view;
    struct filter *filter = packed_open(s->value, &view);
    struct hash hashes[MOST_BATCH];
    for (size_t i = 0; i < n; i++) {
        uint8_t item = (uint8_t)(count + 7 * i);
        hashes[i] = filter_hash(filter, &item, 1);
    }
    struct run run = {.s = s, .filter = filter};
    struct hashes_feed feed = {
        .hashes = hashes, .n = n, .argument = &run, .take = take, .make_room = make_room};
    hashes_run(filter, BATCH_ADD, &feed);
    packed_close(s->value, run.filter);
    const struct answers *answers = &run.answers;
    CLAIM(answers->n == n || answers->status[answers->n - 1] == STATUS_FULL);
    for (size_t i = 0; i < answers->n; i++) {
        model_follows(s, run.filter, answers->status[i], answers->outcomes[i],
                      (uint8_t)(count + 7 * i));
    }
}

static void op_contains(const struct state *s, uint8_t item) {
    struct packed_view view;
    struct filter live_view;
    const struct filter *live = look(s, &view, &live_view);
    bool maybe = live && filter_contains(live, filter_hash(live, &item, 1));
    CLAIM(maybe == model_contains(&s->model, item, s->clock));
    CLAIM(maybe || !must_contain(&s->model, item, s->clock));
    if (s->params.layout != LAYOUT_COUNTING) return;
    unsigned count = filter_count(live, filter_hash(live, &item, 1));
    CLAIM(count == naive_count(&s->model, &s->model.layers[0], item));
    CLAIM(count >= s->model.times[item] || count == 15 || s->model.is_careless);
}

static void op_contains_many(const struct state *s, uint8_t count) {
    struct packed_view view;
    struct filter live_view;
    const struct filter *live = look(s, &view, &live_view);
    size_t n = count % MOST_BATCH;
    struct hash hashes[MOST_BATCH];
    bool answers[MOST_BATCH] = {false};
    for (size_t i = 0; live && i < n; i++) {
        uint8_t item = (uint8_t)(count - i);
        hashes[i] = filter_hash(live, &item, 1);
    }
    if (live) batch_contains_many(live, hashes, n, answers);
    for (size_t i = 0; i < n; i++) {
        CLAIM(answers[i] == model_contains(&s->model, (uint8_t)(count - i), s->clock));
    }
}

/* The model after a removal that gave these two results. */
static void model_loses(struct model *model, uint8_t item, bool removed, bool changed) {
    bool was_present = any_contains(model, 0, 1, item);
    CLAIM(removed == was_present);
    CLAIM(changed == (was_present && model_remove(model, item)));
}

static void op_remove(struct state *s, uint8_t item) {
    if (s->params.layout != LAYOUT_COUNTING) return;
    struct filter *filter = s->value; // never packed
    bool changed = true, removed = filter_remove(filter, filter_hash(filter, &item, 1), &changed);
    model_loses(&s->model, item, removed, changed);
}

static void op_remove_many(struct state *s, uint8_t count) {
    if (s->params.layout != LAYOUT_COUNTING) return;
    size_t n = count % MOST_BATCH;
    struct hash hashes[MOST_BATCH];
    struct run run = {.s = s};
    for (size_t i = 0; i < n; i++) {
        uint8_t item = (uint8_t)(count + 7 * i);
        hashes[i] = filter_hash(s->value, &item, 1);
    }
    struct hashes_feed feed = {.hashes = hashes, .n = n, .argument = &run, .take = take};
    hashes_run(s->value, BATCH_REMOVE, &feed);
    CLAIM(run.answers.n == n);
    for (size_t i = 0; i < n; i++) {
        struct outcome outcome = run.answers.outcomes[i];
        model_loses(&s->model, (uint8_t)(count + 7 * i), outcome.answer, outcome.changed);
    }
}

/* The clock goes on, or steps back. */
static void op_clock(struct state *s, uint8_t number) {
    uint64_t back = number < 192 ? 0 : UINT64_C(40) * (number - 192U);
    s->clock += number < 192 ? UINT64_C(25) * number : 0;
    s->clock -= back < s->clock ? back : s->clock;
}

/* The value becomes a copy of itself, if there is memory for one. */
static void op_copy(struct state *s) {
    struct filter *copy = packed_unpack(s->value);
    if (!copy) return;
    packed_free(s->value);
    s->value = copy;
}

static void op_pack(struct state *s) {
    if (!packed_is_packed(s->value)) s->value = packed_pack(s->value);
}

static void op_save_and_load(struct state *s) {
    struct packed_view view;
    fuzz_fail_at(0);
    struct image image = fuzz_image(packed_view(s->value, &view));
    packed_free(s->value);
    s->value = fuzz_load(&image);
    fuzz_release(&image);
}

/* The first layer alone stays, without a bit. */
static void op_empty(struct state *s) {
    struct packed_view view;
    struct filter *filter = packed_open(s->value, &view);
    bool changed = false;
    enum status st = filter_empty(filter, &changed);
    packed_close(s->value, filter);
    struct model *model = &s->model;
    CLAIM(st == STATUS_OK || (st == STATUS_NOMEM && model->nlayers > 1));
    if (st != STATUS_OK) return;
    while (model->nlayers > 1) free(model->layers[--model->nlayers].bits);
    memset(model->layers[0].bits, 0, model->layers[0].m);
    memset(model->last, 0, sizeof(model->last));
    memset(model->times, 0, sizeof(model->times));
    model->layers[0].items = model->layers[0].start = 0;
    model->is_careless = false;
}

/* The counts of a union are estimates, which the filter computes. */
static void take_estimates(struct model *model, const struct filter *filter) {
    CLAIM(filter->nlayers == model->nlayers);
    for (uint32_t i = 0; i < model->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        if (filter->origin == ORIGIN_VALKEYBLOOM) { // as valkey-bloom fills it
            bool is_newest = i + 1 == model->nlayers;
            CLAIM(is_newest ? layer->items <= layer->capacity : layer->items == layer->capacity);
        } else {
            CLAIM(layer->items <= layer->ones && layer->items * layer->nhashes >= layer->ones);
        }
        model->layers[i].items = layer->items;
    }
}

/* Makes a filter in the same way, of some items, in a chain that may be longer. */
static bool make_other(const struct state *s, uint8_t count, struct state *other) {
    *other = *s;
    other->model.nlayers = 0;
    other->model.is_careless = false;
    memset(other->model.last, 0, sizeof(other->model.last));
    memset(other->model.times, 0, sizeof(other->model.times));
    struct filter *from = NULL;
    if (filter_new(&s->params, FILTER_NO_LIMIT, &from) != STATUS_OK) return false;
    other->value = from;
    model_append(&other->model, &from->layers[0], 0);
    for (uint8_t i = 0; i < count % 8; i++) {
        if (count & 8) op_clock(other, (uint8_t)(16 * count + 7 * i));
        op_add(other, (uint8_t)(count + i));
    }
    return true;
}

static void op_unite(struct state *s, uint8_t count) {
    struct state other;
    if (s->model.nlayers > MOST_LAYERS / 2 || !make_other(s, count, &other)) return;
    op_copy(s); // unpacked, as it must be to grow
    if (!packed_is_packed(s->value)) {
        struct filter *into = s->value;
        const struct filter *others[] = {other.value};
        const struct filter *both[] = {into, other.value};
        struct mismatch mismatch;
        bool changed = false;
        CLAIM(combine_is_possible(both, 2, &mismatch));
        struct image before = fuzz_image(into);
        enum status st = combine_union(into, others, 1, MOST_BYTES, &changed);
        if (st == STATUS_OK && changed) {
            model_unite(&s->model, &other.model);
            take_estimates(&s->model, into);
        } else {
            fuzz_claim_same(into, &before);
        }
        if (st == STATUS_OK) model_unite_items(&s->model, &other.model);
        fuzz_release(&before);
    }
    packed_free(other.value);
    model_release(&other.model);
}

static void operate(struct state *s, uint8_t what, uint8_t number) {
    fuzz_fail_at(what >> 4);
    bool forgets = s->params.window != 0 || s->params.layout == LAYOUT_COUNTING;
    switch (what % (forgets ? 14 : 10)) {
    case 0:
    case 1: op_add(s, number); break;
    case 2: op_add_many(s, number); break;
    case 3: op_contains(s, number); break;
    case 4: op_contains_many(s, number); break;
    case 5: op_copy(s); break;
    case 6: op_pack(s); break;
    case 7: op_empty(s); break;
    case 8: op_unite(s, number); break;
    case 10: op_remove(s, number); break;
    case 11: op_remove_many(s, number); break;
    case 12: op_clock(s, number); break;
    case 13: drop(s); break;
    default: op_save_and_load(s); break;
    }
}

/* Whatever was done, the filter is one that every loader takes, and comes back as it is. */
static void claim_loadable(const struct state *s) {
    struct packed_view view;
    const struct filter *filter = packed_view(s->value, &view);
    fuzz_fail_at(0);
    CLAIM(!limits_fault(filter));
    struct image image = fuzz_image(filter);
    struct filter *again = fuzz_load(&image);
    fuzz_claim_same(again, &image);
    filter_free(again);
    fuzz_release(&image);
}

/* ---- The program ---------------------------------------------------------------------------- */

/* The layout and the scheme. With bit 8 set, two of the schemes are others: sip13, ours and
 * valkey-bloom's. */
static void take_kind(uint8_t kind, struct filter_params *params) {
    static const enum scheme SCHEMES[] = {SCHEME_XXH64,   SCHEME_FNV1A,  SCHEME_MURMUR,
                                          SCHEME_LEVELDB, SCHEME_SIP13,  SCHEME_SIP13,
                                          SCHEME_MURMUR,  SCHEME_LEVELDB};
    params->layout = kind & 4 ? LAYOUT_BLOCKED : LAYOUT_CLASSIC;
    params->scheme = kind & 4 ? SCHEME_XXH64 : SCHEMES[kind % 4 + (kind & 8 ? 4 : 0)];
    if (params->scheme == SCHEME_SIP13) {
        params->seed = (struct seed){{kind, params->capacity, ~(uint64_t)kind, 1}};
    }
}

/* Filters of other programs' types are CLASSIC and sized by error rate. What has RedisBloom's hash
 * grows by its rule, also if it became one of ours. */
static void take_origin(uint8_t kind, struct filter_params *params) {
    bool is_plain = !(kind & 48), is_redisbloom = params->scheme == SCHEME_MURMUR;
    bool is_valkeybloom = params->scheme == SCHEME_SIP13 && kind % 4 == 1 && is_plain;
    if (is_redisbloom && params->bits_per_key != 0) {
        params->bits_per_key = 0;
        params->error_rate = 0.05;
    }
    if (is_redisbloom && is_plain && kind & 8) params->origin = ORIGIN_REDISBLOOM;
    if (is_valkeybloom && params->bits_per_key == 0) {
        params->origin = ORIGIN_VALKEYBLOOM; // kind & 8, as the scheme shows
        params->ratio = 0.5;
    }
}

static struct filter_params take_shape(struct reader *r) {
    static const double RATES[] = {0.5, 0.1, 0.01, 0.001};
    struct filter_params params = {.capacity = 1 + take_u8(r) % 24};
    uint8_t rate = take_u8(r);
    if (rate & 4) {
        params.bits_per_key = 1 + rate % 16;
    } else {
        params.error_rate = RATES[rate % 4];
    }
    params.expansion = take_u8(r) % 4;
    uint8_t kind = take_u8(r);
    take_kind(kind, &params);
    if (kind & 16 && !(kind & 4)) {
        params.layout = LAYOUT_COUNTING;
        params.expansion = 0;
    } else if (kind & 32) {
        static const uint32_t GENERATIONS[] = {1, 2, 4, 16};
        params.window = 1;
        params.generations = GENERATIONS[kind >> 6];
        params.expansion += params.expansion == 0;
    }
    take_origin(kind, &params);
    return params;
}

static struct model new_model(const struct filter_params *params) {
    struct model model = {.expansion = params->expansion,
                          .generations = params->generations,
                          .window = UINT64_C(1000) * params->window,
                          .layout = params->layout,
                          .scheme = params->scheme,
                          .seed = params->seed,
                          .is_foreign = origin_row(params->origin)->is_foreign};
    while (model.step * params->generations < model.window) model.step++; // the least whole one
    return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct reader r = {data, size, false};
    fuzz_begin(0);
    struct filter_params params = take_shape(&r);
    struct filter *filter = NULL;
    CLAIM(filter_new(&params, FILTER_NO_LIMIT, &filter) == STATUS_OK);
    struct state s = {.value = filter, .params = params, .clock = 5000};
    s.model = new_model(&params);
    model_append(&s.model, &filter->layers[0], 0);
    for (int i = 0; i < MOST_OPERATIONS && r.left > 0; i++) {
        uint8_t what = take_u8(&r);
        operate(&s, what, take_u8(&r));
        claim_loadable(&s);
    }
    struct packed_view view;
    compare(&s.model, packed_view(s.value, &view));
    fuzz_check(packed_view(s.value, &view));
    model_release(&s.model);
    packed_free(s.value);
    fuzz_end();
    return 0;
}
