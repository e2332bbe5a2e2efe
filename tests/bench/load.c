/* The load generator of the benchmark: one connection over a unix socket, pipelined, with as little
 * work per item as possible, so that the server is always the bottleneck. bench.py runs it on a
 * core of its own and reads the server's CPU time before and after.
 *
 *   load socket=PATH|port=N command=WORD key=WORD batch=N count=N [depth=BYTES] [wait=1]
 *        [item=16|8|36] [send=args|width|lines]
 *        [first=N range=N] [absent_first=N absent_range=N absent_percent=P] [start=N] [keys=N]
 *
 * Sends `count` items (less what does not fill a command), `batch` to a command, and prints what
 * was answered as one JSON object. With wait=1 a command is sent when the one before is answered.
 *
 * An item has 16 bytes, the text key:%012d of its number, or 36, the text of a UUID that ends in
 * these digits, or 8, the number itself, little-endian. send=args makes each an argument of its
 * own, answered by an array. The others put all items of a command into one string, WIDTH or LINES,
 * answered by a bitmap. Item i has the number
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
 * each is compared, so nothing but a plain 1 or 0 can pass for an answer. So are the length of a
 * bitmap, what ends it and its unused bits. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
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

#define ITEM_DIGITS 12
#define KEY_DIGITS 6
#define REPLY_BYTES 4 // :1\r\n

/* What the command line says. */
static const char *socket_path, *command, *key, *send_as = "args";
static uint64_t port, batch = 1, count, depth = 131072, waits, item_bytes = 16, start, keys;
static uint64_t first, range = 1, absent_first, absent_range = 1, absent_percent;

static _Noreturn void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
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
                   {"send", &send_as, NULL},
                   {"port", NULL, &port},
                   {"item", NULL, &item_bytes},
                   {"wait", NULL, &waits},
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
    if ((!socket_path && !port) || !command || !key || !batch || !range || !absent_range) {
        die("socket or port, command and key are needed; batch and ranges are at least 1");
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

/* How an item of a number stands in a request: its bytes, with 0 for the number, and where in them
 * the number is to be written. */
struct form {
    char before[48]; // in front of each item: of args, its length
    const char *zero, *after;
    size_t size, number_at;
    bool is_binary;
};

static struct form form;
static bool is_bulk; // all items of a command in one string

static void choose_form(void) {
    static const struct form FORMS[] = {
        {.size = 16, .zero = "key:000000000000", .number_at = 4},
        {.size = 36, .zero = "a3bb189e-8bf9-3888-9912-000000000000", .number_at = 24},
        {.size = 8, .zero = "\0\0\0\0\0\0\0", .is_binary = true}};
    size_t i = 0;
    while (i < 3 && FORMS[i].size != item_bytes) i++;
    if (i == 3) die("item is 16, 36 or 8");
    form = FORMS[i];
    bool is_args = !strcmp(send_as, "args"), is_lines = !strcmp(send_as, "lines");
    if (!is_args && !is_lines && strcmp(send_as, "width") != 0) die("send is args, width or lines");
    if (is_lines && form.is_binary) die("a number of 8 bytes may have a newline in it");
    is_bulk = !is_args;
    form.after = is_args ? "\r\n" : is_lines ? "\n" : "";
    if (is_args) snprintf(form.before, sizeof(form.before), "$%zu\r\n", form.size);
}

static size_t item_stride(void) {
    return strlen(form.before) + form.size + strlen(form.after);
}

static char four_digits[10000][4];

static void prepare_digits(void) {
    char digits[8];
    for (int i = 0; i < 10000; i++) {
        snprintf(digits, sizeof(digits), "%04d", i);
        memcpy(four_digits[i], digits, 4);
    }
}

static void write_digits(char *out, uint64_t number) {
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

/* What stands before the items of a command: *3\r\n$10\r\nBF.MEXISTS\r\n$1\r\nk\r\n, and of a bulk
 * command its words and the string's length. Returns where the key's digits end. */
static size_t write_head(char *head, size_t size) {
    unsigned long long nwords = is_bulk ? 4 + !strcmp(send_as, "width") : 2 + batch;
    int length =
        snprintf(head, size, "*%llu\r\n$%zu\r\n%s\r\n$%zu\r\n%s%s\r\n", nwords, strlen(command),
                 command, strlen(key) + (keys ? KEY_DIGITS : 0), key, keys ? "000000" : "");
    if (length < 0 || (size_t)length + 64 >= size) die("command and key are too long");
    char *end = head + length;
    if (!strcmp(send_as, "width")) {
        end += sprintf(end, "$5\r\nWIDTH\r\n$%d\r\n%zu\r\n", form.size < 10 ? 1 : 2, form.size);
    }
    if (!strcmp(send_as, "lines")) end += sprintf(end, "$5\r\nLINES\r\n");
    if (is_bulk) sprintf(end, "$%llu\r\n", (unsigned long long)(batch * item_stride()));
    return (size_t)length - 2;
}

static void prepare_chunk(void) {
    char head[512];
    size_t stride = item_stride(), tail = is_bulk ? 2 : 0, before = strlen(form.before);
    chunk.key_digits_at = write_head(head, sizeof(head)) - KEY_DIGITS;
    chunk.items_at = strlen(head);
    chunk.command_bytes = chunk.items_at + batch * stride + tail;
    // Half of what may be in flight, so that the server has the next chunk when one is done.
    chunk.ncommands = depth / 2 / chunk.command_bytes;
    if (chunk.ncommands == 0 || waits) chunk.ncommands = 1;
    chunk.bytes = malloc(chunk.ncommands * chunk.command_bytes);
    if (!chunk.bytes) die("out of memory");
    for (uint64_t c = 0; c < chunk.ncommands; c++) {
        char *at = chunk.bytes + c * chunk.command_bytes;
        memcpy(at, head, chunk.items_at);
        at += chunk.items_at;
        for (uint64_t i = 0; i < batch; i++, at += stride) {
            memcpy(at, form.before, before);
            memcpy(at + before, form.zero, form.size);
            memcpy(at + before + form.size, form.after, strlen(form.after));
        }
        memcpy(at, "\r\n", tail);
    }
}

static void write_number(char *out, uint64_t number) {
    if (form.is_binary) {
        memcpy(out, &number, sizeof(number)); // the machines we measure on are little-endian
    } else {
        write_digits(out, number);
    }
}

/* Writes `ncommands` commands, beginning with item number `i`. */
static void fill_chunk(uint64_t i, uint64_t ncommands) {
    size_t stride = item_stride();
    for (uint64_t c = 0; c < ncommands; c++) {
        char *at = chunk.bytes + c * chunk.command_bytes;
        if (keys) {
            char digits[ITEM_DIGITS];
            write_digits(digits, i / batch % keys);
            memcpy(at + chunk.key_digits_at, digits + ITEM_DIGITS - KEY_DIGITS, KEY_DIGITS);
        }
        at += chunk.items_at + strlen(form.before) + form.number_at;
        for (uint64_t end = i + batch; i < end; i++, at += stride) {
            write_number(at, item_number(i));
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

static char reply_head[32]; // *1000\r\n, or of a bitmap $125\r\n; empty for single commands
static size_t reply_head_length;

static _Noreturn void die_of_reply(const char *at, size_t length) {
    die("%s answered: %.*s", command, (int)(length < 200 ? length : 200), at);
}

static size_t bitmap_bytes(void) {
    return (size_t)(batch + 7) / 8;
}

static void prepare_reply_head(void) {
    if (is_bulk || batch > 1) {
        snprintf(reply_head, sizeof(reply_head), "%c%llu\r\n", is_bulk ? '$' : '*',
                 is_bulk ? (unsigned long long)bitmap_bytes() : (unsigned long long)batch);
    }
    reply_head_length = strlen(reply_head);
}

static void note_answer(bool one) {
    bool absent = is_absent(answered.items);
    answered.items++;
    answered.absent += absent;
    answered.absent_ones += absent && one;
    answered.present_ones += !absent && one;
}

/* Takes one bitmap off the front; returns its bytes, or 0 if it is not there to its end. */
static size_t take_bitmap(const char *at, size_t left) {
    size_t size = bitmap_bytes();
    if (left < size + 2) return 0;
    for (uint64_t i = 0; i < batch; i++) note_answer((uint8_t)at[i / 8] & 0x80 >> i % 8);
    unsigned unused = (unsigned)(size * 8 - batch);
    bool has_unused_bits = (uint8_t)at[size - 1] & ((1U << unused) - 1);
    if (has_unused_bits || memcmp(at + size, "\r\n", 2) != 0) die("%s: a bad bitmap", command);
    return size + 2;
}

/* Takes a 1 or a 0 off the front; returns its bytes, or 0 if it is not there to its end. */
static size_t take_number(const char *at, size_t left) {
    if (left < REPLY_BYTES) return 0;
    bool one = memcmp(at, ":1\r\n", REPLY_BYTES) == 0;
    if (!one && memcmp(at, ":0\r\n", REPLY_BYTES) != 0) die_of_reply(at, left);
    note_answer(one);
    return REPLY_BYTES;
}

/* Takes the complete replies off the front of the buffer, returns how many bytes that were. */
static size_t take_replies(const char *bytes, size_t length) {
    const char *at = bytes, *end = bytes + length;
    for (;;) {
        size_t head = answered.items % batch == 0 ? reply_head_length : 0;
        size_t left = (size_t)(end - at);
        if (left > 0 && head > 0 && memcmp(at, reply_head, left < head ? left : head) != 0) {
            die_of_reply(at, left);
        }
        if (left <= head) return (size_t)(at - bytes);
        size_t taken =
            is_bulk ? take_bitmap(at + head, left - head) : take_number(at + head, left - head);
        if (taken == 0) return (size_t)(at - bytes);
        at += head + taken;
    }
}

static void read_replies(int fd) {
    static char *buffer;
    static size_t size, held; // held: a reply that has come in part
    if (!buffer) {
        size = (1 << 16) + bitmap_bytes();
        buffer = malloc(size);
        if (!buffer) die("out of memory");
    }
    ssize_t n = recv(fd, buffer + held, size - held, 0);
    if (n <= 0) die("the server closed the connection");
    held += (size_t)n;
    size_t taken = take_replies(buffer, held);
    held -= taken;
    memmove(buffer, buffer + taken, held);
}

/* ---- The run ------------------------------------------------------------------------------ */

static int connect_by_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
        die("cannot connect to port %llu", (unsigned long long)port);
    }
    return fd;
}

static int connect_to_server(void) {
    if (port) return connect_by_port();
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
        while (sent < goal && sent - answered.items <= (waits ? 0 : chunk_items)) {
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
    choose_form();
    prepare_digits();
    prepare_chunk();
    prepare_reply_head();
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
