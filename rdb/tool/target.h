/* Where a server is and how one gets in: what redis-cli's options say, or a URL. */

#ifndef BLOOMPORT_TOOL_TARGET_H
#define BLOOMPORT_TOOL_TARGET_H

#include <stdbool.h>
#include <stddef.h>

struct target {
    const char *host, *socket;   // socket: instead of host and port; NULL: not given
    const char *user, *password; // NULL: not given
    int port, database;
    bool has_database;         // given, not the default
    bool has_url, has_address; // -u; -h, -p or -s
    bool is_tls, is_cluster;
    bool is_insecure, is_any_name; // accepts any certificate; one for any host
    int timeout;                   // seconds, 0: none; -1: not given
    const char *cacert, *cacertdir, *cert, *private_key, *sni; // NULL: not given
};

#define TARGET_DEFAULT ((struct target){.host = "127.0.0.1", .port = 6379, .timeout = -1})

/* Sets the fields that a URL names, and overwrites the password in `url` with stars, so that no
 * list of processes shows it any longer:
 *
 *   redis[s]://[[user]:password@]host[:port][/database]
 *   unix://[[user]:password@]/path[?db=database]
 *   /path, a socket as it is
 *
 * rediss means TLS. Parts are percent-decoded. What is no such URL ends the program, with a message
 * that does not repeat it. `option` is the name of the option that had it. */
void target_parse_url(struct target *target, char *url, const char *option);

/* Takes a password from the command line, where it is overwritten with stars. */
void target_set_password(struct target *target, char *password);

/* Takes the password from REDISCLI_AUTH, as redis-cli does, unless there is one already. */
void target_use_environment(struct target *target);

/* Whether an option says which server, or how one gets in. */
bool target_is_given(const struct target *target);

/* "127.0.0.1:6379", or the path of the socket. */
const char *target_name(const struct target *target, char *out, size_t size);

#endif
