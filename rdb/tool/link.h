/* One connection: bytes to a server and back, by TCP or a Unix socket, with TLS or without. The
 * only file that knows sockets and OpenSSL. It knows nothing of commands. */

#ifndef BLOOMPORT_TOOL_LINK_H
#define BLOOMPORT_TOOL_LINK_H

#include "rdb/tool/target.h"

#include <stdbool.h>
#include <stddef.h>

struct link;

/* NULL if there is no connection after ten seconds, or --timeout, or the certificates do not fit;
 * `fault` then has the reason. With TLS the server's certificate must be signed by --cacert, or
 * else by an authority that the system trusts; and it must be for the name or address of --sni, or
 * else of the host, unless --insecure-name says that it need not. Before all that nothing is sent.
 */
struct link *link_open(const struct target *target, char *fault, size_t size);
void link_close(struct link *link);

/* Sends all bytes. False: the connection is lost, or the server was silent for five minutes, or
 * --timeout; link_fault says why. From then on nothing is sent or received any more. */
bool link_send(struct link *link, const void *bytes, size_t len);

/* Waits for bytes, and returns how many came, at most `size`; 0: as false above. */
size_t link_receive(struct link *link, void *bytes, size_t size);

const char *link_fault(const struct link *link);

#endif
