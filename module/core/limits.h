/* Every limit of a filter, once. Settings, commands, creation, growth and the loaders of all
 * formats check with these functions, so that whatever a server can hold it can also load.
 *
 * What keeps the sums in range without a check at every add: a layer takes new items only up to its
 * capacity, so it never counts more than max(items, capacity) items. The loaders and the growth
 * keep the sum of that over all layers within LIMITS_MAX_COUNT, and so an add cannot pass it. */

#ifndef BLOOMPORT_LIMITS_H
#define BLOOMPORT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct filter;
struct layer;

#define LIMITS_MAX_COUNT ((uint64_t)INT64_MAX) // capacity and items: an integer of the protocol
#define LIMITS_MAX_EXPANSION 32768U
#define LIMITS_MAX_LAYERS 65536U // of a filter that is loaded, whoever made it
#define LIMITS_MIN_BITS_PER_KEY 1.0
#define LIMITS_MAX_BITS_PER_KEY 256.0

/* Clients' adds grow a foreign filter, which halves its error rate from layer to layer and knows no
 * other bound, to so many layers; those that are replayed go on to LIMITS_MAX_LAYERS. */
#define LIMITS_CLIENT_LAYERS 1024U

bool limits_is_capacity(uint64_t capacity);
bool limits_is_error_rate(double rate); // between 0 and 1, both excluded
bool limits_is_bits_per_key(double bits);

/* A filter is sized by an error rate or by bits per key; the other of the two is 0. (-0 is neither:
 * filters that are the same must have the same bytes.) */
bool limits_is_promise(double error_rate, double bits_per_key);

/* What is wrong with a layer by itself, or with the filter as a whole, the bits not looked at: the
 * name of the field, or NULL. Of the filter, limits_fault wants every field but `loaded`. */
const char *limits_layer_fault(const struct filter *filter, const struct layer *layer);
const char *limits_fault(const struct filter *filter);

/* Whether the filter can have another layer of this capacity and so many bytes of bits. */
bool limits_has_room(const struct filter *filter, uint64_t capacity, uint64_t bytes);

#endif
