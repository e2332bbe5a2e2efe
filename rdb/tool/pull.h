/* What pull shares: a filter that is still to arrive. */

#ifndef BLOOMPORT_TOOL_PULL_H
#define BLOOMPORT_TOOL_PULL_H

#include "module/core/filter/filter.h"
#include "rdb/tool/server.h"

/* The filter of a key, with empty arrays; bloomport's own is loading. Any error ends the program.
 */
struct filter *pull_header(struct server *server, const char *key);

#endif
