/* JSON on standard output, as --json asks for it. The writer puts the commas; a name is NULL where
 * the value is no member of an object. Names need no escapes. */

#ifndef BLOOMPORT_TOOL_JSON_H
#define BLOOMPORT_TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object or an array, and its end, which has the same bracket: '{' or '['. */
void json_open(const char *name, char bracket);
void json_close(char bracket);

/* The next value begins a line. */
void json_break(void);

/* The end of a line, after the last bracket. */
void json_end(void);

void json_count(const char *name, uint64_t value);
void json_real(const char *name, double value); // every digit
void json_seconds(const char *name, uint64_t ms);
void json_bool(const char *name, bool value);
void json_null(const char *name);

/* A text that is printable, in UTF-8. */
void json_text(const char *name, const char *text);

/* Any bytes: those that are not printable ASCII as \u00xx, or all as hexadecimal digits. */
void json_bytes(const char *name, const char *bytes, size_t len);
void json_hex(const char *name, const char *bytes, size_t len);

#endif
