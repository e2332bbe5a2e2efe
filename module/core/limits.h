/* Every limit of a filter, in one place. Settings, commands, creation, growth and the loaders of
 * all formats check with these functions, so that a server can load whatever it can hold.
 *
 * An add checks no sum. A layer takes new items only up to its capacity, so it never counts more
 * than max(items, capacity). The loaders and the growth keep the sum of that over all layers within
 * LIMITS_MAX_COUNT. So an add cannot exceed it. In COUNTING an add of a present item counts beyond
 * the capacity: its only layer stops counting at LIMITS_MAX_COUNT. */

#ifndef BLOOMPORT_LIMITS_H
#define BLOOMPORT_LIMITS_H

#include "module/core/math/sizing.h"

#include <stdbool.h>
#include <stdint.h>

struct filter;
struct layer;

#define LIMITS_MAX_COUNT ((uint64_t)INT64_MAX) // capacity and items: an integer of the protocol
#define LIMITS_MAX_EXPANSION 32768U            // that a user may ask for
#define LIMITS_MAX_LAYERS 65536U               // of any filter, also of a loaded one
#define LIMITS_MAX_WINDOW 1000000000U          // seconds: less than any right clock shows
#define LIMITS_MAX_GENERATIONS 64U
#define LIMITS_MIN_BITS_PER_KEY 1.0
#define LIMITS_MAX_BITS_PER_KEY 256.0

/* A client's adds grow a foreign filter to this many layers at most. RedisBloom's rules set no
 * bound: they halve the error rate from layer to layer. Replayed adds may grow it to
 * LIMITS_MAX_LAYERS. */
#define LIMITS_CLIENT_LAYERS 1024U

bool limits_is_capacity(uint64_t capacity);
bool limits_is_error_rate(double rate); // over 0, under 1
bool limits_is_bits_per_key(double bits);

/* The most hashes of a layer, and the largest expansion of a filter. RedisBloom and valkey-bloom
 * have made filters beyond our own ranges. Those must load, and what we export of them must come
 * back. So the hash decides, and not whose type the filter is: the limits are the same for RDB
 * files, RESTORE, BF.LOAD, BF.LOADCHUNK, BF.IMPORT and growth. */
uint32_t limits_max_hashes(struct geometry geometry);
uint32_t limits_max_expansion(enum scheme scheme);

/* Whether there is such a layout and such a hash, and the two go together. */
bool limits_is_geometry(struct geometry geometry);

/* Whether these go together: a window needs an expansion and its generations, and a layout has what
 * its row says. COUNTING has neither. */
bool limits_is_forgetting(enum layout layout, uint32_t expansion, uint32_t window,
                          uint32_t generations);

/* Whether the bytes beyond those that the scheme has are zero. */
bool limits_is_seed(enum scheme scheme, const struct seed *seed);

/* A filter is sized by an error rate or by bits per key; the other of the two is 0. (-0 is refused:
 * equal filters must have equal bytes.) */
bool limits_is_promise(double error_rate, double bits_per_key);

/* Check one layer, or the whole filter, without reading the bits. They return the name of the first
 * bad field, or NULL. limits_fault checks every field of the filter but `loaded`. */
const char *limits_layer_fault(const struct filter *filter, const struct layer *layer);
const char *limits_fault(const struct filter *filter);

/* Whether the counts of a foreign filter could be exact ones of our own. */
bool limits_items_are_exact(const struct filter *filter);

/* Why a foreign filter cannot become one of our own: the name of the first field that is out of our
 * range. NULL if it can. Its bits have been counted. */
const char *limits_obstacle_to_native(const struct filter *filter);

/* Whether the filter can have another layer of this capacity, with `bytes` bytes of bits. */
bool limits_has_room(const struct filter *filter, uint64_t capacity, uint64_t bytes);

#endif
