/* The same work done by several threads at a time. See threads.h. */

#define _GNU_SOURCE // sysconf
#include "rdb/tool/threads.h"

#include "rdb/tool/tool.h"

#include <pthread.h>
#include <unistd.h>

unsigned threads_number(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
}

void threads_run(unsigned n, void *(*work)(void *), void *first, size_t size) {
    pthread_t threads[THREADS_MAX];
    for (unsigned i = 1; i < n; i++) {
        void *argument = (char *)first + i * size;
        if (pthread_create(&threads[i], NULL, work, argument) != 0) tool_die("no more threads");
    }
    work(first);
    for (unsigned i = 1; i < n; i++) pthread_join(threads[i], NULL);
}
