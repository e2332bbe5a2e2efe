/* The allocator of the pure code: libc's by default, the server's once module.c has installed it.
 * Every allocation may fail and return NULL; nothing here aborts.
 *
 * Only mem.c and mem.h may name malloc; `make check-layers` checks that. */

#ifndef BLOOMPORT_MEM_H
#define BLOOMPORT_MEM_H

#include <stddef.h>
#include <stdint.h>

struct mem_hooks {
    void *(*try_alloc)(size_t size); // NULL if there is no memory; the contents are undefined
    void (*release)(void *ptr);      // NULL is legal
};

/* Must be called before the first allocation. */
void mem_set_hooks(struct mem_hooks hooks);

/* Allocates `size` bytes, at least 1. NULL if there is no memory. */
void *mem_alloc(size_t size);

/* Allocates `size` zeroes. A large block takes no resident memory until it is written to, so that
 * an empty filter of gigabytes is made in microseconds. NULL if there is no memory. */
void *mem_alloc_zeroed(size_t size);

/* Zeroes a block of mem_alloc. The pages of a large block go back to the kernel, and take no
 * resident memory until they are written to again. */
void mem_zero(void *block, size_t size);

/* Frees a block of mem_alloc. NULL is legal. */
void mem_free(void *ptr);

/* Advise the kernel on a block's pages. With huge pages a lookup does not wait for page tables too.
 * They suit blocks of tens of megabytes whose pages are all in use and read at random. Small pages
 * must be advised again before such a block is freed. Where the system has no huge pages, nothing
 * happens. */
void mem_use_huge_pages(void *block, size_t size);
void mem_use_small_pages(void *block, size_t size);

/* The pages that lie entirely inside a block: `size` bytes of them after the first `head` bytes.
 * Kernels of arm64 have pages of 4, 16 or 64 KiB. Here for the unit tests. */
struct mem_pages {
    size_t head, size;
};
struct mem_pages mem_inner_pages(uintptr_t block, size_t size, size_t page);

#endif
