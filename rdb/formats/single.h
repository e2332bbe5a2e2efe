/* What the formats of a single layer share: its header, once read, and its bits become a filter.
 * Only the files of this directory include it. */

#ifndef BLOOMPORT_FORMATS_SINGLE_H
#define BLOOMPORT_FORMATS_SINGLE_H

#include "module/core/filter/filter.h"
#include "rdb/bytes.h"
#include "rdb/formats/formats.h"

/* Where bit p is. */
enum order {
    ORDER_BYTES, // in byte p / 8, bit p mod 8, counted from the lowest: as in memory
    ORDER_WORDS, // in word p / 64, bit p mod 64; the words are big-endian
    ORDER_HIGH,  // in byte p / 8, counted from the highest bit; bytes that are missing are 0
};

/* A header, and where the layer's bits begin. */
struct single {
    uint64_t nbits;
    uint32_t nhashes;
    struct geometry geometry;
    struct seed seed;
    uint64_t capacity;   // unless the caller has one; 0: what the bits are best for, m ln 2 / k
    double error_rate;   // what the filter was sized by; 0: what its size gives at its capacity
    double bits_per_key; // what the filter was sized by; 0: it has a rate
    const uint8_t *bits; // NULL: none is set
    size_t nbytes;       // that they take
    enum order order;
};

/* Why a filter cannot be written as one layer; NULL if it can. */
const char *single_limit(const struct filter *filter);

/* The same, for a format whose layers have a multiple of `unit` bits, `most_bits` at most, and
 * `most_hashes` at most. */
const char *single_limit_to(const struct filter *filter, uint64_t unit, uint64_t most_bits,
                            uint32_t most_hashes);

/* The bytes of m bits as words of 64. */
uint64_t single_words_bytes(uint64_t nbits);

/* Appends a layer's bits. */
void single_put_bits(struct writer *w, const struct layer *layer);
void single_put_words(struct writer *w, const struct layer *layer); // ORDER_WORDS

/* The byte with its bits in the other order. */
uint8_t single_turn_bits(uint8_t byte);

/* Checks k and m, and that what is left are the bits in their order: sets s->bits. NULL, or the
 * fault. */
const char *single_take_bits(struct reader *r, struct single *s);

/* The filter, without a set bit if s->bits is NULL. Statuses and *fault are those of
 * formats_decode. */
enum status single_decode(const struct single *s, const struct formats_options *options,
                          uint64_t max_bytes, struct filter **out, const char **fault);

/* The size that most libraries give n items: m = -n ln p / ln(2)^2, before they round it. */
double single_textbook_bits(uint64_t capacity, double error_rate);

/* The error rate of a request: its own, or what k = b ln 2 hashes give with b bits per key. */
double single_requested_rate(const struct formats_request *request);

#endif
