/* gzip, zstd and xz. See decoder.h. */

#include "rdb/tool/decoder.h"

#include "module/core/mem.h"
#include "rdb/tool/tool.h"

#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const struct {
    const char *magic, *name;
    size_t len;
} KINDS[] = {
    [DECODER_GZIP] = {"\x1f\x8b", "gzip", 2},
    [DECODER_ZSTD] = {"\x28\xb5\x2f\xfd", "zstd", 4},
    [DECODER_XZ] = {"\xfd\x37\x7a\x58\x5a\x00", "xz", 6},
};

struct decoder {
    enum decoder_kind kind;
    const char *name;
    size_t at, end;  // room[at..end) is not decoded yet
    bool is_over;    // the file has no more bytes
    bool is_done;    // all is decoded
    bool is_between; // no member or frame is open: the file may end here
    bool is_blocked; // nothing came out of the last bytes
    z_stream gzip;
    ZSTD_DStream *zstd;
    lzma_stream xz;
    uint8_t room[];
};

enum decoder_kind decoder_recognise(const uint8_t *bytes, size_t len, bool *is_short) {
    *is_short = false;
    for (int kind = DECODER_GZIP; kind <= DECODER_XZ; kind++) {
        size_t n = len < KINDS[kind].len ? len : KINDS[kind].len;
        if (memcmp(bytes, KINDS[kind].magic, n) != 0) continue;
        if (n == KINDS[kind].len) return (enum decoder_kind)kind;
        *is_short = true;
    }
    return DECODER_NONE;
}

static _Noreturn void refuse(const struct decoder *decoder, const char *what) {
    tool_die("%s: bad %s data: %s", decoder->name, KINDS[decoder->kind].name, what);
}

struct decoder *decoder_new(enum decoder_kind kind, const char *name) {
    struct decoder *decoder = tool_alloc(sizeof(*decoder) + DECODER_ROOM);
    *decoder = (struct decoder){.kind = kind, .name = name};
    bool is_ready = false;
    decoder->xz = (lzma_stream)LZMA_STREAM_INIT;
    if (kind == DECODER_GZIP) is_ready = inflateInit2(&decoder->gzip, 15 + 16) == Z_OK;
    if (kind == DECODER_ZSTD) is_ready = (decoder->zstd = ZSTD_createDStream()) != NULL;
    if (kind == DECODER_XZ) {
        is_ready = lzma_stream_decoder(&decoder->xz, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK;
    }
    if (!is_ready) tool_die("%s: no memory to decode it", name);
    return decoder;
}

void decoder_free(struct decoder *decoder) {
    if (!decoder) return;
    if (decoder->kind == DECODER_GZIP) inflateEnd(&decoder->gzip);
    if (decoder->kind == DECODER_ZSTD) ZSTD_freeDStream(decoder->zstd);
    if (decoder->kind == DECODER_XZ) lzma_end(&decoder->xz);
    mem_free(decoder);
}

uint8_t *decoder_room(struct decoder *decoder, size_t *size) {
    memmove(decoder->room, decoder->room + decoder->at, decoder->end - decoder->at);
    decoder->end -= decoder->at;
    decoder->at = 0;
    *size = DECODER_ROOM - decoder->end;
    return decoder->room + decoder->end;
}

void decoder_fed(struct decoder *decoder, size_t n) {
    decoder->end += n;
    decoder->is_over = n == 0;
    decoder->is_blocked = false;
}

bool decoder_is_hungry(const struct decoder *decoder) {
    bool is_empty = decoder->at == decoder->end || decoder->is_blocked;
    return is_empty && !decoder->is_over && !decoder->is_done;
}

bool decoder_is_done(const struct decoder *decoder) {
    return decoder->is_done;
}

/* ---- One step of each: the bytes taken from `in`, and those written ------------------------- */

static size_t step_gzip(struct decoder *decoder, uint8_t *out, size_t size, size_t *taken) {
    z_stream *z = &decoder->gzip;
    size_t left = decoder->end - decoder->at;
    z->next_in = decoder->room + decoder->at;
    z->avail_in = (uInt)left;
    z->next_out = out;
    z->avail_out = size > 1u << 30 ? 1u << 30 : (uInt)size;
    uInt room = z->avail_out;
    if (decoder->is_between && left > 0 && inflateReset(z) != Z_OK) refuse(decoder, "no memory");
    int status = inflate(z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        refuse(decoder, z->msg ? z->msg : "it does not decode");
    }
    decoder->is_between = status == Z_STREAM_END;
    *taken = left - z->avail_in;
    return room - z->avail_out;
}

static size_t step_zstd(struct decoder *decoder, uint8_t *out, size_t size, size_t *taken) {
    ZSTD_inBuffer in = {decoder->room + decoder->at, decoder->end - decoder->at, 0};
    ZSTD_outBuffer to = {out, size, 0};
    size_t left = ZSTD_decompressStream(decoder->zstd, &to, &in);
    if (ZSTD_isError(left)) refuse(decoder, ZSTD_getErrorName(left));
    decoder->is_between = left == 0;
    *taken = in.pos;
    return to.pos;
}

static size_t step_xz(struct decoder *decoder, uint8_t *out, size_t size, size_t *taken) {
    lzma_stream *xz = &decoder->xz;
    size_t left = decoder->end - decoder->at;
    xz->next_in = decoder->room + decoder->at;
    xz->avail_in = left;
    xz->next_out = out;
    xz->avail_out = size;
    lzma_ret status = lzma_code(xz, decoder->is_over ? LZMA_FINISH : LZMA_RUN);
    if (status == LZMA_MEM_ERROR) refuse(decoder, "no memory");
    if (status != LZMA_OK && status != LZMA_STREAM_END && status != LZMA_BUF_ERROR) {
        refuse(decoder, "it does not decode");
    }
    decoder->is_between = status == LZMA_STREAM_END;
    *taken = left - xz->avail_in;
    return size - xz->avail_out;
}

size_t decoder_take(struct decoder *decoder, uint8_t *out, size_t size) {
    if (decoder_is_hungry(decoder) || decoder->is_done) return 0;
    size_t taken = 0, n = 0;
    bool may_end = decoder->is_over && decoder->at == decoder->end && decoder->is_between;
    if (!may_end && decoder->kind == DECODER_GZIP) n = step_gzip(decoder, out, size, &taken);
    if (!may_end && decoder->kind == DECODER_ZSTD) n = step_zstd(decoder, out, size, &taken);
    if (!may_end && decoder->kind == DECODER_XZ) n = step_xz(decoder, out, size, &taken);
    decoder->at += taken;
    if (n > 0) return n;
    decoder->is_blocked = taken == 0;
    bool is_stuck = decoder->is_over && taken == 0;
    if (is_stuck && !decoder->is_between) refuse(decoder, "it ends too early");
    decoder->is_done = is_stuck;
    return 0;
}
