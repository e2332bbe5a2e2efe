/* One connection. See link.h. */

#define _GNU_SOURCE // getaddrinfo
#include "rdb/tool/link.h"

#include "module/core/mem.h"
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
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_SECONDS 10

struct link {
    int fd;
    SSL_CTX *context; // NULL: no TLS
    SSL *ssl;
    char fault[256];
};

/* ---- Sockets ------------------------------------------------------------------------------ */

/* Connects with patience for CONNECT_SECONDS. 0, or the error's number. */
static int connect_patiently(int fd, const struct sockaddr *address, socklen_t len) {
    int flags = fcntl(fd, F_GETFL), error = 0;
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (connect(fd, address, len) != 0) error = errno;
    if (error == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        int n;
        while ((n = poll(&wait, 1, CONNECT_SECONDS * 1000)) < 0 && errno == EINTR) {
        }
        socklen_t size = sizeof(error);
        error = ETIMEDOUT;
        if (n > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    fcntl(fd, F_SETFL, flags);
    return error;
}

static int open_unix(const char *path, char *fault, size_t size) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        snprintf(fault, size, "the path is longer than a socket's can be");
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error =
        fd < 0 ? errno : connect_patiently(fd, (const struct sockaddr *)&address, sizeof(address));
    if (error == 0) return fd;
    snprintf(fault, size, "%s", strerror(error));
    if (fd >= 0) close(fd);
    return -1;
}

static int open_address(const struct addrinfo *address, int *error) {
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    *error = fd < 0 ? errno : connect_patiently(fd, address->ai_addr, address->ai_addrlen);
    if (*error == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

static int open_tcp(const struct target *target, char *fault, size_t size) {
    char port[8];
    snprintf(port, sizeof(port), "%d", target->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int error = getaddrinfo(target->host, port, &hints, &found), fd = -1;
    if (error != 0) {
        snprintf(fault, size, "%s", gai_strerror(error));
        return -1;
    }
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = open_address(at, &error);
    }
    freeaddrinfo(found);
    if (fd < 0) snprintf(fault, size, "%s", strerror(error));
    return fd;
}

/* ---- TLS ---------------------------------------------------------------------------------- */

static void explain(char *fault, size_t size, const char *what, const char *detail) {
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    snprintf(fault, size, "%s%s%s%s", what, detail ? detail : "", reason ? ": " : "",
             reason ? reason : "");
    ERR_clear_error();
}

static bool load_authorities(SSL_CTX *context, const struct target *target, char *fault,
                             size_t size) {
    bool has_own = target->cacert || target->cacertdir;
    int done = has_own ? SSL_CTX_load_verify_locations(context, target->cacert, target->cacertdir)
                       : SSL_CTX_set_default_verify_paths(context);
    if (done == 1) return true;
    explain(fault, size, "--cacert: cannot read ", target->cacert ? target->cacert : "");
    return false;
}

/* The private key may stand in the certificate's file. */
static bool load_certificate(SSL_CTX *context, const struct target *target, char *fault,
                             size_t size) {
    if (!target->cert) return true;
    const char *key = target->private_key ? target->private_key : target->cert;
    if (SSL_CTX_use_certificate_chain_file(context, target->cert) != 1) {
        explain(fault, size, "--cert: cannot use ", target->cert);
        return false;
    }
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1) return true;
    explain(fault, size, "--tls-key: cannot use ", key);
    return false;
}

static bool is_address(const char *host) {
    ASN1_OCTET_STRING *parsed = a2i_IPADDRESS(host);
    bool is_one = parsed != NULL;
    ASN1_OCTET_STRING_free(parsed);
    return is_one;
}

/* Names the host to the server, and the name that its certificate must have. An authority of the
 * user's own signs for its servers alone, whatever their names are; the system's sign for all. */
static void set_name(SSL *ssl, const struct target *target) {
    const char *name = target->sni ? target->sni : target->socket ? NULL : target->host;
    if (!name) return;
    if (!is_address(name)) SSL_set_tlsext_host_name(ssl, name);
    if (target->cacert || target->cacertdir || target->is_insecure) return;
    if (is_address(name)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
    } else {
        SSL_set1_host(ssl, name);
    }
}

static bool shake_hands(struct link *link, const struct target *target, char *fault, size_t size) {
    struct timeval patience = {CONNECT_SECONDS, 0}, forever = {0, 0};
    setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    link->ssl = SSL_new(link->context);
    if (!link->ssl) tool_die("no memory for a connection");
    set_name(link->ssl, target);
    SSL_set_fd(link->ssl, link->fd);
    ERR_clear_error();
    bool is_done = SSL_connect(link->ssl) == 1;
    setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
    if (is_done) return true;
    long verdict = SSL_get_verify_result(link->ssl);
    explain(fault, size, "no TLS connection",
            verdict == X509_V_OK ? "" : ", the server's certificate is not accepted");
    if (verdict != X509_V_OK) {
        size_t len = strlen(fault);
        snprintf(fault + len, size - len, " (%s)", X509_verify_cert_error_string(verdict));
    }
    return false;
}

static bool begin_tls(struct link *link, const struct target *target, char *fault, size_t size) {
    link->context = SSL_CTX_new(TLS_client_method());
    if (!link->context) tool_die("no memory for a connection");
    SSL_CTX_set_min_proto_version(link->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(link->context, target->is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       NULL);
    return load_authorities(link->context, target, fault, size) &&
           load_certificate(link->context, target, fault, size) &&
           shake_hands(link, target, fault, size);
}

/* ---- The connection ----------------------------------------------------------------------- */

struct link *link_open(const struct target *target, char *fault, size_t size) {
    int fd =
        target->socket ? open_unix(target->socket, fault, size) : open_tcp(target, fault, size);
    if (fd < 0) return NULL;
    struct link *link = tool_alloc(sizeof(*link));
    *link = (struct link){.fd = fd};
    if (!target->is_tls || begin_tls(link, target, fault, size)) return link;
    link_close(link);
    return NULL;
}

void link_close(struct link *link) {
    if (link->ssl) SSL_free(link->ssl); // without a goodbye: the server may be gone
    if (link->context) SSL_CTX_free(link->context);
    close(link->fd);
    mem_free(link);
}

static bool is_lost(struct link *link, int error) {
    snprintf(link->fault, sizeof(link->fault), "connection lost: %s",
             error ? strerror(error) : "Server closed the connection");
    return false;
}

/* One step of TLS; false if the connection is lost. *n: bytes, 0 if it must be tried again. */
static bool step_tls(struct link *link, int done, size_t *n) {
    *n = done > 0 ? (size_t)done : 0;
    if (done > 0) return true;
    int error = errno, why = SSL_get_error(link->ssl, done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return true; // EINTR
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    if (why == SSL_ERROR_SSL && reason) {
        snprintf(link->fault, sizeof(link->fault), "connection lost: %s", reason);
        return false;
    }
    return is_lost(link, why == SSL_ERROR_SYSCALL ? error : 0);
}

bool link_send(struct link *link, const void *bytes, size_t len) {
    const char *at = bytes;
    for (size_t n; len > 0; at += n, len -= n) {
        n = 0;
        if (link->ssl) {
            int piece = len > 1 << 20 ? 1 << 20 : (int)len;
            if (!step_tls(link, SSL_write(link->ssl, at, piece), &n)) return false;
            continue;
        }
        ssize_t sent = send(link->fd, at, len, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) return is_lost(link, errno);
        if (sent > 0) n = (size_t)sent;
    }
    return true;
}

size_t link_receive(struct link *link, void *bytes, size_t size) {
    for (;;) {
        if (link->ssl) {
            size_t n;
            int most = size > 1 << 20 ? 1 << 20 : (int)size;
            if (!step_tls(link, SSL_read(link->ssl, bytes, most), &n)) return 0;
            if (n > 0) return n;
            continue;
        }
        ssize_t n = recv(link->fd, bytes, size, 0);
        if (n > 0) return (size_t)n;
        if (n == 0 || errno != EINTR) return (size_t)is_lost(link, n == 0 ? 0 : errno);
    }
}

const char *link_fault(const struct link *link) {
    return link->fault;
}
