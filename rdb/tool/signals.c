/* Signals that end the program at a point of its choosing. See signals.h. */

#define _GNU_SOURCE // sigaction
#include "rdb/tool/signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught; // the signal's number

static void note_signal(int number) {
    caught = number;
}

void signals_watch(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;
        bool is_ignored = sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        struct sigaction ours = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
        if (!is_ignored) sigaction(numbers[i], &ours, NULL); // nohup stays nohup
    }
}

bool signals_caught(void) {
    return caught != 0;
}

void signals_raise(void) {
    raise(caught);
}
