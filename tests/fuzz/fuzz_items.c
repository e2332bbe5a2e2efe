/* The tool's reader of items, against a model that splits the bytes the plain way.
 *
 *   steering u8: 1: NUL separates, 2: hex; then the bytes */

#include "tests/fuzz/fuzz_tool.h"

#include "rdb/tool/decoder.h"
#include "rdb/tool/items.h"

#include <stdlib.h>

static int hex_value(uint8_t c) {
    static const char DIGITS[] = "0123456789abcdefABCDEF";
    const char *at = c ? memchr(DIGITS, c, sizeof(DIGITS) - 1) : NULL;
    if (!at) return -1;
    int value = (int)(at - DIGITS);
    return value < 16 ? value : value - 6;
}

/* The length of the item at the front. */
static size_t item_length(const uint8_t *data, size_t size, uint8_t separator) {
    size_t len = 0;
    while (len < size && data[len] != separator) len++;
    return len;
}

static bool is_right(const struct item *item, const uint8_t *line, size_t len, bool hex) {
    if (item->line_len != len || memcmp(item->line, line, len) != 0) return false;
    if (!hex) return item->len == len && memcmp(item->bytes, line, len) == 0;
    if (item->len != len / 2) return false;
    for (size_t i = 0; i < len / 2; i++) {
        int value = hex_value(line[2 * i]) * 16 + hex_value(line[2 * i + 1]);
        if (item->bytes[i] != value) return false;
    }
    return true;
}

static bool is_hex(const uint8_t *line, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (hex_value(line[i]) < 0) return false;
    }
    return len % 2 == 0;
}

static void compare(struct items *items, const uint8_t *data, size_t size) {
    struct item batch[ITEMS_BATCH];
    for (size_t n; (n = items_next(items, batch)) > 0;) {
        CLAIM(n <= ITEMS_BATCH);
        for (size_t i = 0; i < n; i++) {
            CLAIM(size > 0);
            size_t len = item_length(data, size, items->separator);
            CLAIM(is_right(&batch[i], data, len, items->how.hex));
            size_t step = len < size ? len + 1 : len;
            data += step;
            size -= step;
        }
    }
    CLAIM(size == 0);
}

/* Whether the model too finds an item that is not hex. */
static bool has_bad_hex(const uint8_t *data, size_t size, uint8_t separator) {
    while (size > 0) {
        size_t len = item_length(data, size, separator);
        if (!is_hex(data, len)) return true;
        size_t step = len < size ? len + 1 : len;
        data += step;
        size -= step;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    uint8_t steering = *data++;
    size--;
    fuzz_largest = 2 * DECODER_ROOM;
    fuzz_begin(0);
    fuzz_set_input(data, size);
    // As items_open does, but with a small buffer, so that short inputs fill it and make it grow.
    static char *paths[] = {"-"};
    struct items items = {.paths = paths, .npaths = 1, .fd = -1, .is_over = true, .size = 4};
    items.separator = steering & 1 ? '\0' : '\n';
    items.how.hex = (steering & 2) != 0;
    items.buffer = tool_alloc(items.size);
    if (items.how.hex) items.decoded = tool_alloc(items.size);
    bool is_short, is_compressed = decoder_recognise(data, size, &is_short) != DECODER_NONE;
    if (setjmp(died) == 0) {
        if (is_compressed) { // whatever comes out, no byte of it is beyond the buffers
            struct item batch[ITEMS_BATCH];
            while (items_next(&items, batch) > 0) {
            }
        } else {
            compare(&items, data, size);
            CLAIM(!items.how.hex || !has_bad_hex(data, size, items.separator));
        }
    } else {
        CLAIM(is_compressed || (items.how.hex && has_bad_hex(data, size, items.separator)));
    }
    items_close(&items);
    fuzz_end();
    return 0;
}
