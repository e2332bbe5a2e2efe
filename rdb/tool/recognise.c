/* What the bytes of a file are. See recognise.h.
 *
 * A dump begins with its magic. No other format can begin so: k would be over 255, m over 2^60.
 * Parquet begins with 0x15 and a byte over 0; a portable file with k = 21 begins with 0x15 and 0.
 * Three formats state the length of the file in their first bytes, each at another place, so that a
 * file fits one of them only. valkey-bloom's begins with four fields of narrow range. */

#include "rdb/tool/recognise.h"

#include "module/core/sizing.h"
#include "rdb/bytes.h"
#include "rdb/formats/valkeybloom.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const uint8_t *bytes, size_t len, const char *magic) {
    size_t n = strlen(magic);
    return len >= n && memcmp(bytes, magic, n) == 0;
}

/* ---- Filters ------------------------------------------------------------------------------ */

/* Whether the fields and the length are those of this format. With no bytes allowed for the filter,
 * the decoders end before the bits: a sound one is STATUS_NOMEM. */
static bool fits(enum format format, const uint8_t *bytes, size_t len) {
    struct formats_options how = {.scheme = SCHEME_XXH64};
    struct filter *filter;
    const char *fault;
    return formats_decode(format, bytes, len, &how, 0, &filter, &fault) == STATUS_NOMEM;
}

/* Whether the fields before the layers of a BF.LOAD string could be those of a filter. The rest is
 * left to the decoder, which names what is wrong. */
static bool begins_as_valkeybloom(const uint8_t *bytes, size_t len) {
    struct reader r = {bytes, len, false};
    uint8_t version = take_u8(&r);
    take_u32(&r); // any expansion
    double error_rate = take_f64(&r), ratio = take_f64(&r);
    uint8_t flag = take_u8(&r);
    return !r.bad && version == 1 && error_rate > 0 && error_rate < 1 && ratio > 0 && ratio < 1 &&
           flag <= 1;
}

enum file_format recognise_format(const uint8_t *bytes, size_t len) {
    static const enum format BY_LENGTH[] = {FORMAT_REDISBLOOM, FORMAT_PORTABLE, FORMAT_SSTABLE};
    if (begins(bytes, len, "BLOOMPRT")) return FILE_DUMP;
    if (len >= 2 && bytes[0] == 0x15 && bytes[1] != 0) return (enum file_format)FORMAT_PARQUET;
    for (size_t i = 0; i < sizeof(BY_LENGTH) / sizeof(BY_LENGTH[0]); i++) {
        if (fits(BY_LENGTH[i], bytes, len)) return (enum file_format)BY_LENGTH[i];
    }
    bool is_valkeybloom = begins_as_valkeybloom(bytes, len);
    return is_valkeybloom ? (enum file_format)FORMAT_VALKEYBLOOM : FILE_UNKNOWN;
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

/* LevelDB's filters have k at the end and nothing else, as one in eight files has by chance. One
 * with the k of a portable file at its beginning is more likely such a file, cut off. */
static bool may_be_leveldb(const uint8_t *bytes, size_t len) {
    struct reader r = {bytes, len, false};
    uint32_t k = take_u32(&r);
    bool is_portable = k >= 1 && k <= SIZING_MOST_HASHES;
    return !is_portable && fits(FORMAT_LEVELDB, bytes, len);
}

const char *recognise_other(const uint8_t *bytes, size_t len) {
    if (len == 0) return "an empty file";
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (begins(bytes, len, OTHERS[i].magic)) return OTHERS[i].name;
    }
    if (is_payload(bytes, len)) return "a DUMP payload, which RESTORE loads";
    if (is_text(bytes, len)) return "text";
    return may_be_leveldb(bytes, len) ? "a LevelDB filter, which --from leveldb reads" : NULL;
}
