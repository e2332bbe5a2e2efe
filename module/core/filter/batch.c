/* Many items through a filter. See batch.h. */

#include "module/core/filter/batch.h"

#include "module/core/filter/chain.h"
#include "module/core/filter/window.h"

#include <string.h>

struct batch {
    struct filter *filter;
    size_t step;            // groups so far; step % 3 is the probe that the next one fills
    struct probe probes[3]; // used in turn
};

/* An empty batch. It takes 7 KiB, so only what is read before it is written is set. */
static void begin(struct batch *batch, const struct filter *filter) {
    batch->filter = (struct filter *)(uintptr_t)filter; // lookups change nothing
    batch->step = 0;
    for (size_t i = 0; i < 3; i++) layer_unprobe(&batch->probes[i]);
}

/* The probe that was filled `steps` calls before this one. */
static struct probe *earlier(struct batch *batch, size_t steps) {
    return &batch->probes[(batch->step + 3 - steps) % 3];
}

/* Fills the next probe from the feed. */
static struct probe *take(struct batch *batch, struct feed *feed) {
    struct probe *probe = earlier(batch, 0);
    probe->n = feed->next(feed, batch->filter, probe->hashes);
    return probe;
}

/* ---- Chains --------------------------------------------------------------------------------- */

/* Looks up some items of a group in a run of CHAIN_LAYERS layers at most:
 *
 *            step 1     step 2     step 3     step 4     step 5
 *   item 0   first      second     third      answer
 *   item 1              first      second     third      answer
 *   item 2                         first      second     third
 */
static void cross(const struct layer *layers, uint32_t nlayers, const struct hash *hashes,
                  const uint8_t *items, size_t n, bool *found) {
    struct chain_probe probes[4]; // that of item i is i % 4
    for (size_t i = 0; n > 0 && i < n + 3; i++) {
        if (i < n) chain_first(&probes[i % 4], layers, nlayers, hashes[items[i]]);
        if (i >= 1 && i - 1 < n) chain_second(&probes[(i - 1) % 4]);
        if (i >= 2 && i - 2 < n) chain_third(&probes[(i - 2) % 4]);
        if (i >= 3) found[items[i - 3]] = chain_answer(&probes[(i - 3) % 4]);
    }
}

/* Looks up a group of items in a run of layers, the newest first. found[i] becomes true if one of
 * them contains item i; items that are found already are left out. */
static void look_up_chain(const struct layer *layers, uint32_t nlayers, const struct hash *hashes,
                          size_t n, bool *found) {
    while (nlayers > 0) {
        uint32_t some = nlayers < CHAIN_LAYERS ? nlayers : CHAIN_LAYERS;
        uint8_t items[PROBE_ITEMS];
        size_t nitems = 0;
        for (size_t i = 0; i < n; i++) {
            items[nitems] = (uint8_t)i;
            nitems += !found[i];
        }
        nlayers -= some;
        cross(layers + nlayers, some, hashes, items, nitems, found);
    }
}

/* ---- Lookups -------------------------------------------------------------------------------- */

static void answer(const struct filter *filter, const struct probe *probe, bool *contained) {
    layer_probe_contains(filter_newest(filter), probe, contained);
    if (filter->nlayers == 1) return;
    look_up_chain(filter->layers, filter->nlayers - 1, probe->hashes, probe->n, contained);
}

/* Each of these three moves every probe one step on, after `coming` was filled. It writes the
 * outcomes of the probe that has come to its end and returns how many they are. */
static size_t look_up_group(struct batch *batch, struct probe *coming, struct outcome *outcomes) {
    const struct filter *filter = batch->filter;
    layer_probe_first(filter_newest(filter), coming);
    layer_probe_rest(filter_newest(filter), earlier(batch, 1));
    struct probe *eldest = earlier(batch, 2);
    bool contained[PROBE_ITEMS];
    answer(filter, eldest, contained);
    for (size_t i = 0; i < eldest->n; i++) outcomes[i] = (struct outcome){contained[i], false};
    return eldest->n;
}

/* ---- Adds ----------------------------------------------------------------------------------- */

/* The probe whose items are added in this call. */
static struct probe *adding(struct batch *batch) {
    return earlier(batch, layout_row(batch->filter->layout)->probes_ahead);
}

/* Looks up the probe's items from `from` on in all layers but the newest, which adds do not change.
 */
static void look_up_older(const struct filter *filter, const struct probe *probe, size_t from,
                          struct older *out) {
    uint32_t first = window_newest(filter), nolder = filter->nlayers - 1;
    bool generation[PROBE_ITEMS] = {false}, before[PROBE_ITEMS] = {false};
    const struct hash *hashes = probe->hashes + from;
    size_t n = probe->n - from;
    look_up_chain(filter->layers + first, nolder - first, hashes, n, generation);
    look_up_chain(filter->layers, first, hashes, n, before);
    for (size_t i = 0; i < n; i++) out[from + i] = (struct older){generation[i], before[i]};
}

/* Adds the probe's items from *at on, as far as there is room. */
static enum status add_rest(struct batch *batch, size_t *at, struct outcome *outcomes) {
    struct filter *filter = batch->filter;
    struct probe *probe = adding(batch);
    const struct layer *newest = filter_newest(filter);
    // The filter may have grown since the probe was filled.
    if (!layer_is_probed(newest, probe)) layer_probe_all(newest, probe);
    struct older older[PROBE_ITEMS];
    look_up_older(filter, probe, *at, older);
    for (; *at < probe->n; ++*at) {
        enum status st = filter_add_newest(filter, probe, *at, older[*at], outcomes++);
        if (st != STATUS_OK) return st;
    }
    return STATUS_OK;
}

/* What the feed decides for item `at`, which got this status. */
static enum batch_verdict decide(struct batch *batch, size_t at, enum status st,
                                 struct feed *feed) {
    enum batch_verdict verdict = feed->make_room(feed, st, &batch->filter);
    if (verdict != BATCH_FORCE) return verdict;
    struct outcome forced = filter_probed_force(batch->filter, adding(batch), at);
    feed->emit(feed, &forced, 1);
    return BATCH_SKIP; // it is done
}

/* Adds the probe's items, with growth and older layers. *has_ended: whether the feed ended the
 * batch. */
static void add_slowly(struct batch *batch, struct feed *feed, bool *has_ended) {
    for (size_t at = 0;;) {
        struct outcome outcomes[PROBE_ITEMS];
        size_t from = at;
        enum status st = add_rest(batch, &at, outcomes);
        if (at > from) feed->emit(feed, outcomes, at - from);
        if (st == STATUS_OK) return;
        enum batch_verdict verdict = decide(batch, at, st, feed);
        *has_ended = verdict == BATCH_END;
        if (*has_ended) return;
        at += verdict == BATCH_SKIP;
    }
}

/* Whether the filter has one layer, the layer has room for every item of the probe, and the probe
 * has their positions in it. Then no item needs a lookup in another layer. */
static bool is_simple(const struct filter *filter, const struct probe *probe) {
    const struct layer *only = &filter->layers[0];
    bool has_room = only->items <= only->capacity && probe->n <= only->capacity - only->items;
    return filter->nlayers == 1 && has_room && (probe->n == 0 || layer_is_probed(only, probe));
}

static size_t add_group(struct batch *batch, struct probe *coming, struct feed *feed,
                        bool *has_ended) {
    struct filter *filter = batch->filter;
    const struct probe *probe = adding(batch);
    if (!is_simple(filter, probe)) {
        layer_probe_all(filter_newest(filter), coming);
        size_t n = probe->n;
        add_slowly(batch, feed, has_ended);
        return n;
    }
    struct outcome outcomes[PROBE_ITEMS];
    layer_probe_and_add(&filter->layers[0], coming, probe, outcomes);
    if (probe->n > 0) feed->emit(feed, outcomes, probe->n);
    return probe->n;
}

/* ---- Removals ------------------------------------------------------------------------------- */

static size_t remove_group(struct batch *batch, struct probe *coming, struct outcome *outcomes) {
    struct filter *filter = batch->filter;
    layer_probe_all(filter_newest(filter), coming);
    const struct probe *probe = earlier(batch, 1);
    for (size_t i = 0; i < probe->n; i++) {
        outcomes[i].answer = filter_probed_remove(filter, probe, i, &outcomes[i].changed);
    }
    return probe->n;
}

/* ---- The driver ----------------------------------------------------------------------------- */

void batch_run(const struct filter *filter, enum batch_work work, struct feed *feed) {
    struct batch batch;
    bool has_ended = false;
    size_t under_way = 0; // items that were taken and are not done
    begin(&batch, filter);
    do {
        struct outcome outcomes[PROBE_ITEMS];
        struct probe *coming = take(&batch, feed);
        size_t done;
        under_way += coming->n;
        if (work == BATCH_ADD) {
            done = add_group(&batch, coming, feed, &has_ended);
        } else {
            done = work == BATCH_LOOK_UP ? look_up_group(&batch, coming, outcomes)
                                         : remove_group(&batch, coming, outcomes);
            if (done > 0) feed->emit(feed, outcomes, done);
        }
        under_way -= done;
        batch.step++;
    } while (under_way > 0 && !has_ended);
}

/* ---- Arrays --------------------------------------------------------------------------------- */

struct array {
    struct feed feed;
    const struct hash *hashes;
    size_t n;
    size_t taken;
    bool *answers;
};

static size_t array_next(struct feed *feed, const struct filter *filter, struct hash *hashes) {
    (void)filter;
    struct array *array = (struct array *)feed;
    size_t left = array->n - array->taken, n = left < PROBE_ITEMS ? left : PROBE_ITEMS;
    for (size_t i = 0; i < n; i++) hashes[i] = array->hashes[array->taken + i];
    array->taken += n;
    return n;
}

static void array_emit(struct feed *feed, const struct outcome *outcomes, size_t n) {
    struct array *array = (struct array *)feed;
    for (size_t i = 0; i < n; i++) *array->answers++ = outcomes[i].answer;
}

void batch_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                         bool *contained) {
    struct array array = {.feed = {.next = array_next, .emit = array_emit},
                          .hashes = hashes,
                          .n = n,
                          .answers = contained};
    batch_run(filter, BATCH_LOOK_UP, &array.feed);
}
