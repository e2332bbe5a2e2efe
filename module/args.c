/* Command words -> parameters. See args.h.
 *
 * BF.RESERVE and BF.INSERT know the same options but answer a bad value with different texts (as
 * RedisBloom does), so the texts come in a table per command and one parser serves both. */

#include "module/args.h"

#include "module/args_foreign.h"
#include "module/config.h"
#include "module/replay.h"
#include "module/reply.h"
#include "module/type.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char ARGS_WRONG_ARITY[] = "wrong arity";

/* An error text that names something. Valid until the next one. */
__attribute__((format(printf, 1, 2))) static const char *compose(const char *format, ...) {
    static char error[256];
    va_list args;
    va_start(args, format);
    vsnprintf(error, sizeof(error), format, args);
    va_end(args);
    return error;
}

const char *args_scheme_name(enum scheme scheme) {
    return scheme_row(scheme)->name;
}

bool args_is_word(const RedisModuleString *arg, const char *word) {
    size_t len;
    const char *text = RedisModule_StringPtrLen(arg, &len);
    return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

int args_reply_error(RedisModuleCtx *ctx, const char *error) {
    if (error == ARGS_WRONG_ARITY) return RedisModule_WrongArity(ctx);
    return RedisModule_ReplyWithError(ctx, error);
}

enum option {
    OPTION_CAPACITY,
    OPTION_ERROR,
    OPTION_BITSPERKEY,
    OPTION_EXPANSION,
    OPTION_NONSCALING,
    OPTION_LAYOUT,
    OPTION_HASH,
    OPTION_SEED,
    OPTION_TIGHTENING,
    OPTION_VALIDATESCALETO,
    OPTION_WINDOW,
    OPTION_GENERATIONS,
    OPTION_EX,
    OPTION_PX,
    OPTION_PXAT,
    OPTION_NOCREATE,
    OPTION_ITEMS,
    OPTION_REPLACE,
    OPTION_VARIANT,
    OPTION_DATA,
    OPTION_COUNT,
};

#define BIT(option) (1U << (option))

#define WORD(word) word, sizeof(word) - 1

static const struct {
    const char *word;
    size_t len;
    bool has_value;
} OPTIONS[OPTION_COUNT] = {
    [OPTION_CAPACITY] = {WORD("CAPACITY"), true},
    [OPTION_ERROR] = {WORD("ERROR"), true},
    [OPTION_BITSPERKEY] = {WORD("BITSPERKEY"), true},
    [OPTION_EXPANSION] = {WORD("EXPANSION"), true},
    [OPTION_NONSCALING] = {WORD("NONSCALING"), false},
    [OPTION_LAYOUT] = {WORD("LAYOUT"), true},
    [OPTION_HASH] = {WORD("HASH"), true},
    [OPTION_SEED] = {WORD("SEED"), true},
    [OPTION_TIGHTENING] = {WORD("TIGHTENING"), true},
    [OPTION_VALIDATESCALETO] = {WORD("VALIDATESCALETO"), true},
    [OPTION_WINDOW] = {WORD("WINDOW"), true},
    [OPTION_GENERATIONS] = {WORD("GENERATIONS"), true},
    [OPTION_EX] = {WORD("EX"), true},
    [OPTION_PX] = {WORD("PX"), true},
    [OPTION_PXAT] = {WORD("PXAT"), true},
    [OPTION_NOCREATE] = {WORD("NOCREATE"), false},
    [OPTION_ITEMS] = {WORD("ITEMS"), false},
    [OPTION_REPLACE] = {WORD("REPLACE"), false},
    [OPTION_VARIANT] = {WORD("VARIANT"), true},
    [OPTION_DATA] = {WORD("DATA"), false},
};

/* The options that BF.RESERVE and BF.INSERT share. */
#define CREATION_OPTIONS                                                                           \
    (BIT(OPTION_EXPANSION) | BIT(OPTION_NONSCALING) | BIT(OPTION_LAYOUT) | BIT(OPTION_HASH) |      \
     BIT(OPTION_SEED) | BIT(OPTION_WINDOW) | BIT(OPTION_GENERATIONS) | EXPIRE_OPTIONS)
#define EXPIRE_OPTIONS (BIT(OPTION_EX) | BIT(OPTION_PX) | BIT(OPTION_PXAT))

/* A command's options and what it says of a bad one. */
struct dialect {
    unsigned options; // BIT() of those it knows
    const char *not_capacity, *capacity_range;
    const char *not_error, *error_range;
    const char *not_bits, *bits_range;
    const char *not_expansion, *expansion_range;
    const char *bad_hash, *bad_expire;
    const char *missing[OPTION_COUNT]; // of an option without its value; NULL: wrong arity
};

static const struct dialect RESERVE = {
    .options = CREATION_OPTIONS,
    .not_capacity = ERR_BAD_CAPACITY,
    .capacity_range = ERR_CAPACITY_RANGE,
    .not_error = ERR_BAD_ERROR_RATE,
    .error_range = ERR_ERROR_RATE_RANGE,
    .not_bits = ERR_BAD_BITS,
    .bits_range = ERR_BITS_RANGE,
    .not_expansion = ERR_BAD_EXPANSION,
    .expansion_range = ERR_EXPANSION_RANGE,
    .bad_hash = ERR_BAD_HASH,
    .bad_expire = ERR_RESERVE_EXPIRE,
    .missing = {[OPTION_EXPANSION] = ERR_NO_EXPANSION,
                [OPTION_LAYOUT] = ERR_NO_LAYOUT,
                [OPTION_HASH] = ERR_NO_HASH},
};

static const struct dialect INSERT = {
    .options = CREATION_OPTIONS | BIT(OPTION_CAPACITY) | BIT(OPTION_ERROR) |
               BIT(OPTION_BITSPERKEY) | BIT(OPTION_NOCREATE) | BIT(OPTION_ITEMS) |
               BIT(OPTION_TIGHTENING) | BIT(OPTION_VALIDATESCALETO),
    .not_capacity = ERR_INSERT_CAPACITY,
    .capacity_range = ERR_INSERT_CAPACITY,
    .not_error = ERR_INSERT_ERROR_RATE,
    .error_range = ERR_INSERT_ERROR_RATE,
    .not_bits = ERR_INSERT_BITS,
    .bits_range = ERR_INSERT_BITS,
    .not_expansion = ERR_INSERT_EXPANSION,
    .expansion_range = ERR_INSERT_EXPANSION,
    .bad_hash = ERR_BAD_HASH,
    .bad_expire = ERR_INSERT_EXPIRE,
};

static const struct dialect IMPORT = {
    .options = BIT(OPTION_CAPACITY) | BIT(OPTION_EXPANSION) | BIT(OPTION_HASH) |
               BIT(OPTION_VARIANT) | BIT(OPTION_REPLACE) | BIT(OPTION_DATA),
    .not_capacity = ERR_INSERT_CAPACITY,
    .capacity_range = ERR_INSERT_CAPACITY,
    .not_expansion = ERR_INSERT_EXPANSION,
    .expansion_range = ERR_INSERT_EXPANSION,
    .bad_hash = ERR_IMPORT_BAD_HASH,
};

/* ---- One value ---------------------------------------------------------------------------- */

static const char *parse_capacity(const struct dialect *d, const RedisModuleString *arg,
                                  struct filter_params *out) {
    long long n;
    if (RedisModule_StringToLongLong(arg, &n) != REDISMODULE_OK) return d->not_capacity;
    if (n < 1 || !limits_is_capacity((uint64_t)n)) return d->capacity_range;
    out->capacity = (uint64_t)n;
    return NULL;
}

static const char *parse_error(const struct dialect *d, const RedisModuleString *arg,
                               struct filter_params *out) {
    double p;
    if (RedisModule_StringToDouble(arg, &p) != REDISMODULE_OK) return d->not_error;
    if (!limits_is_error_rate(p)) return d->error_range;
    out->error_rate = p;
    out->bits_per_key = 0;
    return NULL;
}

static const char *parse_bits(const struct dialect *d, const RedisModuleString *arg,
                              struct filter_params *out) {
    double bits;
    if (RedisModule_StringToDouble(arg, &bits) != REDISMODULE_OK) return d->not_bits;
    if (!limits_is_bits_per_key(bits)) return d->bits_range;
    out->bits_per_key = bits;
    return NULL;
}

static const char *parse_expansion(const struct dialect *d, const RedisModuleString *arg,
                                   struct filter_params *out) {
    long long n;
    if (RedisModule_StringToLongLong(arg, &n) != REDISMODULE_OK) return d->not_expansion;
    if (n < 0 || n > LIMITS_MAX_EXPANSION) return d->expansion_range;
    out->expansion = (uint32_t)n;
    return NULL;
}

static const char *parse_layout(const RedisModuleString *arg, struct filter_params *out) {
    size_t len;
    const char *word = RedisModule_StringPtrLen(arg, &len);
    if (layout_find(word, len, &out->layout)) return NULL;
    char names[16 * LAYOUT_COUNT];
    for (size_t i = 0, at = 0; i < LAYOUT_COUNT; i++) {
        const char *between = i == 0 ? "" : i + 1 == LAYOUT_COUNT ? " or " : ", ";
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", between,
                               layout_name((enum layout)i));
    }
    return compose(ERR_BAD_LAYOUT, names);
}

static const char *parse_hash(const struct dialect *d, const RedisModuleString *arg,
                              struct filter_params *out) {
    static const enum scheme OURS[] = {SCHEME_XXH64, SCHEME_FNV1A, SCHEME_SIP13};
    for (size_t i = 0; i < sizeof(OURS) / sizeof(OURS[0]); i++) {
        if (args_is_word(arg, scheme_row(OURS[i])->name)) {
            out->scheme = OURS[i];
            return NULL;
        }
    }
    return d->bad_hash;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20); // lower case
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 32 bytes as they are, or 64 hex digits. */
static bool take_seed(const char *text, size_t len, uint8_t bytes[HASH_SEED_BYTES]) {
    if (len == HASH_SEED_BYTES) {
        memcpy(bytes, text, len);
        return true;
    }
    if (len != 2 * (size_t)HASH_SEED_BYTES) return false;
    for (size_t i = 0; i < HASH_SEED_BYTES; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

const char *args_parse_seed(const RedisModuleString *arg, struct seed *out) {
    size_t len;
    const char *text = RedisModule_StringPtrLen(arg, &len);
    uint8_t bytes[HASH_SEED_BYTES];
    if (!take_seed(text, len, bytes)) return ERR_BAD_SEED;
    for (size_t i = 0; i < 4; i++) out->keys[i] = hash_le(bytes + 8 * i, 8);
    return NULL;
}

static const char *parse_seed(const RedisModuleString *arg, struct creation *out) {
    out->has_seed = true;
    return args_parse_seed(arg, &out->params.seed);
}

static const char *parse_variant(const RedisModuleString *arg, enum variant *out) {
    size_t len;
    const char *word = RedisModule_StringPtrLen(arg, &len);
    return formats_parse_variant(word, len, out);
}

/* valkey-bloom's option. It is checked, and changes nothing: our growth keeps the promise. */
static const char *parse_tightening(const RedisModuleString *arg) {
    double ratio;
    if (RedisModule_StringToDouble(arg, &ratio) != REDISMODULE_OK) return ERR_BAD_TIGHTENING;
    return ratio > 0 && ratio < 1 ? NULL : ERR_TIGHTENING_RANGE;
}

static const char *parse_scales_to(const RedisModuleString *arg, uint64_t *out) {
    long long n;
    if (RedisModule_StringToLongLong(arg, &n) != REDISMODULE_OK || n < 1) return ERR_BAD_CAPACITY;
    *out = (uint64_t)n;
    return NULL;
}

static const char *parse_range(const RedisModuleString *arg, long long most, const char *error,
                               uint32_t *out) {
    long long n;
    if (RedisModule_StringToLongLong(arg, &n) != REDISMODULE_OK) return error;
    if (n < 1 || n > most) return error;
    *out = (uint32_t)n;
    return NULL;
}

/* EX and PX count from now on, in seconds and milliseconds; PXAT is a time itself. */
static const char *parse_expire(const struct dialect *d, enum option option,
                                const RedisModuleString *arg, long long *out) {
    long long n, unit = option == OPTION_EX ? 1000 : 1;
    long long from = option == OPTION_PXAT ? 0 : RedisModule_Milliseconds();
    if (RedisModule_StringToLongLong(arg, &n) != REDISMODULE_OK) return ERR_NOT_INTEGER;
    if (n <= 0 || __builtin_mul_overflow(n, unit, &n) || __builtin_add_overflow(n, from, out)) {
        return d->bad_expire;
    }
    return NULL;
}

static const char *parse_value(const struct dialect *d, enum option option,
                               const RedisModuleString *arg, struct creation *out) {
    struct filter_params *params = &out->params;
    switch (option) {
    case OPTION_CAPACITY: return parse_capacity(d, arg, params);
    case OPTION_ERROR: return parse_error(d, arg, params);
    case OPTION_BITSPERKEY: return parse_bits(d, arg, params);
    case OPTION_EXPANSION: return parse_expansion(d, arg, params);
    case OPTION_LAYOUT: return parse_layout(arg, params);
    case OPTION_HASH: return parse_hash(d, arg, params);
    case OPTION_SEED: return parse_seed(arg, out);
    case OPTION_VARIANT: return parse_variant(arg, &out->variant);
    case OPTION_TIGHTENING: return parse_tightening(arg);
    case OPTION_VALIDATESCALETO: return parse_scales_to(arg, &out->scales_to);
    case OPTION_WINDOW:
        return parse_range(arg, LIMITS_MAX_WINDOW, ERR_WINDOW_RANGE, &params->window);
    case OPTION_GENERATIONS:
        return parse_range(arg, LIMITS_MAX_GENERATIONS, ERR_GENERATIONS_RANGE,
                           &params->generations);
    case OPTION_EX:
    case OPTION_PX:
    case OPTION_PXAT: return parse_expire(d, option, arg, &out->expires);
    default: return NULL; // a word without a value
    }
}

/* ---- The options -------------------------------------------------------------------------- */

/* Length and first letter tell nearly all words apart. Without that, two words took BF.INSERT 2,760
 * instructions. */
static inline bool is_option(unsigned i, const char *text, size_t len) {
    const char *word = OPTIONS[i].word;
    return OPTIONS[i].len == len && (text[0] | 0x20) == (word[0] | 0x20) &&
           strncasecmp(text, word, len) == 0;
}

static enum option find_option(const struct dialect *d, const RedisModuleString *arg) {
    size_t len;
    const char *text = RedisModule_StringPtrLen(arg, &len);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if ((d->options & BIT(i)) && is_option(i, text, len)) return (enum option)i;
    }
    return OPTION_COUNT;
}

/* Takes options from argv[*at] on, to the end or to what follows ITEMS or DATA; *seen gets the
 * BIT() of each. */
static const char *parse_options(const struct dialect *d, RedisModuleString **argv, int argc,
                                 int *at, unsigned *seen, struct creation *out) {
    while (*at < argc && !(*seen & (BIT(OPTION_ITEMS) | BIT(OPTION_DATA)))) {
        enum option option = find_option(d, argv[(*at)++]);
        if (option == OPTION_COUNT) return ERR_UNKNOWN_ARGUMENT;
        if (*seen & BIT(option)) return ERR_REPEATED;
        *seen |= BIT(option);
        if (!OPTIONS[option].has_value) continue;
        if (*at == argc) return d->missing[option] ? d->missing[option] : ARGS_WRONG_ARITY;
        const char *error = parse_value(d, option, argv[(*at)++], out);
        if (error) return error;
    }
    if (*seen & BIT(OPTION_SEED)) {
        if (!(*seen & BIT(OPTION_HASH))) out->params.scheme = SCHEME_SIP13;
        if (out->params.scheme != SCHEME_SIP13) return ERR_SEED_HASH;
    }
    struct geometry geometry = {out->params.layout, out->params.scheme};
    if (!limits_is_geometry(geometry))
        return compose(ERR_LAYOUT_HASH, layout_name(geometry.layout));
    unsigned expire = *seen & EXPIRE_OPTIONS;
    return expire & (expire - 1) ? ERR_EXPIRE_TWICE : NULL;
}

/* Completes the parameters of a filter that forgets, and checks what goes with it. `seen` has the
 * options that were given. NONSCALING has been applied to the expansion already. */
static const char *complete(unsigned seen, struct filter_params *params) {
    bool has_expansion = seen & (BIT(OPTION_EXPANSION) | BIT(OPTION_NONSCALING));
    bool has_window = seen & BIT(OPTION_WINDOW);
    if ((seen & BIT(OPTION_GENERATIONS)) && !has_window) return ERR_GENERATIONS_ALONE;
    const struct layout_row *layout = layout_row(params->layout);
    const char *name = layout_name(params->layout);
    if (!layout->takes_window) {
        if (has_window) return compose(ERR_LAYOUT_WINDOW, name);
        params->window = params->generations = 0;
    }
    if (!layout->grows) {
        if (has_expansion && params->expansion > 0) return compose(ERR_LAYOUT_EXPANDS, name);
        params->expansion = 0;
        return NULL;
    }
    if (has_expansion && params->expansion == 0) { // non-scaling
        if (has_window) return ERR_WINDOW_NONSCALING;
        params->window = params->generations = 0;
        return NULL;
    }
    if (params->window && params->generations == 0) params->generations = CONFIG_GENERATIONS;
    if (params->window && params->expansion == 0) params->expansion = CONFIG_WINDOW_EXPANSION;
    return NULL;
}

/* ---- BF.RESERVE and BF.INSERT --------------------------------------------------------------- */

const char *args_own_reserve(RedisModuleString **argv, int argc, struct creation *out) {
    struct creation creation = {.params = config_default_params()};
    struct filter_params *params = &creation.params;
    bool by_bits = args_is_word(argv[2], "BITSPERKEY");
    int at = by_bits ? 4 : 3; // the capacity
    if (at == argc) return ARGS_WRONG_ARITY;
    const char *error =
        by_bits ? parse_bits(&RESERVE, argv[3], params) : parse_error(&RESERVE, argv[2], params);
    if (!error) error = parse_capacity(&RESERVE, argv[at++], params);
    if (error) return error;

    // NRedisStack sends the expansion as a bare integer after the capacity.
    unsigned seen = 0;
    long long bare;
    if (at < argc && RedisModule_StringToLongLong(argv[at], &bare) == REDISMODULE_OK) {
        seen |= BIT(OPTION_EXPANSION);
        error = parse_expansion(&RESERVE, argv[at++], params);
    }
    if (!error) error = parse_options(&RESERVE, argv, argc, &at, &seen, &creation);
    if (error) return error;
    if (seen & BIT(OPTION_NONSCALING)) {
        if ((seen & BIT(OPTION_EXPANSION)) && params->expansion > 0) return ERR_NONSCALING_EXPANDS;
        params->expansion = 0;
    }
    error = complete(seen, params);
    if (!error) *out = creation;
    return error;
}

const char *args_parse_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                               struct creation *out) {
    if (argc < 4) return ARGS_WRONG_ARITY;
    return replay_is(ctx) ? args_foreign_reserve(argv, argc, out)
                          : args_own_reserve(argv, argc, out);
}

const char *args_own_insert(RedisModuleString **argv, int argc, struct filter_params defaults,
                            struct insert_args *out) {
    struct creation creation = {.params = defaults};
    int at = 2;
    unsigned seen = 0;
    const char *error = parse_options(&INSERT, argv, argc, &at, &seen, &creation);
    if (error) return error;
    if (!(seen & BIT(OPTION_ITEMS)) || at == argc) return ARGS_WRONG_ARITY;
    if ((seen & BIT(OPTION_ERROR)) && (seen & BIT(OPTION_BITSPERKEY))) return ERR_INSERT_RATE_TWICE;
    if (seen & BIT(OPTION_NONSCALING)) creation.params.expansion = 0;
    error = complete(seen, &creation.params);
    if (error) return error;
    if (creation.scales_to && creation.params.expansion == 0) return ERR_SCALETO_NONSCALING;
    *out = (struct insert_args){.creation = creation,
                                .nocreate = (seen & BIT(OPTION_NOCREATE)) != 0,
                                .is_explicit = true,
                                .first_item = at};
    return NULL;
}

const char *args_parse_insert(RedisModuleString **argv, int argc, struct insert_args *out) {
    return args_own_insert(argv, argc, config_add_params(), out);
}

const char *args_parse_replayed_insert(RedisModuleString **argv, int argc, bool exists,
                                       struct insert_args *out) {
    enum origin writer = args_foreign_writer(argv, argc);
    if (type_row(writer)->is_explicit) replay_note_explicit();
    if (exists) {
        *out = (struct insert_args){.nocreate = true,
                                    .first_item = args_foreign_first_item(argv, argc)};
        return NULL;
    }
    return args_foreign_insert(argv, argc, out);
}

/* ---- BF.EXPORT and BF.IMPORT ---------------------------------------------------------------- */

static const char *parse_format(const RedisModuleString *arg, enum format *out) {
    size_t len;
    const char *word = RedisModule_StringPtrLen(arg, &len);
    if (formats_find(word, len, out)) return NULL;
    return compose(ERR_BAD_FORMAT, formats_list());
}

const char *args_parse_export(RedisModuleString **argv, int argc, struct export_args *out) {
    *out = (struct export_args){FORMAT_PORTABLE, VARIANT_NONE};
    if (argc == 2) return NULL;
    if (argc != 4 && argc != 6) return ARGS_WRONG_ARITY;
    if (!args_is_word(argv[2], "FORMAT")) return ERR_UNKNOWN_ARGUMENT;
    const char *error = parse_format(argv[3], &out->format);
    if (error || argc == 4) return error;
    if (!args_is_word(argv[4], "VARIANT")) return ERR_UNKNOWN_ARGUMENT;
    error = formats_variant_error(out->format, true);
    return error ? error : parse_variant(argv[5], &out->variant);
}

/* The options of BF.IMPORT that not every format takes. `seen` are those that were given. */
static const char *check_import(enum format format, unsigned seen, const struct creation *given) {
    bool has_capacity = seen & BIT(OPTION_CAPACITY), has_hash = seen & BIT(OPTION_HASH);
    const char *own_sizes = formats_own_sizes(format);
    if (own_sizes && (has_capacity || seen & BIT(OPTION_EXPANSION))) return own_sizes;
    if (formats_import_obstacle(format)) return formats_import_obstacle(format);
    bool is_fixed = !formats_takes(format, TAKES_EXPANSION);
    if (given->params.expansion > 0 && is_fixed) return ERR_IMPORT_FIXED;
    if (has_hash && !formats_takes(format, TAKES_HASH)) return ERR_IMPORT_HASH;
    if (given->params.scheme == SCHEME_SIP13) return ERR_IMPORT_BAD_HASH;
    return formats_variant_error(format, seen & BIT(OPTION_VARIANT));
}

const char *args_parse_import(RedisModuleString **argv, int argc, struct import_args *out) {
    enum format format;
    if (argc < 6) return ARGS_WRONG_ARITY;
    if (!args_is_word(argv[2], "FORMAT")) return ERR_UNKNOWN_ARGUMENT;
    const char *error = parse_format(argv[3], &format);
    if (error) return error;

    struct creation creation = {.params = {.scheme = SCHEME_XXH64}};
    const struct filter_params *params = &creation.params;
    int at = 4;
    unsigned seen = 0;
    error = parse_options(&IMPORT, argv, argc, &at, &seen, &creation);
    if (error) return error;
    if (!(seen & BIT(OPTION_DATA)) || at != argc - 1) return ARGS_WRONG_ARITY;
    error = check_import(format, seen, &creation);
    if (error) return error;
    *out = (struct import_args){.format = format,
                                .options = {.capacity = params->capacity,
                                            .expansion = params->expansion,
                                            .scheme = params->scheme,
                                            .variant = creation.variant},
                                .replace = (seen & BIT(OPTION_REPLACE)) != 0,
                                .data = argv[at]};
    return NULL;
}
