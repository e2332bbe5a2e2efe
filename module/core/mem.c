/* The allocator hooks. See mem.h.
 *
 * Zeroing. Before Redis 7.4 the module API has no calloc that may fail. Writing zeroes over
 * gigabytes would take seconds and make them resident. So a large block comes from the plain
 * allocator, and its pages are returned to the kernel, which supplies zeroed pages when they are
 * next touched. The call is madvise(2) with MADV_DONTNEED, which does that on private anonymous
 * memory: what every malloc on Linux uses. Where the kernel refuses (locked pages, huge pages),
 * memset zeroes the block.
 *
 *   block     |  head  |  page  |  page  |  page  | tail |
 *              memset    MADV_DONTNEED             memset
 *
 * Huge pages. Memory that the TLB does not cover costs a walk of the page tables with each random
 * access. On a virtual machine a random line of 238 MiB took 195 ns with pages of 4 KiB, and 150 ns
 * with pages of 2 MiB. Servers warn of huge pages for two reasons. Memory that is touched here and
 * there becomes resident 2 MiB at a time; so only blocks that are in use all over get the advice.
 * And in a process that has forked to save, each changed byte copied 2 MiB; Linux 5.8 ended that.
 * Where the administrator or the server has switched huge pages off, the advice has no effect. */

#define _GNU_SOURCE // madvise
#include "module/core/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

/* From this size on the kernel's zeroed pages (a system call, and a fault per touched page) are
 * cheaper than memset. Allocators begin to map such blocks separately. Valgrind takes the kernel's
 * pages for uninitialised, so `make valgrind` sets a larger size. */
#ifndef LAZY_ZERO_BYTES
#define LAZY_ZERO_BYTES ((size_t)256 * 1024)
#endif

/* Without a server, large blocks begin at a cache line, as a server's do. Then no block of a
 * BLOCKED filter lies in two lines. */
#define LINE_BYTES ((size_t)64)
#define LARGE_BYTES ((size_t)4096)

static void *alloc_lines(size_t size) {
    if (size < LARGE_BYTES || size > SIZE_MAX - LINE_BYTES) return malloc(size);
    return aligned_alloc(LINE_BYTES, (size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
}

static struct mem_hooks hooks = {alloc_lines, free};

void mem_set_hooks(struct mem_hooks new_hooks) {
    hooks = new_hooks;
}

void *mem_alloc(size_t size) {
    return hooks.try_alloc(size ? size : 1);
}

void mem_free(void *ptr) {
    if (ptr) hooks.release(ptr);
}

struct mem_pages mem_inner_pages(uintptr_t block, size_t size, size_t page) {
    size_t head = (page - block % page) % page;
    if (head >= size) return (struct mem_pages){size, 0};
    return (struct mem_pages){head, (size - head) / page * page};
}

/* Zeroes pages by returning them to the kernel. False if the kernel refuses. */
static int zero_pages(unsigned char *from, unsigned char *to) {
    return madvise(from, (size_t)(to - from), MADV_DONTNEED) == 0;
}

static size_t page_size(void) {
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

/* Whether a write to a huge page that is shared with a child process copies only a small page. */
static bool kernel_copies_little(void) {
    struct utsname name;
    if (uname(&name) != 0) return false;
    char *end;
    long major = strtol(name.release, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 8);
}

static void advise(unsigned char *block, size_t size, int advice) {
    struct mem_pages inner = mem_inner_pages((uintptr_t)block, size, page_size());
    if (inner.size > 0) madvise(block + inner.head, inner.size, advice);
}

void mem_use_huge_pages(void *block, size_t size) {
    if (kernel_copies_little()) advise(block, size, MADV_HUGEPAGE);
}

void mem_use_small_pages(void *block, size_t size) {
    advise(block, size, MADV_NOHUGEPAGE);
}

void mem_zero(void *block, size_t size) {
    unsigned char *bytes = block;
    if (size >= LAZY_ZERO_BYTES) {
        struct mem_pages inner = mem_inner_pages((uintptr_t)bytes, size, page_size());
        unsigned char *from = bytes + inner.head, *to = from + inner.size;
        if (zero_pages(from, to)) {
            memset(bytes, 0, inner.head);
            memset(to, 0, size - inner.head - inner.size);
            return;
        }
    }
    memset(bytes, 0, size);
}

void *mem_alloc_zeroed(size_t size) {
    void *block = mem_alloc(size);
    if (block) mem_zero(block, size);
    return block;
}
