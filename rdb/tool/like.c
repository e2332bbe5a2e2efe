/* An empty filter with the parameters of another one. See like.h. */

#include "rdb/tool/like.h"

#include "rdb/tool/options.h"
#include "rdb/tool/pull.h"
#include "rdb/tool/tool.h"

static void check_options(const struct options *o) {
    if (o->like && o->like_key) tool_die("--like and --like-key exclude each other, give one");
    const char *given = o->error_rate != 0     ? "error"
                        : o->bits_per_key != 0 ? "bits-per-key"
                        : o->capacity          ? "capacity"
                        : o->has_layout        ? "layout"
                        : o->has_expansion     ? "expansion"
                                               : NULL;
    if (given) {
        tool_die("%s takes all parameters from the other filter: --%s does not go with it",
                 o->like ? "--like" : "--like-key", given);
    }
}

const char *like_name(const struct options *options) {
    return options->like ? options->like : options->like_key;
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
    const char *name = like_name(options);
    struct filter *filter =
        options->like ? file_load(options->like, options, NULL) : open_key(options);
    if (filter_forgets(filter)) {
        tool_die("%s: a %s%s is made and filled on a server only (BF.RESERVE)", name,
                 filter->window ? "window" : layout_word(filter->layout),
                 filter->window ? "" : " filter");
    }
    bool changed;
    if (filter_empty(filter, &changed) != STATUS_OK) tool_die("no memory for a filter");
    filter->is_loading = false;
    filter->loaded = filter_array_bytes(filter);
    return filter;
}
