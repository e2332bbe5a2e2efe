/* bloomport, the command-line tool: what all of its parts share.
 *
 *   main.c      the words of the command line -> one command
 *   options.c   every option there is, in one table: parsing and --help
 *   items.c     items from files and pipes, in constant memory
 *   build.c     items -> a filter            check.c   items -> those that a filter may contain
 *   adder.c     hashes -> bits, for build    sorter.c  the same, region by region
 *   spool.c     hashes that wait             threads.c work shared among cores
 *   measure.c   what the bits say
 *   file.c      a filter <-> a file          output.c  files that appear whole or not at all
 *   info.c      a filter -> its numbers      size.c    the calculator
 *   convert.c   convert and merge            server.c  the connection to a server
 *   push.c      a file -> a server           pull.c    a server -> a file
 *   progress.c  the bar on a terminal
 *
 * A command-line program has one way out of trouble: tool_die says what is wrong in one line and
 * ends with status 2. Memory goes back with the process. */

#ifndef BLOOMPORT_TOOL_H
#define BLOOMPORT_TOOL_H

#include "module/core/filter.h"

#include <stddef.h>
#include <stdint.h>

/* Exit statuses, those of grep. */
enum { TOOL_FOUND = 0, TOOL_OK = 0, TOOL_NONE = 1, TOOL_TROUBLE = 2 };

/* "bloomport: ..." on standard error, one printable line whatever the arguments hold; a
 * half-written output file removed; status 2. Nothing else prints what a server or a file name
 * says. */
_Noreturn void tool_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory, or no return. */
void *tool_alloc(size_t size);

/* Names as the command line and the server spell them. */
const char *tool_scheme_name(enum scheme scheme);
const char *tool_layout_name(enum layout layout);

struct options;

/* The commands; each returns the exit status. */
int build_run(const struct options *options);
int check_run(const struct options *options);
int info_run(const struct options *options);
int merge_run(const struct options *options);
int convert_run(const struct options *options);
int push_run(const struct options *options);
int pull_run(const struct options *options);
int size_run(const struct options *options);

#endif
