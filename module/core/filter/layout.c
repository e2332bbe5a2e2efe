/* The table of layouts. See layout.h. */

#include "module/core/filter/layout.h"

#include <string.h>
#include <strings.h>

#define ROW(NAME, word) &NAME##_LAYOUT,
const struct layout_row *const LAYOUT_ROWS[LAYOUT_COUNT] = {LAYOUTS(ROW)};

static const struct {
    const char *name, *word;
} WORDS[LAYOUT_COUNT] = {
#define WORD(NAME, word) {#NAME, word},
    LAYOUTS(WORD)};

const char *layout_name(enum layout layout) {
    return WORDS[layout].name;
}

const char *layout_word(enum layout layout) {
    return WORDS[layout].word;
}

bool layout_find(const char *word, size_t len, enum layout *out) {
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        if (len != strlen(WORDS[i].word) || strncasecmp(word, WORDS[i].word, len) != 0) continue;
        *out = (enum layout)i;
        return true;
    }
    return false;
}

bool layout_takes(enum layout layout, enum scheme scheme) {
    if (!layout_exists(layout) || !scheme_exists(scheme)) return false;
    const struct layout_row *row = layout_row(layout);
    if (row->is_one_word) return scheme == SCHEME_XXH64;
    return row->takes_imported || !scheme_row(scheme)->is_imported;
}
