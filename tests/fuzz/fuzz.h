/* What the fuzz targets share: an allocator that can fail and finds leaks, claims, and fuzz_mill,
 * the operations that every decoded filter goes through.
 *
 * A target is one file, fuzz_<entry>.c, with libFuzzer's entry point. Numbers that steer a run are
 * read from the front of the input with rdb/bytes.h, which gives zeroes at the end. */

#ifndef BLOOMPORT_FUZZ_H
#define BLOOMPORT_FUZZ_H

#include "rdb/bytes.h"
#include "tests/unit/growing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A claim that holds for every input: if it does not, the program ends with its text. */
#define CLAIM(claim)                                                                               \
    do {                                                                                           \
        if (!(claim)) fuzz_fail(#claim, __FILE__, __LINE__);                                       \
    } while (0)

_Noreturn void fuzz_fail(const char *claim, const char *file, int line);

/* Installs the allocator: a block over FUZZ_LARGEST fails, and so does the `fail_at`-th call from
 * now on (0: none). */
#define FUZZ_LARGEST ((size_t)1 << 16)

/* The limit itself; a target whose code needs larger blocks raises it. */
extern size_t fuzz_largest;
void fuzz_begin(unsigned fail_at);
void fuzz_fail_at(unsigned fail_at);

/* fuzz_end: everything must have been freed. fuzz_end_forgiving frees what was not. */
void fuzz_end(void);
void fuzz_end_forgiving(void);

/* Whether the filter is as FORMAT.md allows, field by field and bit by bit. */
void fuzz_check(const struct filter *filter);

/* All of a filter as bytes: its header, then its bits. The caller frees it, with mem_free. */
struct image {
    uint8_t *bytes;
    size_t header, len;
};
struct image fuzz_image(const struct filter *filter);
void fuzz_release(struct image *image);
bool fuzz_same(const struct image *a, const struct image *b);
void fuzz_claim_same(const struct filter *filter, const struct image *image);

/* The filter of an image, through the decoder and the pieces. */
struct filter *fuzz_load(const struct image *image);

/* Does what a server may do with a filter that it has just loaded: save and load it, copy and pack
 * it, query it, export it, add to it until it grows. `parts` has a bit for each, so that an input
 * chooses, and costs no more than it needs. Frees the filter. */
enum { MILL_SAVE = 1, MILL_COPY = 2, MILL_ASK = 4, MILL_EXPORT = 8, MILL_ADD = 16 };
void fuzz_mill(struct filter *filter, unsigned parts);

#endif
