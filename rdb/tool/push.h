/* What push shares: a filter goes to the key of --key, whatever it was read from. Any error ends
 * the program. */

#ifndef BLOOMPORT_TOOL_PUSH_H
#define BLOOMPORT_TOOL_PUSH_H

#include "module/core/filter/filter.h"
#include "rdb/tool/server.h"

struct options;

/* Ends the program if the key exists and neither --replace nor --merge was given. */
void push_check_key(struct server *server, const struct options *options);

/* Gives the filter the expansion of --expansion. `name` is the filter's, for messages. */
void push_set_expansion(struct filter *filter, const struct options *options, const char *name);

/* Loads the filter under a staging key and renames it. Prints the summary, and whether there is
 * room. */
void push_filter(struct server *server, const struct filter *filter, const struct options *options);

#endif
