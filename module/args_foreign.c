/* Parsing of commands that another program wrote. See args_foreign.h.
 *
 * valkey-bloom's stream has BF.INSERT with every parameter for each creation; its adds are as their
 * clients sent them.
 *
 * RedisBloom's stream has every command as its client sent it. In BF.RESERVE RedisBloom ignores
 * unknown arguments. In BF.INSERT it recognises an option by its first letters. Of an option that
 * is given several times it takes the last. */

#include "module/args_foreign.h"

#include "module/config.h"
#include "module/replay.h"
#include "module/reply.h"

#include <string.h>
#include <strings.h>

#define REDISBLOOM_MAX_ERROR 0.25 // RedisBloom lowers a higher rate to this one

static bool begins_with(const RedisModuleString *arg, const char *letters) {
    return strncasecmp(RedisModule_StringPtrLen(arg, NULL), letters, strlen(letters)) == 0;
}

/* The index of the option after the one at `at`, or argc if there is none. In every program's
 * BF.INSERT, NOCREATE and NONSCALING have no value, and every other option has one. */
static int next_option(RedisModuleString **argv, int argc, int at) {
    if (at >= argc) return argc;
    int next = at + (begins_with(argv[at], "n") ? 1 : 2);
    return next < argc ? next : argc;
}

int args_foreign_first_item(RedisModuleString **argv, int argc) {
    for (int at = 2; at < argc; at = next_option(argv, argc, at)) {
        if (begins_with(argv[at], "i")) return at + 1;
    }
    return argc;
}

/* BF.RESERVE has words without a name, so every argument before the items is looked at. A seed may
 * look like the word ITEMS to RedisBloom's rule, but it comes after the words that matter here. */
enum origin args_foreign_writer(RedisModuleString **argv, int argc) {
    enum origin writer = ORIGIN_REDISBLOOM;
    for (int at = 2; at < argc && !begins_with(argv[at], "i"); at++) {
        if (args_is_word(argv[at], "LAYOUT")) return ORIGIN_OWN;
        if (args_is_word(argv[at], "TIGHTENING")) writer = ORIGIN_VALKEYBLOOM;
    }
    return writer;
}

void args_foreign_as_redisbloom(struct filter_params *params) {
    params->origin = ORIGIN_REDISBLOOM;
    params->layout = LAYOUT_CLASSIC;
    params->scheme = SCHEME_MURMUR;
    params->bits_per_key = 0;
    params->window = params->generations = 0;
    if (params->error_rate > REDISBLOOM_MAX_ERROR) params->error_rate = REDISBLOOM_MAX_ERROR;
}

/* ---- Values --------------------------------------------------------------------------------- */

static bool take_error(const RedisModuleString *arg, struct filter_params *out) {
    double rate;
    if (RedisModule_StringToDouble(arg, &rate) != REDISMODULE_OK) return false;
    out->error_rate = rate;
    return limits_is_error_rate(rate);
}

static bool take_capacity(const RedisModuleString *arg, struct filter_params *out) {
    long long n;
    if (RedisModule_StringToLongLong(arg, &n) != REDISMODULE_OK || n < 1) return false;
    out->capacity = (uint64_t)n;
    return true;
}

static bool take_expansion(const RedisModuleString *arg, struct filter_params *out) {
    long long n;
    if (RedisModule_StringToLongLong(arg, &n) != REDISMODULE_OK || n < 0 || n > UINT32_MAX) {
        return false;
    }
    out->expansion = (uint32_t)n;
    return true;
}

/* ---- BF.RESERVE ----------------------------------------------------------------------------- */

static const char *own_reserve(RedisModuleString **argv, int argc, struct creation *out) {
    replay_note_explicit();
    return args_own_reserve(argv, argc, out);
}

static const char *redisblooms_reserve(RedisModuleString **argv, int argc, struct creation *out) {
    struct filter_params params = config_default_params();
    bool is_good = take_error(argv[2], &params) && take_capacity(argv[3], &params);
    bool is_nonscaling = false;
    for (int i = 4; i < argc && is_good; i++) {
        is_nonscaling |= args_is_word(argv[i], "NONSCALING");
        if (args_is_word(argv[i], "EXPANSION") && i + 1 < argc) {
            is_good = take_expansion(argv[++i], &params);
        }
    }
    if (!is_good) return ERR_UNKNOWN_ARGUMENT;
    if (is_nonscaling) params.expansion = 0;
    args_foreign_as_redisbloom(&params);
    *out = (struct creation){.params = params};
    return NULL;
}

/* ---- BF.INSERT ------------------------------------------------------------------------------ */

static bool take_ratio(const RedisModuleString *arg, struct filter_params *out) {
    if (RedisModule_StringToDouble(arg, &out->ratio) != REDISMODULE_OK) return false;
    return out->ratio > 0 && out->ratio < 1;
}

/* Parses one option of valkey-bloom's with its value. Its stream has whole words. */
static bool take_valkeyblooms(const RedisModuleString *word, const RedisModuleString *value,
                              struct filter_params *params) {
    if (args_is_word(word, "CAPACITY")) return take_capacity(value, params);
    if (args_is_word(word, "ERROR")) return take_error(value, params);
    if (args_is_word(word, "EXPANSION")) return take_expansion(value, params);
    if (args_is_word(word, "TIGHTENING")) return take_ratio(value, params);
    return args_is_word(word, "SEED") && !args_parse_seed(value, &params->seed);
}

/* Parses one option of RedisBloom's with its value. */
static bool take_redisblooms(const RedisModuleString *word, const RedisModuleString *value,
                             struct filter_params *params) {
    if (begins_with(word, "c")) return take_capacity(value, params);
    if (begins_with(word, "er")) return take_error(value, params);
    return begins_with(word, "e") && take_expansion(value, params);
}

/* Whether every parameter is named, as in a creation that we propagate (replicate.c). */
static bool is_creation(RedisModuleString **argv, int first) {
    return first >= 8 && args_is_word(argv[2], "CAPACITY") && args_is_word(argv[4], "ERROR") &&
           (args_is_word(argv[6], "EXPANSION") || args_is_word(argv[6], "NONSCALING"));
}

/* The same in valkey-bloom's stream, which has its parameters in this order. */
static bool is_valkeyblooms_creation(RedisModuleString **argv, int argc) {
    return argc >= 11 && args_is_word(argv[2], "CAPACITY") && args_is_word(argv[4], "ERROR") &&
           args_is_word(argv[6], "TIGHTENING") && args_is_word(argv[8], "SEED") &&
           (args_is_word(argv[10], "EXPANSION") || args_is_word(argv[10], "NONSCALING"));
}

/* A mere add, which creates nothing. */
static const char *add_only(RedisModuleString **argv, int argc, struct insert_args *out) {
    *out = (struct insert_args){.first_item = args_foreign_first_item(argv, argc)};
    return NULL;
}

static const char *own_insert(RedisModuleString **argv, int argc, struct insert_args *out) {
    return args_own_insert(argv, argc, config_default_params(), out);
}

/* valkey-bloom writes a BF.INSERT with every parameter for every creation. */
static const char *valkeyblooms_insert(RedisModuleString **argv, int argc,
                                       struct insert_args *out) {
    if (!is_valkeyblooms_creation(argv, argc)) return add_only(argv, argc, out);
    struct filter_params params = {
        .origin = ORIGIN_VALKEYBLOOM, .layout = LAYOUT_CLASSIC, .scheme = SCHEME_SIP13};
    for (int at = 2; at < argc && !args_is_word(argv[at], "ITEMS");
         at = next_option(argv, argc, at)) {
        if (args_is_word(argv[at], "NONSCALING")) {
            params.expansion = 0;
        } else if (at + 1 == argc || !take_valkeyblooms(argv[at], argv[at + 1], &params)) {
            return ERR_UNKNOWN_ARGUMENT;
        }
    }
    *out = (struct insert_args){.creation = {.params = params, .has_seed = true},
                                .is_explicit = true,
                                .first_item = args_foreign_first_item(argv, argc)};
    return NULL;
}

/* In an explicit stream a client's own words are those of an add to a filter that was there,
 * whichever options it names. */
static const char *redisblooms_insert(RedisModuleString **argv, int argc, struct insert_args *out) {
    struct filter_params params = config_default_params();
    int first = args_foreign_first_item(argv, argc);
    bool is_nonscaling = false, nocreate = false;
    if (replay_is_explicit() && !is_creation(argv, first)) return add_only(argv, argc, out);
    if (first == argc) return ARGS_WRONG_ARITY;
    for (int at = 2; at < first - 1; at = next_option(argv, argc, at)) {
        if (begins_with(argv[at], "noc")) {
            nocreate = true;
        } else if (begins_with(argv[at], "n")) {
            is_nonscaling = true;
        } else if (!take_redisblooms(argv[at], argv[at + 1], &params)) {
            return ERR_UNKNOWN_ARGUMENT;
        }
    }
    if (is_nonscaling) params.expansion = 0;
    args_foreign_as_redisbloom(&params);
    *out = (struct insert_args){.creation = {.params = params},
                                .nocreate = nocreate,
                                .is_explicit = is_creation(argv, first),
                                .first_item = first};
    return NULL;
}

/* ---- The table ------------------------------------------------------------------------------ */

/* valkey-bloom writes no BF.RESERVE. To RedisBloom TIGHTENING is one of the words that it ignores.
 */
static const struct {
    const char *(*reserve)(RedisModuleString **argv, int argc, struct creation *out);
    const char *(*insert)(RedisModuleString **argv, int argc, struct insert_args *out);
} ROWS[ORIGIN_COUNT] = {
    [ORIGIN_OWN] = {own_reserve, own_insert},
    [ORIGIN_REDISBLOOM] = {redisblooms_reserve, redisblooms_insert},
    [ORIGIN_VALKEYBLOOM] = {redisblooms_reserve, valkeyblooms_insert},
};

const char *args_foreign_reserve(RedisModuleString **argv, int argc, struct creation *out) {
    return ROWS[args_foreign_writer(argv, argc)].reserve(argv, argc, out);
}

const char *args_foreign_insert(RedisModuleString **argv, int argc, struct insert_args *out) {
    return ROWS[args_foreign_writer(argv, argc)].insert(argv, argc, out);
}
