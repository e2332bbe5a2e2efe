/* One function for each BF.* command. */

#ifndef BLOOMPORT_COMMANDS_H
#define BLOOMPORT_COMMANDS_H

#include <redismodule.h>

int cmd_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_bulkexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_bulkadd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_export(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_import(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_interstore(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_clear(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_rotate(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_stats(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cmd_help(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* Registers all commands, with their documentation. On failure it logs one line that says what is
 * wrong, and returns REDISMODULE_ERR. */
int command_table_register(RedisModuleCtx *ctx);

#endif
