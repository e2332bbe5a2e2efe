/* Windows as the server uses them: what is due is done before each add, and lookups see what is
 * live. The clock is the caller's. */

#ifndef BLOOMPORT_TESTS_WINDOWS_H
#define BLOOMPORT_TESTS_WINDOWS_H

#include "module/core/filter/window.h"
#include "tests/unit/helpers.h"

/* Some time in 2023. */
#define NOW UINT64_C(1700000000123)

/* d by its definition: the least whole number of milliseconds that g times are a window. */
UNUSED static uint64_t step_of(const struct filter_params *params) {
    uint64_t step = UINT64_C(1000) * params->window / params->generations;
    return step * params->generations < UINT64_C(1000) * params->window ? step + 1 : step;
}

/* When an item that was added at 0 must be gone: after window * (1 + 1/g), and g+1 ms. */
UNUSED static uint64_t longest_life(const struct filter_params *params) {
    uint64_t ms = UINT64_C(1000) * params->window;
    return ms + (ms + params->generations - 1) / params->generations + params->generations + 1;
}

/* Begins the generation of this time if one is due; returns whether one was. */
UNUSED static bool rotate_at(struct filter *filter, uint64_t now) {
    struct filter *dropped = NULL;
    if (!window_is_due(filter, now)) return false;
    assert_int_equal(window_rotate(filter, window_due(filter, now), FILTER_NO_LIMIT, &dropped),
                     STATUS_OK);
    filter_free(dropped);
    return true;
}

/* Adds an item as BF.ADD does at this time. */
UNUSED static struct outcome add_at(struct filter *filter, uint64_t item, uint64_t now) {
    struct outcome outcome = {false, false};
    struct hash hash = item_hash(filter->scheme, item);
    rotate_at(filter, now);
    enum status st = filter_add(filter, hash, &outcome);
    if (st == STATUS_GROW) {
        assert_int_equal(filter_grow(filter, FILTER_NO_LIMIT, LIMITS_MAX_LAYERS), STATUS_OK);
        st = filter_add(filter, hash, &outcome);
    }
    assert_int_equal(st, STATUS_OK);
    return outcome;
}

UNUSED static bool contains_at(const struct filter *filter, uint64_t item, uint64_t now) {
    struct filter view;
    const struct filter *live = window_live(filter, now, &view);
    return live && filter_contains(live, item_hash(filter->scheme, item));
}

/* The generations that the filter holds, live or not. */
UNUSED static uint32_t generations_of(const struct filter *filter) {
    uint32_t n = 1;
    for (uint32_t i = 1; i < filter->nlayers; i++) {
        n += filter->layers[i].start != filter->layers[i - 1].start;
    }
    return n;
}

#endif
