/* Work to count the instructions of: n items of a BLOCKED layer. instructions.py runs it.
 *
 *   instructions plain|simd contains|add one|many n
 *   instructions plain nothing none n                  the array alone */

#include "module/core/filter/blocked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4096, AT_ONCE = 256 };

static uint8_t bits[BLOCKS * 32];
static struct hash hashes[AT_ONCE];
static bool contained[AT_ONCE];
static unsigned fresh[AT_ONCE];

static void work(const char *what, const char *how) {
    uint64_t nbits = (uint64_t)BLOCKS * BLOCKED_BLOCK_BITS;
    bool adds = strcmp(what, "add") == 0;
    if (strcmp(how, "many") == 0) {
        if (adds)
            blocked_add_many(bits, nbits, hashes, AT_ONCE, fresh);
        else
            blocked_contains_many(bits, nbits, hashes, AT_ONCE, contained);
    } else if (strcmp(how, "one") == 0) {
        for (size_t i = 0; i < AT_ONCE; i++) {
            if (adds)
                fresh[i] = blocked_add(bits, nbits, hashes[i].a);
            else
                contained[i] = blocked_contains(bits, nbits, hashes[i].a);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    bool wants_simd = strcmp(argv[1], "simd") == 0;
    if (blocked_use_simd(wants_simd) != wants_simd) return 3;
    uint64_t hash = 1;
    for (long done = 0; done < atol(argv[4]); done += AT_ONCE) {
        for (size_t i = 0; i < AT_ONCE; i++) {
            hash = hash * UINT64_C(6364136223846793005) + 1442695040888963407U;
            hashes[i].a = hash;
        }
        work(argv[2], argv[3]);
    }
    return 0;
}
