/* MurmurHash3 (Austin Appleby, public domain) and the variants that other Bloom filters use.
 *
 * The hash takes the item in blocks, of 4 bytes (x86_32) or 16 bytes (x64_128), and then the 0..3
 * or 0..15 bytes that remain, the tail. The variants differ from the original in the tail alone,
 * since Java's bytes are signed: 0xff is -1, and when widened it sets all higher bits too.
 *
 *   murmur3_32             x86_32, as published: BIP37
 *   murmur3_spark          x86_32; every byte of the tail, widened with its sign, is a block
 *   murmur3_128            x64_128, as published: Guava, Go
 *   murmur3_128_and_one    the same, of the item and one byte 0x01 after it: Go
 *   murmur3_cassandra      x64_128; the bytes of the tail are widened with their signs
 *
 * With seed 0 the empty item hashes to zero. The results are the same on machines of either byte
 * order. */

#ifndef BLOOMPORT_MURMUR3_H
#define BLOOMPORT_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

/* The two words of x64_128, in the order in which it outputs them. */
struct murmur3_128 {
    uint64_t h1, h2;
};

uint32_t murmur3_32(const uint8_t *bytes, size_t len, uint32_t seed);
uint32_t murmur3_spark(const uint8_t *bytes, size_t len, uint32_t seed);

/* The seed of these is 0. */
struct murmur3_128 murmur3_128(const uint8_t *bytes, size_t len);
struct murmur3_128 murmur3_128_and_one(const uint8_t *bytes, size_t len);
struct murmur3_128 murmur3_cassandra(const uint8_t *bytes, size_t len);

#endif
