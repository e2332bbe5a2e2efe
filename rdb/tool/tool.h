/* bloomport, the command-line tool: what all of its parts share.
 *
 *   main.c      the command line -> one command
 *   table.c     every command and option    options.c the command line -> struct options
 *   values.c    numbers, times and words     help.c    --help, suggestions
 *   completion.c the shells' completions     report.c  errors, notes and the summary
 *   items.c     items from files and pipes, in constant memory
 *   build.c     items -> a filter            check.c   items -> those that a filter may contain
 *   decoder.c   gzip, zstd and xz            members.c items of a server's sets and keys
 *   like.c      the parameters of another filter
 *   adder.c     hashes -> bits, for build    sorter.c  the same, region by region
 *   spool.c     hashes until they are counted   threads.c work shared among cores
 *   file.c      a filter <-> a file          output.c  files that appear complete or not at all
 *   info.c      a filter -> its numbers      size.c, kinds.c the calculator
 *   convert.c   convert and merge            target.c  where a server is: options and URLs
 *   link.c      bytes to a server, TLS       server.c  commands, replies, the nodes of a cluster
 *   requests.c  one function per command     nodes.c   the masters of a cluster
 *   push.c      a file -> a server           pull.c    a server -> a file
 *   redisson.c  a Redisson filter on a server   sst.c  the filter in a table of RocksDB
 *   list.c, inventory.c  all filters of a server
 *   add.c       items -> a filter on a server  stream.c  many items at a time, there and back
 *   signals.c   Ctrl-C at a good moment
 *   copy.c      a server -> another one      stage.c  what push and copy load takes its place
 *   moment.c    a filter in use, as it was at one moment   undo.c  what an early end puts right
 *   progress.c  the bar on a terminal       recognise.c what a file is
 *
 * Every error ends the program: tool_die prints it in one line and exits with status 2. The end of
 * the process frees the memory. */

#ifndef BLOOMPORT_TOOL_H
#define BLOOMPORT_TOOL_H

#include "module/core/filter/filter.h"

#include <stddef.h>
#include <stdint.h>

/* Exit statuses, those of grep. */
enum { TOOL_FOUND = 0, TOOL_OK = 0, TOOL_NONE = 1, TOOL_TROUBLE = 2 };

/* Prints "bloomport: ..." on standard error, as one printable line whatever the arguments hold,
 * removes a half-written output file, and exits with status 2. No other function prints texts of
 * servers and file names. */
_Noreturn void tool_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns memory, or ends the program. */
void *tool_alloc(size_t size);

/* The name as the command line spells it. */
const char *tool_scheme_name(enum scheme scheme);

struct options;

/* The commands; each returns the exit status. */
int build_run(const struct options *options);
int check_run(const struct options *options);
int info_run(const struct options *options);
int merge_run(const struct options *options);
int convert_run(const struct options *options);
int push_run(const struct options *options);
int pull_run(const struct options *options);
int list_run(const struct options *options);
int copy_run(const struct options *options);
int add_run(const struct options *options);
int size_run(const struct options *options);
int completion_run(const struct options *options);

#endif
