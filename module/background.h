/* Freeing in the background. The server frees a large value in the background when its key goes.
 * When a part of a value goes, as a window's oldest generation does, this file does the same. */

#ifndef BLOOMPORT_BACKGROUND_H
#define BLOOMPORT_BACKGROUND_H

#include "module/core/filter/filter.h"

/* Frees a filter that nothing refers to any more: a large one in a thread of its own. NULL is
 * legal. */
void background_free(struct filter *filter);

#endif
