/* The words of other programs, in commands that are replayed (replay.h). Whoever sent them first
 * has checked them, so what cannot be right gets one error text. */

#ifndef BLOOMPORT_ARGS_FOREIGN_H
#define BLOOMPORT_ARGS_FOREIGN_H

#include "module/args.h"

/* Whether BF.RESERVE or BF.INSERT names a LAYOUT, as ours do. */
bool args_foreign_is_own(RedisModuleString **argv, int argc);

/* BF.INSERT on a filter that exists: the index of its first item, behind the options of anyone. 0
 * if there is none. */
int args_foreign_first_item(RedisModuleString **argv, int argc);

/* RedisBloom's BF.RESERVE and BF.INSERT, as RedisBloom understands them. NULL, or an error text. */
const char *args_foreign_reserve(RedisModuleString **argv, int argc, struct filter_params *out);
const char *args_foreign_insert(RedisModuleString **argv, int argc, struct insert_args *out);

/* Makes of the settings' parameters those RedisBloom would create a filter with. */
void args_foreign_as_redisbloom(struct filter_params *params);

#endif
