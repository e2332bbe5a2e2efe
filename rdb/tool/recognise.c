/* What the bytes of a file are. See recognise.h.
 *
 * A dump begins with its magic. No other format can begin so: k would be over 255, m over 2^60. The
 * formats that can be recognised have a magic number, or state the length of the file in their
 * first or last bytes, each at another place, so that a file fits one of them only. */

#include "rdb/tool/recognise.h"

#include "module/core/math/sizing.h"
#include "rdb/bytes.h"
#include "rdb/formats/valkeybloom.h"
#include "rdb/tool/sst.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const uint8_t *bytes, size_t len, const char *magic) {
    size_t n = strlen(magic);
    return len >= n && memcmp(bytes, magic, n) == 0;
}

enum file_format recognise_format(const uint8_t *bytes, size_t len) {
    enum format format;
    if (begins(bytes, len, "BLOOMPRT")) return FILE_DUMP;
    if (sst_is_table(&(struct sst){.bytes = bytes, .size = len})) return FILE_SST;
    return formats_recognise(bytes, len, &format) ? (enum file_format)format : FILE_UNKNOWN;
}

/* ---- Cassandra ---------------------------------------------------------------------------- */

/* With no bytes allowed for the filter, the decoder ends before the bits: a sound one is
 * STATUS_NOMEM. */
bool recognise_cassandra(const uint8_t *bytes, size_t len) {
    struct formats_options how = {.variant = VARIANT_4X};
    struct filter *filter;
    const char *fault;
    return formats_decode(FORMAT_CASSANDRA, bytes, len, &how, 0, &filter, &fault) == STATUS_NOMEM;
}

/* Where the n-th part of a name begins, counted from its end; hyphens separate them. NULL if it has
 * fewer. */
static const char *part_from_end(const char *name, int n) {
    for (const char *at = name + strlen(name); at > name; at--) {
        if (at[-1] == '-' && --n == 0) return at;
    }
    return n == 1 ? name : NULL;
}

static bool is_version(const char *part) {
    bool are_letters = part[0] >= 'a' && part[0] <= 'z' && part[1] >= 'a' && part[1] <= 'z';
    return are_letters && part[2] == '-';
}

/* Names are version-id-big-Filter.db, and bti for big from 5.0 on; before 2.2 they were
 * keyspace-table-version-id-Filter.db. */
enum variant recognise_variant(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *filter = part_from_end(name, 1), *kind = part_from_end(name, 2);
    const char *new = part_from_end(name, 4), *old = part_from_end(name, 3);
    if (filter == name || strcmp(filter, "Filter.db") != 0) return VARIANT_NONE;
    bool is_big = kind && begins((const uint8_t *)kind, strlen(kind), "big-");
    bool is_bti = kind && begins((const uint8_t *)kind, strlen(kind), "bti-");
    if (new == name && is_version(new) && is_big) {
        if (strncmp(new, "ma", 2) < 0) return VARIANT_OLD;
        return strncmp(new, "na", 2) < 0 ? VARIANT_3X : VARIANT_4X;
    }
    if (new == name && is_version(new) && is_bti) {
        return strncmp(new, "da", 2) < 0 ? VARIANT_NONE : VARIANT_4X;
    }
    bool is_old = old && old > name && is_version(old) && strncmp(old, "ma", 2) < 0;
    return is_old ? VARIANT_OLD : VARIANT_NONE;
}

/* ---- Other files -------------------------------------------------------------------------- */

static const struct {
    const char *magic, *name;
} OTHERS[] = {
    {"REDIS00", "an RDB file"}, // REDIS0011
    {"VALKEY0", "an RDB file"}, // VALKEY080
    {"*2\r\n$6\r\nSELECT", "an append-only file"},
    {VALKEYBLOOM_MAGIC, "pieces of BF.SCANDUMP, which pull fetches"},
    {"PAR1", "a whole Parquet file, whose filters are inside"},
    {"\x1f\x8b", "gzip data"},
    {"\x28\xb5\x2f\xfd", "zstd data"},
    {"\xfd"
     "7zXZ",
     "xz data"},
};

/* The CRC64 of RDB files and DUMP payloads: polynomial ad93d23594c935a9, bits reversed. */
static uint64_t crc64(const uint8_t *bytes, size_t len) {
    uint64_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ UINT64_C(0x95ac9329ac4bc9b5) : crc >> 1;
        }
    }
    return crc;
}

/* A DUMP payload ends in the RDB version u16, from 1 to 255, and the CRC64 of all before. */
static bool is_payload(const uint8_t *bytes, size_t len) {
    if (len < 11) return false;
    struct reader tail = {bytes + len - 10, 10, false};
    uint64_t version = take_uint(&tail, 2);
    return version >= 1 && version <= 255 && take_u64(&tail) == crc64(bytes, len - 8);
}

/* Text in ASCII, or in any encoding that extends it: no control characters but those of lines. */
static bool is_text(const uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        bool is_control = bytes[i] < 0x20 || bytes[i] == 0x7f;
        if (is_control && !(bytes[i] >= '\t' && bytes[i] <= '\r')) return false;
    }
    return true;
}

#define LEVELDB_MAGIC UINT64_C(0xdb4775248b80fb57) // the last 8 bytes of a table

static bool ends_in(const uint8_t *bytes, size_t len, uint64_t magic) {
    struct reader r = {bytes + (len < 8 ? 0 : len - 8), len < 8 ? len : 8, false};
    return take_u64(&r) == magic;
}

const char *recognise_other(const uint8_t *bytes, size_t len) {
    if (len == 0) return "an empty file";
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (begins(bytes, len, OTHERS[i].magic)) return OTHERS[i].name;
    }
    if (is_payload(bytes, len)) return "a DUMP payload, which RESTORE loads";
    if (bytes[len - 1] == '\n' && is_payload(bytes, len - 1)) {
        return "a DUMP payload, which RESTORE loads without redis-cli's newline at its end";
    }
    if (is_text(bytes, len)) return "text";
    if (ends_in(bytes, len, LEVELDB_MAGIC)) {
        return "a table of LevelDB, or of RocksDB's format_version 0, whose filters are inside";
    }
    if (recognise_cassandra(bytes, len)) {
        return "a Cassandra filter, which --from cassandra --variant old, 3.x or 4.x reads";
    }
    return NULL;
}

static bool ends_in_k(const uint8_t *bytes, size_t len) {
    return len >= 2 && bytes[len - 1] >= 1 && bytes[len - 1] <= SIZING_MAX_HASHES;
}

static bool begins_with_k(const uint8_t *bytes, size_t len) {
    struct reader r = {bytes, len, false};
    uint32_t k = take_u32(&r);
    return k >= 1 && k <= SIZING_MOST_HASHES;
}

/* LevelDB's filters have k at the end and nothing else, as one in eight files has by chance: that
 * is no reason to call it one. One with the k of a portable file at its beginning is likely such a
 * file, cut off. */
const char *recognise_unknown(const uint8_t *bytes, size_t len) {
    if (begins_with_k(bytes, len)) return NULL;
    if (!ends_in_k(bytes, len)) return "unknown binary data";
    return "unknown binary data; a LevelDB filter has no marks: --format leveldb reads one, "
           "--from leveldb in convert and merge";
}
