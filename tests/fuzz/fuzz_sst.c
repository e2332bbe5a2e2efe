/* The filter inside a table of RocksDB: what is extracted lies in the table, and a filter that the
 * decoder accepts must survive fuzz_mill. Keys are read of a filter of keys only, prefixes of one
 * of prefixes.
 *
 *   parts u8 (of fuzz_mill), then the table */

#include "tests/fuzz/fuzz_tool.h"

#include "rdb/formats/formats.h"
#include "rdb/tool/sst.h"

#include <stdlib.h>

static void decode(const uint8_t *block, size_t len, uint8_t parts) {
    struct formats_options how = {0};
    struct filter *filter = NULL;
    const char *fault = NULL;
    enum status st =
        formats_decode(FORMAT_ROCKSDB, block, len, &how, FILTER_NO_LIMIT, &filter, &fault);
    CLAIM((st == STATUS_OK) == (filter != NULL));
    if (filter) fuzz_mill(filter, parts);
}

static void take(const struct sst *table, bool wants_prefixes, struct sst_filter *filter) {
    const char *fault = sst_take_filter(table, wants_prefixes, filter);
    CLAIM((fault == NULL) == (filter->block != NULL));
    CLAIM(fault || (sst_is_table(table) && filter->len < table->size));
    CLAIM(memchr(filter->extractor, '\0', SST_EXTRACTOR));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    uint8_t parts = data[0];
    size--;
    // A copy of exactly its length, so that the sanitizer sees its end.
    uint8_t *copy = malloc(size ? size : 1);
    CLAIM(copy);
    memcpy(copy, data + 1, size);
    struct sst table = {.bytes = copy, .path = "-", .size = size};

    fuzz_begin(0);
    if (setjmp(died) == 0) {
        struct sst_filter keys, prefixes;
        take(&table, false, &keys);
        take(&table, true, &prefixes);
        CLAIM(!keys.block || keys.has_keys);
        CLAIM(!prefixes.block || prefixes.has_prefixes);
        const struct sst_filter *found = keys.block ? &keys : &prefixes;
        if (found->block) decode(found->block, found->len, parts);
        mem_free(keys.block);
        mem_free(prefixes.block);
        fuzz_end();
    } else {
        fuzz_end_forgiving(); // the process would have ended
    }
    free(copy);
    return 0;
}
