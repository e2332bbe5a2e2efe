/* What a server says of one filter, by BF.STATS. Other modules do not have it. */

#ifndef BLOOMPORT_TOOL_STATS_H
#define BLOOMPORT_TOOL_STATS_H

#include "rdb/tool/server.h"

struct stats {
    uint64_t capacity; // of the first layer
    double error_rate, promised;
    bool is_overfilled;
};

/* False if the server does not tell: it has no BF.STATS, or the user may not call it. */
bool stats_take(struct server *server, const char *key, struct stats *out);

#endif
