/* What goes to replicas and the AOF. See replicate.h. */

#include "module/replicate.h"

#include "module/args.h"
#include "rdb/codec.h"

#include <stdio.h>
#include <string.h>

/* ---- Lists of words ------------------------------------------------------------------------- */

struct list {
    RedisModuleString **word;
    size_t n;
};

/* The server first makes a list with room for one word per letter of the format, and a longer one
 * for each "v". So a short command has an "s" for every word. (In BF.INSERT of five items the
 * longer list took 500 instructions.) */
#define FEW 16
static const char FEW_FORMAT[] = "ssssssssssssssss"; // FEW letters

/* The format ends the list; the words after its end are not read. */
static void replicate_few(RedisModuleCtx *ctx, const char *command, RedisModuleString *const *w,
                          size_t n) {
    RedisModule_Replicate(ctx, command, FEW_FORMAT + FEW - n, w[0], w[1], w[2], w[3], w[4], w[5],
                          w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]);
}

/* The command, the key's name, and two lists of words; the second may be empty. */
static void replicate_lists(RedisModuleCtx *ctx, const char *command, RedisModuleString *name,
                            struct list a, struct list b) {
    size_t n = 1 + a.n + b.n;
    if (n > FEW) {
        const char *format = b.n > 0 ? "svv" : "sv";
        RedisModule_Replicate(ctx, command, format, name, a.word, a.n, b.word, b.n);
        return;
    }
    RedisModuleString *words[FEW] = {name};
    for (size_t i = 0; i < a.n; i++) words[1 + i] = a.word[i];
    for (size_t i = 0; i < b.n; i++) words[1 + a.n + i] = b.word[i];
    replicate_few(ctx, command, words, n);
}

static const struct list NO_WORDS = {NULL, 0};

/* ---- A new filter --------------------------------------------------------------------------- */

/* The words of a command, for RedisModule_Replicate. They belong to no command's context. */
struct words {
    RedisModuleString *word[24]; // more than a creation has
    size_t n;
};

static void add_word(struct words *words, const char *text) {
    words->word[words->n++] = RedisModule_CreateString(NULL, text, strlen(text));
}

static void add_number(struct words *words, const char *name, long long number) {
    if (name) add_word(words, name);
    words->word[words->n++] = RedisModule_CreateStringFromLongLong(NULL, number);
}

static void words_clear(struct words *words) {
    for (size_t i = 0; i < words->n; i++) RedisModule_FreeString(NULL, words->word[i]);
    words->n = 0;
}

/* The error rate or the bits per key with 17 digits, which parse to the same number. */
static void add_promise(struct words *words, const char *name, double promise) {
    char text[32];
    snprintf(text, sizeof(text), "%.17g", promise);
    if (name) add_word(words, name);
    add_word(words, text);
}

/* The seed as 64 hex digits. */
static void add_seed(struct words *words, const struct seed *seed) {
    char text[2 * HASH_SEED_BYTES + 1];
    for (size_t i = 0; i < HASH_SEED_BYTES; i++) {
        unsigned byte = (unsigned)(seed->keys[i / 8] >> (8 * (i % 8))) & 0xff;
        snprintf(text + 2 * i, 3, "%02x", byte);
    }
    add_word(words, "SEED");
    add_word(words, text);
}

/* The options of a filter of ours. LAYOUT says whose it is. The words that version 0.1.0 does not
 * know are written only for filters that need them. */
static void add_options(struct words *words, const struct creation *creation) {
    const struct filter_params *params = &creation->params;
    add_number(words, "EXPANSION", params->expansion);
    add_word(words, "LAYOUT");
    add_word(words, layout_name(params->layout));
    add_word(words, "HASH");
    add_word(words, args_scheme_name(params->scheme));
    if (params->scheme == SCHEME_SIP13) add_seed(words, &params->seed);
    if (params->window) {
        add_number(words, "WINDOW", params->window);
        add_number(words, "GENERATIONS", params->generations);
    }
    if (creation->expires) add_number(words, "PXAT", creation->expires);
}

/* The options of a foreign filter are its program's. Without LAYOUT, replaying them creates a
 * foreign filter; TIGHTENING makes it valkey-bloom's. */
static void add_redisbloom_options(struct words *words, const struct creation *creation) {
    if (creation->params.expansion) {
        add_number(words, "EXPANSION", creation->params.expansion);
    } else {
        add_word(words, "NONSCALING");
    }
}

static void add_valkeybloom_options(struct words *words, const struct creation *creation) {
    add_promise(words, "TIGHTENING", creation->params.ratio);
    add_seed(words, &creation->params.seed);
    add_redisbloom_options(words, creation);
}

/* A creation in the words of each origin. */
static const struct {
    void (*add_options)(struct words *words, const struct creation *creation);
    bool reserves; // an empty filter is created by BF.RESERVE, else by BF.INSERT without items
} ROWS[ORIGIN_COUNT] = {
    [ORIGIN_OWN] = {add_options, true},
    [ORIGIN_REDISBLOOM] = {add_redisbloom_options, true},
    [ORIGIN_VALKEYBLOOM] = {add_valkeybloom_options, false},
};

/* The words of BF.INSERT before ITEMS. */
static void add_insert_options(struct words *words, const struct creation *creation) {
    const struct filter_params *params = &creation->params;
    bool by_bits = params->bits_per_key != 0;
    add_number(words, "CAPACITY", (long long)params->capacity);
    add_promise(words, by_bits ? "BITSPERKEY" : "ERROR",
                by_bits ? params->bits_per_key : params->error_rate);
    ROWS[params->origin].add_options(words, creation);
}

/* The words of BF.INSERT between the key and the items. */
static void add_insert_words(struct words *words, const struct creation *creation) {
    add_insert_options(words, creation);
    add_word(words, "ITEMS");
}

/* The words of BF.RESERVE after the key. */
static void add_reserve_words(struct words *words, const struct creation *creation) {
    const struct filter_params *params = &creation->params;
    bool by_bits = params->bits_per_key != 0;
    add_promise(words, by_bits ? "BITSPERKEY" : NULL,
                by_bits ? params->bits_per_key : params->error_rate);
    add_number(words, NULL, (long long)params->capacity);
    ROWS[params->origin].add_options(words, creation);
}

/* Making the words takes a third of a creation, and most creations have those of the one before. So
 * the last ones are kept, unless a seed or a time among them makes every creation different. The
 * module cannot be unloaded, so they are never released. */
static struct {
    void (*add)(struct words *words, const struct creation *creation); // NULL: no words are kept
    struct filter_params params;
    struct words words;
} kept;

static bool is_worth_keeping(const struct creation *creation) {
    const struct filter_params *params = &creation->params;
    return creation->expires == 0 && params->scheme != SCHEME_SIP13;
}

/* The words that `add` makes for a creation. *room has those that are not kept; the caller clears
 * it afterwards. */
static struct list words_of(const struct creation *creation,
                            void (*add)(struct words *, const struct creation *),
                            struct words *room) {
    room->n = 0;
    if (!is_worth_keeping(creation)) {
        add(room, creation);
        return (struct list){room->word, room->n};
    }
    if (kept.add != add || !filter_params_are_equal(&kept.params, &creation->params)) {
        words_clear(&kept.words);
        add(&kept.words, creation);
        kept.add = add;
        kept.params = creation->params;
    }
    return (struct list){kept.words.word, kept.words.n};
}

static void insert_nothing(RedisModuleCtx *ctx, RedisModuleString *name,
                           const struct creation *creation) {
    struct words words = {.n = 0};
    add_insert_options(&words, creation);
    RedisModule_Replicate(ctx, "BF.INSERT", "sv", name, words.word, words.n);
    words_clear(&words);
}

void replicate_reserve(RedisModuleCtx *ctx, RedisModuleString *name,
                       const struct creation *creation) {
    if (!ROWS[creation->params.origin].reserves) {
        insert_nothing(ctx, name, creation);
        return;
    }
    struct words room;
    struct list words = words_of(creation, add_reserve_words, &room);
    replicate_lists(ctx, "BF.RESERVE", name, words, NO_WORDS);
    words_clear(&room);
}

void replicate_creation(RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct creation *creation, RedisModuleString **items, size_t n) {
    struct words room;
    struct list words = words_of(creation, add_insert_words, &room);
    replicate_lists(ctx, "BF.INSERT", name, words, (struct list){items, n});
    words_clear(&room);
}

/* ---- A window's step ------------------------------------------------------------------------ */

void replicate_rotate(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t start) {
    RedisModule_Replicate(ctx, "BF.ROTATE", "sl", name, (long long)start);
}

void replicate_drop(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t start) {
    RedisModule_Replicate(ctx, "BF.ROTATE", "scl", name, "DROP", (long long)start);
}

/* ---- Whose stream it is --------------------------------------------------------------------- */

/* An add says nothing of who wrote it, and the filter may have come by RESTORE, COPY or RENAME. So
 * now and then BF.CARD of the filter goes before an add: RedisBloom, which propagates what changes
 * something, never sends it, and no follower minds it. It is due when a replica has come, and again
 * after a second, for the replicas of replicas, who come unseen. */
#define SIGN_MS 1000

static struct {
    bool has_replicas; // one came since the server started
    bool is_due;
    long long done_ms;
} signing;

static void on_replica_change(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t subevent,
                              void *data) {
    (void)ctx, (void)event, (void)data;
    if (subevent != REDISMODULE_SUBEVENT_REPLICA_CHANGE_ONLINE) return;
    signing.has_replicas = signing.is_due = true;
}

static void on_cron(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t subevent, void *data) {
    (void)ctx, (void)event, (void)subevent, (void)data;
    if (!signing.has_replicas || signing.is_due) return;
    long long now = RedisModule_Milliseconds();
    signing.is_due = now >= signing.done_ms + SIGN_MS || now < signing.done_ms;
}

/* A file loses no filter and needs no signature: the command goes to replicas only. */
static void sign(RedisModuleCtx *ctx, RedisModuleString *name) {
    signing.is_due = false;
    signing.done_ms = RedisModule_Milliseconds();
    RedisModule_Replicate(ctx, "BF.CARD", "As", name);
}

int replicate_register(RedisModuleCtx *ctx) {
    if (RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_ReplicaChange,
                                           on_replica_change) != REDISMODULE_OK) {
        return REDISMODULE_ERR;
    }
    return RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_CronLoop, on_cron);
}

/* ---- Items ---------------------------------------------------------------------------------- */

/* Whether a client's BF.ADD or BF.MADD is the command that we would write. Its name must be the
 * same letter for letter, since a command may have a new name here and the old one on the replica.
 * Its items must be those that changed the filter. These commands have no options.
 *
 * Then the client's command is propagated as it is. That saves the cost of RedisModule_Replicate:
 * 250 ns a command, a third of BF.ADD; and 15 ns an item, a seventh of BF.MADD in a BLOCKED filter
 * (`make bench ROWS=contract`).
 *
 * In a large batch a few new items are false positives, which change nothing. The batch is
 * propagated all the same: they change nothing on the replica either, which has the same filter. */
static bool is_canonical(const RedisModuleString *word, size_t nsent, size_t n) {
    size_t len;
    const char *name = RedisModule_StringPtrLen(word, &len);
    bool is_add = len == 6 && memcmp(name, "BF.ADD", 6) == 0;
    bool is_madd = len == 7 && memcmp(name, "BF.MADD", 7) == 0;
    return (is_add || is_madd) && nsent - n <= (nsent < 512 ? 0 : nsent / 16);
}

void replicate_added(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                     size_t n, const RedisModuleString *sent, size_t nsent) {
    if (signing.is_due) sign(ctx, name);
    if (sent && is_canonical(sent, nsent, n)) {
        RedisModule_ReplicateVerbatim(ctx);
    } else {
        replicate_lists(ctx, "BF.MADD", name, (struct list){items, n}, NO_WORDS);
    }
}

void replicate_removed(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                       size_t n) {
    RedisModule_Replicate(ctx, "BF.DEL", "sv", name, items, n);
}

/* ---- Items of one string -------------------------------------------------------------------- */

/* The data of BF.BULKADD commands. Items that changed the filter and stand side by side in the
 * client's data are a *run*. The pieces are made of runs:
 *
 *   client's data    | . . . . . | x | . . . . . . . | x | x | . . |     x: changed nothing
 *   piece            | copied    | copied        | run |
 *
 * A piece that is one run is sent from the client's data, without a copy. */
struct pieces {
    RedisModuleCtx *ctx;
    RedisModuleString *name;
    const struct bulk *bulk;
    size_t limit;    // the most bytes of a piece, but for a longer item
    char *room;      // the runs of this piece that were copied
    size_t used;     // bytes of `room`
    const char *run; // where the last run begins, which is not copied yet
};

static void send_piece(const struct pieces *p, const char *bytes, size_t len) {
    if (len == 0) return;
    if (p->bulk->width) {
        RedisModule_Replicate(p->ctx, "BF.BULKADD", "sclb", p->name, "WIDTH",
                              (long long)p->bulk->width, bytes, len);
    } else {
        RedisModule_Replicate(p->ctx, "BF.BULKADD", "scb", p->name, "LINES", bytes, len);
    }
}

/* Copies the run, which ends at `end`. */
static void copy_run(struct pieces *p, const char *end) {
    size_t len = (size_t)(end - p->run);
    memcpy(p->room + p->used, p->run, len);
    p->used += len;
    p->run = end;
}

/* Sends the piece, whose last run ends at `end`. */
static void finish_piece(struct pieces *p, const char *end) {
    if (p->used > 0) {
        copy_run(p, end);
        send_piece(p, p->room, p->used);
    } else {
        send_piece(p, p->run, (size_t)(end - p->run));
    }
    p->used = 0;
    p->run = end;
}

static bool fits(const struct pieces *p, const char *end) {
    return p->used + (size_t)(end - p->run) <= p->limit;
}

/* Takes the item from `at` to `next` into the piece, or leaves it out. */
static void take_item(struct pieces *p, const char *at, const char *next, bool is_changing) {
    if (is_changing) {
        if (!fits(p, next)) finish_piece(p, at);
        return;
    }
    if (fits(p, at)) {
        copy_run(p, at);
    } else {
        finish_piece(p, at); // one item that is longer than a piece
    }
    p->run = next;
}

size_t replicate_bulk_room(const struct bulk *bulk) {
    size_t piece = bulk->len < CODEC_PIECE_BYTES ? bulk->len : CODEC_PIECE_BYTES;
    size_t open = 0; // the length of a last line that has no LF
    if (bulk->width == 0) {
        while (open < bulk->len && bulk->data[bulk->len - 1 - open] != '\n') open++;
    }
    return (open > piece ? open : piece) + 1;
}

void replicate_bulk(RedisModuleCtx *ctx, RedisModuleString *name, const struct bulk *bulk,
                    const uint8_t *changed, size_t n, char *room) {
    bool is_open = bulk_is_open(bulk);
    const char *at = bulk->data;
    struct pieces p = {ctx, name, bulk, CODEC_PIECE_BYTES - is_open, room, 0, at};
    for (size_t i = 0; i < n; i++) {
        const char *next = bulk_item_after(bulk, bulk_item_end(bulk, at));
        take_item(&p, at, next, changed[i / 8] & 0x80 >> i % 8);
        at = next;
    }
    if (is_open && p.run < at && at == bulk->data + bulk->len) {
        copy_run(&p, at);
        p.room[p.used++] = '\n';
    }
    finish_piece(&p, at);
}

/* ---- Chunks and complete filters ------------------------------------------------------------ */

void replicate_chunk(RedisModuleCtx *ctx, RedisModuleString *name, long long iterator,
                     RedisModuleString *data, bool replaces) {
    if (replaces) {
        RedisModule_Replicate(ctx, "BF.LOADCHUNK", "slsc", name, iterator, data, "REPLACE");
    } else {
        RedisModule_Replicate(ctx, "BF.LOADCHUNK", "sls", name, iterator, data);
    }
}

static void header_of(RedisModuleCtx *ctx, RedisModuleString *name, const struct filter *filter,
                      bool replaces) {
    size_t len = codec_header_size(filter);
    char *header = RedisModule_Alloc(len);
    codec_encode_header(filter, (uint8_t *)header);
    if (replaces) {
        RedisModule_Replicate(ctx, "BF.LOADCHUNK", "slbc", name, 1LL, header, len, "REPLACE");
    } else {
        RedisModule_Replicate(ctx, "BF.LOADCHUNK", "slb", name, 1LL, header, len);
    }
    RedisModule_Free(header);
}

void replicate_filter(RedisModuleCtx *ctx, RedisModuleString *name, const struct filter *filter,
                      bool replaces) {
    header_of(ctx, name, filter, replaces);
    const uint8_t *bytes;
    size_t piece;
    for (uint64_t at = 0; (piece = codec_piece_at(filter, at, CODEC_PIECE_BYTES, &bytes)) > 0;) {
        at += piece;
        RedisModule_Replicate(ctx, "BF.LOADCHUNK", "slb", name, (long long)(at + 1),
                              (const char *)bytes, piece);
    }
}

void replicate_keys(RedisModuleCtx *ctx, const char *command, RedisModuleString **names, size_t n) {
    RedisModule_Replicate(ctx, command, "v", names, n);
}
