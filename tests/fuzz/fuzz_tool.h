/* For targets inside the tool: input as standard input, and a tool_die that returns to the target,
 * notes that are not printed. */

#ifndef BLOOMPORT_FUZZ_TOOL_H
#define BLOOMPORT_FUZZ_TOOL_H

#define _GNU_SOURCE // memfd_create
#include "module/core/mem.h"
#include "rdb/tool/report.h"
#include "rdb/tool/tool.h"
#include "tests/fuzz/fuzz.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

static jmp_buf died;

void tool_die(const char *format, ...) {
    (void)format;
    longjmp(died, 1);
}

void *tool_alloc(size_t size) {
    void *block = mem_alloc(size);
    if (!block) tool_die("no memory");
    return block;
}

/* Nothing is said. */
void report_note(const char *format, ...) {
    (void)format;
}

void report_make_printable(char *text) {
    (void)text;
}

/* Makes standard input these bytes. */
static inline void fuzz_set_input(const uint8_t *bytes, size_t len) {
    static bool is_mine;
    if (!is_mine) {
        int fd = memfd_create("input", 0);
        CLAIM(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
        is_mine = true;
    }
    CLAIM(ftruncate(STDIN_FILENO, 0) == 0);
    CLAIM(pwrite(STDIN_FILENO, bytes, len, 0) == (ssize_t)len);
    CLAIM(lseek(STDIN_FILENO, 0, SEEK_SET) == 0);
}

#endif
