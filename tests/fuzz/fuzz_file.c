/* The tool's reader of filter files, all formats: a filter that it accepts must survive fuzz_mill.
 *
 *   from u8 (a format, or whatever the bytes look like), steering u8 (1: FNV1A, 2:
 *   repair the checksum of a dump, 4: --prefix), parts u8 (of fuzz_mill), then the file */

#include "tests/fuzz/fuzz_tool.h"

#include "rdb/tool/file.h"
#include "rdb/tool/options.h"

#include <stdlib.h>

#define FIXED 48
#define LAYER 44

/* A dump of one layer, whose header is 100 bytes. */
static void repair_checksum(uint8_t *bytes, size_t len) {
    if (len < FIXED + LAYER + 8) return;
    struct writer w = {bytes + FIXED + LAYER};
    put_u64(&w, hash_checksum(bytes, FIXED + LAYER));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    struct options options = {.from = (enum file_format)(data[0] % (FILE_UNKNOWN + 1))};
    uint8_t steering = data[1], parts = data[2];
    options.scheme = steering & 1 ? SCHEME_FNV1A : SCHEME_XXH64;
    options.prefix = steering & 4;
    size -= 3;
    uint8_t *copy = malloc(size ? size : 1);
    CLAIM(copy);
    memcpy(copy, data + 3, size);
    if (steering & 2) repair_checksum(copy, size);
    fuzz_set_input(copy, size);
    free(copy);

    fuzz_begin(0);
    if (setjmp(died) == 0) {
        enum file_format format = FILE_UNKNOWN;
        struct filter *filter = file_load("-", &options, &format);
        CLAIM(format != FILE_UNKNOWN && !filter->is_loading);
        fuzz_mill(filter, parts);
        fuzz_end();
    } else {
        fuzz_end_forgiving(); // the process would have ended
    }
    return 0;
}
