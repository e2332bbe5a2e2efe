/* The filters that BF.RESERVE makes for the same items and the same quality: non-scaling, scaling
 * (the default) and a window. */

#ifndef BLOOMPORT_TOOL_KINDS_H
#define BLOOMPORT_TOOL_KINDS_H

#include "rdb/tool/options.h"

/* One generation of a window: its first layer, and the error rate that all generations promise
 * together. */
struct generation {
    struct sizing size;
    double promise;
};

/* False if layout and hash cannot address so many bits. */
bool kinds_generation(const struct options *o, struct geometry geometry, struct generation *out);

#define KINDS_MAX 3
#define KINDS_LINE 160

struct kind {
    const char *name, *word; // for people, for JSON
    const char *when_full;
    struct sizing size;
    uint64_t bytes;           // all of it, as it is created; a window's g+1 generations
    char reserve[KINDS_LINE]; // the command
};

/* Returns how many there are: a counting filter is always non-scaling. --items must be set, and
 * --error or --bits-per-key; --window and --generations may be. */
size_t kinds_of(const struct options *options, struct geometry geometry,
                struct kind out[KINDS_MAX]);

/* A table, and the commands. */
void kinds_print(const struct kind *kinds, size_t n, const struct options *options);

/* Members of a JSON object: "scaling":{...} */
void kinds_print_json(const struct kind *kinds, size_t n, const struct options *options);

/* The command that makes such a filter: words are those after the capacity. */
void kinds_reserve(char out[KINDS_LINE], const struct options *options, const char *words);

#endif
