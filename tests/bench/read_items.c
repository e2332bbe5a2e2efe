/* Reads the items of a file and hashes them, with the tool's own reader and hash, in one thread,
 * and does nothing else: what `bloomport build` is compared with by tool.py.
 *
 *     read_items classic|blocked file */

#include "module/core/mem.h"
#include "rdb/tool/items.h"
#include "rdb/tool/tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tool_die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    exit(TOOL_TROUBLE);
}

void *tool_alloc(size_t size) {
    void *block = mem_alloc(size);
    if (!block) tool_die("no memory\n");
    return block;
}

int main(int argc, char **argv) {
    if (argc != 3) tool_die("usage: read_items classic|blocked file\n");
    struct filter shape = {0};
    if (strcmp(argv[1], "blocked") == 0) shape.layout = LAYOUT_BLOCKED;
    struct items items;
    struct item batch[ITEMS_BATCH];
    uint64_t count = 0, sum = 0; // of the hashes, so that none is left out
    items_open(&items, argv + 2, 1, &(struct items_how){0});
    for (size_t n; (n = items_next(&items, batch)) > 0; count += n) {
        for (size_t i = 0; i < n; i++) {
            struct hash hash = filter_hash(&shape, batch[i].bytes, batch[i].len);
            sum += hash.a ^ hash.b;
        }
    }
    items_close(&items);
    printf("%llu items, %016llx\n", (unsigned long long)count, (unsigned long long)sum);
    return 0;
}
