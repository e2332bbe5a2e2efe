/* An empty filter with the parameters of another one, so that the two can be merged. */

#ifndef BLOOMPORT_TOOL_LIKE_H
#define BLOOMPORT_TOOL_LIKE_H

#include "module/core/filter/filter.h"

struct options;

/* Like the file of --like or the key of --like-key; NULL if neither is given. A filter that grew
 * has its first layer only, and grows again as it did. */
struct filter *like_open(const struct options *options);

/* The file or the key, for messages; NULL if neither is given. */
const char *like_name(const struct options *options);

#endif
