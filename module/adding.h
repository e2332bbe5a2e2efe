/* What the commands that add items have in common: BF.ADD, BF.MADD and BF.INSERT (commands.c),
 * BF.BULKADD (bulk.c). Each takes these steps:
 *
 *   adding_open        opens the key; creates the filter, begins a window's generation
 *   (the command)      adds its items, counts them in `done`, `nfailed` and `nchanging`, replies
 *   adding_is_change   if true, the command propagates what changed
 *   adding_close       closes the key, and announces
 */

#ifndef BLOOMPORT_ADDING_H
#define BLOOMPORT_ADDING_H

#include "module/args.h"
#include "module/core/filter/batch.h"
#include "module/key.h"

/* The progress of a command that adds items. */
struct adding {
    struct key key;
    const struct creation *named; // what the command says of a new filter; NULL: nothing
    struct creation creation;     // of the filter, once it is created
    bool is_explicit;             // the command itself named the parameters
    bool nocreate;
    size_t done;      // items that were answered
    size_t nfailed;   // answered items that could not be added
    size_t nchanging; // answered items that changed the filter
};

static inline void adding_init(struct adding *a) {
    a->named = NULL;
    a->is_explicit = a->nocreate = false;
    a->done = a->nfailed = a->nchanging = 0;
}

/* Makes a new filter, which the key gets when it is closed. If it fails, sends the error and
 * returns false. */
bool adding_create(struct key *key, struct creation *creation);

/* adding_open after the key was opened: creates what is missing. */
bool adding_prepare(struct adding *a);

/* Opens the key's filter, or creates one if the key is missing. Begins the generation of a window
 * that an add needs now. If it fails, sends the reply and returns false; the caller closes the key.
 * It is inline because BF.ADD on a filter without a window needs nothing but the key. */
static inline bool adding_open(RedisModuleCtx *ctx, RedisModuleString *name, struct adding *a) {
    if (!key_open(ctx, name, FOR_ADDING, &a->key)) return false;
    return (a->key.filter && a->key.filter->window == 0) || adding_prepare(a);
}

/* For the next item, which the filter has no room for: grows the filter, or says that the item is
 * added all the same (filter_probed_force), as a replayed add to a COUNTING filter is. BATCH_END:
 * neither; *st is the item's status then. *filter may be replaced. */
enum batch_verdict adding_make_room(struct adding *a, enum status *st, struct filter **filter);

/* Whether the command changed anything. */
static inline bool adding_is_change(const struct adding *a) {
    return a->nchanging > 0 || a->key.put || a->key.rotated;
}

/* Propagates what comes before the items: a creation, a window's step. */
void adding_replicate_first(const struct adding *a);

/* Counts the items for INFO bf, closes the key and announces what changed. */
void adding_close(struct adding *a);

#endif
