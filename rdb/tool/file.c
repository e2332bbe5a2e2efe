/* A filter <-> a file. See file.h. */

#define _GNU_SOURCE // fstat, clock_gettime
#include "rdb/tool/file.h"

#include "module/core/combine.h"
#include "module/core/filter/window.h"
#include "module/core/mem.h"
#include "rdb/codec.h"
#include "rdb/header.h"
#include "rdb/tool/options.h"
#include "rdb/tool/output.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/recognise.h"
#include "rdb/tool/report.h"
#include "rdb/tool/sst.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_READ ((size_t)64 * 1024)

const char *file_format_name(enum file_format format) {
    if (format == FILE_SST) return "sst";
    return format == FILE_DUMP ? "dump" : formats_name((enum format)format);
}

enum file_format file_format_of(const char *name) {
    for (int i = 0; i < FILE_UNKNOWN; i++) {
        if (strcmp(name, file_format_name((enum file_format)i)) == 0) return (enum file_format)i;
    }
    return FILE_UNKNOWN;
}

/* ---- Reading ------------------------------------------------------------------------------ */

struct bytes {
    uint8_t *at;
    size_t len;
};

/* Reads to the end. size: the likely number of bytes. */
static struct bytes read_all(int fd, const char *path, size_t size) {
    struct bytes bytes = {tool_alloc(size), 0};
    for (;;) {
        if (bytes.len == size) {
            uint8_t *larger = tool_alloc(size * 2);
            memcpy(larger, bytes.at, bytes.len);
            mem_free(bytes.at);
            bytes.at = larger;
            size *= 2;
        }
        ssize_t n = read(fd, bytes.at + bytes.len, size - bytes.len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) tool_die("%s: %s", path, strerror(errno));
        if (n == 0) return bytes;
        bytes.len += (size_t)n;
    }
}

struct input {
    const char *path;
    int fd;
    bool is_stdin, is_regular;
    size_t size; // of a regular file that is not standard input, else 0
};

static struct input open_input(const char *path) {
    struct input in = {.path = path, .is_stdin = strcmp(path, "-") == 0};
    in.fd = in.is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    if (in.fd < 0 || fstat(in.fd, &stat) != 0) tool_die("%s: %s", path, strerror(errno));
    in.is_regular = S_ISREG(stat.st_mode) && !in.is_stdin;
    if (in.is_regular) in.size = (size_t)stat.st_size;
    return in;
}

/* Files are read and not mapped: if a mapped file is truncated while it is decoded, SIGBUS ends the
 * process. */
static struct bytes get_bytes(const struct input *in) {
    // With one byte more, the end of the file is found without a larger buffer.
    struct bytes bytes = read_all(in->fd, in->path, in->size ? in->size + 1 : FIRST_READ);
    if (bytes.len < in->size) tool_die("%s: became shorter while it was read", in->path);
    return bytes;
}

/* ---- Decoding ----------------------------------------------------------------------------- */

/* How a file is read. */
struct reading {
    struct formats_options options;
    bool is_prefixes; // --prefix: the items of a table's filter are prefixes of keys
};

static enum status decode_dump(const struct bytes *bytes, struct filter **out, const char **fault) {
    *fault = "header";
    size_t at = codec_header_length(bytes->at, bytes->len);
    if (at == 0) return STATUS_CORRUPT;
    struct filter *filter;
    // The file has the bits: a header that promises more cannot make the tool allocate it.
    uint64_t most = bytes->len + filter_structure_bytes(at);
    enum status st = codec_decode_header(bytes->at, at, most, &filter);
    if (st == STATUS_NOMEM) *fault = "length is not that of the layers' bits";
    if (st != STATUS_OK) return st == STATUS_NOMEM ? STATUS_CORRUPT : st;
    *fault = "header is that of a partly loaded filter";
    if (filter->is_loading) goto fail;
    *fault = "length is not that of the layers' bits";
    if (filter_array_bytes(filter) != bytes->len - at) goto fail;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        size_t size = (size_t)layer_array_bytes(&filter->layers[i]);
        memcpy(filter->layers[i].bits, bytes->at + at, size);
        at += size;
    }
    *fault = "number of set bits is not that of the header";
    if (!codec_bits_are_sound(filter)) goto fail;
    *out = filter;
    return STATUS_OK;
fail:
    filter_free(filter);
    return STATUS_CORRUPT;
}

static enum variant variant_of(const struct options *options, enum file_format format) {
    return options->variant_of == format ? options->variant : VARIANT_NONE;
}

/* The variant of a Cassandra filter that is read. If --from does not name the format, the file's
 * name does, and --variant is of what is written. */
static enum variant variant_to_read(const char *path, const struct options *options) {
    bool is_given = options->from == FILE_CASSANDRA && options->variant != VARIANT_NONE;
    return is_given ? options->variant : recognise_variant(path);
}

/* The format of a file when the user names none. What begins as portable is read as that, whose
 * decoder has the error. FILE_UNKNOWN: it is no filter, and `fault` says what it is. */
static enum file_format recognise(const char *path, const struct bytes *bytes,
                                  char fault[FILE_FAULT]) {
    bool is_named = recognise_variant(path) != VARIANT_NONE;
    if (is_named && recognise_cassandra(bytes->at, bytes->len)) return FILE_CASSANDRA;
    enum file_format format = recognise_format(bytes->at, bytes->len);
    if (format != FILE_UNKNOWN) return format;
    const char *other = recognise_other(bytes->at, bytes->len);
    const char *unknown = other ? NULL : recognise_unknown(bytes->at, bytes->len);
    if (!other && !unknown) return FILE_PORTABLE;
    snprintf(fault, FILE_FAULT, "not a filter file (%s%s)", other ? "looks like " : "",
             other ? other : unknown);
    return FILE_UNKNOWN;
}

static struct filter *decode_as(enum file_format format, const struct bytes *bytes,
                                const struct formats_options *how, char fault[FILE_FAULT]) {
    struct filter *filter = NULL;
    const char *field = NULL;
    enum status st = format == FILE_DUMP
                         ? decode_dump(bytes, &filter, &field)
                         : formats_decode((enum format)format, bytes->at, bytes->len, how,
                                          FILTER_NO_LIMIT, &filter, &field);
    if (st == STATUS_NOMEM) snprintf(fault, FILE_FAULT, "no memory for it");
    if (st == STATUS_CORRUPT) {
        snprintf(fault, FILE_FAULT, "bad %s data: %s", file_format_name(format), field);
    }
    return st == STATUS_OK ? filter : NULL;
}

/* What would be a puzzle as the error of a decoder. */
static bool has_all(enum file_format format, const struct formats_options *how,
                    char fault[FILE_FAULT]) {
    if (format == FILE_REDISSON) {
        snprintf(fault, FILE_FAULT,
                 "Redisson's bits say nothing of m and k, which are on its server in "
                 "{name}:config: pull --redisson reads both");
    } else if (format == FILE_CASSANDRA && how->variant == VARIANT_NONE) {
        snprintf(fault, FILE_FAULT,
                 "--from cassandra needs --variant old, 3.x or 4.x: the bytes do not tell which "
                 "it is, nor does the file's name");
    } else {
        return true;
    }
    return false;
}

/* Says what a lookup in the filter of a table means, where it is not the plain thing. */
static void note_items(const struct sst *table, const struct sst_filter *found, bool is_prefixes) {
    const char *by = *found->extractor ? found->extractor : "an extractor without a name";
    if (is_prefixes) {
        report_note("%s: read as a filter of prefixes (%s): a key that has none is not in it",
                    table->path, by);
    } else if (found->has_prefixes) {
        report_note("%s: its filter has prefixes (%s) beside whole keys: it finds both",
                    table->path, by);
    }
}

static struct filter *decode_table(const struct sst *table, const struct reading *how,
                                   char fault[FILE_FAULT]) {
    struct sst_filter found;
    const char *obstacle = sst_take_filter(table, how->is_prefixes, &found);
    if (obstacle) {
        bool is_named = found.has_prefixes && *found.extractor;
        snprintf(fault, FILE_FAULT, "no filter can be extracted from this table: %s%s%s", obstacle,
                 is_named ? "; prefixes by " : "", is_named ? found.extractor : "");
        report_make_printable(fault);
        return NULL;
    }
    struct bytes block = {found.block, found.len};
    struct filter *filter =
        decode_as((enum file_format)FORMAT_ROCKSDB, &block, &how->options, fault);
    mem_free(block.at);
    if (filter) note_items(table, &found, how->is_prefixes);
    return filter;
}

/* Of other formats nobody knows whether their items are prefixes. */
static struct filter *decode_other(enum file_format format, const struct bytes *bytes,
                                   const struct reading *how, char fault[FILE_FAULT]) {
    if (how->is_prefixes) {
        snprintf(fault, FILE_FAULT, "--prefix reads tables of RocksDB (sst), and this is %s",
                 file_format_name(format));
        return NULL;
    }
    return has_all(format, &how->options, fault) ? decode_as(format, bytes, &how->options, fault)
                                                 : NULL;
}

/* Reads what is open. Of a table that can be read at any place, only the parts that are needed are
 * read. */
static struct filter *read_input(const struct input *in, enum file_format *format,
                                 const struct reading *how, char fault[FILE_FAULT]) {
    struct sst table = {.fd = in->fd, .path = in->path, .size = in->size};
    bool is_named = *format != FILE_UNKNOWN;
    bool may_be_table = in->is_regular && (!is_named || *format == FILE_SST);
    if (may_be_table && sst_is_table(&table)) {
        *format = FILE_SST;
        return decode_table(&table, how, fault);
    }
    struct bytes bytes = get_bytes(in);
    if (!is_named) *format = recognise(in->path, &bytes, fault);
    struct filter *filter = NULL;
    if (*format == FILE_SST) {
        table = (struct sst){.bytes = bytes.at, .path = in->path, .size = bytes.len};
        filter = decode_table(&table, how, fault);
    } else if (*format != FILE_UNKNOWN) {
        filter = decode_other(*format, &bytes, how, fault);
    }
    mem_free(bytes.at);
    return filter;
}

struct filter *file_try(const char *path, const struct options *options, enum file_format *format,
                        char fault[FILE_FAULT]) {
    struct reading how = {.options = {.capacity = options->capacity,
                                      .scheme = options->scheme,
                                      .variant = variant_to_read(path, options),
                                      .keep_foreign = true},
                          .is_prefixes = options->prefix};
    struct input in = open_input(path);
    *format = options->from;
    struct filter *filter = read_input(&in, format, &how, fault);
    if (!in.is_stdin) close(in.fd);
    return filter;
}

struct filter *file_load(const char *path, const struct options *options,
                         enum file_format *format) {
    char fault[FILE_FAULT];
    enum file_format found;
    struct filter *filter = file_try(path, options, &found, fault);
    if (!filter) tool_die("%s: %s", path, fault);
    if (format) *format = found;
    return filter;
}

/* ---- Filters that forget ------------------------------------------------------------------ */

const struct filter *file_live(const struct filter *filter, struct filter *view) {
    struct timespec now = {0};
    if (filter->window) clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return window_live(filter, ms, view);
}

/* One layer of the bits that the filter holds now. */
static struct filter *flatten(const struct filter *filter, enum file_format format) {
    struct filter view, *flat;
    enum status st = combine_flatten(file_live(filter, &view), filter, &flat);
    if (st == STATUS_PARAM) {
        tool_die("cannot write %s: the window's generations have different sizes (the format dump "
                 "holds any filter)",
                 file_format_name(format));
    }
    if (st != STATUS_OK) tool_die("no memory for a filter of this size");
    return flat;
}

/* ---- Writing ------------------------------------------------------------------------------ */

/* The fields of a filter as one of our own, which shares its bits. The caller frees the layers.
 * *obstacle: the field that is out of our range, or NULL. */
static struct filter own_of(const struct filter *filter, const char **obstacle) {
    struct filter own = *filter;
    size_t size = filter->nlayers * sizeof(struct layer);
    own.layers = tool_alloc(size);
    memcpy(own.layers, filter->layers, size);
    *obstacle = header_make_native(&own);
    return own;
}

/* Why a dump cannot hold the filter; NULL if it can. */
static const char *dump_obstacle(const struct filter *filter) {
    const char *obstacle;
    struct filter own = own_of(filter, &obstacle);
    mem_free(own.layers);
    return obstacle;
}

enum file_format file_default_format(const struct filter *filter) {
    return (enum file_format)header_row(filter->origin)->format;
}

void file_check_format(const struct filter *filter, enum file_format format,
                       const struct options *options) {
    if (format == FILE_SST) {
        tool_die("cannot write sst: only RocksDB makes tables, the format rocksdb is their filter");
    }
    if (format == FILE_DUMP) {
        const char *field = dump_obstacle(filter), *whose = origin_row(filter->origin)->program;
        if (field) tool_die("cannot write dump: %s's field %s is out of its range", whose, field);
        return;
    }
    const char *obstacle =
        formats_obstacle(filter, (enum format)format, variant_of(options, format));
    if (obstacle) {
        tool_die("cannot write %s: %s (the format dump holds any filter)", file_format_name(format),
                 obstacle);
    }
}

/* Formats that are a header and the arrays as they are in memory need no second copy. */
static void write_in_pieces(const struct filter *filter, const uint8_t *header, size_t len) {
    output_write(header, len);
    struct progress progress;
    progress_begin(&progress, "writing", filter_array_bytes(filter));
    const uint8_t *piece;
    size_t n;
    for (uint64_t at = 0; (n = codec_piece_at(filter, at, CODEC_PIECE_BYTES, &piece)) > 0;) {
        output_write(piece, n);
        at += n;
        progress_show(&progress, at);
    }
    progress_end(&progress);
}

/* A dump holds bloomport's own filters only. */
static void write_dump(const struct filter *filter) {
    const char *obstacle; // file_check_format has found none
    struct filter own = own_of(filter, &obstacle);
    size_t len = codec_header_size(&own);
    uint8_t *header = tool_alloc(len);
    codec_encode_header(&own, header);
    write_in_pieces(filter, header, len);
    mem_free(header);
    mem_free(own.layers);
}

static void save_as(const struct filter *filter, enum file_format format,
                    const struct options *options) {
    file_check_format(filter, format, options);
    output_open(options->output);
    if (format == FILE_PORTABLE) {
        uint8_t header[CODEC_PORTABLE_BYTES];
        codec_encode_portable(&filter->layers[0], header);
        write_in_pieces(filter, header, sizeof(header));
    } else if (format == FILE_DUMP) {
        write_dump(filter);
    } else {
        size_t len = (size_t)formats_size(filter, (enum format)format);
        uint8_t *bytes = tool_alloc(len);
        formats_encode(filter, (enum format)format, variant_of(options, format), bytes);
        output_write(bytes, len);
        mem_free(bytes);
    }
    output_commit();
}

void file_save(const struct filter *filter, enum file_format format,
               const struct options *options) {
    if (format == FILE_DUMP || !filter_forgets(filter)) {
        save_as(filter, format, options);
        return;
    }
    struct filter *flat = flatten(filter, format);
    save_as(flat, format, options);
    filter_free(flat);
}
