/* The data type `bloomport`. See type.h.
 *
 * A small filter is saved as one string, a short record (rdb/short_record.h). Any other is saved as
 * a sequence of strings (rdb/FORMAT.md, section 3). The bits are cut into pieces, so that neither
 * saving nor loading needs a second copy of a large array:
 *
 *   | header | k, m | 1 MiB of bits | ... | the last bits | k, m | 1 MiB of bits | ...
 *             \________________ layer 0 _________________/ \________ layer 1 ______
 */

#include "module/type.h"

#include "module/config.h"
#include "module/core/filter/packed.h"
#include "module/metrics.h"
#include "module/replay.h"
#include "rdb/bytes.h"
#include "rdb/codec.h"
#include "rdb/short_record.h"

#include <string.h>

#define NAME "bloomport" // nine characters
#define ENCODING_VERSION 1

/* The bytes of a bit array that one string of an RDB file holds. Saving and loading need a buffer
 * of this size. It is so large that the cost per string is small beside the cost of its bytes. */
#define RDB_PIECE_BYTES ((size_t)1024 * 1024)

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
    bool has_counters = layout_row((enum layout)layer->layout)->has_counters;
    bool is_dense = !has_counters && layer->ones > layer->nbits / 5;
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

/* Saves the filter as a short record. False if it is none that has one. */
static bool save_short(RedisModuleIO *io, const struct filter *filter) {
    uint8_t record[SHORT_RECORD_MOST_BYTES];
    size_t len = short_record_encode(filter, record);
    if (len > 0) RedisModule_SaveStringBuffer(io, (const char *)record, len);
    return len > 0;
}

static void on_rdb_save(RedisModuleIO *io, void *value) {
    struct packed_view view;
    const struct filter *filter = packed_view(value, &view);
    if (save_short(io, filter)) return;
    size_t len;
    char *header = encode_header(filter, &len);
    RedisModule_SaveStringBuffer(io, header, len);
    RedisModule_Free(header);
    for (uint32_t i = 0; i < filter->nlayers; i++) save_layer(io, &filter->layers[i]);
}

/* ---- Loading ------------------------------------------------------------------------------ */

/* What is wrong with bytes that a decoder refuses. */
static const char *fault_of(enum status status, const char *corrupt) {
    if (status == STATUS_OK) return NULL;
    return status == STATUS_NOMEM ? TYPE_NO_MEMORY : corrupt;
}

/* Decodes a header. Returns the filter with all bits zero, or NULL and the reason in *fault. */
static struct filter *decode_header(const uint8_t *bytes, size_t len, const char **fault) {
    static const char CORRUPT[] = "not a filter header, or a damaged one";
    struct filter *filter = NULL;
    *fault = fault_of(codec_decode_header(bytes, len, config_max_loaded_bytes(), &filter), CORRUPT);
    if (filter && type_of(filter) != type_bloomport.type) { // RedisBloom's, of the other type
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

/* Loads the strings after the header. Returns the value, or NULL and the reason in *fault. */
static void *load_layers(RedisModuleIO *io, struct filter *filter, const char **fault) {
    for (uint32_t i = 0; !*fault && i < filter->nlayers; i++) {
        *fault = load_layer(io, &filter->layers[i]);
    }
    if (!*fault && !codec_bits_are_sound(filter)) {
        *fault = "the bits are not those the header speaks of";
    }
    if (!*fault) return packed_pack(filter);
    filter_free(filter);
    return NULL;
}

/* Loads a value, whose first string says in which form it is. NULL and the reason in *fault if it
 * is damaged. */
static void *load_value(RedisModuleIO *io, const char **fault) {
    size_t len;
    char *string = RedisModule_LoadStringBuffer(io, &len);
    if (!string) {
        *fault = "truncated header";
        return NULL;
    }
    const uint8_t *bytes = (const uint8_t *)string;
    void *value = NULL;
    struct filter *filter = NULL;
    if (short_record_begins(bytes, len)) {
        static struct measure_memo memo; // values are loaded in the main thread
        uint64_t most = config_max_loaded_bytes();
        *fault = fault_of(short_record_decode(bytes, len, most, &memo, &value),
                          "a damaged short record");
    } else {
        filter = decode_header(bytes, len, fault);
    }
    RedisModule_Free(string);
    return filter ? load_layers(io, filter, fault) : value;
}

static void *on_rdb_load(RedisModuleIO *io, int encver) {
    const char *fault = NULL;
    void *value = NULL;
    if (encver != ENCODING_VERSION) {
        fault = "saved by a newer version of bloomport";
    } else {
        value = load_value(io, &fault);
    }
    if (value) {
        metrics_hold(value);
        replay_note_explicit_value();
    } else {
        RedisModule_LogIOError(io, "warning", "bloomport: cannot load a filter: %s", fault);
    }
    return value;
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

static uint64_t size_bytes(const void *value) {
    return packed_size_bytes(value);
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

struct type_row type_bloomport = {
    .name = NAME,
    .encoding = ENCODING_VERSION,
    .is_explicit = true,
    .save = on_rdb_save,
    .load = on_rdb_load,
    .size = size_bytes,
};

static struct type_row *const ROWS[ORIGIN_COUNT] = {
    [ORIGIN_OWN] = &type_bloomport,
    [ORIGIN_REDISBLOOM] = &type_redisbloom,
    [ORIGIN_VALKEYBLOOM] = &type_valkeybloom,
};

const struct type_row *type_row(enum origin origin) {
    return ROWS[origin];
}

static bool create(RedisModuleCtx *ctx, struct type_row *row) {
    RedisModuleTypeMethods methods = {
        .version = REDISMODULE_TYPE_METHOD_VERSION,
        .rdb_load = row->load,
        .rdb_save = row->save,
        .aof_rewrite = on_aof_rewrite,
        .mem_usage = on_mem_usage,
        .digest = on_digest,
        .free = on_free,
        .free_effort = on_free_effort,
        .copy = on_copy,
        .defrag = on_defrag,
    };
    row->type = RedisModule_CreateDataType(ctx, row->name, row->encoding, &methods);
    if (!row->type) {
        RedisModule_Log(ctx, "warning",
                        "the server refuses the data type %s: has another module registered it?",
                        row->name);
    }
    return row->type != NULL;
}

RedisModuleType *type_of(const struct filter *filter) {
    return type_row(filter->origin)->type;
}

bool type_is_filter(const RedisModuleType *type) {
    if (!type) return false;
    for (int i = 0; i < ORIGIN_COUNT; i++) {
        if (type == ROWS[i]->type) return true;
    }
    return false;
}

/* The foreign types come first, since another module may have registered them. If our own type were
 * registered before that failure, Redis 7.0 would leak it. */
int type_register(RedisModuleCtx *ctx) {
    for (int i = ORIGIN_OWN + 1; i < ORIGIN_COUNT; i++) {
        if (!create(ctx, ROWS[i])) return REDISMODULE_ERR;
    }
    if (!create(ctx, &type_bloomport)) return REDISMODULE_ERR;
    own_context = RedisModule_GetDetachedThreadSafeContext(ctx);
    return REDISMODULE_OK;
}
