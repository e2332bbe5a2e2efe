/* Parsing of replayed commands that another program, or version 0.1.0, wrote (replay.h). The server
 * that sent them has checked them, so one error text serves for everything that is wrong. */

#ifndef BLOOMPORT_ARGS_FOREIGN_H
#define BLOOMPORT_ARGS_FOREIGN_H

#include "module/args.h"

/* Whether BF.RESERVE or BF.INSERT has a LAYOUT, which only this program writes. */
bool args_foreign_is_own(RedisModuleString **argv, int argc);

/* The index of the first item of BF.INSERT, after the options of any program. 0 if it has none. */
int args_foreign_first_item(RedisModuleString **argv, int argc);

/* Parse RedisBloom's BF.RESERVE and BF.INSERT by RedisBloom's rules. NULL, or an error text. */
const char *args_foreign_reserve(RedisModuleString **argv, int argc, struct filter_params *out);
const char *args_foreign_insert(RedisModuleString **argv, int argc, struct insert_args *out);

/* Changes default parameters to those with which RedisBloom would create the filter. */
void args_foreign_as_redisbloom(struct filter_params *params);

#endif
