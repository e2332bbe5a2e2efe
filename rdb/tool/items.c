/* Items from files and pipes. See items.h. */

#define _GNU_SOURCE // pread, memrchr
#include "rdb/tool/items.h"

#include "module/core/mem.h"
#include "rdb/tool/decoder.h"
#include "rdb/tool/threads.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Small enough that the bytes are still in the second-level cache when they are parsed. */
#define BUFFER_BYTES ((size_t)64 * 1024)

static char *standard_input[] = {"-"};

static bool is_standard_input(const char *path) {
    return strcmp(path, "-") == 0;
}

static int open_input(const char *path) {
    int fd = is_standard_input(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) tool_die("%s: %s", path, strerror(errno));
    return fd;
}

static void close_input(int fd) {
    if (fd > STDIN_FILENO) close(fd);
}

/* The position in a regular file, and its size; false if it is not one. */
static bool is_regular(int fd, off_t *from, uint64_t *bytes) {
    struct stat stat;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) return false;
    *from = lseek(fd, 0, SEEK_CUR);
    if (*from < 0) return false;
    *bytes = stat.st_size > *from ? (uint64_t)(stat.st_size - *from) : 0;
    return true;
}

/* A file that became shorter is an error, as a part of its items would look like all of them. */
static _Noreturn void die_of_shortness(const char *path) {
    tool_die("%s: became shorter while it was read", path);
}

/* ---- The buffer --------------------------------------------------------------------------- */

static void skip(struct items *items, uint64_t n);
static void set_fault(struct items *items, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Items that are not the lines as they stand are decoded into a buffer of their own. */
static bool needs_decoding(const struct items *items) {
    return items->how.hex || items->how.column;
}

void items_open(struct items *items, char **paths, int npaths, const struct items_how *how) {
    *items = (struct items){.paths = npaths ? paths : standard_input,
                            .npaths = npaths ? npaths : 1,
                            .fd = -1,
                            .how = *how,
                            .separator = how->nul ? '\0' : '\n',
                            .is_over = true,
                            .size = BUFFER_BYTES};
    items->buffer = tool_alloc(items->size);
    if (needs_decoding(items)) items->decoded = tool_alloc(items->size);
    if (how->from_line > 1) skip(items, how->from_line - 1);
}

void items_close(struct items *items) {
    close_input(items->fd);
    decoder_free(items->decoder);
    items->decoder = NULL;
    mem_free(items->buffer);
    mem_free(items->decoded);
    items->buffer = items->decoded = NULL;
    items->fd = -1;
}

static void grow_buffer(struct items *items) {
    if (items->size > SIZE_MAX / 4) tool_die("%s: an item is too long", items->name);
    uint8_t *larger = tool_alloc(items->size * 2);
    memcpy(larger, items->buffer, items->end);
    mem_free(items->buffer);
    items->buffer = larger;
    items->size *= 2;
    if (!needs_decoding(items)) return;
    mem_free(items->decoded); // decoded bytes are valid for one batch
    items->decoded = tool_alloc(items->size);
}

/* Reads once. 0: the input is at its end. */
static size_t read_once(struct items *items, uint8_t *out, size_t size) {
    ssize_t n;
    do {
        n = read(items->fd, out, size);
    } while (n < 0 && errno == EINTR);
    if (n < 0) tool_die("%s: %s", items->name, strerror(errno));
    items->bytes_read += (uint64_t)n;
    if (n == 0 && items->expected > 0) die_of_shortness(items->name);
    items->expected -= items->expected < (uint64_t)n ? items->expected : (uint64_t)n;
    return (size_t)n;
}

/* The first bytes of an input, which tell whether it is compressed. No byte more than needed is
 * waited for. Compressed bytes move from the buffer to the decoder. */
static void begin_input(struct items *items, size_t from) {
    items->is_fresh = false;
    enum decoder_kind kind;
    bool is_short;
    size_t n = 1;
    do {
        if (items->end == items->size) grow_buffer(items);
        size_t room = items->size - items->end;
        n = read_once(items, items->buffer + items->end, room < BUFFER_BYTES ? room : BUFFER_BYTES);
        items->end += n;
        kind = decoder_recognise(items->buffer + from, items->end - from, &is_short);
    } while (n > 0 && is_short && kind == DECODER_NONE);
    items->is_over = n == 0;
    if (kind == DECODER_NONE) return;
    _Static_assert(DECODER_ROOM >= BUFFER_BYTES, "what was read fits into the decoder");
    items->decoder = decoder_new(kind, items->name);
    size_t len = items->end - from, room;
    memcpy(decoder_room(items->decoder, &room), items->buffer + from, len);
    decoder_fed(items->decoder, len);
    items->end = from;
    items->is_over = false;
}

static void fill_decoded(struct items *items) {
    struct decoder *decoder = items->decoder;
    size_t n = 0, room;
    while (n == 0 && !decoder_is_done(decoder)) {
        if (decoder_is_hungry(decoder)) {
            uint8_t *to = decoder_room(decoder, &room);
            decoder_fed(decoder, read_once(items, to, room));
        }
        n = decoder_take(decoder, items->buffer + items->end, items->size - items->end);
    }
    items->end += n;
    items->is_over = n == 0;
}

/* Reads once, to after what is left of the last read. */
static void fill(struct items *items) {
    size_t left = items->end - items->start;
    memmove(items->buffer, items->buffer + items->start, left);
    items->start = 0;
    items->end = left;
    if (left == items->size) grow_buffer(items);
    if (items->is_fresh) {
        begin_input(items, left);
    } else if (items->decoder) {
        fill_decoded(items);
    } else {
        size_t n = read_once(items, items->buffer + left, items->size - left);
        items->end += n;
        items->is_over = n == 0;
    }
}

static bool open_next(struct items *items) {
    close_input(items->fd);
    decoder_free(items->decoder);
    items->decoder = NULL;
    items->fd = -1;
    if (items->npaths == 0) return false;
    items->name = *items->paths;
    items->fd = open_input(items->name);
    off_t from;
    items->expected = 0;
    is_regular(items->fd, &from, &items->expected);
    items->paths++;
    items->npaths--;
    items->lines_before += items->line;
    items->line = 0;
    items->is_over = false;
    items->is_fresh = true;
    return true;
}

/* Leaves out the first items, over all inputs. */
static void skip(struct items *items, uint64_t n) {
    while (n > 0) {
        size_t left = items->end - items->start;
        const uint8_t *from = items->buffer + items->start;
        const uint8_t *stop = left ? memchr(from, items->separator, left) : NULL;
        if (stop || (items->is_over && left > 0)) {
            items->start += stop ? (size_t)(stop - from) + 1 : left;
            items->line++;
            n--;
        } else if (!items->is_over) {
            fill(items);
        } else if (!open_next(items)) {
            return;
        }
    }
}

/* ---- Parsing ------------------------------------------------------------------------------ */

/* Keeps what is wrong with the line: the items before it come first. */
static void set_fault(struct items *items, const char *format, ...) {
    char what[256], place[64] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (items->lines_before > 0) {
        snprintf(place, sizeof(place), " (%llu of all inputs)",
                 (unsigned long long)(items->lines_before + items->line));
    }
    snprintf(items->fault, sizeof(items->fault), "%.150s: line %llu%s %s", items->name,
             (unsigned long long)items->line, place, what);
}

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Items are decoded to the offset of their line in the other buffer: no step makes them longer. */
static uint8_t *decoded_place(const struct items *items, const struct item *item) {
    return items->decoded + (item->line - items->buffer);
}

static void decode_hex(struct items *items, struct item *item) {
    const uint8_t *digits = item->bytes;
    uint8_t *out = decoded_place(items, item); // perhaps the digits' own: each is read before
    bool is_bad = item->len % 2 != 0;
    for (size_t i = 0; i < item->len / 2 && !is_bad; i++) {
        int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        is_bad = high < 0 || low < 0;
        out[i] = (uint8_t)(high * 16 + low);
    }
    if (is_bad) set_fault(items, "is not pairs of hexadecimal digits");
    item->bytes = out;
    item->len /= 2;
}

/* The end of the field at `at`: its delimiter, or the line's end. A field that begins with a quote
 * ends at the next one that is not doubled. */
static const uint8_t *field_end(const struct items *items, const uint8_t *at, const uint8_t *end) {
    if (at < end && *at == '"') {
        for (at++; at < end; at++) {
            if (*at != '"') continue;
            if (at + 1 == end || at[1] != '"') break;
            at++;
        }
    }
    const uint8_t *stop = at < end ? memchr(at, items->how.delimiter, (size_t)(end - at)) : NULL;
    return stop ? stop : end;
}

/* What stands between the quotes; doubled ones become one. */
static void unquote(struct items *items, struct item *item) {
    uint8_t *out = decoded_place(items, item);
    size_t n = 0;
    for (size_t i = 1; i < item->len; i++) {
        if (item->bytes[i] == '"' && !(i + 1 < item->len && item->bytes[++i] == '"')) break;
        out[n++] = item->bytes[i];
    }
    item->bytes = out;
    item->len = n;
}

/* A first line in one piece has another delimiter, most often. */
static void set_column_fault(struct items *items, const struct item *item, uint32_t columns) {
    uint64_t first = items->how.from_line ? items->how.from_line : 1;
    bool is_first = items->lines_before + items->line == first;
    if (columns > 1 || !is_first) {
        set_fault(items, "has %u column%s and not %u", columns, columns == 1 ? "" : "s",
                  items->how.column);
        return;
    }
    char name[8] = "tab", other[8] = "";
    if (items->how.delimiter != '\t') {
        snprintf(name, sizeof(name), "'%c'", items->how.delimiter);
    }
    for (const char *c = "|;,"; *c; c++) {
        if (!memchr(item->line, *c, item->line_len)) continue;
        snprintf(other, sizeof(other), *c == ',' ? " %c" : " '%c'", *c);
    }
    set_fault(items, "has no %s: --delimiter%s names another", name, other);
}

static void take_column(struct items *items, struct item *item) {
    const uint8_t *at = item->line, *end = at + item->line_len;
    const uint8_t *stop = field_end(items, at, end);
    uint32_t column = 1;
    for (; column < items->how.column && stop < end; column++) {
        at = stop + 1;
        stop = field_end(items, at, end);
    }
    if (column < items->how.column) {
        set_column_fault(items, item, column);
        return;
    }
    item->bytes = at;
    item->len = (size_t)(stop - at);
    if (item->len > 0 && *at == '"') unquote(items, item);
}

static void take_item(struct items *items, size_t len, struct item *item) {
    item->bytes = item->line = items->buffer + items->start;
    item->len = item->line_len = len;
    items->line++;
    if (items->how.column) take_column(items, item);
    if (items->how.hex && !*items->fault) decode_hex(items, item);
}

/* Parses the complete items of the buffer, and at the end of an input the last one, which may have
 * no separator after it. */
static size_t parse(struct items *items, struct item *batch) {
    size_t n = 0;
    while (n < ITEMS_BATCH && items->start < items->end && !*items->fault) {
        size_t left = items->end - items->start;
        const uint8_t *from = items->buffer + items->start;
        const uint8_t *stop = memchr(from, items->separator, left);
        if (!stop && !items->is_over) break;
        size_t len = stop ? (size_t)(stop - from) : left;
        take_item(items, len, &batch[n]);
        if (*items->fault) break;
        n++;
        items->start += len + (stop != NULL);
    }
    return n;
}

static _Noreturn void die_of_fault(struct items *items) {
    if (items->on_fault) items->on_fault(items->context, items->fault);
    tool_die("%s", items->fault);
}

size_t items_next(struct items *items, struct item *batch) {
    for (;;) {
        size_t n = parse(items, batch);
        if (n > 0) return n;
        if (*items->fault) die_of_fault(items);
        if (!items->is_over) {
            fill(items);
        } else if (!open_next(items)) {
            return 0;
        }
    }
}

/* Counts the separators among n bytes. The inner loop has a fixed length and byte-wide sums, so
 * that the compiler vectorizes it; 128 is under the 255 that a byte can count to. */
static uint64_t count_separators(const uint8_t *bytes, size_t n, uint8_t separator) {
    uint64_t count = 0;
    size_t i = 0;
    for (; n - i >= 128; i += 128) {
        uint8_t sum = 0;
        for (size_t j = 0; j < 128; j++) sum = (uint8_t)(sum + (bytes[i + j] == separator));
        count += sum;
    }
    for (; i < n; i++) count += bytes[i] == separator;
    return count;
}

/* ---- Blocks ------------------------------------------------------------------------------- */

void items_open_block(struct items *block, const struct items *items) {
    struct items_how how = items->how;
    how.from_line = 0; // what is skipped is skipped already
    items_open(block, NULL, 0, &how);
    block->how.from_line = items->how.from_line;
    block->npaths = 0; // a block has no input of its own
}

/* Where the complete items of the buffer end. */
static size_t whole_items(const struct items *items) {
    if (items->is_over) return items->end;
    const uint8_t *from = items->buffer + items->start;
    const uint8_t *last = memrchr(from, items->separator, items->end - items->start);
    return last ? (size_t)(last - items->buffer) + 1 : items->start;
}

bool items_take_block(struct items *items, struct items *block) {
    size_t whole;
    while ((whole = whole_items(items)) == items->start) {
        if (!items->is_over) {
            fill(items);
        } else if (!open_next(items)) {
            return false;
        }
    }
    block->end = block->start = 0;
    while (block->size < items->size) grow_buffer(block);
    uint8_t *buffer = block->buffer;
    memcpy(buffer, items->buffer + whole, items->end - whole);
    block->buffer = items->buffer;
    block->start = items->start;
    block->end = whole;
    block->name = items->name;
    block->line = items->line;
    block->lines_before = items->lines_before;
    if (needs_decoding(items)) { // only errors of decoding name lines
        items->line +=
            count_separators(block->buffer + block->start, whole - block->start, items->separator);
        items->line += block->buffer[whole - 1] != items->separator; // the last one of its input
    }
    items->buffer = buffer;
    items->end -= whole;
    items->start = 0;
    return true;
}

bool items_are_drained(const struct items *items) {
    return items->start == items->end ||
           !memchr(items->buffer + items->start, items->separator, items->end - items->start);
}

bool items_would_wait(const struct items *items) {
    if (!items_are_drained(items) || items->is_over || items->fd < 0) return false;
    if (items->decoder && !decoder_is_hungry(items->decoder)) return false;
    struct pollfd input = {.fd = items->fd, .events = POLLIN};
    return poll(&input, 1, 0) == 0;
}

/* ---- Counting ----------------------------------------------------------------------------- */

/* Whether a file must be decoded: then counting its items costs as much as reading them. */
static bool is_compressed(int fd, off_t from) {
    uint8_t magic[DECODER_MAGIC_MAX];
    bool is_short;
    ssize_t n = pread(fd, magic, sizeof(magic), from);
    return n > 0 && decoder_recognise(magic, (size_t)n, &is_short) != DECODER_NONE;
}

bool items_are_files(char **paths, int npaths, uint64_t *bytes) {
    if (npaths == 0) return items_are_files(standard_input, 1, bytes);
    *bytes = 0;
    bool had_standard_input = false, are_plain = true;
    uint64_t sum = 0;
    for (int i = 0; i < npaths; i++) {
        // A second pass over standard input begins where the first did, if it was named once only.
        if (is_standard_input(paths[i]) && had_standard_input) return false;
        had_standard_input |= is_standard_input(paths[i]);
        int fd = open_input(paths[i]);
        off_t from;
        uint64_t size;
        bool is_file = is_regular(fd, &from, &size);
        are_plain &= is_file && !is_compressed(fd, from);
        close_input(fd);
        if (!is_file) return false;
        sum += size;
    }
    *bytes = sum;
    return are_plain;
}

/* Files are counted one after the other. All threads count each file, part by part in turn. */
struct counting {
    const char *path;
    int fd;
    uint8_t separator;
    pthread_mutex_t mutex; // for what follows
    off_t next, end;
    uint64_t count;
};

static off_t next_part(struct counting *counting) {
    pthread_mutex_lock(&counting->mutex);
    off_t at = counting->next;
    if (at < counting->end) counting->next += (off_t)BUFFER_BYTES;
    pthread_mutex_unlock(&counting->mutex);
    return at;
}

static size_t read_part(const struct counting *counting, off_t at, uint8_t *buffer) {
    size_t had = 0;
    off_t left = counting->end - at;
    size_t want = left < (off_t)BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
    for (ssize_t n; had < want; had += (size_t)n) {
        n = pread(counting->fd, buffer + had, want - had, at + (off_t)had);
        if (n == 0) die_of_shortness(counting->path);
        if (n < 0) tool_die("%s: %s", counting->path, strerror(errno));
    }
    return had;
}

static void *count_parts(void *argument) {
    struct counting *counting = argument;
    uint8_t *buffer = tool_alloc(BUFFER_BYTES);
    uint64_t count = 0;
    for (off_t at; (at = next_part(counting)) < counting->end;) {
        size_t n = read_part(counting, at, buffer);
        count += count_separators(buffer, n, counting->separator);
        bool is_last = at + (off_t)n == counting->end;
        if (is_last && n > 0 && buffer[n - 1] != counting->separator) count++;
    }
    mem_free(buffer);
    pthread_mutex_lock(&counting->mutex);
    counting->count += count;
    pthread_mutex_unlock(&counting->mutex);
    return NULL;
}

static uint64_t count_in(const char *path, uint8_t separator, unsigned nthreads) {
    struct counting counting = {.path = path, .fd = open_input(path), .separator = separator};
    uint64_t size;
    if (!is_regular(counting.fd, &counting.next, &size)) tool_die("%s: changed", path);
    counting.end = counting.next + (off_t)size;
    pthread_mutex_init(&counting.mutex, NULL);
    threads_run(nthreads, count_parts, &counting, 0);
    pthread_mutex_destroy(&counting.mutex);
    close_input(counting.fd);
    return counting.count;
}

uint64_t items_count(char **paths, int npaths, const struct items_how *how, unsigned nthreads) {
    if (npaths == 0) return items_count(standard_input, 1, how, nthreads);
    uint64_t count = 0, skipped = how->from_line > 1 ? how->from_line - 1 : 0;
    for (int i = 0; i < npaths; i++) count += count_in(paths[i], how->nul ? '\0' : '\n', nthreads);
    return count > skipped ? count - skipped : 0;
}
