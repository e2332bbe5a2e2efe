/* BF.BULKEXISTS and BF.BULKADD: many items in one string, answered by one bitmap.
 *
 * With BF.MEXISTS, most of the time goes into an argument and a reply for every item. Here an item
 * is a range of the command's data (bulk.h), which is hashed where it stands, and its answer is
 * one bit. The bits are in the order of GETBIT: item 0 is bit 0x80 of the first byte.
 *
 *   data     | item 0 | item 1 | item 2 | ...
 *                 |        |        |       hashed and looked up eight at a time (batch.h)
 *   reply    |   b0       b1       b2   ...  b7 | b8 ...
 *
 * commands.c lists the steps that each command takes. All memory that a command needs is allocated
 * before the first change. */

#include "module/bulk.h"
#include "module/adding.h"
#include "module/commands.h"
#include "module/core/batch.h"
#include "module/core/mem.h"
#include "module/replay.h"
#include "module/replicate.h"
#include "module/reply.h"

/* Parses the words after the key. If they are wrong, sends the error and returns false. */
static bool parse(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, struct bulk *out) {
    bool is_width = argc >= 4 && args_is_word(argv[2], "WIDTH");
    bool is_lines = argc >= 4 && args_is_word(argv[2], "LINES");
    long long width = 0;
    if (argc >= 4 && !is_width && !is_lines) {
        RedisModule_ReplyWithError(ctx, ERR_UNKNOWN_ARGUMENT);
        return false;
    }
    if (argc != (is_width ? 5 : 4)) {
        RedisModule_WrongArity(ctx);
        return false;
    }
    if (is_width && (RedisModule_StringToLongLong(argv[3], &width) != REDISMODULE_OK || width < 1 ||
                     width > BULK_MAX_WIDTH)) {
        RedisModule_ReplyWithError(ctx, ERR_BAD_WIDTH);
        return false;
    }
    out->width = (size_t)width;
    out->data = RedisModule_StringPtrLen(argv[argc - 1], &out->len);
    if (!is_width || out->len % out->width == 0) return true;
    reply_ragged_data(ctx, out->width);
    return false;
}

/* ---- Items ---------------------------------------------------------------------------------- */

/* How many items there are. */
static size_t count_items(const struct bulk *bulk) {
    if (bulk->width) return bulk->len / bulk->width;
    size_t n = bulk_is_open(bulk), i = 0;
    for (; bulk->len - i >= 32; i += 32) { // a number that compilers make vector instructions of
        uint8_t newlines = 0;
        for (size_t j = 0; j < 32; j++) {
            newlines = (uint8_t)(newlines + (bulk->data[i + j] == '\n'));
        }
        n += newlines;
    }
    for (; i < bulk->len; i++) n += bulk->data[i] == '\n';
    return n;
}

/* Hashes the next items of this width, as many as fit into a probe, and moves *at past them.
 * Returns how many. If the width is a constant, the compiler leaves out the loops and branches of
 * XXH64, and what its two hashes of an item have in common is computed once. */
static inline size_t hash_fixed(const struct filter *filter, const struct bulk *bulk, size_t width,
                                const char **at, struct hash *out) {
    const struct layer *layer = filter_newest(filter);
    size_t left = (size_t)(bulk->data + bulk->len - *at) / width;
    size_t n = left < PROBE_ITEMS ? left : PROBE_ITEMS;
    for (size_t i = 0; i < n; i++) {
        out[i] = layer_hash(layer, &filter->seed, *at + i * width, width);
    }
    *at += n * width;
    return n;
}

/* hash_fixed for the widths that ids have: 6 ns less of 40 an item in CLASSIC, 3 of 11 in BLOCKED
 * (filter in the cache). Only with `flatten` does the compiler inline the hash. */
__attribute__((flatten, noinline)) static size_t
hash_8(const struct filter *filter, const struct bulk *bulk, const char **at, struct hash *out) {
    return hash_fixed(filter, bulk, 8, at, out);
}

__attribute__((flatten, noinline)) static size_t
hash_16(const struct filter *filter, const struct bulk *bulk, const char **at, struct hash *out) {
    return hash_fixed(filter, bulk, 16, at, out);
}

/* Cuts and hashes the next items, as many as fit into a probe, and moves *at past them. Returns how
 * many. */
static size_t hash_some(const struct filter *filter, const struct bulk *bulk, const char **at,
                        struct hash *out) {
    if (bulk->width == 8) return hash_8(filter, bulk, at, out);
    if (bulk->width == 16) return hash_16(filter, bulk, at, out);
    const struct layer *layer = filter_newest(filter);
    const char *end = bulk->data + bulk->len;
    size_t n = 0;
    for (; n < PROBE_ITEMS && *at < end; n++) {
        const char *item_end = bulk_item_end(bulk, *at);
        out[n] = layer_hash(layer, &filter->seed, *at, (size_t)(item_end - *at));
        *at = bulk_item_after(bulk, item_end);
    }
    return n;
}

static size_t bitmap_bytes(size_t nbits) {
    return nbits / 8 + (nbits % 8 != 0);
}

/* Sets bits of a bitmap of zeroes from bit `at` on: up to eight, the first of which is 0x80 of
 * `bits`. */
static void set_bits(uint8_t *bitmap, size_t at, unsigned bits) {
    unsigned two_bytes = bits << 8 >> at % 8;
    bitmap[at / 8] |= (uint8_t)(two_bytes >> 8);
    if (two_bytes & 0xff) bitmap[at / 8 + 1] = (uint8_t)two_bytes;
}

/* ---- BF.BULKEXISTS -------------------------------------------------------------------------- */

/* Looks up the n items, sets the bits of those that the filter contains, and returns how many they
 * are. */
static size_t look_up(const struct filter *filter, const struct bulk *bulk, size_t n,
                      uint8_t *bitmap) {
    struct batch batch;
    const char *at = bulk->data;
    size_t nfound = 0;
    batch_init(&batch, (struct filter *)(uintptr_t)filter); // lookups change nothing
    for (size_t answered = 0; answered < n;) {
        struct hash hashes[PROBE_ITEMS];
        bool contained[PROBE_ITEMS];
        size_t some = hash_some(filter, bulk, &at, hashes);
        size_t ready = batch_contains(&batch, hashes, some, contained);
        unsigned bits = 0;
        for (size_t i = 0; i < ready; i++) {
            bits |= (unsigned)contained[i] << (7 - i);
            nfound += contained[i];
        }
        if (bits) set_bits(bitmap, answered, bits);
        answered += ready;
    }
    return nfound;
}

/* BF.BULKEXISTS key {WIDTH n | LINES} data */
int cmd_bulkexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct bulk bulk;
    if (!parse(ctx, argv, argc, &bulk)) return REDISMODULE_OK;
    struct key key;
    uint8_t *bitmap = NULL;
    if (!key_open(ctx, argv[1], FOR_READING, &key)) goto out;
    size_t n = count_items(&bulk);
    bitmap = mem_alloc_zeroed(bitmap_bytes(n));
    if (!bitmap) {
        RedisModule_ReplyWithError(ctx, ERR_BULK_MEMORY);
        goto out;
    }
    struct filter view;
    const struct filter *filter = key_live(&key, &view);
    size_t nfound = filter ? look_up(filter, &bulk, n, bitmap) : 0;
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)bitmap, bitmap_bytes(n));
    metrics.checks += n;
    metrics.checks_absent += n - nfound;
out:
    key_close(&key);
    mem_free(bitmap);
    return REDISMODULE_OK;
}

/* ---- BF.BULKADD ----------------------------------------------------------------------------- */

struct bulkadd {
    struct adding adding;
    struct bulk bulk;
    size_t nitems;
    uint8_t *added;   // the reply
    uint8_t *changed; // which items are to be propagated
    char *room;       // for replicate_bulk
};

static bool allocate(struct bulkadd *b) {
    b->nitems = count_items(&b->bulk);
    b->added = mem_alloc_zeroed(bitmap_bytes(b->nitems));
    b->changed = mem_alloc_zeroed(bitmap_bytes(b->nitems));
    b->room = mem_alloc(replicate_bulk_room(&b->bulk));
    return b->added && b->changed && b->room;
}

static void release(struct bulkadd *b) {
    mem_free(b->added);
    mem_free(b->changed);
    mem_free(b->room);
}

/* Takes the outcomes of the next n items. */
static void take_outcomes(struct bulkadd *b, const struct outcome *outcomes, size_t n) {
    struct adding *a = &b->adding;
    unsigned added = 0, changed = 0;
    for (size_t i = 0; i < n; i++) {
        added |= (unsigned)outcomes[i].added << (7 - i);
        changed |= (unsigned)outcomes[i].changed << (7 - i);
        a->nchanging += outcomes[i].changed;
    }
    if (added) set_bits(b->added, a->done, added);
    if (changed) set_bits(b->changed, a->done, changed);
    a->done += n;
}

/* Grows the filter for the next item, or adds the item all the same. Returns the item's status if
 * it cannot be added. */
static enum status make_room(struct bulkadd *b, struct batch *batch, enum status st) {
    if (st == STATUS_FULL && adding_is_forced(&b->adding)) {
        struct outcome outcome = batch_force(batch);
        take_outcomes(b, &outcome, 1);
        return STATUS_OK;
    }
    if (st == STATUS_GROW) st = key_grow(&b->adding.key);
    batch->filter = b->adding.key.filter;
    return st;
}

/* Adds the items up to one that cannot be added. Returns that item's status. */
static enum status add_each(struct bulkadd *b) {
    struct key *key = &b->adding.key;
    struct batch batch;
    const char *at = b->bulk.data;
    batch_init(&batch, key->filter);
    while (b->adding.done < b->nitems) {
        struct hash hashes[PROBE_ITEMS];
        struct outcome outcomes[PROBE_ITEMS];
        size_t ready, n = hash_some(key->filter, &b->bulk, &at, hashes);
        enum status st = batch_add(&batch, hashes, n, outcomes, &ready);
        take_outcomes(b, outcomes, ready);
        while (st != STATUS_OK) {
            st = make_room(b, &batch, st);
            if (st != STATUS_OK) return st;
            st = batch_resume(&batch, outcomes, &ready);
            take_outcomes(b, outcomes, ready);
        }
    }
    return STATUS_OK;
}

/* Opens the key, adds, replies, propagates, closes and announces. */
static void add_all(RedisModuleCtx *ctx, RedisModuleString *name, struct bulkadd *b) {
    struct adding *a = &b->adding;
    adding_init(a);
    if (!adding_open(ctx, name, a)) {
        key_close(&a->key);
        return;
    }
    enum status st = add_each(b);
    if (st == STATUS_OK) {
        RedisModule_ReplyWithStringBuffer(ctx, (const char *)b->added, bitmap_bytes(b->nitems));
    } else {
        reply_bulk_error(ctx, st, a->key.filter, a->done, b->nitems);
    }
    adding_replicate_first(a);
    if (a->nchanging) replicate_bulk(ctx, name, &b->bulk, b->changed, a->done, b->room);
    adding_close(a);
}

/* Replies to a command without items, which creates nothing. */
static void add_nothing(RedisModuleCtx *ctx, RedisModuleString *name) {
    struct key key;
    if (key_open(ctx, name, AS_SOURCE, &key)) RedisModule_ReplyWithStringBuffer(ctx, "", 0);
    key_close(&key);
}

/* BF.BULKADD key {WIDTH n | LINES} data
 * If an item cannot be added, the items before it stay, and the error says how many they are. */
int cmd_bulkadd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct bulkadd b;
    if (!parse(ctx, argv, argc, &b.bulk)) return REDISMODULE_OK;
    if (replay_is(ctx)) replay_note_explicit(); // only we propagate it
    if (b.bulk.len == 0) {
        add_nothing(ctx, argv[1]);
        return REDISMODULE_OK;
    }
    if (allocate(&b)) {
        add_all(ctx, argv[1], &b);
    } else {
        RedisModule_ReplyWithError(ctx, ERR_BULK_MEMORY);
    }
    release(&b);
    return REDISMODULE_OK;
}
