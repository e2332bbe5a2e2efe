/* The two hashes of RocksDB's Bloom filters. The results are the same on machines of either byte
 * order. */

#ifndef BLOOMPORT_ROCKSDB_HASH_H
#define BLOOMPORT_ROCKSDB_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of filters from format_version 5 on: the preview of XXH3 in xxHash 0.7.2, which RocksDB
 * keeps under the name XXPH3. It equals the released XXH3 for no length. */
uint64_t rocksdb_hash64(const uint8_t *bytes, size_t len);

/* The hash of filters before format_version 5: LevelDB's, but the 1..3 bytes after the last whole
 * word are widened with their signs. It equals hash_leveldb if those bytes are below 0x80. */
uint32_t rocksdb_hash32(const uint8_t *bytes, size_t len);

#endif
