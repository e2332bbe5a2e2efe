/* hiredis: client PORT PROTOCOL. ../README.md lists the calls and the reasons.
 *
 * redisCommandArgv takes words with their lengths, so items and dumps are any bytes; so is
 * redisCommand with %b. Every reply is shown as redis-cli would say it and compared as text, but
 * for dumps, which are compared as bytes. Debian's hiredis 0.14 speaks RESP2. */

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *context;
static int checks, wrong;

struct word {
    const char *data;
    size_t size;
};

#define BINARY ((struct word){"\x00\xff\r\n\x80", 5})
#define BINARY_CUT ((struct word){"\x00\xff\r\n\x80", 4})

/* One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one). */
static const char ONE[] =
    "\x01\x02\x00\x00\x00\x7b\x14\xae\x47\xe1\x7a\x84\x3f\x00\x00\x00\x00\x00\x00\xe0\x3f\x01"
    "\x01\x00\x00\x00\x00\x00\x00\x00\x2f\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00"
    "\x00\x00\x00\x0b\x00\x00\x00\x45\x64\xa0\x7b\x0c\xc9\x30\xb9\xe2\xe1\xfe\x54\xc4\xb2\xe4"
    "\x64\x09\x65\x47\xf4\xaf\x40\x20\x8a\xe0\xf3\x61\x75\xb9\xfa\x97\xc6\xab\xd6\x01\x00\x00"
    "\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00";

static void check(const char *what, bool right, const char *got, const char *wanted) {
    checks++;
    if (!right) {
        wrong++;
        printf("wrong: %s, got %s, wanted %s\n", what, got, wanted);
    }
}

/* One command, the words of `line` split at blanks, then `more`. */
static redisReply *send(const char *line, int nmore, const struct word *more) {
    enum { MOST = 1100 };
    static char copy[20000];
    static const char *data[MOST];
    static size_t sizes[MOST];
    int n = 0;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        data[n] = word;
        sizes[n++] = strlen(word);
    }
    for (int i = 0; i < nmore; i++) {
        data[n] = more[i].data;
        sizes[n++] = more[i].size;
    }
    redisReply *reply = redisCommandArgv(context, n, data, sizes);
    if (reply == NULL) {
        printf("wrong: %s, got no reply: %s\n", line, context->errstr);
        exit(1);
    }
    return reply;
}

/* Appends a reply to `out` as text: 1, OK, nil, ERR ..., [1 0]. */
static void show(const redisReply *reply, char *out, size_t size) {
    size_t used = strlen(out);
    switch (reply->type) {
    case REDIS_REPLY_INTEGER: snprintf(out + used, size - used, "%lld", reply->integer); break;
    case REDIS_REPLY_NIL: snprintf(out + used, size - used, "nil"); break;
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            snprintf(out + strlen(out), size - strlen(out), i == 0 ? "[" : " ");
            show(reply->element[i], out, size);
        }
        snprintf(out + strlen(out), size - strlen(out), "]");
        break;
    default: snprintf(out + used, size - used, "%s", reply->str);
    }
}

/* The command, followed by a binary item, answers exactly `wanted`. */
static void answers_item(const char *line, struct word item, const char *wanted) {
    char got[2000] = "";
    redisReply *reply = send(line, item.data != NULL, &item);
    show(reply, got, sizeof(got));
    check(line, strcmp(got, wanted) == 0, got, wanted);
    freeReplyObject(reply);
}

static void answers(const char *line, const char *wanted) {
    answers_item(line, (struct word){NULL, 0}, wanted);
}

/* The command's answer contains `wanted`. */
static void mentions(const char *line, const char *wanted) {
    char got[2000] = "";
    redisReply *reply = send(line, 0, NULL);
    show(reply, got, sizeof(got));
    check(line, strstr(got, wanted) != NULL, got, wanted);
    freeReplyObject(reply);
}

static void create_and_add(void) {
    mentions("CLIENT INFO", "resp=2");
    answers("BF.RESERVE plain 0.01 1000", "OK");
    answers("BF.RESERVE grown 0.001 100 EXPANSION 4", "OK");
    answers("BF.RESERVE fixed 1e-7 2 NONSCALING", "OK");
    answers("BF.RESERVE plain 0.01 1000", "ERR item exists");
    answers("BF.ADD plain a", "1");
    answers("BF.ADD plain a", "0");
    answers_item("BF.ADD plain", BINARY, "1");
    answers("BF.MADD plain a b c", "[0 1 1]");
    answers("BF.INSERT inserted CAPACITY 500 ERROR 0.001 EXPANSION 3 ITEMS x y x", "[1 1 0]");
    answers("BF.INSERT inserted NOCREATE ITEMS z", "[1]");
    answers("BF.INSERT small CAPACITY 2 NONSCALING ITEMS x", "[1]");
    answers("BF.INSERT missing NOCREATE ITEMS z", "ERR not found");
}

static void lookups(void) {
    answers("BF.EXISTS plain a", "1");
    answers("BF.EXISTS plain absent", "0");
    answers_item("BF.EXISTS plain", BINARY, "1");
    answers_item("BF.EXISTS plain", BINARY_CUT, "0");
    answers("BF.EXISTS missing a", "0");
    answers("BF.MEXISTS plain a absent c", "[1 0 1]");
    answers("BF.CARD plain", "4");
    answers("BF.CARD missing", "0");
    mentions("BF.INFO plain", "[Capacity 1000 Size ");
    mentions("BF.INFO plain", " Number of filters 1 Number of items inserted 4 Expansion rate 2]");
    mentions("BF.INFO inserted", "[Capacity 500 Size ");
    mentions("BF.INFO inserted", "Number of items inserted 3 Expansion rate 3]");
    mentions("BF.INFO fixed", "Number of items inserted 0 Expansion rate nil]");
    answers("BF.INFO plain ITEMS", "[4]");
    answers("BF.INFO missing", "ERR not found");
}

static void fail(void) {
    answers("BF.MADD fixed p q r s", "[1 1 ERR non scaling filter is full]");
    answers("BF.ADD fixed r", "ERR non scaling filter is full");
    answers("BF.ADD fixed p", "0");
    answers("SET text x", "OK");
    mentions("BF.ADD text a", "WRONGTYPE");
    mentions("BF.EXISTS text a", "WRONGTYPE");
}

static void grow(void) {
    char line[20000] = "BF.MADD grown";
    for (int i = 0; i < 1000; i++) sprintf(line + strlen(line), " item-%d", i);
    freeReplyObject(send(line, 0, NULL));
    mentions("BF.INFO grown", "[Capacity 2100 Size ");
    mentions("BF.INFO grown", "Number of filters 3 ");
}

/* Copies grown to loaded, piece by piece; then reads both side by side. */
static void dump(void) {
    char line[100];
    long long iterator = 0, pieces = 0;
    for (;; pieces++) {
        snprintf(line, sizeof(line), "BF.SCANDUMP grown %lld", iterator);
        redisReply *piece = send(line, 0, NULL);
        iterator = piece->element[0]->integer;
        if (iterator == 0) {
            freeReplyObject(piece);
            break;
        }
        snprintf(line, sizeof(line), "BF.LOADCHUNK loaded %lld", iterator);
        answers_item(line, (struct word){piece->element[1]->str, (size_t)piece->element[1]->len},
                     "OK");
        freeReplyObject(piece);
    }
    check("BF.SCANDUMP gives a header and three layers", pieces == 4, "", "");
    for (iterator = 0;;) {
        snprintf(line, sizeof(line), "BF.SCANDUMP grown %lld", iterator);
        redisReply *piece = send(line, 0, NULL);
        snprintf(line, sizeof(line), "BF.SCANDUMP loaded %lld", iterator);
        redisReply *copy = send(line, 0, NULL);
        const redisReply *a = piece->element[1], *b = copy->element[1];
        check("dump of the copy", a->len == b->len && memcmp(a->str, b->str, (size_t)a->len) == 0,
              "", "");
        iterator = piece->element[0]->integer;
        freeReplyObject(piece);
        freeReplyObject(copy);
        if (iterator == 0) break;
    }
    answers("BF.MEXISTS loaded item-0 item-999 absent", "[1 1 0]");
}

static void new_commands(void) {
    mentions("BF.DEBUG plain", "[size:4 bytes:");
    redisReply *data = send("BF.EXPORT plain", 0, NULL);
    struct word whole = {data->str, (size_t)data->len},
                cut = {data->str + 1, (size_t)data->len - 1};
    answers_item("BF.IMPORT imported FORMAT portable DATA", whole, "OK");
    redisReply *copy = send("BF.EXPORT imported", 0, NULL);
    check("export of the copy",
          copy->len == data->len && memcmp(copy->str, data->str, whole.size) == 0, "", "");
    freeReplyObject(copy);
    answers_item("BF.EXISTS imported", BINARY, "1");
    redisReply *refused = send("BF.IMPORT bad FORMAT portable DATA", 1, &cut);
    check("import cut", strncmp(refused->str, "ERR bad data", 12) == 0, refused->str,
          "ERR bad data");
    freeReplyObject(refused);
    freeReplyObject(data);
}

static void stats(void) {
    mentions("BF.STATS plain", "[layout CLASSIC hash XXH64 items 4 estimated items 4 capacity 1000 "
                               "utilisation 0.004");
    mentions("BF.STATS plain", " expansion 2 layers [[capacity 1000 items 4 bits 10595 hashes 7 ");
    mentions("BF.STATS plain", "]] items are estimated 0 state ok advice ]");
    answers("BF.STATS missing", "ERR not found");
}

static void combine(void) {
    answers("BF.RESERVE other 0.01 1000", "OK");
    answers("BF.MADD other a only", "[1 1]");
    answers("BF.MERGE merged plain other", "OK");
    answers("BF.MEXISTS merged b only absent", "[1 1 0]");
    answers("BF.INTERSTORE common plain other", "OK");
    answers("BF.MEXISTS common a b only", "[1 0 0]");
    answers("BF.CLEAR merged", "OK");
    answers("BF.EXISTS merged a", "0");
}

static void forget(void) {
    answers("BF.RESERVE counting 0.01 100 LAYOUT COUNTING", "OK");
    answers("BF.MADD counting a b a", "[1 1 0]");
    answers("BF.COUNT counting a", "2");
    answers("BF.DEL counting a absent", "[1 0]");
    answers("BF.COUNT counting a", "1");
    answers("BF.DEL missing a", "[0]");
    answers("BF.RESERVE seen 0.01 100 WINDOW 3600", "OK");
    answers("BF.ROTATE seen", "OK");
    answers("BF.ROTATE missing", "ERR not found");
}

static void load(void) {
    struct word whole = {ONE, sizeof(ONE) - 1}, cut = {ONE, sizeof(ONE) - 2};
    answers_item("BF.LOAD moved", whole, "OK");
    answers("BF.CARD moved", "1");
    answers_item("BF.LOAD bad", cut, "ERR bloom object decoding failed");
}

static void bulk(void) {
    answers_item("BF.BULKADD bulky LINES", (struct word){"a\nb\na", 5}, "\xc0");
    answers("BF.BULKEXISTS bulky WIDTH 1 axb", "\xa0");
    answers("BF.BULKADD bulky WIDTH 2 abc", "ERR the data is no whole number of items of 2 bytes");
}

int main(int argc, char **argv) {
    context = redisConnect("127.0.0.1", argc > 1 ? atoi(argv[1]) : 6379);
    if (context == NULL || context->err) {
        printf("wrong: connect, got %s\n", context ? context->errstr : "no memory");
        return 1;
    }
    create_and_add();
    lookups();
    fail();
    grow();
    dump();
    new_commands();
    stats();
    combine();
    forget();
    load();
    bulk();
    redisFree(context);
    printf("version %d.%d.%d\nchecks %d\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH, checks);
    return wrong > 0;
}
