/* The commands that describe a filter and its state: BF.CARD, BF.INFO, BF.DEBUG, BF.STATS. The
 * formulas are in core/measure.c. */

#include "module/args.h"
#include "module/commands.h"
#include "module/core/filter/window.h"
#include "module/core/measure.h"
#include "module/key.h"
#include "module/replay.h"
#include "module/reply.h"
#include "module/type.h"

#include <stdio.h>

/* ---- BF.CARD, BF.INFO, BF.DEBUG ----------------------------------------------------------- */

/* BF.CARD key
 * In a stream it says whose that is (replay.h). */
int cmd_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    if (replay_is(ctx)) replay_note_explicit();
    struct key key;
    if (key_open(ctx, argv[1], FOR_READING, &key)) {
        struct filter view;
        const struct filter *filter = key_live(&key, &view);
        RedisModule_ReplyWithLongLong(ctx, filter ? (long long)filter_items(filter) : 0);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* Without a selector the reply has exactly the first five, in this order: clients rely on that. */
enum {
    INFO_CAPACITY,
    INFO_SIZE,
    INFO_FILTERS,
    INFO_ITEMS,
    INFO_EXPANSION,
    INFO_FIVE,
    INFO_ERROR = INFO_FIVE,
    INFO_LAYOUT,
    INFO_HASH,
    INFO_WINDOW,
    INFO_TIGHTENING,
    INFO_MAXSCALEDCAPACITY,
    INFO_COUNT
};

static const struct {
    const char *selector, *name;
} INFO_FIELDS[INFO_COUNT] = {
    [INFO_CAPACITY] = {"CAPACITY", "Capacity"},
    [INFO_SIZE] = {"SIZE", "Size"},
    [INFO_FILTERS] = {"FILTERS", "Number of filters"},
    [INFO_ITEMS] = {"ITEMS", "Number of items inserted"},
    [INFO_EXPANSION] = {"EXPANSION", "Expansion rate"},
    [INFO_ERROR] = {"ERROR", "Error rate"},
    [INFO_LAYOUT] = {"LAYOUT", "Layout"},
    [INFO_HASH] = {"HASH", "Hash"},
    [INFO_WINDOW] = {"WINDOW", "Window"},
    [INFO_TIGHTENING] = {"TIGHTENING", "Tightening ratio"},
    [INFO_MAXSCALEDCAPACITY] = {"MAXSCALEDCAPACITY", "Max scaled capacity"},
};

/* A filter as these commands see it. In a window they judge age by this server's clock, and do not
 * see generations that are over. */
struct subject {
    const struct key *key;
    const struct filter *filter; // the key's
    struct filter live;          // without the generations that are over; it may have no layer
    uint64_t now;                // the clock, read once; 0 if there is no window
};

static struct subject subject_of(const struct key *key) {
    struct subject s = {.key = key, .filter = key->filter, .live = *key->filter};
    if (s.filter->window == 0) return s;
    s.now = (uint64_t)RedisModule_Milliseconds();
    // A window that has not begun is shown with its empty layer.
    bool has_begun = filter_newest(s.filter)->start != 0;
    if (!window_live(s.filter, s.now, &s.live) && has_begun) s.live.nlayers = 0;
    return s;
}

/* The generations that live, newest first: each its age in ms and its items. */
static void reply_generations(RedisModuleCtx *ctx, const struct subject *s) {
    const struct layer *layers = s->live.layers;
    long n = 0;
    RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    uint32_t nbegun = filter_newest(s->filter)->start == 0 ? 0 : s->live.nlayers;
    for (uint32_t i = nbegun; i > 0; n++) {
        uint64_t start = layers[i - 1].start, items = 0;
        for (; i > 0 && layers[i - 1].start == start; i--) items += layers[i - 1].items;
        RedisModule_ReplyWithArray(ctx, 2);
        RedisModule_ReplyWithLongLong(ctx, s->now > start ? (long long)(s->now - start) : 0);
        RedisModule_ReplyWithLongLong(ctx, (long long)items);
    }
    RedisModule_ReplySetArrayLength(ctx, n);
}

/* The window: seconds, generations, and those that live. Null if there is none. */
static void reply_window(RedisModuleCtx *ctx, const struct subject *s) {
    if (s->filter->window == 0) {
        RedisModule_ReplyWithNull(ctx);
        return;
    }
    RedisModule_ReplyWithArray(ctx, 3);
    RedisModule_ReplyWithLongLong(ctx, s->filter->window);
    RedisModule_ReplyWithLongLong(ctx, s->filter->generations);
    reply_generations(ctx, s);
}

static void reply_expansion(RedisModuleCtx *ctx, const struct filter *filter) {
    if (filter->expansion == 0) {
        RedisModule_ReplyWithNull(ctx); // non-scaling
    } else {
        RedisModule_ReplyWithLongLong(ctx, filter->expansion);
    }
}

/* valkey-bloom's two fields, which only its scaling filters have. */
static void reply_ratio_value(RedisModuleCtx *ctx, const struct filter *filter, int field) {
    const struct type_row *row = type_row(filter->origin);
    if (!row->max_capacity || filter->expansion == 0) {
        RedisModule_ReplyWithNull(ctx);
    } else if (field == INFO_TIGHTENING) {
        RedisModule_ReplyWithDouble(ctx, filter->ratio);
    } else {
        RedisModule_ReplyWithLongLong(ctx, (long long)row->max_capacity(filter));
    }
}

static void reply_info_value(RedisModuleCtx *ctx, const struct subject *s, int field) {
    const struct filter *filter = s->filter;
    uint64_t count = 0;
    switch (field) {
    case INFO_TIGHTENING:
    case INFO_MAXSCALEDCAPACITY: reply_ratio_value(ctx, filter, field); return;
    case INFO_EXPANSION: reply_expansion(ctx, filter); return;
    case INFO_ERROR: RedisModule_ReplyWithDouble(ctx, measure_promise(filter)); return;
    case INFO_LAYOUT: RedisModule_ReplyWithCString(ctx, layout_name(filter->layout)); return;
    case INFO_HASH: RedisModule_ReplyWithCString(ctx, args_scheme_name(filter->scheme)); return;
    case INFO_WINDOW: reply_window(ctx, s); return;
    case INFO_CAPACITY: count = filter_capacity(filter); break;
    case INFO_SIZE: count = key_size_bytes(s->key); break;
    case INFO_FILTERS: count = s->live.nlayers; break;
    default: count = filter_items(&s->live); break;
    }
    RedisModule_ReplyWithLongLong(ctx, (long long)count);
}

/* Replies with one field: in RESP3 a map of one pair, in RESP2 an array of the value alone. */
static void reply_info_field(RedisModuleCtx *ctx, const struct subject *s, int field) {
    if (reply_is_resp3(ctx)) {
        RedisModule_ReplyWithMap(ctx, 1);
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[field].name);
    } else {
        RedisModule_ReplyWithArray(ctx, 1);
    }
    reply_info_value(ctx, s, field);
}

static void reply_info(RedisModuleCtx *ctx, const struct subject *s) {
    RedisModule_ReplyWithMap(ctx, INFO_FIVE);
    for (int i = 0; i < INFO_FIVE; i++) {
        RedisModule_ReplyWithSimpleString(ctx, INFO_FIELDS[i].name);
        reply_info_value(ctx, s, i);
    }
}

/* BF.INFO key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION|ERROR|LAYOUT|HASH|WINDOW|TIGHTENING|
 *              MAXSCALEDCAPACITY] */
int cmd_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2 || argc > 3) return RedisModule_WrongArity(ctx);
    int field = 0;
    if (argc == 3) {
        while (field < INFO_COUNT && !args_is_word(argv[2], INFO_FIELDS[field].selector)) field++;
    }
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        struct subject subject = subject_of(&key);
        if (field == INFO_COUNT) {
            RedisModule_ReplyWithError(ctx, ERR_INFO_FIELD);
        } else if (argc == 3) {
            reply_info_field(ctx, &subject, field);
        } else {
            reply_info(ctx, &subject);
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
                 (unsigned long long)layer_array_bytes(layer), (unsigned long long)layer->nbits,
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

/* The states of BF.STATS and what to do about each. Where several hold, the first one is shown. */
enum {
    STATE_OVERFILLED,
    STATE_FULL,
    STATE_NEARLY_FULL,
    STATE_MANY_LAYERS,
    STATE_CLOCK_BEHIND,
    STATE_OK,
    STATE_COUNT
};

static const struct {
    const char *name, *advice;
    const char *removable; // the advice where items can be removed, if it is another one
} STATES[STATE_COUNT] = {
    [STATE_OVERFILLED] = {"overfilled",
                          "its false-positive rate is over the promised one: make a larger "
                          "one and add the items again",
                          NULL},
    [STATE_FULL] = {"full", "it takes no new items: make a larger one, or one with an expansion",
                    "it takes no new items: make a larger one, or delete some"},
    [STATE_NEARLY_FULL] = {"nearly full",
                           "it will soon take no new items: make a larger one, or one with an "
                           "expansion",
                           "it will soon take no new items: make a larger one, or delete some"},
    [STATE_MANY_LAYERS] = {"many layers",
                           "every lookup goes through all of them: reserve a larger capacity, or a "
                           "larger expansion",
                           NULL},
    [STATE_CLOCK_BEHIND] = {"clock behind",
                            "the clock was set back, and the window stands still until the clock "
                            "has caught up: wait, or BF.CLEAR",
                            NULL},
    [STATE_OK] = {"ok", "", NULL},
};

static int state_of(const struct subject *s) {
    if (measure_is_overfilled(&s->live)) return STATE_OVERFILLED;
    if (measure_is_full(s->filter)) return STATE_FULL;
    if (measure_is_nearly_full(s->filter)) return STATE_NEARLY_FULL;
    if (measure_has_many_layers(&s->live)) return STATE_MANY_LAYERS;
    if (filter_newest(s->filter)->start > s->now) return STATE_CLOCK_BEHIND;
    return STATE_OK;
}

static void reply_state(RedisModuleCtx *ctx, const struct subject *s) {
    int state = state_of(s);
    bool removes = layout_row(s->filter->layout)->removes && STATES[state].removable;
    reply_word(ctx, "state", STATES[state].name);
    reply_word(ctx, "advice", removes ? STATES[state].removable : STATES[state].advice);
}

/* The bits per key that the filter was made with. A window has g+1 generations at a time. */
static double configured_bits(const struct filter *filter) {
    uint64_t nbits = measure_bits(filter);
    if (filter->bits_per_key != 0) return filter->bits_per_key;
    if (filter->window) nbits = filter->layers[0].nbits * (filter->generations + 1);
    return ratio(layout_position_bits(filter->layout) * nbits, filter_capacity(filter));
}

static void reply_stats(RedisModuleCtx *ctx, const struct subject *s) {
    const struct filter *filter = s->filter, *live = &s->live;
    uint64_t items = filter_items(live), capacity = filter_capacity(filter);
    uint64_t nbits = measure_bits(live);
    RedisModule_ReplyWithMap(ctx, filter->window ? 18 : 17);
    reply_word(ctx, "layout", layout_name(filter->layout));
    reply_word(ctx, "hash", args_scheme_name(filter->scheme));
    reply_count(ctx, "items", items);
    reply_count(ctx, "estimated items", measure_items(live));
    reply_count(ctx, "capacity", capacity);
    reply_real(ctx, "utilisation", ratio(items, capacity));
    reply_real(ctx, "promised error rate", measure_promise(filter));
    reply_real(ctx, "current error rate", measure_error_rate(live));
    reply_real(ctx, "bits per key", configured_bits(filter));
    reply_real(ctx, "bits per item", ratio(layout_position_bits(filter->layout) * nbits, items));
    reply_real(ctx, "fill ratio", ratio(measure_ones(live), nbits));
    reply_count(ctx, "bytes", key_size_bytes(s->key));
    RedisModule_ReplyWithSimpleString(ctx, "expansion");
    reply_expansion(ctx, filter);
    if (filter->window) {
        RedisModule_ReplyWithSimpleString(ctx, "window");
        reply_window(ctx, s);
    }
    reply_layers(ctx, live);
    RedisModule_ReplyWithSimpleString(ctx, "items are estimated");
    RedisModule_ReplyWithBool(ctx, filter->is_estimated);
    reply_state(ctx, s);
}

/* BF.STATS key */
int cmd_stats(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    if (key_open_existing(ctx, argv[1], FOR_READING, &key)) {
        struct subject subject = subject_of(&key);
        reply_stats(ctx, &subject);
    }
    key_close(&key);
    return REDISMODULE_OK;
}
