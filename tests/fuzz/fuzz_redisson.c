/* The string of a Redisson filter, as the tool imports it: m, k and the error rate come from
 * elsewhere. */

#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_format(FORMAT_REDISSON, data, size);
}
