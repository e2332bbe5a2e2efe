/* The Bloom filter inside an .sst file. See sst.h.
 *
 *   blocks ... | footer (53 bytes)               a block is its bytes, compression u8, checksum u32
 *
 *   footer, to format_version 5   checksum type u8 | metaindex: offset, size varint | ... |
 *   footer, versions 6 and 7      checksum type u8 | 3e 00 7a 00 | checksum u32 | base u32 |
 *                                 metaindex size u32 | 24 zeros | (it ends where the footer begins)
 *   both end in                   format_version u32 | magic u64
 *
 * The metaindex is a list of names, each with the place of another block:
 *
 *   entry     shared, unshared, value size varint | the name after its first `shared` bytes, which
 *             are those of the name before | value: offset, size varint
 *   at last   restarts u32 each | number of restarts u32
 *
 * Checksums are not checked: the filter's own fields are. */

#define _GNU_SOURCE // pread
#include "rdb/tool/sst.h"

#include "module/core/mem.h"
#include "rdb/bytes.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x88e241b785f4cff7)
#define MAGIC_BYTES 8
#define FOOTER_BYTES 53
#define NEW_MARK 0x007a003eu // after the checksum type, from version 6 on
#define TRAILER_BYTES 5      // of a block
#define NAME_MAX_BYTES 256
#define METAINDEX_MOST ((uint64_t)1 << 24) // it has some twenty names
#define RIBBON_MARK 0xfe                   // in the place of k, where a Bloom filter has ff

struct span {
    uint64_t at, size;
};

/* ---- Parts of the file ---------------------------------------------------------------------- */

/* The span must be inside the file. */
static uint8_t *copy_span(const struct sst *table, struct span span) {
    uint8_t *out = tool_alloc((size_t)span.size + 1); // a size may be 0
    if (table->bytes) {
        memcpy(out, table->bytes + span.at, (size_t)span.size);
        return out;
    }
    for (uint64_t had = 0; had < span.size;) {
        ssize_t n = pread(table->fd, out + had, (size_t)(span.size - had), (off_t)(span.at + had));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) tool_die("%s: %s", table->path, strerror(errno));
        if (n == 0) tool_die("%s: became shorter while it was read", table->path);
        had += (uint64_t)n;
    }
    return out;
}

/* Whether a block and its trailer lie before the footer. */
static bool is_inside(const struct sst *table, struct span block) {
    uint64_t room = table->size - FOOTER_BYTES;
    return block.at <= room && block.size <= room - block.at &&
           TRAILER_BYTES <= room - block.at - block.size;
}

/* The block's bytes and the first of its trailer, which names the compression. */
static uint8_t *copy_block(const struct sst *table, struct span block, bool *is_compressed) {
    uint8_t *bytes = copy_span(table, (struct span){block.at, block.size + 1});
    *is_compressed = bytes[block.size] != 0;
    return bytes;
}

static uint64_t take_varint(struct reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = take_u8(r);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    r->bad = true;
    return 0;
}

/* There must be as many. */
static const uint8_t *take_bytes(struct reader *r, uint64_t n) {
    const uint8_t *bytes = r->at;
    r->at += n;
    r->left -= (size_t)n;
    return bytes;
}

static struct span take_span(struct reader *r) {
    uint64_t at = take_varint(r);
    return (struct span){at, take_varint(r)};
}

/* ---- The footer ----------------------------------------------------------------------------- */

bool sst_is_table(const struct sst *table) {
    if (table->size < FOOTER_BYTES) return false;
    uint8_t *tail = copy_span(table, (struct span){table->size - MAGIC_BYTES, MAGIC_BYTES});
    struct reader r = {tail, MAGIC_BYTES, false};
    bool is_table = take_u64(&r) == MAGIC;
    mem_free(tail);
    return is_table;
}

/* From version 6 on the metaindex is the last block. */
static const char *read_new_footer(const struct sst *table, struct reader *r,
                                   struct span *metaindex) {
    if (take_u32(r) != NEW_MARK) return "bad footer";
    take_u64(r); // the footer's checksum, and what block checksums begin with
    metaindex->size = take_u32(r);
    uint64_t room = table->size - FOOTER_BYTES;
    if (metaindex->size > room || room - metaindex->size < TRAILER_BYTES) return "bad footer";
    metaindex->at = room - TRAILER_BYTES - metaindex->size;
    return NULL;
}

static const char *read_footer(const struct sst *table, const uint8_t *footer,
                               struct span *metaindex) {
    struct reader end = {footer + FOOTER_BYTES - 12, 4, false};
    struct reader r = {footer + 1, FOOTER_BYTES - 13, false};
    uint32_t version = take_u32(&end);
    if (version < 1 || version > 7) return "its format_version is none of 1 to 7";
    if (version > 5) return read_new_footer(table, &r, metaindex);
    *metaindex = take_span(&r);
    return r.bad || !is_inside(table, *metaindex) ? "bad footer" : NULL;
}

/* ---- The metaindex -------------------------------------------------------------------------- */

/* What filters of a table are named. */
struct names {
    bool has_full, has_partitioned, has_blocks, has_other;
    struct span full;
};

/* The name of an entry, built upon that of the one before. What is beyond the buffer does not
 * matter: no name that is looked for is so long. */
struct name {
    char text[NAME_MAX_BYTES];
    uint64_t len;
};

static bool begins(const struct name *name, const char *word) {
    size_t n = strlen(word);
    return name->len >= n && memcmp(name->text, word, n) == 0;
}

static void note_name(struct names *names, const struct name *name, struct span span) {
    static const char FULL[] = "fullfilter.rocksdb.BuiltinBloomFilter";
    if (begins(name, FULL) && name->len == strlen(FULL)) {
        names->has_full = true;
        names->full = span;
    } else if (begins(name, "partitionedfilter.")) {
        names->has_partitioned = true;
    } else if (begins(name, "fullfilter.")) {
        names->has_other = true;
    } else if (begins(name, "filter.")) {
        names->has_blocks = true;
    }
}

/* False: the entry is damaged. */
static bool take_entry(struct reader *r, struct name *name, struct names *names) {
    uint64_t shared = take_varint(r), unshared = take_varint(r), size = take_varint(r);
    if (r->bad || shared > name->len || unshared > r->left) return false;
    const uint8_t *bytes = take_bytes(r, unshared);
    if (size > r->left) return false;
    struct reader value = {take_bytes(r, size), (size_t)size, false};
    for (uint64_t i = 0; i < unshared && shared + i < NAME_MAX_BYTES; i++) {
        name->text[shared + i] = (char)bytes[i];
    }
    name->len = shared + unshared;
    struct span span = take_span(&value); // some blocks have none: they are not filters
    note_name(names, name, value.bad ? (struct span){UINT64_MAX, 0} : span);
    return true;
}

static bool read_metaindex(const uint8_t *bytes, uint64_t len, struct names *names) {
    if (len < 4) return false;
    struct reader end = {bytes + len - 4, 4, false};
    uint64_t restarts = take_u32(&end);
    if (restarts > (len - 4) / 4) return false;
    struct reader r = {bytes, (size_t)(len - 4 - 4 * restarts), false};
    struct name name = {.len = 0};
    while (r.left > 0) {
        if (!take_entry(&r, &name, names)) return false;
    }
    return true;
}

static const char *obstacle_of(const struct sst *table, const struct names *names) {
    if (names->has_full) return is_inside(table, names->full) ? NULL : "bad place of the filter";
    if (names->has_partitioned) return "its filter is partitioned, which is many filters";
    if (names->has_blocks) return "it has a filter for each block, as RocksDB made before 7.0";
    if (names->has_other) return "its filter is that of another policy";
    return "it has no filter";
}

static const char *find_filter(const struct sst *table, struct span *filter) {
    struct span span;
    uint8_t *footer = copy_span(table, (struct span){table->size - FOOTER_BYTES, FOOTER_BYTES});
    const char *fault = read_footer(table, footer, &span);
    mem_free(footer);
    if (!fault && span.size > METAINDEX_MOST) fault = "bad footer";
    if (fault) return fault;
    struct names names = {0};
    bool is_compressed;
    uint8_t *metaindex = copy_block(table, span, &is_compressed);
    if (is_compressed) {
        fault = "its metaindex is compressed";
    } else if (!read_metaindex(metaindex, span.size, &names)) {
        fault = "bad metaindex";
    } else {
        fault = obstacle_of(table, &names);
    }
    mem_free(metaindex);
    *filter = names.full;
    return fault;
}

const char *sst_take_filter(const struct sst *table, uint8_t **block, size_t *len) {
    if (!sst_is_table(table)) return "it is not a table of RocksDB";
    struct span span;
    const char *fault = find_filter(table, &span);
    if (fault) return fault;
    bool is_compressed;
    uint8_t *bytes = copy_block(table, span, &is_compressed);
    if (is_compressed) fault = "its filter is compressed";
    bool is_ribbon = span.size >= 5 && bytes[span.size - 5] == RIBBON_MARK;
    if (!fault && is_ribbon) fault = "its filter is a Ribbon filter, not a Bloom filter";
    if (fault) {
        mem_free(bytes);
        return fault;
    }
    *block = bytes;
    *len = (size_t)span.size;
    return NULL;
}
