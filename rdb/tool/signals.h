/* Signals that end the program at a point of its choosing: the first is noted, a second one ends it
 * at once. */

#ifndef BLOOMPORT_TOOL_SIGNALS_H
#define BLOOMPORT_TOOL_SIGNALS_H

#include <stdbool.h>

/* From now on SIGHUP, SIGINT and SIGTERM are noted. Those that are ignored stay so: nohup. */
void signals_watch(void);

/* Whether one came. */
bool signals_caught(void);

/* Ends the program as the signal does by default. */
void signals_raise(void);

#endif
