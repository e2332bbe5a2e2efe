/* BF.IMPORT of the format `bip37`. */

#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_format(FORMAT_BIP37, data, size);
}
