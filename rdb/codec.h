/* Filters as bytes: the header of rdb/FORMAT.md, and the pieces in which bit arrays travel.
 *
 * One decoder serves RDB files, RESTORE and BF.LOADCHUNK. It is bounded by the length it is given
 * and checks every field, and the object as a whole, before anyone can use the result. The bit
 * arrays themselves pass by pointer and are never copied here. */

#ifndef BLOOMPORT_CODEC_H
#define BLOOMPORT_CODEC_H

#include "module/core/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODEC_PORTABLE_BYTES 12                      // k u32 | m u64
#define CODEC_PIECE_BYTES ((size_t)16 * 1024 * 1024) // the most that travels in one piece

/* ---- The header ---- */

size_t codec_header_size(const struct filter *filter);

/* Writes codec_header_size(filter) bytes. */
void codec_encode_header(const struct filter *filter, uint8_t *out);

/* A filter as the header describes it, its bits all zero.
 * STATUS_CORRUPT: not a header, or one that contradicts itself.
 * STATUS_NOMEM: it would take more than max_bytes, or the allocator said no. */
enum status codec_decode_header(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                                struct filter **out);

/* The 12 bytes before a layer's bits in the portable layout. */
void codec_encode_portable(const struct layer *layer, uint8_t out[CODEC_PORTABLE_BYTES]);

/* ---- The bits, as one run of bytes over all layers ---- */

/* What stands at byte `offset`: up to `most` bytes, never beyond the layer it lies in.
 * 0, with *bytes unchanged, at the end and past it. */
size_t codec_piece_at(const struct filter *filter, uint64_t offset, size_t most,
                      const uint8_t **bytes);

enum codec_piece {
    CODEC_PIECE_STORED,   // the filter took it, and is whole if it was the last
    CODEC_PIECE_PRESENT,  // it was there already: nothing changed
    CODEC_PIECE_OUTSIDE,  // it lies beyond the last layer
    CODEC_PIECE_CROSSING, // it begins in one layer and ends in another
    CODEC_PIECE_GAP,      // bytes before it have not arrived yet
    CODEC_PIECE_BAD,      // the bits are not those the header speaks of; it was not taken
};

/* Gives a filter that is loading the piece of `len` bytes that ends before byte `end`. Pieces
 * come in order; one may come again. */
enum codec_piece codec_put_piece(struct filter *filter, uint64_t end, const void *bytes,
                                 size_t len);

/* True if the bits are what the counts say or, of a filter that is loading, if those that have not
 * arrived are zero: the last step of every decoding. O(size). */
bool codec_bits_are_sound(const struct filter *filter);

#endif
