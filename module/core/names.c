/* Lists of names. See names.h. Both orders are total: no result depends on how qsort orders equal
 * elements, and none on an address. */

#include "module/core/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_place(const void *a, const void *b) {
    size_t x = ((const struct name *)a)->at, y = ((const struct name *)b)->at;
    return x < y ? -1 : x > y;
}

static int compare_bytes(const struct name *x, const struct name *y) {
    if (x->len != y->len) return x->len < y->len ? -1 : 1;
    return x->len == 0 ? 0 : memcmp(x->bytes, y->bytes, x->len);
}

/* Equal names stand side by side, the first of the list first. */
static int by_bytes(const void *a, const void *b) {
    int order = compare_bytes(a, b);
    return order != 0 ? order : by_place(a, b);
}

size_t names_drop_repeated(struct name *names, size_t n) {
    size_t kept = 0;
    if (n == 0) return 0;
    qsort(names, n, sizeof(*names), by_bytes);
    for (size_t i = 0; i < n; i++) {
        bool is_repeated = kept > 0 && compare_bytes(&names[kept - 1], &names[i]) == 0;
        if (!is_repeated) names[kept++] = names[i];
    }
    qsort(names, kept, sizeof(*names), by_place);
    return kept;
}
