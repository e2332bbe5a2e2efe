/* The commands that describe a filter and its state: BF.CARD, BF.INFO, BF.DEBUG, BF.STATS. The
 * formulas are in core/measure.c. */

#include "module/args.h"
#include "module/commands.h"
#include "module/core/measure.h"
#include "module/key.h"
#include "module/reply.h"

#include <stdio.h>

/* ---- BF.CARD, BF.INFO, BF.DEBUG ----------------------------------------------------------- */

/* BF.CARD key */
int cmd_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key)) {
        const struct filter *filter = key.filter;
        RedisModule_ReplyWithLongLong(ctx, filter ? (long long)filter_items(filter) : 0);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

enum { INFO_CAPACITY, INFO_SIZE, INFO_FILTERS, INFO_ITEMS, INFO_EXPANSION, INFO_COUNT };

/* The five fields must be exactly these, in this order: clients rely on that. */
static const struct {
    const char *selector, *name;
} INFO_FIELDS[INFO_COUNT] = {
    [INFO_CAPACITY] = {"CAPACITY", "Capacity"},
    [INFO_SIZE] = {"SIZE", "Size"},
    [INFO_FILTERS] = {"FILTERS", "Number of filters"},
    [INFO_ITEMS] = {"ITEMS", "Number of items inserted"},
    [INFO_EXPANSION] = {"EXPANSION", "Expansion rate"},
};

static void reply_info_value(RedisModuleCtx *ctx, const struct key *key, int field) {
    const struct filter *filter = key->filter;
    uint64_t value = 0;
    switch (field) {
    case INFO_CAPACITY: value = filter_capacity(filter); break;
    case INFO_SIZE: value = key_size_bytes(key); break;
    case INFO_FILTERS: value = filter->nlayers; break;
    case INFO_ITEMS: value = filter_items(filter); break;
    default: value = filter->expansion; break;
    }
    if (field == INFO_EXPANSION && value == 0) {
        RedisModule_ReplyWithNull(ctx); // non-scaling
    } else {
        RedisModule_ReplyWithLongLong(ctx, (long long)value);
    }
}

/* Replies with one field: in RESP3 a map of one pair, in RESP2 an array of the value alone. */
static void reply_info_field(RedisModuleCtx *ctx, const struct key *key, int field) {
    if (reply_is_resp3(ctx)) {
        RedisModule_ReplyWithMap(ctx, 1);
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[field].name);
    } else {
        RedisModule_ReplyWithArray(ctx, 1);
    }
    reply_info_value(ctx, key, field);
}

static void reply_info(RedisModuleCtx *ctx, const struct key *key) {
    RedisModule_ReplyWithMap(ctx, INFO_COUNT);
    for (int i = 0; i < INFO_COUNT; i++) {
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[i].name);
        reply_info_value(ctx, key, i);
    }
}

/* BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION] */
int cmd_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2 || argc > 3) return RedisModule_WrongArity(ctx);
    int field = 0;
    if (argc == 3) {
        while (field < INFO_COUNT && !args_is_word(argv[2], INFO_FIELDS[field].selector)) field++;
    }
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        if (field == INFO_COUNT) {
            RedisModule_ReplyWithError(ctx, ERR_INFO_FIELD);
        } else if (argc == 3) {
            reply_info_field(ctx, &key, field);
        } else {
            reply_info(ctx, &key);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

static void reply_debug_layer(RedisModuleCtx *ctx, const struct layer *layer) {
    char line[256];
    int len =
        snprintf(line, sizeof(line),
                 "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu "
                 "ratio:%g",
                 (unsigned long long)layer_bytes(layer->nbits), (unsigned long long)layer->nbits,
                 layer->nhashes, (unsigned long long)layer->capacity,
                 (unsigned long long)layer->items, layer->error_rate);
    RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)len);
}

/* BF.DEBUG key */
int cmd_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        const struct filter *filter = key.filter;
        RedisModule_ReplyWithArray(ctx, (long)filter->nlayers + 1);
        char line[64];
        int len =
            snprintf(line, sizeof(line), "size:%llu", (unsigned long long)filter_items(filter));
        RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)len);
        for (uint32_t i = 0; i < filter->nlayers; i++) {
            reply_debug_layer(ctx, &filter->layers[i]);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- BF.STATS ------------------------------------------------------------------------------- */

static void reply_word(RedisModuleCtx *ctx, const char *name, const char *word) {
    RedisModule_ReplyWithSimpleString(ctx, name);
    RedisModule_ReplyWithCString(ctx, word);
}

static void reply_count(RedisModuleCtx *ctx, const char *name, uint64_t count) {
    RedisModule_ReplyWithSimpleString(ctx, name);
    RedisModule_ReplyWithLongLong(ctx, (long long)count);
}

static void reply_real(RedisModuleCtx *ctx, const char *name, double real) {
    RedisModule_ReplyWithSimpleString(ctx, name);
    RedisModule_ReplyWithDouble(ctx, real);
}

/* a / b, and 0 if b is 0. */
static double ratio(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : (double)a / (double)b;
}

static void reply_expansion(RedisModuleCtx *ctx, const struct filter *filter) {
    RedisModule_ReplyWithSimpleString(ctx, "expansion");
    if (filter->expansion == 0) {
        RedisModule_ReplyWithNull(ctx); // non-scaling, as in BF.INFO
    } else {
        RedisModule_ReplyWithLongLong(ctx, filter->expansion);
    }
}

static void reply_layers(RedisModuleCtx *ctx, const struct filter *filter) {
    RedisModule_ReplyWithSimpleString(ctx, "layers");
    RedisModule_ReplyWithArray(ctx, (long)filter->nlayers);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *layer = &filter->layers[i];
        RedisModule_ReplyWithMap(ctx, 5);
        reply_count(ctx, "capacity", layer->capacity);
        reply_count(ctx, "items", layer->items);
        reply_count(ctx, "bits", layer->nbits);
        reply_count(ctx, "hashes", layer->nhashes);
        reply_real(ctx, "fill ratio", ratio(layer->ones, layer->nbits));
    }
}

/* Above this many layers BF.STATS warns: a lookup of an absent item probes every layer. */
#define MANY_LAYERS 16

/* Replies with the filter's state in a word or two, and with what to do about it. */
static void reply_state(RedisModuleCtx *ctx, const struct filter *filter) {
    const struct layer *newest = filter_newest(filter);
    const char *state = "ok", *advice = "";
    if (measure_is_overfilled(filter)) {
        state = "overfilled";
        advice =
            "its false-positive rate is more than twice the promised one: make a larger one and "
            "add the items again";
    } else if (filter->expansion == 0 && newest->items >= newest->capacity) {
        state = "full";
        advice = "it takes no new items: make a larger one, or one with an expansion";
    } else if (filter->nlayers > MANY_LAYERS) {
        state = "many layers";
        advice = "every lookup goes through all of them: reserve a larger capacity, or a larger "
                 "expansion";
    }
    reply_word(ctx, "state", state);
    reply_word(ctx, "advice", advice);
}

static void reply_stats(RedisModuleCtx *ctx, const struct key *key) {
    const struct filter *filter = key->filter;
    uint64_t items = filter_items(filter), capacity = filter_capacity(filter);
    uint64_t nbits = measure_bits(filter);
    double bits_per_key = filter->bits_per_key;
    if (bits_per_key == 0) bits_per_key = ratio(nbits, capacity);
    RedisModule_ReplyWithMap(ctx, 17);
    reply_word(ctx, "layout", args_layout_name(filter->layout));
    reply_word(ctx, "hash", args_scheme_name(filter->scheme));
    reply_count(ctx, "items", items);
    reply_count(ctx, "estimated items", measure_items(filter));
    reply_count(ctx, "capacity", capacity);
    reply_real(ctx, "utilisation", ratio(items, capacity));
    reply_real(ctx, "promised error rate", measure_promise(filter));
    reply_real(ctx, "current error rate", measure_error_rate(filter));
    reply_real(ctx, "bits per key", bits_per_key);
    reply_real(ctx, "bits per item", ratio(nbits, items));
    reply_real(ctx, "fill ratio", ratio(measure_ones(filter), nbits));
    reply_count(ctx, "bytes", key_size_bytes(key));
    reply_expansion(ctx, filter);
    reply_layers(ctx, filter);
    RedisModule_ReplyWithSimpleString(ctx, "items are estimated");
    RedisModule_ReplyWithBool(ctx, filter->is_estimated);
    reply_state(ctx, filter);
}

/* BF.STATS key */
int cmd_stats(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) reply_stats(ctx, &key);
    key_close(&key);
    return REDISMODULE_OK;
}
