/* gzip, zstd and xz data, recognised by their first bytes and decoded as they are read. Several
 * members or frames one after the other count as one file, as they do for zcat. */

#ifndef BLOOMPORT_TOOL_DECODER_H
#define BLOOMPORT_TOOL_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECODER_MAGIC_MAX 6 // the longest magic number

/* The bytes that a decoder has room for; about what zstd recommends. */
#define DECODER_ROOM ((size_t)128 * 1024)

enum decoder_kind { DECODER_NONE, DECODER_GZIP, DECODER_ZSTD, DECODER_XZ };

/* What data that begins so is. *is_short: with more bytes the answer may be another one. */
enum decoder_kind decoder_recognise(const uint8_t *bytes, size_t len, bool *is_short);

struct decoder;

/* `name` is for errors, each of which ends the program. */
struct decoder *decoder_new(enum decoder_kind kind, const char *name);
void decoder_free(struct decoder *decoder);

/* Room for more encoded bytes; decoder_fed says how many came, 0 at the end of the file. To be
 * called only when the decoder is hungry. */
uint8_t *decoder_room(struct decoder *decoder, size_t *size);
void decoder_fed(struct decoder *decoder, size_t n);
bool decoder_is_hungry(const struct decoder *decoder);

/* Writes decoded bytes; 0: it is hungry, or all is decoded. */
size_t decoder_take(struct decoder *decoder, uint8_t *out, size_t size);
bool decoder_is_done(const struct decoder *decoder);

#endif
