/* The table of the formats of other programs. See formats.h, and row.h for the rows. */

#include "rdb/formats/formats.h"

#include "rdb/formats/row.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ROW(NAME, word) &NAME##_ROW,
static const struct format_row *const ROWS[FORMAT_COUNT] = {FORMATS(ROW)};

#define WORD(NAME, word) word,
static const char *const WORDS[FORMAT_COUNT] = {FORMATS(WORD)};

static const char *const VARIANTS[VARIANT_COUNT] = {NULL, "old", "3.x", "4.x", "v1", "v2"};

/* ---- Words ---------------------------------------------------------------------------------- */

const char *formats_name(enum format format) {
    return WORDS[format];
}

const char *formats_list(void) {
    static char list[16 * FORMAT_COUNT]; // names have 12 letters at most
    if (list[0] != '\0') return list;
    for (size_t i = 0, len = 0; i < FORMAT_COUNT; i++) {
        const char *comma = i > 0 ? ", " : "";
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", comma, WORDS[i]);
    }
    return list;
}

static bool is_word(const char *word, size_t len, const char *name) {
    return len == strlen(name) && strncasecmp(word, name, len) == 0;
}

bool formats_find(const char *word, size_t len, enum format *out) {
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (!is_word(word, len, WORDS[i])) continue;
        *out = (enum format)i;
        return true;
    }
    return false;
}

static bool has_variant(enum format format, enum variant variant) {
    const enum variant *of = ROWS[format]->variants; // none: both are VARIANT_NONE
    return variant != VARIANT_NONE && variant >= of[0] && variant <= of[1];
}

bool formats_find_variant(enum format format, const char *word, size_t len, enum variant *out) {
    for (int i = VARIANT_OLD; i < VARIANT_COUNT; i++) {
        bool is_its = has_variant(format, (enum variant)i);
        if (!is_its || !is_word(word, len, VARIANTS[i])) continue;
        *out = (enum variant)i;
        return true;
    }
    return false;
}

const char *formats_variant_name(enum variant variant) {
    return VARIANTS[variant];
}

const char *formats_parse_variant(const char *word, size_t len, enum variant *out) {
    const char *error = NULL;
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (!formats_takes((enum format)i, TAKES_VARIANT)) continue;
        if (formats_find_variant((enum format)i, word, len, out)) return NULL;
        error = ROWS[i]->bad_variant;
    }
    return error;
}

const char *formats_variant_error(enum format format, bool is_given) {
    if (is_given == formats_takes(format, TAKES_VARIANT)) return NULL;
    int i = format;
    while (is_given && !formats_takes((enum format)i, TAKES_VARIANT)) i = (i + 1) % FORMAT_COUNT;
    return is_given ? ROWS[i]->variant_elsewhere : ROWS[i]->no_variant;
}

const char *formats_own_sizes(enum format format) {
    return ROWS[format]->own_sizes;
}

bool formats_takes(enum format format, enum formats_takes option) {
    return (ROWS[format]->takes & option) != 0;
}

const char *formats_import_obstacle(enum format format) {
    return ROWS[format]->no_import;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static const struct format_row *home_of(const struct filter *filter) {
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (ROWS[i]->is_home && ROWS[i]->is_home(filter)) return ROWS[i];
    }
    return NULL;
}

/* The advice is always the filter's home: a format that does hold it. */
const char *formats_obstacle(const struct filter *filter, enum format format,
                             enum variant variant) {
    const struct format_row *home = home_of(filter), *wanted = ROWS[format];
    if (filter->window) return "it has a window, which only BF.SCANDUMP carries";
    if (layout_row(filter->layout)->has_counters)
        return "it has counters, which only BF.SCANDUMP carries";
    if (!home) {
        const char *layers = single_limit(filter);
        return layers ? layers : "no format has its hash, use BF.SCANDUMP";
    }
    const char *limit = home->limit(filter, variant);
    if (limit) return limit;
    if (home == wanted) return NULL;
    return home->advice ? home->advice : wanted->needs;
}

uint64_t formats_size(const struct filter *filter, enum format format) {
    return ROWS[format]->size(filter);
}

void formats_encode(const struct filter *filter, enum format format, enum variant variant,
                    uint8_t *out) {
    struct writer w = {out};
    ROWS[format]->encode(filter, variant, &w);
}

/* ---- Reading -------------------------------------------------------------------------------- */

enum status formats_decode(enum format format, const uint8_t *bytes, size_t len,
                           const struct formats_options *options, uint64_t max_bytes,
                           struct filter **out, const char **fault) {
    const struct format_row *row = ROWS[format];
    struct reader r = {bytes, len, false};
    if (row->decode) return row->decode(&r, options, max_bytes, out, fault);
    struct single s = {0};
    *fault = row->take(&r, options, &s);
    return *fault ? STATUS_CORRUPT : single_decode(&s, options, max_bytes, out, fault);
}

static bool is_accepted(const struct format_row *row, const uint8_t *bytes, size_t len) {
    struct formats_options options = {.scheme = SCHEME_XXH64};
    struct reader r = {bytes, len, false};
    struct single s = {0};
    return row->take(&r, &options, &s) == NULL;
}

static bool is_of(const struct format_row *row, const uint8_t *bytes, size_t len) {
    if (row->is_marked && !is_accepted(row, bytes, len)) return false;
    return row->recognise ? row->recognise(bytes, len) : row->is_marked;
}

bool formats_recognise(const uint8_t *bytes, size_t len, enum format *out) {
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (!is_of(ROWS[i], bytes, len)) continue;
        *out = (enum format)i;
        return true;
    }
    return false;
}

/* ---- New filters ---------------------------------------------------------------------------- */

bool formats_has_sizes(enum format format) {
    return ROWS[format]->plan != NULL;
}

enum status formats_new(enum format format, const struct formats_request *request,
                        struct filter **out) {
    struct formats_options options = {.capacity = request->capacity};
    struct single s = {0};
    const char *fault;
    if (!ROWS[format]->plan(request, &s)) return STATUS_PARAM;
    if (s.nbits < 1 || s.nbits > sizing_max_bits(s.geometry)) return STATUS_PARAM;
    return single_decode(&s, &options, UINT64_MAX, out, &fault);
}
