/* Windows: filters that forget by age. A window holds what was added in the last `seconds`.
 *
 * Its chain of layers is cut into *generations*: runs of layers that began at the same time.
 *
 *   start      s - 4d      s - 3d      s - 2d       s - d          s        (d = seconds / g)
 *            +---------+ +---------+ +---------+ +---------+ +-----------+
 *   layers   |  layer  | |  layer  | | 2 layers| |  layer  | |   layer   |  items are added here
 *            +---------+ +---------+ +---------+ +---------+ +-----------+
 *              oldest                                            newest
 *
 * Time is in milliseconds since the epoch. A generation starts at a multiple of d, d rounded up to
 * a whole millisecond, and lives until start + (g+1)*d. So an item is found for at least `seconds`
 * after its last add, and not because of itself after seconds * (1 + 1/g), give or take g+1 ms. At
 * most g+1 generations live at a time.
 *
 * Filter time is the later one of the clock and the start of the newest generation. A clock that
 * steps back thus drops nothing: the window stands still until the clock has caught up. A fresh or
 * cleared window holds one empty generation that has not begun; its start is 0.
 *
 * Every add goes into the newest generation, also that of an item which an older one holds. If it
 * did not, a false positive at the add would become a false negative later.
 *
 * Why a chain of generations. Age-partitioned Bloom filters (Shtul, Baquero, Almeida 2020) shift
 * k+l slices instead. At the same rate p and the same number of generations, g = l, the chain takes
 * fewer bits per item of a window: 1.44 log2((g+1)/p) (1 + 1/g) against 1.44 k (k+l)/l.
 *
 *     p        g       chain      slices
 *     0.01     4        16.2        27.8   (k = 7)
 *     0.001    4        22.2        42.2   (k = 10)
 *
 * Slices need fewer cache lines for a lookup. Time-limited Bloom filters (Rodrigues et al. 2023)
 * keep a time for each slice, as we do for each generation. */

#ifndef BLOOMPORT_WINDOW_H
#define BLOOMPORT_WINDOW_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stdint.h>

/* The milliseconds between the starts of two generations, d. */
static inline uint64_t window_step(uint32_t seconds, uint32_t generations) {
    return (UINT64_C(1000) * seconds + generations - 1) / generations;
}

/* When a generation that started at `start` is over. */
static inline uint64_t window_end(const struct filter *filter, uint64_t start) {
    return start + (filter->generations + 1) * window_step(filter->window, filter->generations);
}

/* The index of the first layer of the newest generation; 0 in a filter without a window. */
uint32_t window_newest(const struct filter *filter);

/* The start of the generation that an add at the time `now` belongs to. It is the newest one's if
 * the clock has stepped back. A clock below d counts as d: a generation that begins has a start. */
uint64_t window_due(const struct filter *filter, uint64_t now);

/* Whether an add at this time needs a new generation. */
static inline bool window_is_due(const struct filter *filter, uint64_t now) {
    return filter->window != 0 && window_due(filter, now) != filter_newest(filter)->start;
}

/* The filter as lookups see it at the time `now`: without the generations that are over. Returns
 * the filter itself if it has no window; *view, which shares the layers, if some generation lives;
 * else NULL. Nothing changes. */
const struct filter *window_live(const struct filter *filter, uint64_t now, struct filter *view);

/* Begins the generation of this start, a multiple of d that is later than the newest one's, and
 * drops those that are over by then. *dropped: a filter that owns the dropped layers, for the
 * caller to free; or NULL.
 * STATUS_NOMEM: the filter would be larger than max_bytes, or there is no memory; it is unchanged.
 */
enum status window_rotate(struct filter *filter, uint64_t start, uint64_t max_bytes,
                          struct filter **dropped);

/* The bytes that the filter takes after window_rotate; UINT64_MAX if it never can. */
uint64_t window_rotated_bytes(const struct filter *filter, uint64_t start);

/* The start of the newest generation that is over at the time `now`; 0 if none is. */
uint64_t window_over(const struct filter *filter, uint64_t now);

/* Drops the generations that started at `start` or before, and begins none. If none is left, the
 * filter is as filter_empty makes it. *dropped is as for window_rotate.
 * STATUS_NOMEM: there is no memory for the shorter list of layers; the filter is unchanged. */
enum status window_drop(struct filter *filter, uint64_t start, struct filter **dropped);

#endif
