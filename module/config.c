/* The module's settings. See config.h.
 *
 * The module API has integer settings but no real ones, so the two real settings are registered as
 * strings, and keep the text they were given beside the number. */

#include "module/config.h"

#include "module/core/machine.h"
#include "module/replay.h"
#include "module/server.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct real {
    const char *name;
    double value;
    bool (*is_legal)(double); // the check that creation and loading make too (limits.h)
    const char *range;        // in words
    char text[64];
    char initial[64];         // the text at load, after the load arguments
    RedisModuleString *shown; // the text as CONFIG GET last handed it out: ours to free
};

struct whole {
    const char *name;
    long long value;
    long long min, max;
    long long initial; // the value at load, after the load arguments
};

/* 0: filters are sized by error rate. */
static bool is_bits_setting(double bits) {
    return limits_is_promise(bits == 0 ? 0.5 : 0, bits);
}

static struct {
    struct real error_rate;
    struct real bits_per_key;
    struct whole initial_size;
    struct whole expansion_factor;
    struct whole window;
    struct whole max_bytes;
    uint64_t maxmemory; // the server's own setting, 0 = none
    uint64_t machine;   // the memory that there is: of the machine, or of a control group
    bool is_group;      // the latter
} config = {
    .error_rate = {.name = "error-rate",
                   .value = 0.01,
                   .is_legal = limits_is_error_rate,
                   .range = "(0, 1)",
                   .text = "0.01"},
    .bits_per_key = {.name = "bits-per-key",
                     .is_legal = is_bits_setting,
                     .range = "[1, 256], or 0",
                     .text = "0"},
    .initial_size = {.name = "initial-size",
                     .value = 100,
                     .min = 1,
                     .max = (long long)LIMITS_MAX_COUNT},
    .expansion_factor = {.name = "expansion-factor", .value = 2, .max = LIMITS_MAX_EXPANSION},
    .window = {.name = "window", .max = LIMITS_MAX_WINDOW},
    .max_bytes = {.name = "max-bytes", .max = INT64_MAX},
};

struct filter_params config_default_params(void) {
    return (struct filter_params){.capacity = (uint64_t)config.initial_size.value,
                                  .error_rate = config.error_rate.value,
                                  .bits_per_key = config.bits_per_key.value,
                                  .expansion = (uint32_t)config.expansion_factor.value,
                                  .layout = LAYOUT_DEFAULT,
                                  .scheme = SCHEME_XXH64};
}

struct filter_params config_add_params(void) {
    struct filter_params params = config_default_params();
    params.window = (uint32_t)config.window.value;
    if (params.window) params.generations = CONFIG_GENERATIONS;
    if (params.window && params.expansion == 0) params.expansion = CONFIG_WINDOW_EXPANSION;
    return params;
}

/* What the whole server may take: its own setting or, without that, what there is. */
static uint64_t servers_max_bytes(void) {
    return config.maxmemory > 0 ? config.maxmemory : config.machine;
}

static uint64_t clients_max_bytes(void) {
    uint64_t own = config_own_max_bytes(), servers = servers_max_bytes();
    return own > 0 && own < servers ? own : servers;
}

uint64_t config_own_max_bytes(void) {
    return (uint64_t)config.max_bytes.value;
}

const char *config_limit_name(void) {
    if (clients_max_bytes() == config_own_max_bytes()) return "bf.max-bytes";
    if (config.maxmemory > 0) return "maxmemory";
    return config.is_group ? "the memory limit of the control group" : "the memory of the machine";
}

uint64_t config_max_bytes(RedisModuleCtx *ctx) {
    return replay_is(ctx) ? FILTER_NO_LIMIT : clients_max_bytes();
}

uint64_t config_max_loaded_bytes(void) {
    return replay_is_loading() ? FILTER_NO_LIMIT : clients_max_bytes();
}

uint32_t config_max_layers(RedisModuleCtx *ctx) {
    return replay_is(ctx) ? LIMITS_MAX_LAYERS : LIMITS_CLIENT_LAYERS;
}

/* ---- Setting a value ---------------------------------------------------------------------- */

enum setting_result { SET, NO_NUMBER, OUT_OF_RANGE };

static enum setting_result set_real(struct real *setting, const char *text, size_t len) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || end != text + len || errno == ERANGE || isspace((unsigned char)*text)) {
        return NO_NUMBER;
    }
    if (len >= sizeof(setting->text)) return NO_NUMBER;
    if (!setting->is_legal(value)) return OUT_OF_RANGE;
    setting->value = value;
    memcpy(setting->text, text, len + 1);
    return SET;
}

static enum setting_result set_number(struct whole *setting, long long value) {
    if (value < setting->min || value > setting->max) return OUT_OF_RANGE;
    setting->value = value;
    return SET;
}

static enum setting_result set_whole(struct whole *setting, const char *text, size_t len) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || end != text + len || errno == ERANGE) return NO_NUMBER;
    return set_number(setting, value);
}

/* ---- CONFIG GET and SET ------------------------------------------------------------------- */

static void free_shown(struct real *setting) {
    if (setting->shown) RedisModule_FreeString(NULL, setting->shown);
    setting->shown = NULL;
}

static RedisModuleString *on_get_real(const char *name, void *privdata) {
    (void)name;
    struct real *setting = privdata;
    free_shown(setting);
    setting->shown = RedisModule_CreateString(NULL, setting->text, strlen(setting->text));
    return setting->shown;
}

/* At start the server sets every name: to what the configuration says, else to its default. A
 * setting with two names must not lose the one's value to the other's default, so the plain name's
 * default is passed over. */
static bool is_starting;
static const char PLAIN_PREFIX[] = "bf-";

static bool is_plain_default(const char *name, bool is_default) {
    return is_starting && is_default && strncmp(name, PLAIN_PREFIX, strlen(PLAIN_PREFIX)) == 0;
}

/* What CONFIG SET answers, in RedisBloom's words: the setting by the name that was used. */
static RedisModuleString *refusal(const char *used, const char *name, const char *range) {
    bool is_plain = strncmp(used, PLAIN_PREFIX, strlen(PLAIN_PREFIX)) == 0;
    const char *prefix = is_plain ? PLAIN_PREFIX : "bf.";
    if (!range)
        return RedisModule_CreateStringPrintf(NULL, "Invalid value for `%s%s`", prefix, name);
    return RedisModule_CreateStringPrintf(NULL, "Value for `%s%s` must be in the range %s", prefix,
                                          name, range);
}

static int on_set_real(const char *name, RedisModuleString *value, void *privdata,
                       RedisModuleString **err) {
    struct real *setting = privdata;
    size_t len;
    const char *text = RedisModule_StringPtrLen(value, &len);
    if (is_plain_default(name, strcmp(text, setting->initial) == 0)) return REDISMODULE_OK;
    enum setting_result result = set_real(setting, text, len);
    if (result == SET) return REDISMODULE_OK;
    *err = refusal(name, setting->name, result == NO_NUMBER ? NULL : setting->range);
    return REDISMODULE_ERR;
}

static long long on_get_whole(const char *name, void *privdata) {
    (void)name;
    const struct whole *setting = privdata;
    return setting->value;
}

static int on_set_whole(const char *name, long long value, void *privdata,
                        RedisModuleString **err) {
    struct whole *setting = privdata;
    if (is_plain_default(name, value == setting->initial)) return REDISMODULE_OK;
    if (set_number(setting, value) == SET) return REDISMODULE_OK;
    char range[64];
    snprintf(range, sizeof(range), "[%lld, %lld]", setting->min, setting->max);
    *err = refusal(name, setting->name, range);
    return REDISMODULE_ERR;
}

static int register_real(RedisModuleCtx *ctx, const char *name, unsigned flags,
                         struct real *setting) {
    memcpy(setting->initial, setting->text, sizeof(setting->initial));
    return RedisModule_RegisterStringConfig(ctx, name, setting->text, flags, on_get_real,
                                            on_set_real, NULL, setting);
}

static int register_whole(RedisModuleCtx *ctx, const char *name, unsigned flags,
                          struct whole *setting) {
    setting->initial = setting->value;
    // The range is ours to check, in RedisBloom's words; a number of bytes cannot be negative.
    long long least = flags & REDISMODULE_CONFIG_MEMORY ? 0 : LLONG_MIN;
    return RedisModule_RegisterNumericConfig(ctx, name, setting->value, flags, least, LLONG_MAX,
                                             on_get_whole, on_set_whole, NULL, setting);
}

/* All settings under `prefix`. */
static int register_all(RedisModuleCtx *ctx, const char *prefix, unsigned flags) {
    struct real *reals[] = {&config.error_rate, &config.bits_per_key};
    struct whole *wholes[] = {&config.initial_size, &config.expansion_factor, &config.window,
                              &config.max_bytes};
    char name[64];
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", prefix, reals[i]->name);
        if (register_real(ctx, name, flags, reals[i]) != REDISMODULE_OK) return REDISMODULE_ERR;
    }
    for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
        bool is_size = wholes[i] == &config.max_bytes; // 1gb is legal
        unsigned more = is_size ? (unsigned)REDISMODULE_CONFIG_MEMORY : 0;
        snprintf(name, sizeof(name), "%s%s", prefix, wholes[i]->name);
        if (register_whole(ctx, name, flags | more, wholes[i]) != REDISMODULE_OK) {
            return REDISMODULE_ERR;
        }
    }
    return REDISMODULE_OK;
}

/* RedisBloom's settings of cuckoo filters, which are not here: a configuration that has them must
 * not keep the server from starting. What is set is shown, and otherwise ignored. */
static const char *const CUCKOO_NAMES[] = {"cf-bucket-size", "cf-initial-size", "cf-max-iterations",
                                           "cf-expansion-factor", "cf-max-expansions"};
#define NCUCKOO (sizeof(CUCKOO_NAMES) / sizeof(CUCKOO_NAMES[0]))
static long long cuckoo_values[NCUCKOO];
static bool has_cuckoo; // one was named: worth a line in the log

static long long on_get_cuckoo(const char *name, void *privdata) {
    (void)name;
    return *(long long *)privdata;
}

static int on_set_cuckoo(const char *name, long long value, void *privdata,
                         RedisModuleString **err) {
    (void)name, (void)err;
    *(long long *)privdata = value;
    has_cuckoo |= value != 0;
    return REDISMODULE_OK;
}

static int register_cuckoo(RedisModuleCtx *ctx, unsigned flags) {
    for (size_t i = 0; i < NCUCKOO; i++) {
        if (RedisModule_RegisterNumericConfig(ctx, CUCKOO_NAMES[i], 0, flags, LLONG_MIN, LLONG_MAX,
                                              on_get_cuckoo, on_set_cuckoo, NULL,
                                              &cuckoo_values[i]) != REDISMODULE_OK) {
            return REDISMODULE_ERR;
        }
    }
    return REDISMODULE_OK;
}

static int register_settings(RedisModuleCtx *ctx) {
    if (register_all(ctx, "", REDISMODULE_CONFIG_DEFAULT) != REDISMODULE_OK) return REDISMODULE_ERR;
    // Where a module may leave out its prefix, RedisBloom's users know the plain names.
    unsigned plain = server_unprefixed_flag();
    if (plain && (register_all(ctx, PLAIN_PREFIX, plain) != REDISMODULE_OK ||
                  register_cuckoo(ctx, plain) != REDISMODULE_OK)) {
        return REDISMODULE_ERR;
    }
    is_starting = true;
    int result = RedisModule_LoadConfigs(ctx);
    is_starting = false;
    return result;
}

/* ---- The memory of the server -------------------------------------------------------------- */

static void read_machine(void) {
    uint64_t machine = machine_bytes(), group = machine_group_bytes("");
    config.is_group = group < machine;
    config.machine = config.is_group ? group : machine;
}

/* Not by CONFIG GET: commands may be renamed away. */
static void read_maxmemory(RedisModuleCtx *ctx) {
    RedisModuleServerInfoData *info = RedisModule_GetServerInfo(ctx, "memory");
    int error;
    uint64_t value = RedisModule_ServerInfoGetFieldUnsigned(info, "maxmemory", &error);
    if (error == REDISMODULE_OK) config.maxmemory = value;
    RedisModule_FreeServerInfo(ctx, info);
}

static void on_config_change(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t subevent,
                             void *data) {
    (void)event, (void)subevent;
    const RedisModuleConfigChangeV1 *change = data;
    for (uint32_t i = 0; i < change->num_changes; i++) {
        if (strcasecmp(change->config_names[i], "maxmemory") != 0) continue;
        read_maxmemory(ctx);
        read_machine(); // a container's limit may have changed since
    }
}

/* ---- Load arguments ----------------------------------------------------------------------- */

/* One pair: the setting's own name or RedisBloom's. */
static bool set_by_name(const char *name, const char *value, size_t len, bool *known) {
    *known = true;
    if (!strncasecmp(name, "cf_", 3) || !strncasecmp(name, "cf-", 3)) return has_cuckoo = true;
    if (!strcasecmp(name, "error-rate") || !strcasecmp(name, "ERROR_RATE") ||
        !strcasecmp(name, "bf-error-rate")) {
        return set_real(&config.error_rate, value, len) == SET;
    }
    if (!strcasecmp(name, "initial-size") || !strcasecmp(name, "INITIAL_SIZE") ||
        !strcasecmp(name, "bf-initial-size")) {
        return set_whole(&config.initial_size, value, len) == SET;
    }
    if (!strcasecmp(name, "bits-per-key")) {
        return set_real(&config.bits_per_key, value, len) == SET;
    }
    if (!strcasecmp(name, "expansion-factor")) {
        return set_whole(&config.expansion_factor, value, len) == SET;
    }
    if (!strcasecmp(name, "window")) return set_whole(&config.window, value, len) == SET;
    if (!strcasecmp(name, "max-bytes")) return set_whole(&config.max_bytes, value, len) == SET;
    *known = false;
    return false;
}

static int set_from_arguments(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc % 2 != 0) {
        RedisModule_Log(ctx, "warning", "load arguments come in pairs: a name and its value");
        return REDISMODULE_ERR;
    }
    for (int i = 0; i < argc; i += 2) {
        const char *name = RedisModule_StringPtrLen(argv[i], NULL);
        size_t len;
        const char *value = RedisModule_StringPtrLen(argv[i + 1], &len);
        bool known;
        if (set_by_name(name, value, len, &known)) continue;
        RedisModule_Log(ctx, "warning",
                        known ? "load argument %s: %s is not a legal value"
                              : "load argument %s (%s): no such setting",
                        name, value);
        return REDISMODULE_ERR;
    }
    return REDISMODULE_OK;
}

int config_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc == 1 && *RedisModule_StringPtrLen(argv[0], NULL) == '\0') argc = 0;
    if (set_from_arguments(ctx, argv, argc) != REDISMODULE_OK) return REDISMODULE_ERR;
    if (register_settings(ctx) != REDISMODULE_OK) {
        RedisModule_Log(ctx, "warning", "a setting in the configuration is not legal");
        free_shown(&config.error_rate); // the module goes, and nobody could any more
        free_shown(&config.bits_per_key);
        return REDISMODULE_ERR;
    }
    if (has_cuckoo) {
        RedisModule_Log(ctx, "notice",
                        "bloomport has no cuckoo filters: CF_* and cf-* mean nothing");
    }
    read_maxmemory(ctx);
    read_machine();
    return RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_Config, on_config_change);
}
