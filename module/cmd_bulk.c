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

#include "module/adding.h"
#include "module/bulk.h"
#include "module/commands.h"
#include "module/core/filter/batch.h"
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
    size_t left = (size_t)(bulk->data + bulk->len - *at) / width;
    size_t n = left < PROBE_ITEMS ? left : PROBE_ITEMS;
    for (size_t i = 0; i < n; i++) {
        out[i] = filter_hash(filter, *at + i * width, width);
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
    const char *end = bulk->data + bulk->len;
    size_t n = 0;
    for (; n < PROBE_ITEMS && *at < end; n++) {
        const char *item_end = bulk_item_end(bulk, *at);
        out[n] = filter_hash(filter, *at, (size_t)(item_end - *at));
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

/* The items of a string, as a feed of the batch driver (core/batch.h), and a bitmap of the answers.
 */
struct bulk_feed {
    struct feed feed;
    struct bulk bulk;
    const char *at;   // of the next item
    uint8_t *answers; // the reply
    size_t done;
};

static size_t next_items(struct feed *feed, const struct filter *filter, struct hash *hashes) {
    struct bulk_feed *b = (struct bulk_feed *)feed;
    return hash_some(filter, &b->bulk, &b->at, hashes);
}

/* ---- BF.BULKEXISTS -------------------------------------------------------------------------- */

struct bulkexists {
    struct bulk_feed items;
    size_t nfound;
};

static void emit_contained(struct feed *feed, const struct outcome *outcomes, size_t n) {
    struct bulkexists *b = (struct bulkexists *)feed;
    unsigned bits = 0;
    for (size_t i = 0; i < n; i++) {
        bits |= (unsigned)outcomes[i].answer << (7 - i);
        b->nfound += outcomes[i].answer;
    }
    if (bits) set_bits(b->items.answers, b->items.done, bits);
    b->items.done += n;
}

/* Looks the items up, sets the bits of those that the filter contains, and returns how many they
 * are. */
static size_t look_up(const struct filter *filter, const struct bulk *bulk, uint8_t *bitmap) {
    struct bulkexists b = {.items = {.feed = {.next = next_items, .emit = emit_contained},
                                     .bulk = *bulk,
                                     .at = bulk->data,
                                     .answers = bitmap}};
    batch_run(filter, BATCH_LOOK_UP, &b.items.feed);
    return b.nfound;
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
    size_t nfound = filter ? look_up(filter, &bulk, bitmap) : 0;
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
    struct bulk_feed items;
    struct adding adding;
    size_t nitems;
    uint8_t *changed;   // a bitmap too: which items are to be propagated
    char *room;         // for replicate_bulk
    enum status status; // of the item that ended the command
};

static bool allocate(struct bulkadd *b) {
    b->nitems = count_items(&b->items.bulk);
    b->items.answers = mem_alloc_zeroed(bitmap_bytes(b->nitems));
    b->changed = mem_alloc_zeroed(bitmap_bytes(b->nitems));
    b->room = mem_alloc(replicate_bulk_room(&b->items.bulk));
    return b->items.answers && b->changed && b->room;
}

static void release(struct bulkadd *b) {
    mem_free(b->items.answers);
    mem_free(b->changed);
    mem_free(b->room);
}

static void emit_added(struct feed *feed, const struct outcome *outcomes, size_t n) {
    struct bulkadd *b = (struct bulkadd *)feed;
    struct adding *a = &b->adding;
    unsigned added = 0, changed = 0;
    for (size_t i = 0; i < n; i++) {
        added |= (unsigned)outcomes[i].answer << (7 - i);
        changed |= (unsigned)outcomes[i].changed << (7 - i);
        a->nchanging += outcomes[i].changed;
    }
    if (added) set_bits(b->items.answers, a->done, added);
    if (changed) set_bits(b->changed, a->done, changed);
    a->done += n;
}

/* An item that cannot be added ends the command. */
static enum batch_verdict make_room(struct feed *feed, enum status st, struct filter **filter) {
    struct bulkadd *b = (struct bulkadd *)feed;
    enum batch_verdict verdict = adding_make_room(&b->adding, &st, filter);
    if (verdict == BATCH_END) b->status = st;
    return verdict;
}

/* Opens the key, adds, replies, propagates, closes and announces. */
static void add_all(RedisModuleCtx *ctx, RedisModuleString *name, struct bulkadd *b) {
    struct adding *a = &b->adding;
    adding_init(a);
    if (!adding_open(ctx, name, a)) {
        key_close(&a->key);
        return;
    }
    batch_run(a->key.filter, BATCH_ADD, &b->items.feed);
    if (b->status == STATUS_OK) {
        RedisModule_ReplyWithStringBuffer(ctx, (const char *)b->items.answers,
                                          bitmap_bytes(b->nitems));
    } else {
        reply_bulk_error(ctx, b->status, a->key.filter, a->done, b->nitems);
    }
    adding_replicate_first(a);
    if (a->nchanging) replicate_bulk(ctx, name, &b->items.bulk, b->changed, a->done, b->room);
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
    struct bulkadd b = {.items = {.feed = {next_items, emit_added, make_room}}};
    if (!parse(ctx, argv, argc, &b.items.bulk)) return REDISMODULE_OK;
    b.items.at = b.items.bulk.data;
    if (replay_is(ctx)) replay_note_explicit(); // only we propagate it
    if (b.items.bulk.len == 0) {
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
