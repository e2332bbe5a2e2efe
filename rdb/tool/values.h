/* The values of options, from the words that people write. Each function ends the program if the
 * word is not such a value; `name` is the option's, without dashes. */

#ifndef BLOOMPORT_TOOL_VALUES_H
#define BLOOMPORT_TOOL_VALUES_H

#include "rdb/tool/file.h"

#include <stdint.h>

/* A number from 1 on: 1000000, 1e6, 1M. K, M, G, T count in 1000. */
uint64_t values_count(const char *name, const char *text);

/* Bytes: 1e9, 512K, 1.5G, 1GB, 1GiB. Units count in 1024, as those of maxmemory do. */
uint64_t values_bytes(const char *name, const char *text);

/* A number that is written in digits only. */
int values_small(const char *name, const char *text, int least, int most);

/* A real number over `over` and under `under`. */
double values_between(const char *name, const char *text, double over, double under);

double values_bits_per_key(const char *text);
uint8_t values_delimiter(const char *text);
uint32_t values_window(const char *text); // seconds
enum layout values_layout(const char *text);
enum scheme values_scheme(const char *text);
enum file_format values_format(const char *name, const char *text);

#endif
