/* bloomport build: items -> a filter.
 *
 * A filter is sized before the first item is added. Files are therefore read twice, the first time
 * only to count newlines. An input that cannot be read twice is hashed as it comes, and the hashes,
 * 16 bytes an item, are kept in a spool until they are counted. With --capacity neither is needed.
 *
 * Tuned for tens of millions of short items, where hashing an item costs less than the cache misses
 * of setting its bits: see adder.h. `make bench-tool` compares it with reading and hashing alone.
 */

#include "module/core/mem.h"
#include "rdb/tool/adder.h"
#include "rdb/tool/items.h"
#include "rdb/tool/like.h"
#include "rdb/tool/members.h"
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
#include "rdb/tool/report.h"
#include "rdb/tool/spool.h"
#include "rdb/tool/threads.h"
#include "rdb/tool/tool.h"

#define DEFAULT_ERROR_RATE 0.01

/* ---- The filter --------------------------------------------------------------------------- */

/* Whether the format has filters of its own sizes, with its own hash. */
static bool has_own_sizes(const struct options *options) {
    return options->format < (enum file_format)FORMAT_COUNT &&
           formats_has_sizes((enum format)options->format);
}

/* Options that do not go with the format that is to be written. */
static void check_format(const struct options *options) {
    const char *name = options->format == FILE_UNKNOWN ? "" : file_format_name(options->format);
    if (options->format == FILE_REDISSON) {
        tool_die("build cannot make a Redisson filter: m and k are in a hash on the server, "
                 "{name}:config. Make it with Redisson, and pull --redisson reads it");
    }
    if (!has_own_sizes(options)) return;
    if (options->has_layout || options->has_scheme) {
        tool_die("--format %s has a layout and a hash of its own, leave --layout and --hash out",
                 name);
    }
    if (options->expansion != 0) {
        tool_die("--format %s has one layer: it does not go with --expansion", name);
    }
}

/* A format that exists for one layout only implies it, unless the user names another. */
static struct options with_implied(const struct options *given) {
    struct options options = *given;
    bool names_none = !options.has_layout && !options.has_scheme;
    bool is_parquet = options.format == (enum file_format)FORMAT_PARQUET;
    if (is_parquet && names_none) options.layout = LAYOUT_BLOCKED;
    check_format(given);
    if (options.bits_per_key == 0 && options.error_rate == 0) {
        options.error_rate = DEFAULT_ERROR_RATE;
    }
    return options;
}

static _Noreturn void refuse(enum status st, const struct options *options) {
    if (st == STATUS_NOMEM) tool_die("no memory for a filter of this size");
    tool_die("layout %s with hash %s cannot address a filter of this size",
             layout_word(options->layout), tool_scheme_name(options->scheme));
}

/* A filter of the size that the format's own program would give it. */
static struct filter *new_of_format(const struct options *options, uint64_t capacity) {
    struct formats_request request = {.capacity = capacity,
                                      .error_rate = options->error_rate,
                                      .bits_per_key = options->bits_per_key,
                                      .variant = options->variant};
    struct filter *filter;
    enum status st = formats_new((enum format)options->format, &request, &filter);
    if (st == STATUS_NOMEM) refuse(st, options);
    if (st != STATUS_OK) {
        tool_die("%s has no filter of this size and error rate", file_format_name(options->format));
    }
    return filter;
}

static struct filter *new_filter(const struct options *options, uint64_t capacity) {
    if (capacity == 0) capacity = 1;
    if (has_own_sizes(options)) return new_of_format(options, capacity);
    struct filter_params params = {.capacity = capacity,
                                   .error_rate = options->error_rate,
                                   .bits_per_key = options->bits_per_key,
                                   .expansion = options->expansion,
                                   .layout = options->layout,
                                   .scheme = options->scheme};
    struct filter *filter;
    enum status st = filter_new(&params, FILTER_NO_LIMIT, &filter);
    if (st != STATUS_OK) refuse(st, options);
    if (options->format != FILE_UNKNOWN) file_check_format(filter, options->format, options);
    return filter;
}

/* What hashing depends on. */
static struct filter shape_of(const struct filter *filter) {
    return (struct filter){
        .layout = filter->layout, .scheme = filter->scheme, .seed = filter->seed};
}

static void hash_batch(const struct filter *shape, const struct item *batch, size_t n,
                       struct hash *hashes) {
    for (size_t i = 0; i < n; i++) hashes[i] = filter_hash(shape, batch[i].bytes, batch[i].len);
}

/* ---- Items that can be read twice, or a capacity that is given ----------------------------- */

struct items_source {
    struct source source;
    struct items *items;
    struct filter shape;
    struct progress progress;
};

static bool take_items(struct source *source, struct block *block) {
    struct items_source *from = (struct items_source *)source;
    if (!block->items.buffer) items_open_block(&block->items, from->items);
    progress_show(&from->progress, from->items->bytes_read);
    return items_take_block(from->items, &block->items);
}

static void hash_items(struct source *source, struct block *block) {
    const struct items_source *from = (struct items_source *)source;
    struct item batch[ITEMS_BATCH];
    block_reserve(block, block->items.end - block->items.start); // no item is less than a byte
    block->n = 0;
    for (size_t n; (n = items_next(&block->items, batch)) > 0; block->n += n) {
        hash_batch(&from->shape, batch, n, block->hashes + block->n);
    }
}

static uint64_t add_items(struct filter *filter, struct items *items, const struct options *options,
                          uint64_t bytes, bool is_exact) {
    struct items_source from = {
        .source = {like_name(options), take_items, hash_items},
        .items = items,
        .shape = shape_of(filter),
    };
    progress_begin(&from.progress, "adding", bytes);
    uint64_t count = adder_run(filter, &from.source, is_exact);
    progress_end(&from.progress);
    return count;
}

/* ---- Items that come once ------------------------------------------------------------------ */

struct spool_source {
    struct source source;
    struct spool spool;
    struct progress progress;
};

static bool take_hashes(struct source *source, struct block *block) {
    struct spool_source *from = (struct spool_source *)source;
    block_reserve(block, SPOOL_BATCH);
    block->n = spool_take(&from->spool, block->hashes);
    progress_show(&from->progress, from->spool.nread);
    return block->n > 0;
}

static void hashes_are_there(struct source *source, struct block *block) {
    (void)source, (void)block;
}

/* Where such items come from. */
struct reader {
    size_t (*next)(void *from, struct item *batch); // as items_next
    void *from;
};

static size_t next_item(void *from, struct item *batch) {
    return items_next(from, batch);
}

static size_t next_member(void *from, struct item *batch) {
    return members_next(from, batch);
}

static void spool_items(struct spool *spool, const struct reader *reader,
                        const struct filter *shape) {
    struct item batch[ITEMS_BATCH];
    struct progress progress;
    progress_begin(&progress, "hashing", 0);
    for (size_t n; (n = reader->next(reader->from, batch)) > 0;) {
        hash_batch(shape, batch, n, spool_put(spool, n));
        progress_show(&progress, spool_count(spool));
    }
    progress_end(&progress);
}

/* A spool keeps hashes and not items, which some schemes need for each position. */
static void check_spool(const struct filter *shape, const struct options *options) {
    if (!scheme_row(shape->scheme)->reads_item) return;
    bool is_remote = options->from_set || options->from_keys;
    const char *name = tool_scheme_name(shape->scheme);
    if (is_remote) tool_die("a filter with hash %s needs items from files or a pipe", name);
    tool_die("a filter with hash %s needs --capacity, or items from plain files", name);
}

static struct filter *build_from_spool(struct filter *filter, const struct reader *reader,
                                       const struct options *options, uint64_t *count) {
    struct spool_source from = {.source = {like_name(options), take_hashes, hashes_are_there}};
    struct filter *any = filter ? filter : new_filter(options, 1), shape = shape_of(any);
    if (!filter) filter_free(any);
    check_spool(&shape, options);
    spool_open(&from.spool);
    spool_items(&from.spool, reader, &shape);
    *count = spool_count(&from.spool);
    if (!filter) filter = new_filter(options, options->capacity ? options->capacity : *count);
    bool is_exact = options->format == FILE_DUMP || *count > filter_capacity(filter);
    progress_begin(&from.progress, "adding", *count);
    adder_run(filter, &from.source, is_exact);
    progress_end(&from.progress);
    spool_close(&from.spool);
    return filter;
}

/* ---- Both --------------------------------------------------------------------------------- */

/* Adds the items to a filter: one like another, or of the given capacity, or of as many as the
 * files have. */
static struct filter *build_from_files(struct filter *filter, struct items *items,
                                       const struct options *options, uint64_t bytes,
                                       bool are_files, uint64_t *count) {
    uint64_t most = UINT64_MAX; // not counted yet
    if (are_files) {
        most = items_count(options->operands, options->noperands, &options->how, threads_number());
    }
    if (!filter) filter = new_filter(options, options->capacity ? options->capacity : most);
    // Counts are needed only where they were asked for or may exceed the capacity.
    bool is_exact = options->format == FILE_DUMP || most > filter_capacity(filter);
    *count = add_items(filter, items, options, bytes, is_exact);
    return filter;
}

static struct filter *build_from_inputs(struct filter *like, const struct options *options,
                                        uint64_t *count) {
    struct items items;
    uint64_t bytes = 0;
    bool are_files = items_are_files(options->operands, options->noperands, &bytes);
    report_waiting(options->operands, options->noperands);
    items_open(&items, options->operands, options->noperands, &options->how);
    struct reader reader = {next_item, &items};
    bool is_sized = like || options->capacity || are_files;
    struct filter *filter = is_sized
                                ? build_from_files(like, &items, options, bytes, are_files, count)
                                : build_from_spool(NULL, &reader, options, count);
    items_close(&items);
    return filter;
}

static struct filter *build_from_members(struct filter *like, const struct options *options,
                                         uint64_t *count) {
    options_need_operands(options, 0, 0, "");
    if (options->from_set && options->from_keys) {
        tool_die("--from-set and --from-keys exclude each other, give one");
    }
    struct server *server = server_open(&options->server);
    struct members members;
    members_open(&members, server, options->from_set, options->from_keys);
    struct reader reader = {next_member, &members};
    struct filter *filter = build_from_spool(like, &reader, options, count);
    members_close(&members);
    server_close(server);
    return filter;
}

int build_run(const struct options *given) {
    bool is_like = given->like || given->like_key;
    const struct options implied = is_like ? *given : with_implied(given), *options = &implied;
    if (layout_row(options->layout)->has_counters) {
        tool_die("build cannot make a %s filter: make it on a server, with BF.RESERVE",
                 layout_word(options->layout));
    }
    uint64_t count;
    struct filter *like = like_open(options);
    bool is_remote = options->from_set || options->from_keys;
    struct filter *filter = is_remote ? build_from_members(like, options, &count)
                                      : build_from_inputs(like, options, &count);
    bool is_chosen = options->format != FILE_UNKNOWN;
    file_save(filter, is_chosen ? options->format : file_default_format(filter), options);
    if (count == 0) report_note("the input is empty: a filter without items was written");
    report_built(filter, count);
    filter_free(filter);
    return TOOL_OK;
}
