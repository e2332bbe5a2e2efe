/* What goes to replicas and the AOF. See replicate.h. */

#include "module/replicate.h"

#include "module/args.h"
#include "rdb/codec.h"

#include <stdio.h>
#include <string.h>

/* Writes the error rate or the bits per key with 17 digits, which parse to the same number. */
static void promise_text(const struct filter_params *params, char *out, size_t size) {
    bool by_bits = params->bits_per_key != 0;
    snprintf(out, size, "%.17g", by_bits ? params->bits_per_key : params->error_rate);
}

/* ---- A new filter --------------------------------------------------------------------------- */

/* BF.RESERVE without LAYOUT, as RedisBloom writes it: replaying it creates a foreign filter. */
static void reserve_foreign(RedisModuleCtx *ctx, RedisModuleString *name,
                            const struct filter_params *params, const char *promise) {
    long long capacity = (long long)params->capacity, expansion = params->expansion;
    if (expansion) {
        RedisModule_Replicate(ctx, "BF.RESERVE", "sclcl", name, promise, capacity, "EXPANSION",
                              expansion);
    } else {
        RedisModule_Replicate(ctx, "BF.RESERVE", "sclc", name, promise, capacity, "NONSCALING");
    }
}

void replicate_reserve(RedisModuleCtx *ctx, RedisModuleString *name,
                       const struct filter_params *params) {
    char promise[32];
    promise_text(params, promise, sizeof(promise));
    if (params->is_foreign) {
        reserve_foreign(ctx, name, params, promise);
        return;
    }
    long long capacity = (long long)params->capacity, expansion = params->expansion;
    const char *layout = args_layout_name(params->layout);
    const char *scheme = args_scheme_name(params->scheme);
    if (params->bits_per_key != 0) {
        RedisModule_Replicate(ctx, "BF.RESERVE", "scclclcccc", name, "BITSPERKEY", promise,
                              capacity, "EXPANSION", expansion, "LAYOUT", layout, "HASH", scheme);
    } else {
        RedisModule_Replicate(ctx, "BF.RESERVE", "sclclcccc", name, promise, capacity, "EXPANSION",
                              expansion, "LAYOUT", layout, "HASH", scheme);
    }
}

static void create_foreign(RedisModuleCtx *ctx, RedisModuleString *name,
                           const struct filter_params *params, const char *promise,
                           RedisModuleString **items, size_t n) {
    long long capacity = (long long)params->capacity, expansion = params->expansion;
    if (expansion) {
        RedisModule_Replicate(ctx, "BF.INSERT", "sclccclcv", name, "CAPACITY", capacity, "ERROR",
                              promise, "EXPANSION", expansion, "ITEMS", items, n);
    } else {
        RedisModule_Replicate(ctx, "BF.INSERT", "sclccccv", name, "CAPACITY", capacity, "ERROR",
                              promise, "NONSCALING", "ITEMS", items, n);
    }
}

void replicate_creation(RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct filter_params *params, RedisModuleString **items, size_t n) {
    char promise[32];
    promise_text(params, promise, sizeof(promise));
    if (params->is_foreign) {
        create_foreign(ctx, name, params, promise, items, n);
        return;
    }
    RedisModule_Replicate(ctx, "BF.INSERT", "sclccclcccccv", name, "CAPACITY",
                          (long long)params->capacity,
                          params->bits_per_key != 0 ? "BITSPERKEY" : "ERROR", promise, "EXPANSION",
                          (long long)params->expansion, "LAYOUT", args_layout_name(params->layout),
                          "HASH", args_scheme_name(params->scheme), "ITEMS", items, n);
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
    if (sent && is_canonical(sent, nsent, n)) {
        RedisModule_ReplicateVerbatim(ctx);
    } else {
        RedisModule_Replicate(ctx, "BF.MADD", "sv", name, items, n);
    }
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
