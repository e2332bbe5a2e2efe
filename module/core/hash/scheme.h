/* Schemes: how an item becomes the positions of its bits. A scheme is a pair of a hash function and
 * a probe rule. One table, in scheme.c, lists all of them.
 *
 *   item --hash function--> two words --probe rule--> values --modulo m--> the item's k positions
 *
 * Ours is xxh64. The others exist so that filters made by other programs keep working in place;
 * rdb/FORMAT.md defines each of them, and the numbers (hash.h) are part of the file format.
 *
 * A *walk* yields the values of one item, one after the other. RULE_STRIDE is the rule of ours and
 * of most: a, a+b, a+2b, ... (Kirsch and Mitzenmacher 2006). layer.c has a loop of its own for it,
 * so that the other rules cost it nothing. */

#ifndef BLOOMPORT_SCHEME_H
#define BLOOMPORT_SCHEME_H

#include "module/core/hash/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Value i of the walk over the words a and b. i counts from 0. */
enum rule {
    RULE_STRIDE,    // a + i*b mod 2^64
    RULE_SIP13,     // as STRIDE, but value 1 is b, and the later ones are modulo 2^64 - 59
    RULE_FOLD32,    // s = a + i*b as a signed number of 32 bits; -1 - s if it is negative
    RULE_FOLD64,    // the same with 64 bits
    RULE_MAGNITUDE, // |a + i*b|, of a signed number of 64 bits
    RULE_ALTERNATE, // a, then b and a are added in turn
    RULE_LINE,      // bits in one line of 512, chosen by multiplication (RocksDB)
    RULE_LINE4,     // bits in one line of 512, chosen by a modulus (RocksDB before version 5)
    RULE_GO,        // four words, from the item itself
    RULE_BIP37,     // a hash of the item for each value
};

/* More bits than any machine has. With this limit every sum of sizes fits into 64 bits. */
#define SCHEME_MAX_BITS ((uint64_t)1 << 60)

/* The bits of an array of longs in Java, whose length is an int. */
#define SCHEME_JAVA_BITS ((uint64_t)64 * INT32_MAX)

/* RULE_LINE and RULE_LINE4: m is a multiple of this. */
#define SCHEME_LINE_BITS 512

struct scheme_row {
    const char *name; // as commands show it
    const char *word; // as the tool prints it
    struct hash (*hash)(const struct seed *seed, const uint8_t *item, size_t len);
    enum rule rule;
    uint8_t shift;       // a position is (value >> shift) mod m
    bool wraps;          // the words are so wide that a walk wraps round at 2^63 or more (rate.c)
    bool is_narrow;      // both words follow from 32 bits of hash
    bool reads_item;     // the words hold the item's address and length: the walk reads the item
    bool grows;          // a filter can have more than one layer
    bool is_imported;    // such filters come from a format: CLASSIC, without a window
    bool is_incumbents;  // RedisBloom or valkey-bloom makes such filters too, in their own ranges
    uint8_t seed_bytes;  // of the filter's seed that the hash depends on
    uint8_t extra_bytes; // after them, kept for the scheme's format alone
    uint8_t reach_log2;  // positions are below 2^this, however large m is
    uint64_t max_bits;   // of a layer
};

/* Any number: a scheme that does not exist has the row of xxh64. */
const struct scheme_row *scheme_row(enum scheme scheme);

static inline bool scheme_exists(uint64_t number) {
    return number < SCHEME_COUNT;
}

/* The words of an item. The seed may be NULL where the scheme has none. In a scheme that reads the
 * item, the words are good as long as the item stays where it is. */
static inline struct hash scheme_hash(enum scheme scheme, const struct seed *seed, const void *item,
                                      size_t len) {
    if (scheme == SCHEME_XXH64) return hash_of_xxh64(item, len);
    if (scheme == SCHEME_SIP13) return hash_of_sip13(seed, item, len);
    return scheme_row(scheme)->hash(seed, item, len);
}

/* Whether equal items have equal words with both seeds. */
bool scheme_is_same_seed(enum scheme scheme, const struct seed *a, const struct seed *b);

/* How many of m bits can be set at all. */
static inline uint64_t scheme_reach(enum scheme scheme, uint64_t nbits) {
    uint64_t reach = (uint64_t)1 << scheme_row(scheme)->reach_log2;
    return nbits < reach ? nbits : reach;
}

/* Value i of RULE_SIP13, the other rule of our own filters. */
static inline uint64_t scheme_sip13_value(struct hash hash, uint32_t i) {
    const uint64_t prime = 0xffffffffffffffc5U;
    uint64_t value = hash.a + i * hash.b;
    if (i == 0) return value;
    if (i == 1) return hash.b;
    return value >= prime ? value - prime : value;
}

struct walk {
    uint64_t a, b, c, d;
    uint32_t i;
    enum rule rule;
};

/* The walk of an item over an array of m bits, before its first value. */
struct walk walk_begin(enum rule rule, struct hash hash, uint64_t nbits);

/* The next value. */
uint64_t walk_next(struct walk *walk);

#endif
