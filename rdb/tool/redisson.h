/* A Redisson RBloomFilter on a server: the string NAME, which is the bits, and the hash
 * {NAME}:config, which has m, k, the capacity and the error rate. */

#ifndef BLOOMPORT_TOOL_REDISSON_H
#define BLOOMPORT_TOOL_REDISSON_H

#include "module/core/filter/filter.h"
#include "rdb/tool/server.h"

/* Reads the filter; both keys stay as they are. Any error ends the program. */
struct filter *redisson_pull(struct server *server, const char *name);

#endif
