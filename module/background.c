/* Freeing in the background. See background.h. */

#define _POSIX_C_SOURCE 200809L // sigset_t

#include "module/background.h"

#include <pthread.h>
#include <signal.h>

/* Returning 16 MiB to the kernel takes about a millisecond, starting a thread a few hundredths of
 * one. Below this size the command frees the memory itself. */
#define LARGE_BYTES ((uint64_t)1024 * 1024)

static void *free_filter(void *filter) {
    filter_free(filter);
    return NULL;
}

/* Starts the thread. It takes no signals: those are for the server's own threads. */
static bool start(struct filter *filter) {
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    bool is_started = pthread_create(&thread, NULL, free_filter, filter) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started) pthread_detach(thread);
    return is_started;
}

void background_free(struct filter *filter) {
    if (!filter) return;
    bool is_large = filter_array_bytes(filter) >= LARGE_BYTES;
    if (!is_large || !start(filter)) filter_free(filter);
}
