/* One connection. See link.h. */

#define _GNU_SOURCE // getaddrinfo
#include "rdb/tool/link.h"

#include "module/core/mem.h"
#include "rdb/tool/report.h"
#include "rdb/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_SECONDS 10
/* A server that works at something long answers nobody: a SAVE in the foreground of 38 GB, at 7.9 s
 * per GB, takes as long. */
#define SILENCE_SECONDS 300
#define NOTE_SECONDS 10 // of silence, until something is said
#define CLOSED "Server closed the connection"

struct link {
    int fd;                               // does not block: every wait is wait_for's
    int connect_seconds, silence_seconds; // 0: without end
    bool is_over;
    char name[300];   // of the server
    SSL_CTX *context; // NULL: no TLS
    SSL *ssl;
    char fault[512];
};

__attribute__((format(printf, 2, 3))) static bool fail(struct link *link, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(link->fault, sizeof(link->fault), format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Waiting ------------------------------------------------------------------------------ */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the socket became ready within so many seconds; 0: any time. */
static bool poll_for(int fd, short events, int seconds) {
    struct pollfd wait = {.fd = fd, .events = events};
    int64_t end = now_ms() + (int64_t)seconds * 1000;
    for (;;) {
        int64_t left = end - now_ms();
        int n = poll(&wait, 1, seconds == 0 ? -1 : left < 0 ? 0 : (int)left);
        if (n >= 0) return n > 0;
        if (errno != EINTR) tool_die("poll: %s", strerror(errno));
    }
}

/* The same. A long wait is said. */
static bool wait_for(const struct link *link, short events, int seconds) {
    if (seconds != 0 && seconds <= NOTE_SECONDS) return poll_for(link->fd, events, seconds);
    if (poll_for(link->fd, events, NOTE_SECONDS)) return true;
    char limit[32] = "without end";
    if (seconds != 0) snprintf(limit, sizeof(limit), "%d s at most", seconds);
    report_note("no answer from %s for %d s, waiting on (--timeout: %s)", link->name, NOTE_SECONDS,
                limit);
    return poll_for(link->fd, events, seconds == 0 ? 0 : seconds - NOTE_SECONDS);
}

/* ---- Sockets ------------------------------------------------------------------------------ */

static bool connect_patiently(struct link *link, const struct sockaddr *address, socklen_t len) {
    int error = 0;
    socklen_t size = sizeof(error);
    fcntl(link->fd, F_SETFL, fcntl(link->fd, F_GETFL) | O_NONBLOCK);
    if (connect(link->fd, address, len) != 0) error = errno;
    if (error == EINPROGRESS) {
        if (!wait_for(link, POLLOUT, link->connect_seconds)) {
            return fail(link, "no connection after %d s (--timeout 0 waits without end)",
                        link->connect_seconds);
        }
        getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    return error == 0 || fail(link, "%s", strerror(error));
}

static bool open_socket(struct link *link, int family, const struct sockaddr *address,
                        socklen_t len) {
    link->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fd < 0) return fail(link, "%s", strerror(errno));
    if (connect_patiently(link, address, len)) return true;
    close(link->fd);
    link->fd = -1;
    return false;
}

static bool open_unix(struct link *link, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        return fail(link, "the path is longer than a socket's can be");
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    return open_socket(link, AF_UNIX, (const struct sockaddr *)&address, sizeof(address));
}

static bool open_tcp(struct link *link, const struct target *target) {
    char port[8];
    snprintf(port, sizeof(port), "%d", target->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int error = getaddrinfo(target->host, port, &hints, &found), on = 1;
    if (error != 0) return fail(link, "%s", gai_strerror(error));
    bool is_open = false;
    for (const struct addrinfo *at = found; at && !is_open; at = at->ai_next) {
        is_open = open_socket(link, at->ai_family, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(found);
    if (!is_open) return false;
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    return true;
}

/* ---- TLS ---------------------------------------------------------------------------------- */

static bool explain(struct link *link, const char *what, const char *detail) {
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return fail(link, "%s%s%s%s", what, detail ? detail : "", reason ? ": " : "",
                reason ? reason : "");
}

static bool load_authorities(struct link *link, const struct target *target) {
    bool has_own = target->cacert || target->cacertdir;
    int done = has_own
                   ? SSL_CTX_load_verify_locations(link->context, target->cacert, target->cacertdir)
                   : SSL_CTX_set_default_verify_paths(link->context);
    if (done == 1) return true;
    return explain(link, "--cacert: cannot read ", target->cacert ? target->cacert : "");
}

/* The private key may stand in the certificate's file. */
static bool load_certificate(struct link *link, const struct target *target) {
    if (!target->cert) return true;
    const char *key = target->private_key ? target->private_key : target->cert;
    if (SSL_CTX_use_certificate_chain_file(link->context, target->cert) != 1) {
        return explain(link, "--cert: cannot use ", target->cert);
    }
    if (SSL_CTX_use_PrivateKey_file(link->context, key, SSL_FILETYPE_PEM) == 1) return true;
    return explain(link, "--tls-key: cannot use ", key);
}

static bool is_address(const char *host) {
    ASN1_OCTET_STRING *parsed = a2i_IPADDRESS(host);
    bool is_one = parsed != NULL;
    ASN1_OCTET_STRING_free(parsed);
    return is_one;
}

/* To OpenSSL an empty name means that none is checked, and one with a dot before it any below. */
static bool is_name(const char *name) {
    return *name && *name != '.' && strlen(name) <= TLSEXT_MAXLEN_host_name;
}

/* The certificate must have this name or address. OpenSSL checks it before the handshake ends. */
static bool check_name(SSL *ssl, const char *name) {
    X509_VERIFY_PARAM *how = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(how, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(how, name) == 1;
    return X509_VERIFY_PARAM_set1_host(how, name, strlen(name)) == 1;
}

/* Names the host to the server, and sets the name that its certificate must have. Whoever signs,
 * the user's own authority too, signs for more hosts than this one. */
static bool set_name(struct link *link, const struct target *target) {
    const char *name = target->sni ? target->sni : target->socket ? NULL : target->host;
    bool is_checked = !target->is_insecure && !target->is_any_name;
    if (!name && !is_checked) return true;
    if (!name) {
        return fail(link, "a socket has no host name that the certificate could have: --sni gives "
                          "one, --insecure-name accepts any");
    }
    if (!is_name(name)) return fail(link, "'%s' is no host name that a certificate can have", name);
    bool is_set = is_address(name) || SSL_set_tlsext_host_name(link->ssl, name) == 1;
    if (is_set && is_checked) is_set = check_name(link->ssl, name);
    return is_set || explain(link, "cannot check the certificate's name", NULL);
}

static bool refuse_certificate(struct link *link, const struct target *target, long verdict) {
    static const char what[] = "no TLS connection, the server's certificate is not accepted";
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        ERR_clear_error();
        return fail(link,
                    "%s: it is for another host than %s (--sni names the one that it is for, "
                    "--insecure-name accepts any)",
                    what, target->sni ? target->sni : target->host);
    }
    explain(link, what, NULL);
    size_t len = strlen(link->fault);
    snprintf(link->fault + len, sizeof(link->fault) - len, " (%s)",
             X509_verify_cert_error_string(verdict));
    return false;
}

/* What a step of TLS that did nothing waits for; 0: nothing, it failed. */
static short events_of(int why) {
    if (why == SSL_ERROR_WANT_READ) return POLLIN;
    return why == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
}

static bool shake_hands(struct link *link, const struct target *target) {
    link->ssl = SSL_new(link->context);
    if (!link->ssl) tool_die("no memory for a connection");
    if (!set_name(link, target)) return false;
    SSL_set_fd(link->ssl, link->fd);
    ERR_clear_error();
    for (int done; (done = SSL_connect(link->ssl)) != 1;) {
        short events = events_of(SSL_get_error(link->ssl, done));
        long verdict = SSL_get_verify_result(link->ssl);
        if (!events && verdict != X509_V_OK) return refuse_certificate(link, target, verdict);
        if (!events) return explain(link, "no TLS connection", NULL);
        if (!wait_for(link, events, link->connect_seconds)) {
            return fail(link, "no TLS connection after %d s (--timeout 0 waits without end)",
                        link->connect_seconds);
        }
    }
    return true;
}

static bool begin_tls(struct link *link, const struct target *target) {
    link->context = SSL_CTX_new(TLS_client_method());
    if (!link->context) tool_die("no memory for a connection");
    SSL_CTX_set_min_proto_version(link->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(link->context, target->is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       NULL);
    return load_authorities(link, target) && load_certificate(link, target) &&
           shake_hands(link, target);
}

/* ---- The connection ----------------------------------------------------------------------- */

struct link *link_open(const struct target *target, char *fault, size_t size) {
    struct link *link = tool_alloc(sizeof(*link));
    bool is_given = target->timeout >= 0;
    *link = (struct link){.fd = -1,
                          .connect_seconds = is_given ? target->timeout : CONNECT_SECONDS,
                          .silence_seconds = is_given ? target->timeout : SILENCE_SECONDS};
    target_name(target, link->name, sizeof(link->name));
    bool is_open = target->socket ? open_unix(link, target->socket) : open_tcp(link, target);
    if (is_open && (!target->is_tls || begin_tls(link, target))) return link;
    snprintf(fault, size, "%s", link->fault);
    link_close(link);
    return NULL;
}

void link_close(struct link *link) {
    if (link->ssl) SSL_free(link->ssl); // without a goodbye: the server may be gone
    if (link->context) SSL_CTX_free(link->context);
    if (link->fd >= 0) close(link->fd);
    mem_free(link);
}

/* False, now and at every later call: what comes after that would be taken for another reply. */
static bool is_lost(struct link *link, const char *why) {
    link->is_over = true;
    return fail(link, "connection lost: %s", why);
}

/* Waits as long as a server may be silent. */
static bool may_go_on(struct link *link, short events) {
    if (wait_for(link, events, link->silence_seconds)) return true;
    link->is_over = true;
    return fail(link, "no answer from %s for %d s (--timeout 0 waits without end)", link->name,
                link->silence_seconds);
}

/* One step of TLS; false if the connection is lost. *n: bytes, 0 if it must be tried again. */
static bool step_tls(struct link *link, int done, size_t *n) {
    *n = done > 0 ? (size_t)done : 0;
    if (done > 0) return true;
    int error = errno, why = SSL_get_error(link->ssl, done);
    if (events_of(why)) return may_go_on(link, events_of(why));
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    if (why == SSL_ERROR_SSL && reason) return is_lost(link, reason);
    return is_lost(link, why == SSL_ERROR_SYSCALL && error ? strerror(error) : CLOSED);
}

/* The same without TLS. */
static bool step_plain(struct link *link, ssize_t done, short events, size_t *n) {
    *n = done > 0 ? (size_t)done : 0;
    if (done > 0) return true;
    if (done == 0) return is_lost(link, CLOSED);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return may_go_on(link, events);
    return errno == EINTR || is_lost(link, strerror(errno));
}

static int most_of_tls(size_t len) {
    return len > 1 << 20 ? 1 << 20 : (int)len;
}

bool link_send(struct link *link, const void *bytes, size_t len) {
    const char *at = bytes;
    if (link->is_over) return false;
    for (size_t n; len > 0; at += n, len -= n) {
        bool is_alive = link->ssl
                            ? step_tls(link, SSL_write(link->ssl, at, most_of_tls(len)), &n)
                            : step_plain(link, send(link->fd, at, len, MSG_NOSIGNAL), POLLOUT, &n);
        if (!is_alive) return false;
    }
    return true;
}

size_t link_receive(struct link *link, void *bytes, size_t size) {
    if (link->is_over) return 0;
    for (size_t n;;) {
        bool is_alive = link->ssl
                            ? step_tls(link, SSL_read(link->ssl, bytes, most_of_tls(size)), &n)
                            : step_plain(link, recv(link->fd, bytes, size, 0), POLLIN, &n);
        if (!is_alive || n > 0) return n;
    }
}

const char *link_fault(const struct link *link) {
    return link->fault;
}
