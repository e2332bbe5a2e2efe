/* What is left to put right. See undo.h. */

#include "rdb/tool/undo.h"

#include "rdb/tool/tool.h"

#define MOST 4 // a key on each of two servers

static struct {
    void (*undo)(void *context);
    void *context;
} left[MOST];
static size_t nleft;

void undo_push(void (*undo)(void *context), void *context) {
    if (nleft == MOST) tool_die("too much to undo");
    left[nleft].undo = undo;
    left[nleft++].context = context;
}

void undo_drop(const void *context) {
    for (size_t i = 0; i < nleft; i++) {
        if (left[i].context != context) continue;
        nleft--;
        for (; i < nleft; i++) left[i] = left[i + 1];
        return;
    }
}

void undo_all(void) {
    while (nleft > 0) {
        nleft--; // first: what fails is not tried again
        left[nleft].undo(left[nleft].context);
    }
}
