/* The table of the formats of other programs. See formats.h, and row.h for the rows. */

#include "rdb/formats/formats.h"

#include "rdb/formats/row.h"
#include "rdb/formats/single.h"

#include <string.h>
#include <strings.h>

static const struct format_row *const ROWS[FORMAT_COUNT] = {
    [FORMAT_PORTABLE] = &PORTABLE_ROW,     [FORMAT_SSTABLE] = &SSTABLE_ROW,
    [FORMAT_LEVELDB] = &LEVELDB_ROW,       [FORMAT_PARQUET] = &PARQUET_ROW,
    [FORMAT_REDISBLOOM] = &REDISBLOOM_ROW, [FORMAT_VALKEYBLOOM] = &VALKEYBLOOM_ROW,
};

const char *formats_name(enum format format) {
    return ROWS[format]->name;
}

bool formats_find(const char *word, size_t len, enum format *out) {
    for (int i = 0; i < FORMAT_COUNT; i++) {
        const char *name = ROWS[i]->name;
        if (len == strlen(name) && strncasecmp(word, name, len) == 0) {
            *out = (enum format)i;
            return true;
        }
    }
    return false;
}

static const struct format_row *home_of(const struct filter *filter) {
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (ROWS[i]->is_home && ROWS[i]->is_home(filter)) return ROWS[i];
    }
    return NULL;
}

/* The advice is always the filter's home: a format that does hold it. */
const char *formats_obstacle(const struct filter *filter, enum format format) {
    const struct format_row *home = home_of(filter), *wanted = ROWS[format];
    if (filter->window) return "it has a window, which only BF.SCANDUMP carries";
    if (filter->layout == LAYOUT_COUNTING) return "it has counters, which only BF.SCANDUMP carries";
    if (!home) {
        const char *layers = single_limit(filter);
        return layers ? layers : "no format has its hash, use BF.SCANDUMP";
    }
    const char *limit = home->limit(filter);
    if (limit) return limit;
    if (home == wanted) return NULL;
    return home->advice ? home->advice : wanted->needs;
}

uint64_t formats_size(const struct filter *filter, enum format format) {
    return ROWS[format]->size(filter);
}

void formats_encode(const struct filter *filter, enum format format, uint8_t *out) {
    struct writer w = {out};
    ROWS[format]->encode(filter, &w);
}

enum status formats_decode(enum format format, const uint8_t *bytes, size_t len,
                           const struct formats_options *options, uint64_t max_bytes,
                           struct filter **out, const char **fault) {
    struct reader r = {bytes, len, false};
    return ROWS[format]->decode(&r, options, max_bytes, out, fault);
}
