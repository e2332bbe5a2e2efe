/* Where the pure code gets its memory: libc by default, the server's allocator once module.c has
 * installed it. Every allocation may fail with NULL; nothing here aborts.
 *
 * This is the only pair of files that may name malloc; `make check-layers` sees to it. */

#ifndef BLOOMPORT_MEM_H
#define BLOOMPORT_MEM_H

#include <stddef.h>

struct mem_hooks {
    void *(*try_alloc)(size_t size); // NULL when there is none; contents undefined
    void (*release)(void *ptr);      // NULL is legal
};

/* Must be called before the first allocation. */
void mem_set_hooks(struct mem_hooks hooks);

/* `size` bytes (at least 1), or NULL. */
void *mem_alloc(size_t size);

/* The same, all zero. A large block takes no resident memory until it is written to: a fresh
 * filter of gigabytes is there in microseconds. */
void *mem_alloc_zeroed(size_t size);

/* Zeroes a block that mem_alloc gave. A large one is given back to the kernel meanwhile, and takes
 * no resident memory until it is written to again. */
void mem_zero(void *block, size_t size);

void mem_free(void *ptr);

/* For a block of which every page is in use and read at random, from some tens of megabytes on: the
 * kernel may back it with huge pages, so that a lookup does not wait for page tables too. And back
 * again, before the block is freed. Advice: nothing happens where huge pages are not to be had. */
void mem_use_huge_pages(void *block, size_t size);
void mem_use_small_pages(void *block, size_t size);

#endif
