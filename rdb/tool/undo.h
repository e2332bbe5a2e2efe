/* What the program has to put right if it ends early: a key that it made on a server, which nobody
 * else would delete. tool_die does all of it, as does a signal that is heeded. */

#ifndef BLOOMPORT_TOOL_UNDO_H
#define BLOOMPORT_TOOL_UNDO_H

/* From now on undo(context) is to be called. It returns, whatever is wrong. */
void undo_push(void (*undo)(void *context), void *context);

/* It is not, any longer. */
void undo_drop(const void *context);

/* Calls what is left, the newest first, each once. */
void undo_all(void);

#endif
