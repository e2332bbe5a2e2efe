/* BF.IMPORT of the format `cassandra`. */

#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_format(FORMAT_CASSANDRA, data, size);
}
