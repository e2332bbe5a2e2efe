/* Lines for the operator in the server's log, when a filter gets into a state that wants attention.
 * Each kind of line is written once a minute at most; the next one has the number of those that
 * were left out. A replayed command writes none: the master's log has them. */

#ifndef BLOOMPORT_LOG_H
#define BLOOMPORT_LOG_H

#include "module/core/filter/filter.h"

#include <redismodule.h>
#include <stdint.h>

#define LOG_NAME_BYTES 65

/* Writes a key's name as the log shows it: its first 64 bytes, `?` for those that are not
 * printable. A key must not write lines of its own. Of a staging key (rdb/staging.h) it is the name
 * of the user's key. */
void log_name(const RedisModuleString *name, char out[LOG_NAME_BYTES]);

/* What makes room for more items than the filter's capacity: COUNTING and some imported filters
 * never grow. */
const char *log_remedy(const struct filter *filter);

/* The filter has become full. */
void log_full(RedisModuleCtx *ctx, const RedisModuleString *name, uint64_t items,
              const char *remedy);

/* The filter has got more than MEASURE_MANY_LAYERS layers. */
void log_many_layers(RedisModuleCtx *ctx, const RedisModuleString *name, uint64_t items);

#endif
