/* The importers of rdb/formats/formats.h: one target each, all the same but for the format.
 *
 *   capacity u8 (a power of two, less 1; 0: not given), expansion u8 (where the format takes one),
 *   steering u8 (1: FNV1A, 2: a filter of RedisBloom stays one, 4 and 8: the variant, high half:
 * the allocation that fails), parts u8 (of fuzz_mill), of `redisson` m u16 (modulo 2048), k u8 and
 * an error rate u8 (in 256ths; 0: not given), then the bytes to be imported
 */

#ifndef BLOOMPORT_FUZZ_FORMAT_H
#define BLOOMPORT_FUZZ_FORMAT_H

#include "rdb/formats/formats.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static inline struct formats_options fuzz_options(enum format format, struct reader *r,
                                                  uint8_t *steering, uint8_t *parts) {
    uint8_t power = take_u8(r), expansion = take_u8(r);
    *steering = take_u8(r);
    *parts = take_u8(r);
    struct formats_options options = {
        .capacity = power ? ((uint64_t)1 << power % 64) - 1 : 0,
        .expansion = formats_takes(format, TAKES_EXPANSION) ? expansion : 0,
        .scheme = *steering & 1 ? SCHEME_FNV1A : SCHEME_XXH64,
        .variant = (enum variant)(*steering >> 2 & 3),
        .keep_foreign = (*steering & 2) != 0,
    };
    if (format == FORMAT_REDISSON) {
        options.nbits = take_uint(r, 2) % 2048; // fuzz_check looks at every bit
        options.nhashes = take_u8(r);
        options.error_rate = take_u8(r) / 256.0;
    }
    return options;
}

/* FUZZ_PARTS=0 runs the decoder and fuzz_check alone, some ten times as many inputs a second. */
static inline unsigned fuzz_allowed_parts(void) {
    static int allowed = -1;
    if (allowed < 0) {
        const char *text = getenv("FUZZ_PARTS");
        allowed = text ? atoi(text) & 0xff : 0xff;
    }
    return (unsigned)allowed;
}

static inline int fuzz_format(enum format format, const uint8_t *data, size_t size) {
    struct reader r = {data, size, false};
    uint8_t steering, parts;
    struct formats_options options = fuzz_options(format, &r, &steering, &parts);
    // A copy of exactly its length, so that the sanitizer sees its end.
    uint8_t *copy = malloc(r.left ? r.left : 1);
    CLAIM(copy);
    if (r.left > 0) memcpy(copy, r.at, r.left);

    fuzz_begin(steering >> 4);
    struct filter *filter = NULL;
    const char *fault = NULL;
    enum status st =
        formats_decode(format, copy, r.left, &options, FILTER_NO_LIMIT, &filter, &fault);
    CLAIM((st == STATUS_OK) == (filter != NULL));
    CLAIM(st != STATUS_CORRUPT || fault);
    if (filter) fuzz_mill(filter, parts & fuzz_allowed_parts());
    free(copy);
    fuzz_end();
    return 0;
}

#endif
