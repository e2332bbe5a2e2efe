/* One connection: bytes to a server and back, by TCP or a Unix socket, with TLS or without. The
 * only file that knows sockets and OpenSSL. It knows nothing of commands. */

#ifndef BLOOMPORT_TOOL_LINK_H
#define BLOOMPORT_TOOL_LINK_H

#include "rdb/tool/target.h"

#include <stdbool.h>
#include <stddef.h>

struct link;

/* NULL if there is no connection after ten seconds, or the certificates do not fit; `fault` then
 * has the reason. With TLS the server's certificate must be signed by --cacert, as redis-cli checks
 * it; without --cacert by an authority that the system trusts, and for this host. */
struct link *link_open(const struct target *target, char *fault, size_t size);
void link_close(struct link *link);

/* Sends all bytes. False: the connection is lost, link_fault says why. */
bool link_send(struct link *link, const void *bytes, size_t len);

/* Waits for bytes, and returns how many came, at most `size`; 0: the connection is lost. */
size_t link_receive(struct link *link, void *bytes, size_t size);

const char *link_fault(const struct link *link);

#endif
