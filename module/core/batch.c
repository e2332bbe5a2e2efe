/* Many items through a filter. See batch.h. */

#include "module/core/batch.h"

#include "module/core/window.h"

#include <string.h>

void batch_init(struct batch *batch, struct filter *filter) {
    batch->filter = filter;
    batch->step = 0;
    batch->next = 0;
    for (size_t i = 0; i < 3; i++) layer_unprobe(&batch->probes[i]);
}

/* The probe that was filled `steps` calls before this one. */
static struct probe *earlier(struct batch *batch, size_t steps) {
    return &batch->probes[(batch->step + 3 - steps) % 3];
}

/* Fills the next probe with n hashes. A loop copies them, since hashes may be NULL when n is 0. */
static struct probe *take(struct batch *batch, const struct hash *hashes, size_t n) {
    struct probe *probe = earlier(batch, 0);
    probe->n = n;
    for (size_t i = 0; i < n; i++) probe->hashes[i] = hashes[i];
    return probe;
}

/* ---- Chains --------------------------------------------------------------------------------- */

/* The items of a group that no layer has contained so far, on their way through one layer. */
struct crossing {
    struct probe probe;
    uint8_t items[PROBE_ITEMS]; // their indexes in the group
};

static void enter(const struct layer *layer, const struct hash *hashes, size_t n, const bool *found,
                  struct crossing *out) {
    out->probe.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (found[i]) continue;
        out->items[out->probe.n] = (uint8_t)i;
        out->probe.hashes[out->probe.n++] = hashes[i];
    }
    layer_probe_first(layer, &out->probe);
}

static void leave(const struct layer *layer, const struct crossing *crossing, bool *found) {
    bool contained[PROBE_ITEMS];
    layer_probe_contains(layer, &crossing->probe, contained);
    for (size_t i = 0; i < crossing->probe.n; i++) found[crossing->items[i]] |= contained[i];
}

/* Looks up a group of items in a run of layers, the last one first. found[i] becomes true if one of
 * them contains item i; items that are found already are left out. The layers are a pipeline of
 * their own, so that the lines of three of them are under way together:
 *
 *                   step 1     step 2     step 3     step 4     step 5
 *   last layer      first      rest       answer
 *   the one before             first      rest       answer
 *   ...                                   first      rest       answer
 */
static void look_up_chain(const struct layer *layers, uint32_t nlayers, const struct hash *hashes,
                          size_t n, bool *found) {
    struct crossing crossings[3]; // that of layer i is i % 3
    if (nlayers == 0) return;
    for (uint32_t i = nlayers + 2; i-- > 0;) { // the layers i - 2, i - 1 and i take their steps
        if (i >= 2) enter(&layers[i - 2], hashes, n, found, &crossings[(i - 2) % 3]);
        if (i >= 1 && i - 1 < nlayers)
            layer_probe_rest(&layers[i - 1], &crossings[(i - 1) % 3].probe);
        if (i < nlayers) leave(&layers[i], &crossings[i % 3], found);
    }
}

/* Prefetches what look_up_chain reads first. */
static void prefetch_chain(const struct layer *layers, uint32_t nlayers, const struct probe *probe,
                           const bool *skipped) {
    for (size_t i = 0; nlayers > 0 && i < probe->n; i++) {
        if (!skipped || !skipped[i]) layer_prefetch_first(&layers[nlayers - 1], probe->hashes[i]);
    }
}

/* ---- Lookups -------------------------------------------------------------------------------- */

/* Reads the first bits in the newest layer. An item that fails there can only be in an older layer,
 * so its first lines in the next older one are prefetched now. */
static void probe_rest(const struct filter *filter, struct probe *probe) {
    layer_probe_rest(filter_newest(filter), probe);
    prefetch_chain(filter->layers, filter->nlayers - 1, probe, probe->passes);
}

static void answer(const struct filter *filter, const struct probe *probe, bool *contained) {
    layer_probe_contains(filter_newest(filter), probe, contained);
    if (filter->nlayers == 1) return;
    look_up_chain(filter->layers, filter->nlayers - 1, probe->hashes, probe->n, contained);
}

size_t batch_contains(struct batch *batch, const struct hash *hashes, size_t n, bool *contained) {
    const struct filter *filter = batch->filter;
    layer_probe_first(filter_newest(filter), take(batch, hashes, n));
    probe_rest(filter, earlier(batch, 1));
    struct probe *eldest = earlier(batch, 2);
    answer(filter, eldest, contained);
    batch->step++;
    return eldest->n;
}

/* ---- Adds ----------------------------------------------------------------------------------- */

/* The probe whose items are added in this call. In CLASSIC it was filled one call ago. In BLOCKED a
 * probe prefetches few lines, so it was filled two calls ago. */
static struct probe *adding(struct batch *batch) {
    return earlier(batch, batch->filter->layout == LAYOUT_BLOCKED ? 2 : 1);
}

static void probe_all(const struct filter *filter, struct probe *probe) {
    layer_probe_all(filter_newest(filter), probe);
    prefetch_chain(filter->layers, filter->nlayers - 1, probe, NULL);
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

enum status batch_resume(struct batch *batch, struct outcome *outcomes, size_t *done) {
    struct filter *filter = batch->filter;
    struct probe *probe = adding(batch);
    const struct layer *newest = filter_newest(filter);
    // The filter may have grown since the probe was filled.
    if (!layer_is_probed(newest, probe)) layer_probe_all(newest, probe);
    struct older older[PROBE_ITEMS];
    look_up_older(filter, probe, batch->next, older);
    for (*done = 0; batch->next < probe->n; batch->next++, ++*done) {
        enum status st =
            filter_add_newest(filter, probe, batch->next, older[batch->next], &outcomes[*done]);
        if (st != STATUS_OK) return st;
    }
    batch->step++;
    batch->next = 0;
    return STATUS_OK;
}

void batch_skip(struct batch *batch) {
    batch->next++;
}

struct outcome batch_force(struct batch *batch) {
    return filter_probed_force(batch->filter, adding(batch), batch->next++);
}

/* Whether the filter has one layer, the layer has room for every item of the probe, and the probe
 * has their positions in it. Then no item needs a lookup in another layer. */
static bool is_simple(const struct filter *filter, const struct probe *probe) {
    const struct layer *only = &filter->layers[0];
    bool has_room = only->items <= only->capacity && probe->n <= only->capacity - only->items;
    return filter->nlayers == 1 && has_room && (probe->n == 0 || layer_is_probed(only, probe));
}

enum status batch_add(struct batch *batch, const struct hash *hashes, size_t n,
                      struct outcome *outcomes, size_t *done) {
    struct filter *filter = batch->filter;
    struct probe *coming = take(batch, hashes, n);
    const struct probe *probe = adding(batch);
    if (!is_simple(filter, probe)) {
        probe_all(filter, coming);
        return batch_resume(batch, outcomes, done);
    }
    layer_probe_and_add(&filter->layers[0], coming, probe, outcomes);
    *done = probe->n;
    batch->step++;
    return STATUS_OK;
}

/* ---- Removals ------------------------------------------------------------------------------- */

size_t batch_remove(struct batch *batch, const struct hash *hashes, size_t n, bool *removed,
                    bool *changed) {
    struct filter *filter = batch->filter;
    layer_probe_all(filter_newest(filter), take(batch, hashes, n));
    const struct probe *probe = earlier(batch, 1);
    for (size_t i = 0; i < probe->n; i++) {
        removed[i] = filter_probed_remove(filter, probe, i, &changed[i]);
    }
    batch->step++;
    return probe->n;
}

/* ---- Arrays --------------------------------------------------------------------------------- */

static size_t group_size(size_t from, size_t n) {
    return n - from < PROBE_ITEMS ? n - from : PROBE_ITEMS;
}

void batch_contains_many(const struct filter *filter, const struct hash *hashes, size_t n,
                         bool *contained) {
    struct batch batch;
    batch_init(&batch, (struct filter *)(uintptr_t)filter); // lookups change nothing
    for (size_t taken = 0, answered = 0; answered < n;) {
        size_t some = group_size(taken, n);
        bool answers[PROBE_ITEMS];
        size_t ready = batch_contains(&batch, hashes + taken, some, answers);
        if (ready > 0) memcpy(contained + answered, answers, ready * sizeof(*answers));
        answered += ready;
        taken += some;
    }
}

enum status batch_add_many(struct filter *filter, const struct hash *hashes, size_t n, bool *added,
                           size_t *done) {
    struct batch batch;
    batch_init(&batch, filter);
    *done = 0;
    for (size_t taken = 0; *done < n;) {
        size_t some = group_size(taken, n), ready;
        struct outcome outcomes[PROBE_ITEMS];
        enum status st = batch_add(&batch, hashes + taken, some, outcomes, &ready);
        for (size_t i = 0; i < ready; i++) added[*done + i] = outcomes[i].added;
        *done += ready;
        taken += some;
        if (st != STATUS_OK) return st;
    }
    return STATUS_OK;
}
