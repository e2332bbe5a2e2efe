/* valkey-bloom's filters: the fields it keeps of one, the array of a layer with its header, the
 * string of BF.LOAD, and what has to hold for all of them before anyone uses them. FORMAT.md,
 * section 7, has the layouts.
 *
 * Filters that come so are *foreign*: they keep valkey-bloom's hash, seed and rules of growth, and
 * are written again byte for byte as valkey-bloom would. All its numbers are little endian;
 * position p is bit p%8 of byte p/8, as in our own arrays.
 *
 *   one array    0  version 1    1  bytes of bits u64    9  k u32    13  seed    45  bits
 *
 *   BF.LOAD      0  version 1    1  expansion u32        5  error rate    13  tightening ratio
 *               21  seed flag   22  layers u64          30  layer 0   ...
 *     a layer    0  bytes of the array u64    8  array   ...  items u64    capacity u64
 *
 *   chunks       0  BLOOMFLT     8  version 1 u32       12  expansion u32    16  layers u32
 *               20  seed flag, 3 zeroes                 24  error rate       32  tightening ratio
 *               40  seed        72  layer 0  104  layer 1  ...  72 + 32*layers  checksum u64
 *     a layer    0  capacity u64    8  items u64    16  m u64    24  k u32    28  4 zeroes
 *
 * valkey-bloom knows no chunks: their header is of our own design, its checksum is XXH64 with seed
 * 0 of all bytes before it. */

#ifndef BLOOMPORT_VALKEYBLOOM_H
#define BLOOMPORT_VALKEYBLOOM_H

#include "module/core/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALKEYBLOOM_MAGIC "BLOOMFLT" // of the chunks' header, 8 bytes
#define VALKEYBLOOM_ARRAY_HEADER 45  // bytes before the bits of an array
#define VALKEYBLOOM_OLD_RATIO 0.5    // encoding version 0 has no field for the tightening ratio

/* The seed of filters whose flag is 0, and of all those of encoding version 0. */
extern const struct seed VALKEYBLOOM_FIXED_SEED;

bool valkeybloom_is_fixed_seed(const struct seed *seed);

/* The fields of a filter and of a layer, as wide as the widest place that has them. */
struct valkeybloom_fixed {
    uint64_t nlayers, expansion; // expansion 0: non-scaling
    uint64_t flag;               // 0: the seed is VALKEYBLOOM_FIXED_SEED; 1: it may be any
    double error_rate, ratio;
};

struct valkeybloom_layer {
    uint64_t capacity, items, nbits, nhashes;
    struct seed seed; // the same in all layers
};

/* The fields of a foreign filter, or those under which valkeybloom_encode_load writes one of our
 * own. */
struct valkeybloom_fixed valkeybloom_fixed_of(const struct filter *filter);
struct valkeybloom_layer valkeybloom_layer_of(const struct filter *filter,
                                              const struct layer *layer);

/* A foreign filter with room for its layers, none of them there yet. NULL: *fault names the field
 * that is wrong, or is NULL if there is no memory. The room takes memory by fixed->nlayers, 65,536
 * at most. */
struct filter *valkeybloom_new_bare(const struct valkeybloom_fixed *fixed, const char **fault);

/* Appends another layer's fields; its bits are still NULL. There must be room. NULL,
 * or the name of the field that is wrong: then the filter is as before, but for the seed, which the
 * first layer sets. */
const char *valkeybloom_put_layer(struct filter *filter, const struct valkeybloom_layer *from);

/* The last step before the bits: all layers are there. Every layer but the last must hold its
 * capacity, and the last no more: an RDB file has no field for anything else. NULL, or the field
 * that is wrong. */
const char *valkeybloom_check_sums(struct filter *filter);

/* ---- The array of a layer ---- */

/* The header of the layer's array; layer_array_bytes(layer) bytes of bits come after it. */
void valkeybloom_encode_array_header(const struct filter *filter, const struct layer *layer,
                                     uint8_t out[VALKEYBLOOM_ARRAY_HEADER]);

/* Reads the header of an array of `len` bytes, header included, and sets *nbits, *nhashes and
 * *seed. NULL, or the field that is wrong: then they are unchanged. */
const char *valkeybloom_decode_array_header(const uint8_t *bytes, size_t len, uint64_t *nbits,
                                            uint64_t *nhashes, struct seed *seed);

/* Makes an array of encoding version 0 ours, or back: it has position p at bit 7 - p%8. */
void valkeybloom_reverse_bits(uint8_t *bytes, size_t len);

/* ---- The string of BF.LOAD ---- */

/* The fault of a version that is unknown; to be compared as a pointer. */
extern const char VALKEYBLOOM_UNKNOWN_VERSION[];

uint64_t valkeybloom_load_size(const struct filter *filter);

/* Writes valkeybloom_load_size(filter) bytes. A filter of our own must be one without
 * formats_obstacle. */
void valkeybloom_encode_load(const struct filter *filter, uint8_t *out);

/* The whole foreign filter that the bytes are, none of them left over. No memory is allocated
 * beyond what the bytes given fill.
 * STATUS_CORRUPT: *fault names the field that is wrong. STATUS_NOMEM: the filter would be larger
 * than max_bytes, or there is no memory. */
enum status valkeybloom_decode_load(const uint8_t *bytes, size_t len, uint64_t max_bytes,
                                    struct filter **out, const char **fault);

#endif
