/* How much memory this process may have at most: the limit of a filter where nobody set another.
 *
 * The kernel grants far more than it has, and takes the process's life when the pages are used. So
 * whether a large block can be allocated says little. What counts is the machine's memory or, in a
 * container or a service, the limit of its control group, whichever is smaller. Swap does not
 * count: a filter is read at random.
 *
 *   /proc/self/cgroup    0::/a/b           version 2     4:memory:/a/b        version 1
 *   limits               /sys/fs/cgroup/a/b/memory.max   /sys/fs/cgroup/memory/a/b/
 *                        .../a/memory.max                    memory.limit_in_bytes, .../a/, ... */

#ifndef BLOOMPORT_MACHINE_H
#define BLOOMPORT_MACHINE_H

#include <stdint.h>

/* The smallest limit of the control groups that this process is in; UINT64_MAX if they have none.
 * The files are read under `root`, which is "" for the machine's own. */
uint64_t machine_group_bytes(const char *root);

/* The machine's memory; UINT64_MAX if it cannot be told. */
uint64_t machine_bytes(void);

#endif
