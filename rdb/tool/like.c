/* An empty filter with the parameters of another one. See like.h. */

#include "rdb/tool/like.h"

#include "rdb/tool/options.h"
#include "rdb/tool/pull.h"
#include "rdb/tool/tool.h"

static void check_options(const struct options *o) {
    bool has_shape =
        o->error_rate != 0 || o->bits_per_key != 0 || o->has_layout || o->has_expansion;
    if (o->like && o->like_key) tool_die("--like and --like-key exclude each other, give one");
    if (has_shape) {
        tool_die("--like takes all parameters: --error, --bits-per-key, --layout and --expansion "
                 "do not go with it");
    }
}

static struct filter *open_key(const struct options *options) {
    struct server *server = server_open(&options->server);
    struct filter *filter = pull_header(server, options->like_key);
    server_close(server);
    return filter;
}

struct filter *like_open(const struct options *options) {
    if (!options->like && !options->like_key) return NULL;
    check_options(options);
    const char *name = options->like ? options->like : options->like_key;
    struct filter *filter =
        options->like ? file_load(options->like, options, NULL) : open_key(options);
    if (filter->window || filter->layout == LAYOUT_COUNTING) {
        tool_die("%s: %s is made and filled on a server only (BF.RESERVE)", name,
                 filter->window ? "a window" : "a counting filter");
    }
    bool changed;
    if (filter_empty(filter, &changed) != STATUS_OK) tool_die("no memory for a filter");
    filter->is_loading = false;
    filter->loaded = filter_array_bytes(filter);
    return filter;
}
