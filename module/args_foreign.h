/* Parsing of replayed commands that another program, or version 0.1.0, wrote (replay.h). The server
 * that sent them has checked them, so one error text serves for everything that is wrong. */

#ifndef BLOOMPORT_ARGS_FOREIGN_H
#define BLOOMPORT_ARGS_FOREIGN_H

#include "module/args.h"

/* Who wrote a command that creates a filter: ours has LAYOUT, valkey-bloom's has TIGHTENING, and
 * RedisBloom's has neither. */
enum origin args_foreign_writer(RedisModuleString **argv, int argc);

/* The index of the first item of BF.INSERT, after the options of any program. argc if there is
 * none: valkey-bloom's may have no items. */
int args_foreign_first_item(RedisModuleString **argv, int argc);

/* Parse a replayed BF.RESERVE, and a BF.INSERT on a missing key, by the rules of who wrote it.
 * NULL, or an error text. */
const char *args_foreign_reserve(RedisModuleString **argv, int argc, struct creation *out);
const char *args_foreign_insert(RedisModuleString **argv, int argc, struct insert_args *out);

/* Changes default parameters to those with which RedisBloom would create the filter. */
void args_foreign_as_redisbloom(struct filter_params *params);

#endif
