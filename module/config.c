/* The module's settings. See config.h.
 *
 * The module API has integer settings but no real ones, so the two real settings are registered as
 * strings, and keep the text they were given beside the number. */

#include "module/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct real {
    const char *name;
    double value;
    double min, max;
    bool zero_is_legal;
    bool is_open; // min and max themselves are out of range
    char text[64];
    RedisModuleString *shown; // the text as CONFIG GET last handed it out: ours to free
};

struct whole {
    const char *name;
    long long value;
    long long min, max;
};

static struct {
    struct real error_rate;
    struct real bits_per_key;
    struct whole initial_size;
    struct whole expansion_factor;
    struct whole max_bytes;
    uint64_t maxmemory; // the server's own setting, 0 = none
} config = {
    .error_rate = {"error-rate", 0.01, 0, 1, false, true, "0.01", NULL},
    .bits_per_key = {"bits-per-key", 0, SIZING_MIN_BITS_PER_KEY, SIZING_MAX_BITS_PER_KEY, true,
                     false, "0", NULL},
    .initial_size = {"initial-size", 100, 1, FILTER_MAX_CAPACITY},
    .expansion_factor = {"expansion-factor", 2, 0, FILTER_MAX_EXPANSION},
    .max_bytes = {"max-bytes", 0, 0, INT64_MAX},
};

struct filter_params config_default_params(void) {
    return (struct filter_params){.capacity = (uint64_t)config.initial_size.value,
                                  .error_rate = config.error_rate.value,
                                  .bits_per_key = config.bits_per_key.value,
                                  .expansion = (uint32_t)config.expansion_factor.value,
                                  .layout = LAYOUT_CLASSIC,
                                  .scheme = SCHEME_XXH64};
}

uint64_t config_max_bytes(RedisModuleCtx *ctx) {
    int flags = RedisModule_GetContextFlags(ctx);
    int told = REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING |
               REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    if (flags & told) return FILTER_NO_LIMIT;
    uint64_t limit = FILTER_NO_LIMIT;
    if (config.max_bytes.value > 0) limit = (uint64_t)config.max_bytes.value;
    if (config.maxmemory > 0 && config.maxmemory < limit) limit = config.maxmemory;
    return limit;
}

/* ---- Setting a value ---------------------------------------------------------------------- */

static bool set_real(struct real *setting, const char *text) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno == ERANGE || isspace((unsigned char)*text))
        return false;
    if (strlen(text) >= sizeof(setting->text)) return false;
    bool inside = setting->is_open ? value > setting->min && value < setting->max
                                   : value >= setting->min && value <= setting->max;
    if (!inside && !(setting->zero_is_legal && value == 0)) return false;
    setting->value = value;
    snprintf(setting->text, sizeof(setting->text), "%s", text);
    return true;
}

static bool set_whole(struct whole *setting, const char *text) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno == ERANGE) return false;
    if (value < setting->min || value > setting->max) return false;
    setting->value = value;
    return true;
}

/* ---- CONFIG GET and SET ------------------------------------------------------------------- */

static RedisModuleString *on_get_real(const char *name, void *privdata) {
    (void)name;
    struct real *setting = privdata;
    if (setting->shown) RedisModule_FreeString(NULL, setting->shown);
    setting->shown = RedisModule_CreateString(NULL, setting->text, strlen(setting->text));
    return setting->shown;
}

static int on_set_real(const char *name, RedisModuleString *value, void *privdata,
                       RedisModuleString **err) {
    (void)name;
    struct real *setting = privdata;
    if (set_real(setting, RedisModule_StringPtrLen(value, NULL))) return REDISMODULE_OK;
    *err = RedisModule_CreateStringPrintf(NULL, "bf.%s must be a number in the range %c%g, %g%c%s",
                                          setting->name, setting->is_open ? '(' : '[', setting->min,
                                          setting->max, setting->is_open ? ')' : ']',
                                          setting->zero_is_legal ? ", or 0" : "");
    return REDISMODULE_ERR;
}

static long long on_get_whole(const char *name, void *privdata) {
    (void)name;
    const struct whole *setting = privdata;
    return setting->value;
}

static int on_set_whole(const char *name, long long value, void *privdata,
                        RedisModuleString **err) {
    (void)name, (void)err; // the server has checked the range
    struct whole *setting = privdata;
    setting->value = value;
    return REDISMODULE_OK;
}

static int register_real(RedisModuleCtx *ctx, struct real *setting) {
    return RedisModule_RegisterStringConfig(ctx, setting->name, setting->text,
                                            REDISMODULE_CONFIG_DEFAULT, on_get_real, on_set_real,
                                            NULL, setting);
}

static int register_whole(RedisModuleCtx *ctx, struct whole *setting, unsigned flags) {
    return RedisModule_RegisterNumericConfig(ctx, setting->name, setting->value, flags,
                                             setting->min, setting->max, on_get_whole, on_set_whole,
                                             NULL, setting);
}

static int register_all(RedisModuleCtx *ctx) {
    if (register_real(ctx, &config.error_rate) || register_real(ctx, &config.bits_per_key) ||
        register_whole(ctx, &config.initial_size, REDISMODULE_CONFIG_DEFAULT) ||
        register_whole(ctx, &config.expansion_factor, REDISMODULE_CONFIG_DEFAULT) ||
        register_whole(ctx, &config.max_bytes, REDISMODULE_CONFIG_MEMORY)) {
        return REDISMODULE_ERR;
    }
    return RedisModule_LoadConfigs(ctx);
}

/* ---- The server's maxmemory --------------------------------------------------------------- */

static void read_maxmemory(RedisModuleCtx *ctx) {
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "CONFIG", "cc", "GET", "maxmemory");
    if (!reply) return;
    // RESP2 to modules: an array of name and value.
    RedisModuleCallReply *value = RedisModule_CallReplyArrayElement(reply, 1);
    if (value) {
        size_t len;
        const char *text = RedisModule_CallReplyStringPtr(value, &len);
        char number[32] = "";
        if (text && len < sizeof(number)) memcpy(number, text, len);
        config.maxmemory = strtoull(number, NULL, 10);
    }
    RedisModule_FreeCallReply(reply);
}

static void on_config_change(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t subevent,
                             void *data) {
    (void)event, (void)subevent;
    const RedisModuleConfigChangeV1 *change = data;
    for (uint32_t i = 0; i < change->num_changes; i++) {
        if (strcasecmp(change->config_names[i], "maxmemory") == 0) read_maxmemory(ctx);
    }
}

/* ---- Load arguments ----------------------------------------------------------------------- */

/* One pair: the setting's own name or RedisBloom's. */
static bool set_by_name(const char *name, const char *value, bool *known) {
    *known = true;
    if (!strcasecmp(name, "error-rate") || !strcasecmp(name, "ERROR_RATE") ||
        !strcasecmp(name, "bf-error-rate")) {
        return set_real(&config.error_rate, value);
    }
    if (!strcasecmp(name, "initial-size") || !strcasecmp(name, "INITIAL_SIZE") ||
        !strcasecmp(name, "bf-initial-size")) {
        return set_whole(&config.initial_size, value);
    }
    if (!strcasecmp(name, "bits-per-key")) return set_real(&config.bits_per_key, value);
    if (!strcasecmp(name, "expansion-factor")) return set_whole(&config.expansion_factor, value);
    if (!strcasecmp(name, "max-bytes")) return set_whole(&config.max_bytes, value);
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
        const char *value = RedisModule_StringPtrLen(argv[i + 1], NULL);
        bool known;
        if (set_by_name(name, value, &known)) continue;
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
    if (register_all(ctx) != REDISMODULE_OK) {
        RedisModule_Log(ctx, "warning", "a setting in the configuration is not legal");
        return REDISMODULE_ERR;
    }
    read_maxmemory(ctx);
    return RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_Config, on_config_change);
}
