/* Small filters as one string. See short_record.h, and FORMAT.md for every field. */

#include "rdb/short_record.h"

#include "rdb/bytes.h"

#include <string.h>

#define VERSION 3
#define BITS_AT 18
#define CHECKSUM_BYTES 4

/* RDB files and DUMP have checksums of their own, but a file's is at its end and may be off. Four
 * bytes of XXH64 find all but one damaged record in 2^32. */
static uint32_t checksum(const uint8_t *bytes, size_t len) {
    return (uint32_t)hash_checksum(bytes, len);
}

size_t short_record_encode(const struct filter *filter, uint8_t out[SHORT_RECORD_MOST_BYTES]) {
    if (!packed_fits(filter)) return 0;
    const struct layer *layer = &filter->layers[0];
    size_t nbytes = (size_t)layer_array_bytes(layer);
    struct writer w = {out};
    put_u8(&w, VERSION);
    put_u8(&w, (uint8_t)layer->nhashes);
    put_uint(&w, filter->expansion, 2);
    put_uint(&w, layer->nbits, 2);
    put_uint(&w, layer->capacity, 2);
    put_uint(&w, layer->items, 2);
    put_f64(&w, filter->error_rate);
    memcpy(w.at, layer->bits, nbytes);
    w.at += nbytes;
    put_u32(&w, checksum(out, BITS_AT + nbytes));
    return SHORT_RECORD_FIXED_BYTES + nbytes;
}

/* Opens a record into a view whose bits are the record's own. False if its length, version or
 * checksum is wrong. */
static bool open_record(const uint8_t *bytes, size_t len, struct packed_view *view) {
    if (len <= SHORT_RECORD_FIXED_BYTES || len > SHORT_RECORD_MOST_BYTES) return false;
    struct reader tail = {bytes + len - CHECKSUM_BYTES, CHECKSUM_BYTES, false};
    if (take_u32(&tail) != checksum(bytes, len - CHECKSUM_BYTES)) return false;
    struct reader r = {bytes, len, false};
    if (take_u8(&r) != VERSION) return false;
    view->layer = (struct layer){.nhashes = take_u8(&r)};
    view->filter = (struct filter){.layers = &view->layer, .nlayers = 1};
    struct filter *filter = &view->filter;
    struct layer *layer = &view->layer;
    layer_set_geometry(layer, (struct geometry){filter->layout, filter->scheme});
    filter->expansion = (uint32_t)take_uint(&r, 2);
    uint64_t nbits = take_uint(&r, 2);
    layer->capacity = take_uint(&r, 2);
    layer->items = take_uint(&r, 2);
    filter->error_rate = take_f64(&r);
    layer->error_rate = filter_first_rate(filter->error_rate, filter->expansion);
    filter->loaded = layer_bytes(nbits);
    if (nbits == 0 || filter->loaded != r.left - CHECKSUM_BYTES) return false;
    layer_set_nbits(layer, nbits);
    layer->bits = (uint8_t *)(uintptr_t)r.at; // only read
    return true;
}

/* Counts the set bits, and checks the whole filter as the other decoders do. */
static bool is_sound(struct filter *filter) {
    struct layer *layer = &filter->layers[0];
    layer->ones = layer_count_ones(layer);
    return layer_tail_is_zero(layer) && packed_fits(filter) && !limits_fault(filter);
}

enum status short_record_decode(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                                struct measure_memo *memo, void **value) {
    struct packed_view view;
    if (!open_record(bytes, len, &view) || !is_sound(&view.filter)) return STATUS_CORRUPT;
    if (filter_size_bytes(&view.filter) > max_bytes) return STATUS_NOMEM;
    measure_settle_fill(&view.filter, memo);
    void *packed = packed_copy(&view.filter);
    if (!packed) return STATUS_NOMEM;
    *value = packed;
    return STATUS_OK;
}
