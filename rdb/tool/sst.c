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
 * One of them is the properties, a list of the same kind, whose values are texts or numbers. They
 * say what the filter's items are: whole keys, prefixes of keys, or both. The filter is taken here
 * and nowhere else, and never without that answer.
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
#define LIST_MOST ((uint64_t)1 << 24) // metaindex and properties have some fifty names
#define RIBBON_MARK 0xfe              // in the place of k, where a Bloom filter has ff

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

/* ---- Lists of names ------------------------------------------------------------------------- */

/* The name of an entry, built upon that of the one before. What is beyond the buffer does not
 * matter: no name that is looked for is so long. */
struct name {
    char text[NAME_MAX_BYTES];
    uint64_t len;
};

/* What is done with an entry. */
typedef void entry_visitor(void *context, const struct name *name, struct reader value);

static bool begins(const struct name *name, const char *word) {
    size_t n = strlen(word);
    return name->len >= n && memcmp(name->text, word, n) == 0;
}

static bool is_named(const struct name *name, const char *word) {
    return begins(name, word) && name->len == strlen(word);
}

/* False: the entry is damaged. */
static bool take_entry(struct reader *r, struct name *name, entry_visitor *visit, void *context) {
    uint64_t shared = take_varint(r), unshared = take_varint(r), size = take_varint(r);
    if (r->bad || shared > name->len || unshared > r->left) return false;
    const uint8_t *bytes = take_bytes(r, unshared);
    if (size > r->left) return false;
    struct reader value = {take_bytes(r, size), (size_t)size, false};
    for (uint64_t i = 0; i < unshared && shared + i < NAME_MAX_BYTES; i++) {
        name->text[shared + i] = (char)bytes[i];
    }
    name->len = shared + unshared;
    visit(context, name, value);
    return true;
}

static bool visit_entries(const uint8_t *bytes, uint64_t len, entry_visitor *visit, void *context) {
    if (len < 4) return false;
    struct reader end = {bytes + len - 4, 4, false};
    uint64_t restarts = take_u32(&end);
    if (restarts > (len - 4) / 4) return false;
    struct reader r = {bytes, (size_t)(len - 4 - 4 * restarts), false};
    struct name name = {.len = 0};
    while (r.left > 0) {
        if (!take_entry(&r, &name, visit, context)) return false;
    }
    return true;
}

/* ---- The metaindex -------------------------------------------------------------------------- */

/* What a table has, by the names. */
struct names {
    bool has_full, has_partitioned, has_blocks, has_other, has_properties;
    struct span full, properties;
};

static void note_name(void *context, const struct name *name, struct reader value) {
    struct names *names = context;
    struct span span = take_span(&value); // some blocks have none: no one looks for these
    if (value.bad) span = (struct span){UINT64_MAX, 0};
    if (is_named(name, "fullfilter.rocksdb.BuiltinBloomFilter")) {
        names->has_full = true;
        names->full = span;
    } else if (begins(name, "partitionedfilter.")) {
        names->has_partitioned = true;
    } else if (begins(name, "fullfilter.")) {
        names->has_other = true;
    } else if (begins(name, "filter.")) {
        names->has_blocks = true;
    } else if (is_named(name, "rocksdb.properties") || is_named(name, "rocksdb.stats")) {
        names->has_properties = true; // `stats` was their name at first
        names->properties = span;
    }
}

static const char *obstacle_of(const struct sst *table, const struct names *names) {
    if (names->has_full) return is_inside(table, names->full) ? NULL : "bad place of the filter";
    if (names->has_partitioned) return "its filter is partitioned, which is many filters";
    if (names->has_blocks) return "it has a filter for each block, as RocksDB made before 7.0";
    if (names->has_other) return "its filter is that of another policy";
    return "it has no filter";
}

static const char *read_metaindex(const struct sst *table, struct names *names) {
    struct span span;
    uint8_t *footer = copy_span(table, (struct span){table->size - FOOTER_BYTES, FOOTER_BYTES});
    const char *fault = read_footer(table, footer, &span);
    mem_free(footer);
    if (!fault && span.size > LIST_MOST) fault = "bad footer";
    if (fault) return fault;
    bool is_compressed;
    uint8_t *metaindex = copy_block(table, span, &is_compressed);
    if (is_compressed) {
        fault = "its metaindex is compressed";
    } else if (!visit_entries(metaindex, span.size, note_name, names)) {
        fault = "bad metaindex";
    } else {
        fault = obstacle_of(table, names);
    }
    mem_free(metaindex);
    return fault;
}

/* ---- The properties ------------------------------------------------------------------------- */

/* Whether the filter has keys and prefixes: '0', '1', or 0 where a table does not say; any other
 * answer is a fault. */
struct properties {
    char keys, prefixes;
    char *extractor; // of SST_EXTRACTOR bytes
};

static char answer_of(struct reader value) {
    if (value.left != 1) return '?';
    return (char)take_u8(&value);
}

static void copy_extractor(char out[SST_EXTRACTOR], struct reader value) {
    size_t n = value.left < SST_EXTRACTOR ? value.left : SST_EXTRACTOR - 1;
    memcpy(out, value.at, n);
    out[n] = '\0';
}

static void note_property(void *context, const struct name *name, struct reader value) {
    struct properties *found = context;
    if (is_named(name, "rocksdb.block.based.table.whole.key.filtering")) {
        found->keys = answer_of(value);
    } else if (is_named(name, "rocksdb.block.based.table.prefix.filtering")) {
        found->prefixes = answer_of(value);
    } else if (is_named(name, "rocksdb.prefix.extractor.name")) {
        copy_extractor(found->extractor, value);
    }
}

static bool is_answer(char answer) {
    return answer == 0 || answer == '0' || answer == '1';
}

/* RocksDB itself takes a filter for one of whole keys where a table does not say, as those before
 * 2.8 do not. */
static const char *read_properties(const struct sst *table, const struct names *names,
                                   struct sst_filter *filter) {
    struct properties found = {.extractor = filter->extractor};
    const char *fault = NULL;
    if (names->has_properties) {
        bool is_compressed;
        if (!is_inside(table, names->properties) || names->properties.size > LIST_MOST) {
            return "bad place of the properties";
        }
        uint8_t *bytes = copy_block(table, names->properties, &is_compressed);
        if (is_compressed) {
            fault = "its properties are compressed";
        } else if (!visit_entries(bytes, names->properties.size, note_property, &found) ||
                   !is_answer(found.keys) || !is_answer(found.prefixes)) {
            fault = "bad properties";
        }
        mem_free(bytes);
    }
    filter->has_keys = found.keys != '0';
    filter->has_prefixes = found.prefixes == '1';
    return fault;
}

/* Whether a lookup of such items in the filter can be trusted. */
static const char *check_items(const struct sst_filter *filter, bool wants_prefixes) {
    if (wants_prefixes) {
        return filter->has_prefixes ? NULL : "its filter has whole keys and no prefixes";
    }
    if (filter->has_keys) return NULL;
    return filter->has_prefixes
               ? "its filter has prefixes of keys and no whole keys, which it would deny "
                 "(--prefix of check, info, merge, convert and push reads it as a filter of "
                 "prefixes)"
               : "its filter has no whole keys, which it would deny";
}

/* ---- The filter ----------------------------------------------------------------------------- */

static const char *take_block(const struct sst *table, struct span span,
                              struct sst_filter *filter) {
    bool is_compressed;
    uint8_t *bytes = copy_block(table, span, &is_compressed);
    const char *fault = is_compressed ? "its filter is compressed" : NULL;
    bool is_ribbon = span.size >= 5 && bytes[span.size - 5] == RIBBON_MARK;
    if (!fault && is_ribbon) fault = "its filter is a Ribbon filter, not a Bloom filter";
    if (fault) {
        mem_free(bytes);
        return fault;
    }
    filter->block = bytes;
    filter->len = (size_t)span.size;
    return NULL;
}

const char *sst_take_filter(const struct sst *table, bool wants_prefixes,
                            struct sst_filter *filter) {
    struct names names = {0};
    *filter = (struct sst_filter){0};
    if (!sst_is_table(table)) return "it is not a table of RocksDB";
    const char *fault = read_metaindex(table, &names);
    if (!fault) fault = read_properties(table, &names, filter);
    if (!fault) fault = check_items(filter, wants_prefixes);
    return fault ? fault : take_block(table, names.full, filter);
}
