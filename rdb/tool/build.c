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
#include "rdb/tool/options.h"
#include "rdb/tool/progress.h"
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

/* A format that exists for one layout only implies it, unless the user names another. */
static struct options with_implied(const struct options *given) {
    struct options options = *given;
    bool names_none = !options.has_layout && !options.has_scheme;
    bool is_parquet = options.format == (enum file_format)FORMAT_PARQUET;
    if (is_parquet && names_none) options.layout = LAYOUT_BLOCKED;
    if (has_own_sizes(&options) && !names_none) {
        tool_die("--format %s has a layout and a hash of its own, leave --layout and --hash out",
                 file_format_name(options.format));
    }
    if (options.bits_per_key == 0 && options.error_rate == 0) {
        options.error_rate = DEFAULT_ERROR_RATE;
    }
    return options;
}

static _Noreturn void refuse(enum status st, const struct options *options) {
    if (st == STATUS_NOMEM) tool_die("no memory for a filter of this size");
    tool_die("layout %s with hash %s cannot address a filter of this size",
             tool_layout_name(options->layout), tool_scheme_name(options->scheme));
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
                                   .layout = options->layout,
                                   .scheme = options->scheme};
    struct filter *filter;
    enum status st = filter_new(&params, FILTER_NO_LIMIT, &filter);
    if (st != STATUS_OK) refuse(st, options);
    if (options->format != FILE_UNKNOWN) file_check_format(filter, options->format);
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

static void add_items(struct filter *filter, struct items *items, uint64_t bytes, bool is_exact) {
    struct items_source from = {
        .source = {take_items, hash_items},
        .items = items,
        .shape = shape_of(filter),
    };
    progress_begin(&from.progress, "adding", bytes);
    adder_run(filter, &from.source, is_exact);
    progress_end(&from.progress);
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

static void spool_items(struct spool *spool, struct items *items, const struct options *options) {
    struct filter *smallest = new_filter(options, 1), shape = shape_of(smallest);
    filter_free(smallest);
    if (scheme_row(shape.scheme)->reads_item) {
        tool_die("--format %s needs --capacity, or items from files",
                 file_format_name(options->format));
    }
    struct item batch[ITEMS_BATCH];
    struct progress progress;
    progress_begin(&progress, "hashing", 0);
    for (size_t n; (n = items_next(items, batch)) > 0;) {
        hash_batch(&shape, batch, n, spool_put(spool, n));
        progress_show(&progress, spool_count(spool));
    }
    progress_end(&progress);
}

static struct filter *build_from_spool(struct items *items, const struct options *options) {
    struct spool_source from = {.source = {take_hashes, hashes_are_there}};
    spool_open(&from.spool);
    spool_items(&from.spool, items, options);
    uint64_t count = spool_count(&from.spool);
    struct filter *filter = new_filter(options, count);
    progress_begin(&from.progress, "adding", count);
    adder_run(filter, &from.source, options->format == FILE_DUMP);
    progress_end(&from.progress);
    spool_close(&from.spool);
    return filter;
}

/* ---- Both --------------------------------------------------------------------------------- */

int build_run(const struct options *given) {
    const struct options implied = with_implied(given), *options = &implied;
    if (options->layout == LAYOUT_COUNTING) {
        tool_die("build cannot make a counting filter: make it on a server, with BF.RESERVE");
    }
    struct items items;
    struct filter *filter;
    uint64_t bytes = 0;
    char **paths = options->operands;
    int npaths = options->noperands;
    bool are_files = items_are_files(paths, npaths, &bytes);
    items_open(&items, paths, npaths, options->nul, options->hex);
    if (options->capacity || are_files) {
        uint64_t count = UINT64_MAX; // not counted yet
        if (are_files) count = items_count(paths, npaths, options->nul, threads_number());
        filter = new_filter(options, options->capacity ? options->capacity : count);
        // Counts are needed only where they are written or may exceed the capacity.
        bool is_exact = options->format == FILE_DUMP || count > filter_capacity(filter);
        add_items(filter, &items, are_files ? bytes : 0, is_exact);
    } else {
        filter = build_from_spool(&items, options);
    }
    items_close(&items);
    bool is_chosen = options->format != FILE_UNKNOWN;
    file_save(filter, is_chosen ? options->format : file_default_format(filter), options->output);
    filter_free(filter);
    return TOOL_OK;
}
