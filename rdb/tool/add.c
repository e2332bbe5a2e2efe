/* bloomport add: the items of files into a filter on a server. */

#include "rdb/tool/report.h"
#include "rdb/tool/stats.h"
#include "rdb/tool/stream.h"
#include "rdb/tool/threads.h"
#include "rdb/tool/tool.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_ERROR_RATE 0.01
#define DEFAULT_CAPACITY 100 // the module's own

struct adding {
    struct server *server;
    const struct stream *stream;
    const char *key;
    uint64_t added;
};

static void count_new(void *context, const uint8_t *line, size_t len, bool is_new) {
    (void)line, (void)len;
    ((struct adding *)context)->added += is_new;
}

/* A new key may be a misspelt one. */
static void note_new(void *context) {
    const struct adding *adding = context;
    struct stats stats;
    char capacity[REPORT_COUNT];
    if (!stats_take(adding->server, adding->key, &stats)) {
        report_note("'%s' is a new filter", adding->key);
        return;
    }
    report_note("'%s' is a new filter: capacity %s, error rate %.3g", adding->key,
                report_count(stats.capacity, capacity), stats.promised);
    if (stats.capacity < adding->stream->answered) {
        report_note("it grows as items come: --capacity, with their number, makes it smaller and "
                    "faster");
    }
}

/* How many items are to come, if that can be known: 0 if not. Plain files are read twice. */
static uint64_t count_items(const struct options *o) {
    uint64_t bytes;
    if (o->capacity) return o->capacity;
    if (!items_are_files(o->operands, o->noperands, &bytes)) return 0;
    return items_count(o->operands, o->noperands, &o->how, threads_number());
}

/* Makes the filter if a parameter is given and there is none. */
static void reserve(struct server *server, const struct options *o, uint64_t items) {
    char quality[32], capacity[32], expansion[16];
    snprintf(quality, sizeof(quality), "%.17g",
             o->bits_per_key != 0 ? o->bits_per_key
             : o->error_rate != 0 ? o->error_rate
                                  : DEFAULT_ERROR_RATE);
    snprintf(capacity, sizeof(capacity), "%llu",
             (unsigned long long)(items ? items : DEFAULT_CAPACITY));
    snprintf(expansion, sizeof(expansion), "%u", o->expansion);
    const char *words[9] = {"BF.RESERVE", o->key};
    int n = 2;
    if (o->bits_per_key != 0) words[n++] = "BITSPERKEY";
    words[n++] = quality;
    words[n++] = capacity;
    if (o->has_expansion) words[n++] = "EXPANSION", words[n++] = expansion;
    if (o->has_layout) words[n++] = "LAYOUT", words[n++] = layout_word(o->layout);
    const char *error = server_words(server, n, words);
    if (error) server_die(server, o->key, error);
}

/* Returns whether the key exists already. *capacity: what its creator is to say, if the first add
 * is to create it. */
static bool prepare(struct server *server, const struct options *o, uint64_t *capacity) {
    bool exists = false;
    const char *error = server_exists(server, o->key, &exists);
    if (error) server_die(server, o->key, error);
    bool has_shape = o->error_rate != 0 || o->bits_per_key != 0 || o->capacity ||
                     o->has_expansion || o->has_layout;
    if (!exists && o->nocreate) tool_die("key '%s': there is no such key (--nocreate)", o->key);
    uint64_t items = exists ? 0 : count_items(o);
    if (!exists && has_shape) reserve(server, o, items);
    *capacity = has_shape ? 0 : items;
    if (exists && has_shape) report_note("'%s' exists, and keeps its parameters", o->key);
    return exists;
}

static void summarise(const struct stream *stream, uint64_t added) {
    char items[REPORT_COUNT], fresh[REPORT_COUNT], rate[REPORT_COUNT];
    double seconds = report_seconds();
    double a_second = seconds > 0 ? (double)stream->answered / seconds : 0;
    if (stream->answered == 0) report_note("the input is empty: nothing was added");
    report_note("%s items, %s of them new, %.2f s, %s a second",
                report_count(stream->answered, items), report_count(added, fresh), seconds,
                report_count((uint64_t)a_second, rate));
}

int add_run(const struct options *options) {
    if (!options->key) tool_die("--key is missing");
    struct server *server = server_open(&options->server);
    uint64_t bytes = 0, capacity;
    bool exists = prepare(server, options, &capacity);
    static struct stream stream;
    struct adding adding = {.server = server, .stream = &stream, .key = options->key};
    struct items items;
    items_are_files(options->operands, options->noperands, &bytes);
    report_waiting(options->operands, options->noperands);
    items_open(&items, options->operands, options->noperands, &options->how);
    stream_open(&stream, server, options, true);
    stream.capacity = capacity;
    stream.answer = count_new;
    stream.context = &adding;
    if (!exists) stream.begun = note_new;
    stream_run(&stream, &items, bytes);
    summarise(&stream, adding.added);
    stream_close(&stream);
    items_close(&items);
    server_close(server);
    return TOOL_OK;
}
