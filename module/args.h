/* Command words -> parameters. No keys: a bad word gives back the text of its error. */

#ifndef BLOOMPORT_ARGS_H
#define BLOOMPORT_ARGS_H

#include "module/core/filter/filter.h"
#include "rdb/formats/formats.h"

#include <redismodule.h>
#include <stdbool.h>

/* What the parsers give back instead of an error text when words are missing. */
extern const char ARGS_WRONG_ARITY[];

/* What a command says of a filter that it creates. */
struct creation {
    struct filter_params params;
    bool has_seed;        // SEED named it; else a filter that needs one gets a random one
    uint64_t scales_to;   // VALIDATESCALETO: refused if it could not grow to so many items; 0: any
    long long expires;    // when the key expires, in ms since the epoch; 0: never
    enum variant variant; // of the bytes that BF.IMPORT reads
};

/* What BF.INSERT says besides. */
struct insert_args {
    struct creation creation;
    bool nocreate;
    bool is_explicit; // a filter may be created from these words, also where they are replayed
    int first_item;   // index in argv; the items go on to the end. argc: there are none
};

/* What BF.EXPORT says. */
struct export_args {
    enum format format;
    enum variant variant;
};

/* What BF.IMPORT says. */
struct import_args {
    enum format format;
    struct formats_options options;
    bool replace;
    const RedisModuleString *data;
};

/* The parsers take the whole command; *out need not be initialised. NULL if all is well, else
 * the error text or ARGS_WRONG_ARITY. What is not named is taken from the settings.
 *
 * Clients are held to the words; what is replayed is read as replay.h says. `exists` says whether
 * the key of a replayed BF.INSERT holds anything: then nobody's options mean anything. */
const char *args_parse_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                               struct creation *out);
const char *args_parse_insert(RedisModuleString **argv, int argc, struct insert_args *out);
const char *args_parse_replayed_insert(RedisModuleString **argv, int argc, bool exists,
                                       struct insert_args *out);

/* The same for words of our own, as clients write them and our own stream has them. `defaults` are
 * the parameters that are not named. BF.RESERVE has at least 4 words. */
const char *args_own_reserve(RedisModuleString **argv, int argc, struct creation *out);
const char *args_own_insert(RedisModuleString **argv, int argc, struct filter_params defaults,
                            struct insert_args *out);

const char *args_parse_export(RedisModuleString **argv, int argc, struct export_args *out);
const char *args_parse_import(RedisModuleString **argv, int argc, struct import_args *out);

/* A seed: 32 bytes, or 64 hex digits. NULL or the error text. */
const char *args_parse_seed(const RedisModuleString *arg, struct seed *out);

/* Sends what a parser gave back. */
int args_reply_error(RedisModuleCtx *ctx, const char *error);

/* True if the argument is this word, in any case. */
bool args_is_word(const RedisModuleString *arg, const char *word);

/* The word that names it in commands: "XXH64", ... */
const char *args_scheme_name(enum scheme scheme);

#endif
