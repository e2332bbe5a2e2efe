/* The memory of the machine and of control groups. See machine.h. */

#define _GNU_SOURCE // _SC_PHYS_PAGES
#include "module/core/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* The two versions of control groups: where the tree stands, and the file with a group's limit. */
static const struct group_version {
    const char *tree, *file;
} V1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, V2 = {"/sys/fs/cgroup", "memory.max"};

/* The number that the file begins with. UINT64_MAX if there is no such file, or no number: a group
 * without a limit has the word `max`. */
static uint64_t read_number(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) return UINT64_MAX;
    char text[32];
    bool is_read = fgets(text, sizeof(text), file) != NULL;
    fclose(file);
    if (!is_read || !isdigit((unsigned char)text[0])) return UINT64_MAX;
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    return errno == 0 ? number : UINT64_MAX;
}

/* The smallest limit of the group and of those above it, which hold for it too. `group` is cut off
 * from its end, name by name. A container may not see its own group under its full name, but it
 * sees the top of its tree. */
static uint64_t least_limit(const char *root, const struct group_version *version, char *group) {
    uint64_t least = UINT64_MAX;
    for (;;) {
        char path[2 * PATH_BYTES];
        int len =
            snprintf(path, sizeof(path), "%s%s%s/%s", root, version->tree, group, version->file);
        uint64_t limit = len > 0 && (size_t)len < sizeof(path) ? read_number(path) : UINT64_MAX;
        if (limit < least) least = limit;
        char *last = strrchr(group, '/');
        if (!last) return least;
        *last = '\0';
    }
}

/* Whether `word` is one of the words between commas. */
static bool has_word(const char *list, const char *word) {
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += len) {
        bool begins = at == list || at[-1] == ',';
        if (begins && (at[len] == ',' || at[len] == '\0')) return true;
    }
    return false;
}

/* The limit that a line of /proc/self/cgroup leads to: number:controllers:group. */
static uint64_t limit_of_line(const char *root, char *line) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return UINT64_MAX;
    *group++ = '\0';
    controllers++;
    bool is_v2 = *controllers == '\0';
    if (!is_v2 && !has_word(controllers, "memory")) return UINT64_MAX;
    return least_limit(root, is_v2 ? &V2 : &V1, group);
}

uint64_t machine_group_bytes(const char *root) {
    char line[PATH_BYTES];
    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    if (!file) return UINT64_MAX;
    uint64_t least = UINT64_MAX;
    while (fgets(line, sizeof(line), file)) {
        uint64_t limit = limit_of_line(root, line);
        if (limit < least) least = limit;
    }
    fclose(file);
    return least;
}

uint64_t machine_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes;
    if (pages <= 0 || page <= 0) return UINT64_MAX;
    bool is_over = __builtin_mul_overflow((uint64_t)pages, (uint64_t)page, &bytes);
    return is_over ? UINT64_MAX : bytes;
}
