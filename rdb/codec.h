/* Filters as bytes: the header, and the pieces in which bit arrays travel. rdb/FORMAT.md, section
 * 2, has every field and its legal values; offsets in bytes:
 *
 *   header      0  BLOOMPRT   8  version   12  scheme, layout, flags    16  expansion
 *              20  layers    24  error rate      32  bits per key       40  loaded
 *              48  layer 0   92  layer 1   ...   48 + 44*layers  checksum (8 bytes)
 *
 *   one layer   0  capacity   8  items     16  ones   24  error rate   32  k   36  m   (44 bytes)
 *
 *   Version 2, for windows, COUNTING and sip13, has more before the layers and in each of them:
 *
 *              48  window    52  generations     56  capacity    64  seed    96  zeroes
 *             128  layer 0  192  layer 1   ...  128 + 64*layers  checksum (8 bytes)
 *
 *   one layer  44  start     52  zeroes   (64 bytes)
 *
 *   bits       | layer 0's bytes | layer 1's bytes | ...    counted from 0 over all layers
 *
 * One decoder serves RDB files, RESTORE and BF.LOADCHUNK. It never reads past the length that it is
 * given, and checks every field and the whole filter before it returns a result. The bit arrays are
 * passed by pointer. */

#ifndef BLOOMPORT_CODEC_H
#define BLOOMPORT_CODEC_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODEC_PORTABLE_BYTES 12                      // k u32 | m u64
#define CODEC_PIECE_BYTES ((size_t)16 * 1024 * 1024) // the largest piece that BF.SCANDUMP replies

/* ---- The header ---- */

/* The header's bytes. A foreign filter has a header of another kind (rdb/FORMAT.md,
 * sections 6 and 7). */
size_t codec_header_size(const struct filter *filter);

/* Writes codec_header_size(filter) bytes. */
void codec_encode_header(const struct filter *filter, uint8_t *out);

/* The length of the header at the beginning of these bytes, as its version and its number of layers
 * say. 0 if they are no header of ours, or too short. */
size_t codec_header_length(const uint8_t *bytes, size_t len);

/* Makes the filter that the header describes, with all bits zero.
 * STATUS_CORRUPT: the bytes are no header, or one that contradicts itself.
 * STATUS_NOMEM: the filter would be larger than max_bytes, or there is no memory. */
enum status codec_decode_header(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                                struct filter **out);

/* The bytes that such a filter takes; UINT64_MAX if the header is none, or there is no memory. */
uint64_t codec_header_bytes(const uint8_t *bytes, size_t len);

/* Whether two filters with all their bits are the same: of one type, and saved as the same bytes.
 * Also false if there is no memory to tell. */
bool codec_is_same(const struct filter *a, const struct filter *b);

/* The 12 bytes before a layer's bits in the portable layout. */
void codec_encode_portable(const struct layer *layer, uint8_t out[CODEC_PORTABLE_BYTES]);

/* ---- The bits, as one run of bytes over all layers ---- */

/* Before the pieces of a decoded header's filter, which had been complete: it is loading, and no
 * byte has arrived. A foreign filter is complete at any time. */
void codec_expect_pieces(struct filter *filter);

/* Sets *bytes to the bits from byte `offset` on, and returns how many bytes there are: `most` at
 * most, and none beyond the layer of that byte. Returns 0, with *bytes unchanged, at the end and
 * past it. */
size_t codec_piece_at(const struct filter *filter, uint64_t offset, size_t most,
                      const uint8_t **bytes);

enum codec_piece {
    CODEC_PIECE_STORED,   // the piece is stored; the last one completes the filter
    CODEC_PIECE_PRESENT,  // the same bytes are present already: nothing changed
    CODEC_PIECE_OUTSIDE,  // the piece lies beyond the last layer
    CODEC_PIECE_CROSSING, // the piece begins in one layer and ends in another
    CODEC_PIECE_GAP,      // bytes before the piece have not arrived yet
    CODEC_PIECE_BAD,      // the bits contradict the header or an earlier piece; nothing changed
};

/* Stores the piece of `len` bytes that ends before byte `end`; len is at most end. The pieces of a
 * filter that is loading come in order, and each may come again. A foreign filter accepts any piece
 * at any time. */
enum codec_piece codec_put_piece(struct filter *filter, uint64_t end, const void *bytes,
                                 size_t len);

/* Whether the bits agree with the header; the last step of every decoding. In a complete filter the
 * number of set bits must be right; while it is loading, bytes that have not arrived must be zero.
 * O(size). */
bool codec_bits_are_sound(const struct filter *filter);

#endif
