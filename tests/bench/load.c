/* The load generator of the benchmark: one connection over a unix socket, pipelined, with as little
 * work per item as possible, so that the server is always the bottleneck. bench.py runs it on a
 * core of its own and reads the server's CPU time before and after.
 *
 *   load socket=PATH command=WORD key=WORD batch=N count=N [depth=BYTES]
 *        [first=N range=N] [absent_first=N absent_range=N absent_percent=P] [start=N] [keys=N]
 *
 * Sends `count` items (less what does not fill a command), `batch` to a command, and prints what
 * was answered as one JSON object. Item i is the text key:%012d of the number
 *   first + permutation(start + i)         permuting 0 .. range-1, or, for absent_percent of all,
 *   absent_first + permutation(start + i)  permuting 0 .. absent_range-1.
 * The order is random, needs no memory, and is the same in every run. Which items are absent is
 * random too: the branch predictor would learn a strict alternation.
 * With keys=N, command c goes to the key of six digits, <key>%06d of c mod N.
 *
 * A unix socket costs the server less than TCP: a cost on both sides of a ratio moves it towards 1
 * and flatters the slower.
 *
 * Requests are written once and then only their digits change. A reply of 1 or 0 is four bytes;
 * each is compared, so nothing but a plain 1 or 0 can pass for an answer. */

#define _GNU_SOURCE
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ITEM_BEFORE "$16\r\nkey:"
#define ITEM_DIGITS 12
#define ITEM_BYTES (sizeof(ITEM_BEFORE) - 1 + ITEM_DIGITS + 2)
#define KEY_DIGITS 6
#define REPLY_BYTES 4 // :1\r\n

/* What the command line says. */
static const char *socket_path, *command, *key;
static uint64_t batch = 1, count, depth = 131072, start, keys;
static uint64_t first, range = 1, absent_first, absent_range = 1, absent_percent;

static _Noreturn void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(1);
}

static void read_arguments(char **argv) {
    static const struct {
        const char *name;
        const char **word;
        uint64_t *number;
    } OPTIONS[] = {{"socket", &socket_path, NULL},
                   {"command", &command, NULL},
                   {"key", &key, NULL},
                   {"batch", NULL, &batch},
                   {"count", NULL, &count},
                   {"depth", NULL, &depth},
                   {"start", NULL, &start},
                   {"keys", NULL, &keys},
                   {"first", NULL, &first},
                   {"range", NULL, &range},
                   {"absent_first", NULL, &absent_first},
                   {"absent_range", NULL, &absent_range},
                   {"absent_percent", NULL, &absent_percent}};
    for (char **arg = argv + 1; *arg; arg++) {
        size_t i = 0, n = sizeof(OPTIONS) / sizeof(OPTIONS[0]), len = strcspn(*arg, "=");
        while (i < n && (strlen(OPTIONS[i].name) != len || strncmp(*arg, OPTIONS[i].name, len))) {
            i++;
        }
        if (i == n || (*arg)[len] != '=') die("not understood: %s", *arg);
        if (OPTIONS[i].word) *OPTIONS[i].word = *arg + len + 1;
        if (OPTIONS[i].number) *OPTIONS[i].number = strtoull(*arg + len + 1, NULL, 10);
    }
    if (!socket_path || !command || !key || !batch || !range || !absent_range) {
        die("socket, command and key are needed; batch and ranges are at least 1");
    }
}

/* ---- Items -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) { // the finaliser of SplitMix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/* Numbers `first` .. first + size - 1 in random order. Multiplying by an odd number and folding the
 * upper half onto the lower are permutations of the numbers below a power of two; those that come
 * out too large are sent through again (less than once on average). */
struct numbers {
    uint64_t first, size, mask;
    unsigned half;
};

static struct numbers numbers_of(uint64_t from, uint64_t size) {
    unsigned bits = 2;
    while (bits < 63 && (uint64_t)1 << bits < size) bits++;
    return (struct numbers){from, size, ((uint64_t)1 << bits) - 1, (bits + 1) / 2};
}

static uint64_t number_at(const struct numbers *n, uint64_t x) {
    x %= n->size;
    do {
        x = x * 0x9e3779b97f4a7c15U & n->mask;
        x ^= x >> n->half;
        x = x * 0xbf58476d1ce4e5b9U & n->mask;
        x ^= x >> n->half;
    } while (x >= n->size);
    return n->first + x;
}

static struct numbers numbers[2]; // present, absent

static bool is_absent(uint64_t i) {
    if (absent_percent == 0) return false;
    if (absent_percent >= 100) return true;
    return mix(start + i + 1) % 100 < absent_percent;
}

static uint64_t item_number(uint64_t i) {
    return number_at(&numbers[is_absent(i)], start + i);
}

/* ---- Requests ----------------------------------------------------------------------------- */

static char four_digits[10000][4];

static void write_item_digits(char *out, uint64_t number) {
    memcpy(out, four_digits[number / 100000000 % 10000], 4);
    memcpy(out + 4, four_digits[number / 10000 % 10000], 4);
    memcpy(out + 8, four_digits[number % 10000], 4);
}

/* A chunk is the commands that go out by one call. */
static struct {
    char *bytes;
    uint64_t ncommands;
    size_t command_bytes, items_at, key_digits_at;
} chunk;

static void prepare_chunk(void) {
    char head[512], digits[8];
    for (int i = 0; i < 10000; i++) {
        snprintf(digits, sizeof(digits), "%04d", i);
        memcpy(four_digits[i], digits, 4);
    }
    size_t key_length = strlen(key) + (keys ? KEY_DIGITS : 0);
    int length = snprintf(head, sizeof(head), "*%llu\r\n$%zu\r\n%s\r\n$%zu\r\n%s%s\r\n",
                          (unsigned long long)batch + 2, strlen(command), command, key_length, key,
                          keys ? "000000" : "");
    if (length < 0 || (size_t)length >= sizeof(head)) die("command and key are too long");
    chunk.items_at = (size_t)length;
    chunk.key_digits_at = chunk.items_at - 2 - KEY_DIGITS;
    chunk.command_bytes = chunk.items_at + batch * ITEM_BYTES;
    // Half of what may be in flight, so that the server has the next chunk when one is done.
    chunk.ncommands = depth / 2 / chunk.command_bytes;
    if (chunk.ncommands == 0) chunk.ncommands = 1;
    chunk.bytes = malloc(chunk.ncommands * chunk.command_bytes);
    if (!chunk.bytes) die("out of memory");
    for (uint64_t c = 0; c < chunk.ncommands; c++) {
        char *at = chunk.bytes + c * chunk.command_bytes;
        memcpy(at, head, chunk.items_at);
        at += chunk.items_at;
        for (uint64_t i = 0; i < batch; i++, at += ITEM_BYTES) {
            memcpy(at, ITEM_BEFORE "000000000000\r\n", ITEM_BYTES);
        }
    }
}

/* Writes `ncommands` commands, beginning with item number `i`. */
static void fill_chunk(uint64_t i, uint64_t ncommands) {
    for (uint64_t c = 0; c < ncommands; c++) {
        char *at = chunk.bytes + c * chunk.command_bytes;
        if (keys) {
            char digits[ITEM_DIGITS];
            write_item_digits(digits, i / batch % keys);
            memcpy(at + chunk.key_digits_at, digits + ITEM_DIGITS - KEY_DIGITS, KEY_DIGITS);
        }
        at += chunk.items_at + sizeof(ITEM_BEFORE) - 1;
        for (uint64_t end = i + batch; i < end; i++, at += ITEM_BYTES) {
            write_item_digits(at, item_number(i));
        }
    }
}

/* May block; the server never does (it buffers its replies), so the two cannot wait for each
 * other. */
static void send_all(int fd, const char *bytes, size_t left) {
    while (left > 0) {
        ssize_t n = send(fd, bytes, left, MSG_NOSIGNAL);
        if (n <= 0) die("the server closed the connection");
        bytes += n;
        left -= (size_t)n;
    }
}

/* ---- Replies ------------------------------------------------------------------------------ */

static struct { uint64_t items, absent, present_ones, absent_ones; } answered;

static char array_head[32]; // *1000\r\n; empty for single commands
static size_t array_head_length;

static _Noreturn void die_of_reply(const char *at, size_t length) {
    die("%s answered: %.*s", command, (int)(length < 200 ? length : 200), at);
}

/* Takes the complete replies off the front of the buffer, returns how many bytes that were. */
static size_t take_replies(const char *bytes, size_t length) {
    const char *at = bytes, *end = bytes + length;
    for (;;) {
        size_t head = answered.items % batch == 0 ? array_head_length : 0;
        size_t left = (size_t)(end - at);
        if (left > 0 && head > 0 && memcmp(at, array_head, left < head ? left : head) != 0) {
            die_of_reply(at, left);
        }
        if (left < head + REPLY_BYTES) return (size_t)(at - bytes);
        at += head;
        bool one = memcmp(at, ":1\r\n", REPLY_BYTES) == 0;
        if (!one && memcmp(at, ":0\r\n", REPLY_BYTES) != 0) die_of_reply(at, (size_t)(end - at));
        bool absent = is_absent(answered.items);
        answered.items++;
        answered.absent += absent;
        answered.absent_ones += absent && one;
        answered.present_ones += !absent && one;
        at += REPLY_BYTES;
    }
}

static void read_replies(int fd) {
    static char buffer[1 << 16];
    static size_t held; // a reply that has come in part
    ssize_t n = recv(fd, buffer + held, sizeof(buffer) - held, 0);
    if (n <= 0) die("the server closed the connection");
    held += (size_t)n;
    size_t taken = take_replies(buffer, held);
    held -= taken;
    memmove(buffer, buffer + taken, held);
}

/* ---- The run ------------------------------------------------------------------------------ */

static int connect_to_server(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(socket_path) >= sizeof(address.sun_path)) die("the socket's path is too long");
    strcpy(address.sun_path, socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        die("cannot connect to %s", socket_path);
    }
    return fd;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run(int fd) {
    uint64_t sent = 0, goal = count - count % batch, chunk_items = chunk.ncommands * batch;
    while (answered.items < goal) {
        while (sent < goal && sent - answered.items <= chunk_items) {
            uint64_t n = goal - sent < chunk_items ? goal - sent : chunk_items;
            fill_chunk(sent, n / batch);
            send_all(fd, chunk.bytes, n / batch * chunk.command_bytes);
            sent += n;
        }
        read_replies(fd);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    read_arguments(argv);
    numbers[0] = numbers_of(first, range);
    numbers[1] = numbers_of(absent_first, absent_range);
    prepare_chunk();
    if (batch > 1) {
        snprintf(array_head, sizeof(array_head), "*%llu\r\n", (unsigned long long)batch);
        array_head_length = strlen(array_head);
    }
    int fd = connect_to_server();
    double begin = now();
    run(fd);
    double wall = now() - begin;
    close(fd);
    uint64_t present = answered.items - answered.absent;
    double own_cpu = (double)clock() / CLOCKS_PER_SEC; // to see that the server is the bottleneck
    printf("{\"items\": %llu, \"seconds\": %.6f, \"client_cpu\": %.6f, \"present\": %llu, "
           "\"present_ones\": %llu, \"absent\": %llu, \"absent_ones\": %llu}\n",
           (unsigned long long)answered.items, wall, own_cpu, (unsigned long long)present,
           (unsigned long long)answered.present_ones, (unsigned long long)answered.absent,
           (unsigned long long)answered.absent_ones);
    return 0;
}
