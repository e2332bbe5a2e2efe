/* The data type `bloomport`. See type.h.
 *
 * A saved filter is a sequence of strings (rdb/FORMAT.md, section 3). The bits are cut into pieces,
 * so that neither saving nor loading needs a second copy of a large array:
 *
 *   | header | k, m | 1 MiB of bits | ... | the last bits | k, m | 1 MiB of bits | ...
 *             \________________ layer 0 _________________/ \________ layer 1 ______
 */

#include "module/type.h"

#include "module/config.h"
#include "module/core/measure.h"
#include "module/core/packed.h"
#include "module/metrics.h"
#include "module/replay.h"
#include "module/type_foreign.h"
#include "rdb/bytes.h"
#include "rdb/codec.h"

#include <string.h>

#define NAME "bloomport" // nine characters
#define ENCODING_VERSION 1

/* The bytes of a bit array that one string of an RDB file holds. Saving and loading need a buffer
 * of this size. It is so large that the cost per string is small beside the cost of its bytes. */
#define RDB_PIECE_BYTES ((size_t)1024 * 1024)

RedisModuleType *type_bloomport;

/* The context for commands that are called while saving. They need a client, which the context of a
 * save does not have on Redis 7.0. */
static RedisModuleCtx *own_context;

/* ---- Saving ------------------------------------------------------------------------------- */

/* Returns the header in memory that the caller frees. Only here the allocator that aborts is right,
 * since a save cannot report a failure. A child process that dies leaves the last good snapshot in
 * place; one that went on would write a snapshot that lacks a filter. */
static char *encode_header(const struct filter *filter, size_t *len) {
    *len = codec_header_size(filter);
    char *header = RedisModule_Alloc(*len);
    codec_encode_header(filter, (uint8_t *)header);
    return header;
}

/* Sets the server's rdbcompression to `to` if it is `from`. Returns whether it did. The module API
 * cannot save a string uncompressed, but the server reads the setting for every string. This works
 * in a child process only, which saves and ends. In the server itself the CONFIG commands would be
 * counted and announced. */
static bool switch_compression(const char *from, const char *to) {
    if (!(RedisModule_GetContextFlags(own_context) & REDISMODULE_CTX_FLAGS_IS_CHILD)) return false;
    RedisModuleCallReply *now =
        RedisModule_Call(own_context, "CONFIG", "cc", "GET", "rdbcompression");
    RedisModuleCallReply *value = now ? RedisModule_CallReplyArrayElement(now, 1) : NULL;
    size_t len = 0;
    const char *text = value ? RedisModule_CallReplyStringPtr(value, &len) : NULL;
    // Without an answer CONFIG has been renamed, and the bits are compressed as usual.
    bool differs = text && len == strlen(from) && memcmp(text, from, len) == 0;
    if (now) RedisModule_FreeCallReply(now);
    if (differs) {
        now = RedisModule_Call(own_context, "CONFIG", "ccc", "SET", "rdbcompression", to);
        if (now) RedisModule_FreeCallReply(now);
    }
    return differs;
}

/* Bits that are set at random cannot be compressed, and the server's LZF takes six times as long to
 * find that out as saving takes. It gains 28 % at a fill of 8 %, 8 % at 16 %, nothing from 30 % on.
 */
static bool is_incompressible(const struct layer *layer) {
    bool is_dense = layer->layout != LAYOUT_COUNTING && layer->ones > layer->nbits / 5;
    return is_dense && layer_array_bytes(layer) >= 65536;
}

static void save_layer(RedisModuleIO *io, const struct layer *layer) {
    bool switched = is_incompressible(layer) && switch_compression("yes", "no");
    uint8_t portable[CODEC_PORTABLE_BYTES];
    codec_encode_portable(layer, portable);
    RedisModule_SaveStringBuffer(io, (const char *)portable, sizeof(portable));
    uint64_t size = layer_array_bytes(layer);
    for (uint64_t at = 0; at < size; at += RDB_PIECE_BYTES) {
        uint64_t left = size - at;
        size_t piece = left < RDB_PIECE_BYTES ? (size_t)left : RDB_PIECE_BYTES;
        RedisModule_SaveStringBuffer(io, (const char *)layer->bits + at, piece);
    }
    if (switched) switch_compression("no", "yes");
}

static void on_rdb_save(RedisModuleIO *io, void *value) {
    struct packed_view view;
    const struct filter *filter = packed_view(value, &view);
    size_t len;
    char *header = encode_header(filter, &len);
    RedisModule_SaveStringBuffer(io, header, len);
    RedisModule_Free(header);
    for (uint32_t i = 0; i < filter->nlayers; i++) save_layer(io, &filter->layers[i]);
}

/* ---- Loading ------------------------------------------------------------------------------ */

/* Loads the header. Returns the filter with all bits zero, or NULL and the reason in *fault. */
static struct filter *load_header(RedisModuleIO *io, const char **fault) {
    size_t len;
    char *bytes = RedisModule_LoadStringBuffer(io, &len);
    if (!bytes) {
        *fault = "truncated header";
        return NULL;
    }
    struct filter *filter = NULL;
    uint64_t max_bytes = config_max_loaded_bytes();
    enum status st = codec_decode_header((const uint8_t *)bytes, len, max_bytes, &filter);
    if (st == STATUS_NOMEM) *fault = TYPE_NO_MEMORY;
    if (st == STATUS_CORRUPT) *fault = "not a filter header, or a damaged one";
    RedisModule_Free(bytes);
    if (filter && filter->is_foreign) { // RedisBloom's header belongs to the other type
        *fault = "not a filter header";
        filter_free(filter);
        filter = NULL;
    }
    return filter;
}

/* Reads one string into `out`, whose bytes must be zero. The string must have `len` bytes, or 1 to
 * `len` if `partly`. Returns its length, or 0 if it is missing or has another length. */
static size_t load_into(RedisModuleIO *io, uint8_t *out, size_t len, bool partly) {
    size_t got;
    char *bytes = RedisModule_LoadStringBuffer(io, &got);
    if (!bytes) return 0;
    bool fits = partly ? got >= 1 && got <= len : got == len;
    // The bits are zero already. They take no memory until they are written to.
    if (fits && !bytes_are_zero(bytes, got)) memcpy(out, bytes, got);
    RedisModule_Free(bytes);
    return fits ? got : 0;
}

static const char *load_layer(RedisModuleIO *io, struct layer *layer) {
    uint8_t expected[CODEC_PORTABLE_BYTES], portable[CODEC_PORTABLE_BYTES] = {0};
    codec_encode_portable(layer, expected);
    if (!load_into(io, portable, sizeof(portable), false)) return "truncated layer header";
    if (memcmp(portable, expected, sizeof(portable)) != 0) return "layer contradicts the header";
    uint64_t size = layer_array_bytes(layer);
    for (uint64_t at = 0; at < size;) {
        size_t got = load_into(io, layer->bits + at, (size_t)(size - at), true);
        if (!got) return "truncated or oversized bits";
        at += got;
    }
    return NULL;
}

/* A file of small filters has many alike, so the last safe fill is kept: computing it takes a sixth
 * of loading one. Of filters that may be packed it follows from these three fields. */
static void set_safe_fill(struct filter *filter) {
    static struct {
        double error_rate;
        uint64_t nbits;
        uint32_t nhashes;
        float safe_fill;
    } last;
    const struct layer *layer = &filter->layers[0];
    if (!packed_fits(filter)) return; // metrics_hold computes it
    if (last.error_rate != filter->error_rate || last.nbits != layer->nbits ||
        last.nhashes != layer->nhashes) {
        last.error_rate = filter->error_rate;
        last.nbits = layer->nbits;
        last.nhashes = layer->nhashes;
        last.safe_fill = measure_safe_fill(filter);
    }
    filter->safe_fill = last.safe_fill;
}

static void *on_rdb_load(RedisModuleIO *io, int encver) {
    const char *fault = NULL;
    struct filter *filter = NULL;
    if (encver != ENCODING_VERSION) {
        fault = "saved by a newer version of bloomport";
    } else {
        filter = load_header(io, &fault);
    }
    for (uint32_t i = 0; filter && !fault && i < filter->nlayers; i++) {
        fault = load_layer(io, &filter->layers[i]);
    }
    if (!fault && !codec_bits_are_sound(filter)) {
        fault = "the bits are not those the header speaks of";
    }
    if (!fault) {
        set_safe_fill(filter);
        void *value = packed_pack(filter);
        metrics_hold(value);
        replay_note_explicit_value();
        return value;
    }
    RedisModule_LogIOError(io, "warning", "bloomport: cannot load a filter: %s", fault);
    filter_free(filter);
    return NULL;
}

/* ---- AOF ---------------------------------------------------------------------------------- */

/* Writes the filter as BF.LOADCHUNK commands, with the chunks of BF.SCANDUMP. A filter that is
 * still loading gets the pieces that have arrived, so that it goes on loading. */
static void on_aof_rewrite(RedisModuleIO *io, RedisModuleString *key, void *value) {
    struct packed_view view;
    const struct filter *filter = packed_view(value, &view);
    struct filter complete = *filter;
    complete.is_loading = false;
    complete.loaded = filter_array_bytes(filter);
    size_t len;
    char *header = encode_header(&complete, &len);
    RedisModule_EmitAOF(io, "BF.LOADCHUNK", "slb", key, 1LL, header, len);
    RedisModule_Free(header);
    for (uint64_t at = 0; at < filter->loaded;) {
        const uint8_t *bytes;
        uint64_t left = filter->loaded - at;
        size_t most = left < CODEC_PIECE_BYTES ? (size_t)left : CODEC_PIECE_BYTES;
        size_t piece = codec_piece_at(filter, at, most, &bytes);
        at += piece;
        RedisModule_EmitAOF(io, "BF.LOADCHUNK", "slb", key, (long long)(at + 1),
                            (const char *)bytes, piece);
    }
}

/* ---- Memory ------------------------------------------------------------------------------- */

static void on_free(void *value) {
    metrics_release(value);
    packed_free(value);
}

/* Above 64 the server frees in the background. Each layer counts one, and so do each 4 KiB, a page
 * of most machines, since returning pages to the kernel takes the time. */
static size_t on_free_effort(RedisModuleString *key, const void *value) {
    (void)key;
    struct packed_view view;
    const struct filter *filter = packed_view(value, &view);
    return filter->nlayers + (size_t)(filter_array_bytes(filter) / 4096);
}

static size_t on_mem_usage(const void *value) {
    size_t size = RedisModule_MallocSize((void *)(uintptr_t)value);
    if (packed_is_packed(value)) return size;
    const struct filter *filter = value;
    size += RedisModule_MallocSize(filter->layers);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        size += RedisModule_MallocSize(filter->layers[i].bits);
    }
    return size;
}

static void *on_copy(RedisModuleString *from, RedisModuleString *to, const void *value) {
    (void)from, (void)to;
    struct filter *unpacked = packed_unpack(value);
    if (!unpacked) return NULL;
    void *copy = packed_pack(unpacked);
    metrics_hold(copy);
    return copy;
}

/* Moves one allocation, if the allocator has a place that reduces fragmentation. */
static void *moved(RedisModuleDefragCtx *ctx, void *ptr) {
    void *better = RedisModule_DefragAlloc(ctx, ptr);
    return better ? better : ptr;
}

/* The allocator moves small blocks only, so that even a large filter takes one call. */
static int on_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value) {
    (void)key;
    *value = moved(ctx, *value);
    if (packed_is_packed(*value)) return 0;
    struct filter *filter = *value;
    filter->layers = moved(ctx, filter->layers);
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        filter->layers[i].bits = moved(ctx, filter->layers[i].bits);
    }
    return 0; // all done
}

static void on_digest(RedisModuleDigest *digest, void *value) {
    struct packed_view view;
    const struct filter *filter = packed_view(value, &view);
    size_t len;
    char *header = encode_header(filter, &len);
    RedisModule_DigestAddStringBuffer(digest, header, len);
    RedisModule_Free(header);
    // The bits go in pieces, since the server's digest counts their length in 32 bits.
    const uint8_t *bytes;
    size_t piece;
    for (uint64_t at = 0; (piece = codec_piece_at(filter, at, RDB_PIECE_BYTES, &bytes)) > 0;) {
        RedisModule_DigestAddStringBuffer(digest, (const char *)bytes, piece);
        at += piece;
    }
    RedisModule_DigestEndSequence(digest);
}

/* ---- Registration ------------------------------------------------------------------------- */

static RedisModuleType *create(RedisModuleCtx *ctx, const char *name, int encoding_version,
                               RedisModuleTypeSaveFunc save, RedisModuleTypeLoadFunc load) {
    RedisModuleTypeMethods methods = {
        .version = REDISMODULE_TYPE_METHOD_VERSION,
        .rdb_load = load,
        .rdb_save = save,
        .aof_rewrite = on_aof_rewrite,
        .mem_usage = on_mem_usage,
        .digest = on_digest,
        .free = on_free,
        .free_effort = on_free_effort,
        .copy = on_copy,
        .defrag = on_defrag,
    };
    RedisModuleType *type = RedisModule_CreateDataType(ctx, name, encoding_version, &methods);
    if (!type) {
        RedisModule_Log(ctx, "warning",
                        "the server refuses the data type %s: has another module registered it?",
                        name);
    }
    return type;
}

RedisModuleType *type_of(const struct filter *filter) {
    return filter->is_foreign ? type_foreign_of(filter)->type : type_bloomport;
}

bool type_is_filter(const RedisModuleType *type) {
    if (!type) return false;
    bool is_one = type == type_bloomport;
    for (int i = 0; i < TYPE_FOREIGN_COUNT; i++) is_one |= type == type_foreign[i].type;
    return is_one;
}

/* The foreign types come first, since another module may have registered them. If our own type were
 * registered before that failure, Redis 7.0 would leak it. */
int type_register(RedisModuleCtx *ctx) {
    for (int i = 0; i < TYPE_FOREIGN_COUNT; i++) {
        struct type_foreign *row = &type_foreign[i];
        row->type = create(ctx, row->name, row->encoding, row->save, row->load);
        if (!row->type) return REDISMODULE_ERR;
    }
    type_bloomport = create(ctx, NAME, ENCODING_VERSION, on_rdb_save, on_rdb_load);
    if (!type_bloomport) return REDISMODULE_ERR;
    own_context = RedisModule_GetDetachedThreadSafeContext(ctx);
    return REDISMODULE_OK;
}
