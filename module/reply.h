/* Every error text, and the reply shapes that differ between RESP2 and RESP3.
 *
 * The words are RedisBloom's wherever it has an answer to the same input (clients match on them);
 * each begins with its code, ERR or WRONGTYPE, which RedisBloom leaves out in places. */

#ifndef BLOOMPORT_REPLY_H
#define BLOOMPORT_REPLY_H

#include "module/core/filter/filter.h"

#include <redismodule.h>
#include <stdbool.h>

/* Of any command */
#define ERR_NOT_FOUND "ERR not found"
#define ERR_LOADING "ERR filter is being loaded"
#define ERR_EXISTS "ERR item exists"
#define ERR_UNKNOWN_ARGUMENT "ERR Unknown argument received"
#define ERR_REPEATED "ERR repeated option"
#define ERR_NO_MEMORY "ERR Insufficient memory to create filter"
#define ERR_SCHEME_TOO_SMALL "ERR hash FNV1A cannot address more than 2^32 bits"
#define ERR_BAD_LAYOUT "ERR bad layout: %s" // their names
#define ERR_LAYOUT_HASH "ERR layout %s goes with hash XXH64 only"
#define ERR_LAYOUT_TOO_SMALL "ERR layout %s cannot address more than 2^%d bits"
#define ERR_BAD_HASH "ERR bad hash: XXH64, FNV1A or SIP13"
#define ERR_BAD_SEED "ERR invalid seed"
#define ERR_SEED_HASH "ERR SEED goes with hash SIP13 only"
#define ERR_NO_SEED "ERR no random numbers for a seed"

/* Of filters that forget, and of TTLs; of BF.RESERVE and BF.INSERT */
#define ERR_WINDOW_RANGE "ERR window must be in the range [1, 1000000000] seconds"
#define ERR_GENERATIONS_RANGE "ERR generations must be in the range [1, 64]"
#define ERR_GENERATIONS_ALONE "ERR GENERATIONS goes with WINDOW only"
#define ERR_WINDOW_NONSCALING "ERR a window filter cannot be NONSCALING"
#define ERR_LAYOUT_WINDOW "ERR layout %s cannot have a WINDOW"
#define ERR_LAYOUT_EXPANDS "ERR layout %s cannot expand"
#define ERR_NOT_INTEGER "ERR value is not an integer or out of range"
#define ERR_RESERVE_EXPIRE "ERR invalid expire time in 'bf.reserve' command"
#define ERR_INSERT_EXPIRE "ERR invalid expire time in 'bf.insert' command"
#define ERR_EXPIRE_TWICE "ERR EX, PX and PXAT exclude each other"

/* Of BF.ROTATE, BF.DEL and BF.COUNT */
#define ERR_NO_WINDOW "ERR not a window filter: BF.ROTATE needs one made with WINDOW"
#define ERR_ROTATE_TIME "ERR BF.ROTATE takes a time only in a replication stream or an AOF"
#define ERR_BAD_START "ERR bad start of a generation"
#define ERR_DEL_LAYOUT "ERR BF.DEL needs layout COUNTING"
#define ERR_COUNT_LAYOUT "ERR BF.COUNT needs layout COUNTING"

/* Of adding */
#define ERR_FULL "ERR non scaling filter is full"
#define ERR_CANNOT_GROW "ERR problem inserting into filter"

/* Of BF.BULKEXISTS and BF.BULKADD; reply_ragged_data and reply_bulk_error have the others */
#define ERR_BAD_WIDTH "ERR bad width: it is from 1 to 1048576"
#define ERR_BULK_MEMORY "ERR not enough memory for the answers"

/* Of BF.RESERVE */
#define ERR_BAD_ERROR_RATE "ERR bad error rate"
#define ERR_ERROR_RATE_RANGE "ERR error rate must be in the range (0.000000, 1.000000)"
#define ERR_BAD_BITS "ERR bad bits per key"
#define ERR_BITS_RANGE "ERR bits per key must be in the range [1, 256]"
#define ERR_BAD_CAPACITY "ERR bad capacity"
#define ERR_CAPACITY_RANGE "ERR capacity must be in the range [1, 9223372036854775807]"
#define ERR_NO_EXPANSION "ERR no expansion"
#define ERR_BAD_EXPANSION "ERR bad expansion"
#define ERR_EXPANSION_RANGE "ERR expansion must be in the range [0, 32768]"
#define ERR_NO_LAYOUT "ERR no layout"
#define ERR_NO_HASH "ERR no hash"
#define ERR_NONSCALING_EXPANDS "ERR Nonscaling filters cannot expand"

/* Of BF.INSERT, which has one text for what is not a number and what is out of range */
#define ERR_INSERT_ERROR_RATE "ERR Bad error rate"
#define ERR_INSERT_BITS "ERR Bad bits per key"
#define ERR_INSERT_CAPACITY "ERR Bad capacity"
#define ERR_INSERT_EXPANSION "ERR Bad expansion"
#define ERR_BAD_TIGHTENING "ERR bad tightening ratio"
#define ERR_TIGHTENING_RANGE "ERR (0 < tightening ratio range < 1)"
#define ERR_SCALETO_LIMIT "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"
#define ERR_SCALETO_NONSCALING "ERR cannot use NONSCALING and VALIDATESCALETO options together"
#define ERR_INSERT_RATE_TWICE "ERR ERROR and BITSPERKEY exclude each other"

/* Of BF.INFO, BF.SCANDUMP and BF.LOADCHUNK */
#define ERR_INFO_FIELD "ERR Invalid information value"
#define ERR_ITERATOR "ERR Second argument must be numeric"
#define ERR_BAD_DATA "ERR received bad data"
#define ERR_CHUNK_OUTSIDE "ERR invalid offset - no link found"
#define ERR_CHUNK_CROSSING "ERR invalid chunk - Too big for current filter"
#define ERR_CHUNK_GAP "ERR invalid chunk - out of sequence"
#define ERR_BUSY "BUSYKEY Target key name already exists."
#define ERR_BAD_LOAD "ERR bloom object decoding failed"
#define ERR_LOAD_VERSION "ERR bloom object decoding failed. Unsupported version"
#define ERR_CHUNK_REPLACE "ERR REPLACE goes with the header only, iterator 1"

/* Of BF.EXPORT and BF.IMPORT */
#define ERR_BAD_FORMAT "ERR bad format: it is one of %s" // formats_list
#define ERR_IMPORT_FIXED "ERR filters of this format do not grow"
#define ERR_EXPORT_TOO_LARGE "ERR filter is larger than a bulk string, use BF.SCANDUMP"
#define ERR_EXPORT_SIZES                                                                           \
    "ERR cannot export: its generations have different sizes: BF.SCANDUMP carries any filter"
#define ERR_EXPORT_MEMORY "ERR not enough memory to export"
#define ERR_IMPORT_BAD_HASH "ERR bad hash: XXH64 or FNV1A"
#define ERR_IMPORT_HASH "ERR HASH goes with formats portable and sstable only"

/* Of BF.MERGE; what else it says names a source */
#define ERR_MERGE_LAYERS                                                                           \
    "ERR cannot merge: dest cannot have the layers of a longer source (capacity over 2^63-1, or "  \
    "only one of them is another program's)"

/* Replies that there is no room for a filter that takes so many bytes, with ERR_NO_MEMORY or
 * ERR_CANNOT_GROW; if a limit is in the way, the reply names it. */
void reply_no_room(RedisModuleCtx *ctx, const char *text, uint64_t bytes);

/* Replies to a creation that failed with legal parameters. */
void reply_creation_error(RedisModuleCtx *ctx, enum status status,
                          const struct filter_params *params);

/* Replies to an add that failed. */
void reply_add_error(RedisModuleCtx *ctx, enum status status, const struct filter *filter);

/* The same for item number `done` of the n items of BF.BULKADD. */
void reply_bulk_error(RedisModuleCtx *ctx, enum status status, const struct filter *filter,
                      size_t done, size_t n);

/* Replies that the data of a bulk command cannot be cut into items of this width. */
void reply_ragged_data(RedisModuleCtx *ctx, size_t width);

bool reply_is_resp3(RedisModuleCtx *ctx);

#endif
