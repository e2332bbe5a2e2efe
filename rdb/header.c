/* The headers of filters, by origin. See header.h. */

#include "rdb/header.h"

#include <string.h>

static const struct header_row *const ROWS[ORIGIN_COUNT] = {
    [ORIGIN_OWN] = &HEADER_OWN,
    [ORIGIN_REDISBLOOM] = &HEADER_REDISBLOOM,
    [ORIGIN_VALKEYBLOOM] = &HEADER_VALKEYBLOOM,
};

const struct header_row *header_row(enum origin origin) {
    return ROWS[origin];
}

static bool begins_with(const uint8_t *bytes, size_t len, const char *magic) {
    return magic && len >= HEADER_MAGIC_BYTES && memcmp(bytes, magic, HEADER_MAGIC_BYTES) == 0;
}

const struct header_row *header_find(const uint8_t *bytes, size_t len) {
    const struct header_row *without = NULL;
    for (size_t i = 0; i < ORIGIN_COUNT; i++) {
        if (begins_with(bytes, len, ROWS[i]->magic)) return ROWS[i];
        if (!ROWS[i]->magic) without = ROWS[i];
    }
    return without;
}

const char *header_make_native(struct filter *filter) {
    const struct header_row *row = header_row(filter->origin);
    if (!row->make_native) return NULL;
    filter_settle_items(filter);
    const char *obstacle = limits_obstacle_to_native(filter);
    if (!obstacle) row->make_native(filter);
    return obstacle;
}
