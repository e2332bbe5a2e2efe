/* Loading the types of other programs. See type_foreign.h. */

#include "module/type_foreign.h"

#include "module/config.h"
#include "module/metrics.h"
#include "module/replay.h"
#include "module/type.h"

const char TYPE_TRUNCATED[] = "truncated";

static void count_ones(struct filter *filter) {
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        filter->layers[i].ones = layer_count_ones(&filter->layers[i]);
    }
}

/* Loads the whole value. NULL, or why it cannot be loaded. */
static const char *take_value(const struct loader *loader, struct loading *l) {
    if (l->version < loader->oldest || l->version > loader->newest) return loader->unknown_version;
    const char *fault = loader->take_fields(l);
    for (uint64_t i = 0; !fault && i < l->nlayers; i++) fault = loader->take_layer(l, i);
    if (!fault) fault = loader->check(l);
    if (!fault) count_ones(l->filter);
    return fault;
}

void *type_foreign_load(enum origin origin, const struct loader *loader, RedisModuleIO *io,
                        int version) {
    struct loading l = {.io = io, .version = version, .max_bytes = config_max_loaded_bytes()};
    const char *fault = take_value(loader, &l);
    if (fault) {
        RedisModule_LogIOError(io, "warning", "bloomport: cannot load a filter of %s: %s",
                               origin_row(origin)->program, fault);
        filter_free(l.filter);
        return NULL;
    }
    metrics_hold(l.filter);
    if (type_row(origin)->is_explicit) replay_note_explicit_value();
    return l.filter;
}
