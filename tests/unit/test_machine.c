/* The limit of a process's control groups, from trees of files as the kernel shows them; and the
 * machine's memory. */

#define _GNU_SOURCE // mkdtemp, nftw
#include "module/core/machine.h"
#include "tests/unit/helpers.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NONE UINT64_MAX
#define MOST_FILES 5

struct text_file {
    const char *path, *text;
};

static char root[64];

static int make_root(void **state) {
    (void)state;
    strcpy(root, "/tmp/test_machine_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int remove_root(void **state) {
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const struct text_file *from) {
    char path[512];
    snprintf(path, sizeof(path), "%s%s", root, from->path);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_not_equal(fputs(from->text, file), EOF);
    fclose(file);
}

#define SELF "/proc/self/cgroup"
#define TREE1 "/sys/fs/cgroup/memory"
#define TREE2 "/sys/fs/cgroup"

static const struct {
    const char *what;
    struct text_file files[MOST_FILES];
    uint64_t limit;
} TREES[] = {
    {"no groups at all", {{"/proc/self/status", "x"}}, NONE},
    {"version 2", {{SELF, "0::/a/b\n"}, {TREE2 "/a/b/memory.max", "1000\n"}}, 1000},
    {"version 2 without a limit", {{SELF, "0::/a\n"}, {TREE2 "/a/memory.max", "max\n"}}, NONE},
    {"the smaller one, of the group above",
     {{SELF, "0::/a/b\n"}, {TREE2 "/a/b/memory.max", "max\n"}, {TREE2 "/a/memory.max", "500\n"}},
     500},
    {"the smaller one, of the group itself",
     {{SELF, "0::/a/b\n"}, {TREE2 "/a/b/memory.max", "300\n"}, {TREE2 "/a/memory.max", "500\n"}},
     300},
    {"version 2 in a container", {{SELF, "0::/\n"}, {TREE2 "/memory.max", "700\n"}}, 700},
    {"version 2 in the same, with its name outside",
     {{SELF, "0::/docker/0123\n"}, {TREE2 "/memory.max", "700\n"}},
     700},
    {"version 1",
     {{SELF, "3:cpu,cpuacct:/x\n4:memory:/a\n1:name=systemd:/y\n"},
      {TREE1 "/a/memory.limit_in_bytes", "2000\n"},
      {TREE1 "/x/memory.limit_in_bytes", "1\n"}},
     2000},
    {"version 1 with other controllers",
     {{SELF, "4:hugetlb,memory,pids:/a\n"}, {TREE1 "/a/memory.limit_in_bytes", "2000\n"}},
     2000},
    {"a controller whose name only contains the word",
     {{SELF, "4:memory_recursive,xmemory:/a\n"}, {TREE1 "/a/memory.limit_in_bytes", "2000\n"}},
     NONE},
    {"version 1 in a container, with its name outside",
     {{SELF, "4:memory:/docker/0123\n"}, {TREE1 "/memory.limit_in_bytes", "2000\n"}},
     2000},
    {"version 1 without a limit has the largest number of pages",
     {{SELF, "4:memory:/\n"}, {TREE1 "/memory.limit_in_bytes", "9223372036854771712\n"}},
     UINT64_C(9223372036854771712)},
    {"both versions, memory with version 1",
     {{SELF, "4:memory:/a\n0::/b\n"}, {TREE1 "/a/memory.limit_in_bytes", "900\n"}},
     900},
    {"a name with a colon", {{SELF, "0::/a:b\n"}, {TREE2 "/a:b/memory.max", "1000\n"}}, 1000},
    {"a number beyond 64 bits",
     {{SELF, "0::/a\n"}, {TREE2 "/a/memory.max", "99999999999999999999999\n"}},
     NONE},
    {"a negative number", {{SELF, "0::/a\n"}, {TREE2 "/a/memory.max", "-1\n"}}, NONE},
    {"an empty file", {{SELF, "0::/a\n"}, {TREE2 "/a/memory.max", ""}}, NONE},
    {"lines that are none", {{SELF, "\nmemory\n:\n4:memory\n"}}, NONE},
};

static void the_least_limit_of_the_control_groups_counts(void **state) {
    for (size_t i = 0; i < COUNT(TREES); i++) {
        assert_int_equal(make_root(state), 0);
        for (size_t j = 0; j < MOST_FILES && TREES[i].files[j].path; j++) {
            write_file(&TREES[i].files[j]);
        }
        uint64_t limit = machine_group_bytes(root);
        assert_int_equal(remove_root(state), 0);
        if (limit != TREES[i].limit) fail_msg("%s: %llu", TREES[i].what, (unsigned long long)limit);
    }
}

/* /proc/meminfo has it in KiB, less what the kernel took before it counted. */
static void the_machines_memory_is_what_the_kernel_shows(void **state) {
    (void)state;
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long kib = 0;
    if (!file) skip();
    assert_int_equal(fscanf(file, "MemTotal: %llu kB", &kib), 1);
    fclose(file);
    assert_int_equal(machine_bytes(), kib * 1024);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_limit_of_the_control_groups_counts),
        cmocka_unit_test(the_machines_memory_is_what_the_kernel_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
