/* BF.STATS: everything there is to know about a filter. The formulas are in core/measure.c. */

#include "module/args.h"
#include "module/commands.h"
#include "module/core/measure.h"
#include "module/key.h"
#include "module/reply.h"

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

/* a / b, and 0 where there is nothing to share. */
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

/* How it is, in a word, and what to do about it. */
static void reply_state(RedisModuleCtx *ctx, const struct filter *filter) {
    const struct layer *newest = &filter->layers[filter->nlayers - 1];
    const char *state = "ok", *advice = "";
    if (measure_is_overfilled(filter)) {
        state = "overfilled";
        advice = "it says yes wrongly more than twice as often as promised: make a larger one and "
                 "add the items again";
    } else if (filter->expansion == 0 && newest->items >= newest->capacity) {
        state = "full";
        advice = "it takes no new items: make a larger one, or one with an expansion";
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
