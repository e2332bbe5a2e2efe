/* The module's settings: CONFIG GET/SET/REWRITE bf.<name>, and load arguments. */

#ifndef BLOOMPORT_CONFIG_H
#define BLOOMPORT_CONFIG_H

#include "module/core/filter/filter.h"

#include <redismodule.h>

/* Registers the settings, with the load arguments (pairs of name and value) as their defaults and
 * redis.conf above those. On failure REDISMODULE_ERR, and one log line says what is wrong. */
int config_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* What a window has without the words: its generations, and its expansion where the settings say
 * that filters do not scale. A window always does. */
#define CONFIG_GENERATIONS 4
#define CONFIG_WINDOW_EXPANSION 2

/* The parameters of a filter that a command creates without naming them. Those of config_add_params
 * have the setting's window too: they are for the commands that add items. */
struct filter_params config_default_params(void);
struct filter_params config_add_params(void);

/* The most bytes a filter may take in this context: the smaller of max-bytes and maxmemory; without
 * maxmemory, the machine's memory stands in its place. No limit for what is replayed (replay.h). */
uint64_t config_max_bytes(RedisModuleCtx *ctx);

/* The setting max-bytes itself; 0 if it is not set. */
uint64_t config_own_max_bytes(void);

/* What this limit comes from: a setting as a user types it, or words. */
const char *config_limit_name(void);

/* The same for a value that the server loads: no limit for what comes from a file or a peer. */
uint64_t config_max_loaded_bytes(void);

/* The most layers an add may grow a foreign filter to. */
uint32_t config_max_layers(RedisModuleCtx *ctx);

#endif
