/* What does somebody gain who may choose items? Two attacks on filters of 10,000 items at 10 bits
 * per key, by an attacker who knows everything that commands show, and computes offline:
 *
 *   found    He knows the items of the filter. He looks for 1,000 others that are false positives.
 *   filled   He adds 10,000 items to an empty filter. He picks items that set bits which none of
 * his others has set. The false-positive rate of everybody's lookups is measured afterwards.
 *
 * He works on a twin of the filter, with the same parameters. HASH XXH64 is public, so his twin is
 * exact. A keyed filter's twin has a seed of his own, as he does not know the filter's: its false
 * positives are no one else's. Beside each attack stand items that nobody has chosen.
 *
 * SECURITY.md has the figures. It takes a second; all items and seeds are fixed. */

#include "module/core/filter/filter.h"

#include <stdio.h>
#include <stdlib.h>

#define ITEMS 10000
#define BITS_PER_KEY 10
#define FOUND 1000
#define LOOKUPS 1000000

static const struct seed FILTERS_SEED = {{0x5eed, 1, 2, 3}}, GUESSED_SEED = {{0xbad, 4, 5, 6}};

static struct filter *new_filter(enum scheme scheme, const struct seed *seed) {
    struct filter_params params = {
        .capacity = ITEMS, .bits_per_key = BITS_PER_KEY, .scheme = scheme};
    if (scheme == SCHEME_SIP13) params.seed = *seed;
    struct filter *filter = NULL;
    if (filter_new(&params, FILTER_NO_LIMIT, &filter) != STATUS_OK) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return filter;
}

/* The hash of item `i` of a kind: user:7, try:7. */
static struct hash hash_of(const struct filter *filter, const char *kind, unsigned i) {
    char text[32];
    int len = snprintf(text, sizeof(text), "%s:%u", kind, i);
    return filter_hash(filter, text, (size_t)len);
}

static void add(struct filter *filter, const char *kind, unsigned i) {
    struct outcome outcome;
    filter_add(filter, hash_of(filter, kind, i), &outcome);
}

/* How many of the items, numbers of a kind, the filter seems to contain. */
static unsigned hits_of(const struct filter *filter, const char *kind, const unsigned *numbers,
                        unsigned n) {
    unsigned hits = 0;
    for (unsigned i = 0; i < n; i++) {
        hits += filter_contains(filter, hash_of(filter, kind, numbers ? numbers[i] : i));
    }
    return hits;
}

/* ---- Items that are found though nobody added them ---- */

static void find_items(const char *name, enum scheme scheme) {
    struct filter *filter = new_filter(scheme, &FILTERS_SEED);
    struct filter *twin = new_filter(scheme, &GUESSED_SEED);
    for (unsigned i = 0; i < ITEMS; i++) {
        add(filter, "user", i);
        add(twin, "user", i);
    }
    static unsigned chosen[FOUND];
    unsigned n = 0, tries = 0;
    for (; n < FOUND; tries++) {
        if (filter_contains(twin, hash_of(twin, "try", tries))) chosen[n++] = tries;
    }
    printf("| %s | %u | %u | %u |\n", name, tries, hits_of(filter, "try", chosen, FOUND),
           hits_of(filter, "any", NULL, FOUND));
    filter_free(twin);
    filter_free(filter);
}

/* ---- Items that fill the filter ---- */

/* Whether all positions of an item differ and none of their bits is set. */
static bool is_all_fresh(const struct filter *filter, struct hash hash) {
    const struct layer *layer = &filter->layers[0];
    uint64_t seen[SIZING_MAX_HASHES];
    struct walk walk = walk_begin((enum rule)layer->rule, hash, layer->nbits);
    for (uint32_t i = 0; i < layer->nhashes; i++) {
        uint64_t pos = layer_position(layer, walk_next(&walk));
        if (layer->bits[pos >> 3] >> (pos & 7) & 1) return false;
        for (uint32_t j = 0; j < i; j++) {
            if (seen[j] == pos) return false;
        }
        seen[i] = pos;
    }
    return true;
}

static double rate_of(const struct filter *filter) {
    return 100.0 * hits_of(filter, "look", NULL, LOOKUPS) / LOOKUPS;
}

static double fill_of(const struct filter *filter) {
    return 100.0 * (double)filter->layers[0].ones / (double)filter->layers[0].nbits;
}

static void fill_filter(const char *name, enum scheme scheme) {
    struct filter *filter = new_filter(scheme, &FILTERS_SEED);
    struct filter *plain = new_filter(scheme, &FILTERS_SEED);
    struct filter *twin = new_filter(scheme, &GUESSED_SEED);
    unsigned tries = 0;
    for (unsigned n = 0; n < ITEMS; tries++) {
        if (!is_all_fresh(twin, hash_of(twin, "try", tries))) continue;
        add(twin, "try", tries);
        add(filter, "try", tries);
        add(plain, "any", n++);
    }
    printf("| %s | %u | %.1f %% | %.2f %% | %.1f %% | %.2f %% |\n", name, tries, fill_of(filter),
           rate_of(filter), fill_of(plain), rate_of(plain));
    filter_free(twin);
    filter_free(plain);
    filter_free(filter);
}

int main(void) {
    printf("Chosen items, filters of %d items at %d bits per key:\n\n", ITEMS, BITS_PER_KEY);
    printf("| hash | items tried offline | of %d chosen, found | of %d others, found |\n", FOUND,
           FOUND);
    puts("|---|---|---|---|");
    find_items("XXH64", SCHEME_XXH64);
    find_items("SIP13", SCHEME_SIP13);
    printf("\n| hash | items tried offline | %d chosen adds: bits set | false-positive rate | %d "
           "others: bits set | false-positive rate |\n",
           ITEMS, ITEMS);
    puts("|---|---|---|---|---|---|");
    fill_filter("XXH64", SCHEME_XXH64);
    fill_filter("SIP13", SCHEME_SIP13);
    return 0;
}
