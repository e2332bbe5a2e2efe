/* Runs a fuzz target on files, without libFuzzer: `make test` replays the corpus so. Without
 * arguments, on all of tests/fuzz/corpus/<entry>; it must have some. The last line is one of
 * cmocka's, which run_tests.py counts. */

#define _GNU_SOURCE // program_invocation_short_name, scandir
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static uint8_t *grown(uint8_t *data, size_t len) {
    data = realloc(data, len);
    if (!data) abort();
    return data;
}

static void replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    // The last line before a crash names the file.
    fprintf(stderr, "%s\n", path);
    uint8_t *data = NULL;
    size_t len = 0, got;
    do {
        data = grown(data, len + 65536);
        got = fread(data + len, 1, 65536, file);
        len += got;
    } while (got > 0);
    fclose(file);
    // A block of exactly its length, so that a sanitizer sees its end.
    data = grown(data, len ? len : 1);
    LLVMFuzzerTestOneInput(data, len);
    free(data);
}

static int is_file(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv) {
    int n = argc - 1;
    for (int i = 1; i < argc; i++) replay(argv[i]);
    if (argc == 1) {
        char directory[512], path[1024];
        const char *entry = program_invocation_short_name + sizeof("fuzz_") - 1;
        snprintf(directory, sizeof(directory), "tests/fuzz/corpus/%s", entry);
        struct dirent **files;
        n = scandir(directory, &files, is_file, alphasort);
        for (int i = 0; i < n; i++) {
            snprintf(path, sizeof(path), "%s/%s", directory, files[i]->d_name);
            replay(path);
            free(files[i]);
        }
        if (n > 0) free(files);
    }
    if (n <= 0) {
        fprintf(stderr, "no inputs\n");
        return 1;
    }
    printf("%d inputs\n[  PASSED  ] 1 test(s).\n", n);
    return 0;
}
