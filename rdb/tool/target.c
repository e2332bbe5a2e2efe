/* Where a server is. See target.h. */

#include "rdb/tool/target.h"

#include "rdb/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- URLs --------------------------------------------------------------------------------- */

static _Noreturn void refuse(const char *option, const char *what) {
    tool_die("--%s: %s; a URL is redis[s]://[[user]:password@]host[:port][/database], or "
             "unix://[[user]:password@]/path[?db=database], or a socket's path",
             option, what);
}

static int hex_of(char c) {
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* A copy of a part, percent-decoded. A NUL byte would end it early. */
static const char *decoded(const char *from, size_t len, const char *option) {
    char *out = tool_alloc(len + 1), *at = out;
    for (size_t i = 0; i < len; i++) {
        if (from[i] != '%') {
            *at++ = from[i];
            continue;
        }
        bool has_both = len - i > 2;
        int high = has_both ? hex_of(from[i + 1]) : -1, low = has_both ? hex_of(from[i + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0) refuse(option, "a % without two digits");
        *at++ = (char)(high * 16 + low);
        i += 2;
    }
    *at = '\0';
    return out;
}

/* A number that is the whole of a part. */
static int number_of(const char *from, size_t len, int most, const char *option, const char *what) {
    int number = 0;
    for (size_t i = 0; i < len; i++) {
        if (from[i] < '0' || from[i] > '9' || number > most) refuse(option, what);
        number = number * 10 + (from[i] - '0');
    }
    if (len == 0 || number > most) refuse(option, what);
    return number;
}

/* user:password@, of which the password may hold @ too. Returns what follows. A path may have an @,
 * but what comes after a host has none: there, the password was cut in two. */
static char *parse_user(struct target *target, char *at, bool has_path, const char *option) {
    char *end = at + strcspn(at, "/?"), *last = NULL;
    for (char *p = at; p < end; p++) {
        if (*p == '@') last = p;
    }
    bool is_path = has_path && end == (last ? last + 1 : at);
    if (!is_path && strchr(end, '@')) {
        refuse(option, "in a password write / as %2F, @ as %40 and ? as %3F");
    }
    if (!last) return at;
    char *colon = memchr(at, ':', (size_t)(last - at));
    char *user_end = colon ? colon : last;
    if (user_end > at) target->user = decoded(at, (size_t)(user_end - at), option);
    if (colon) {
        target->password = decoded(colon + 1, (size_t)(last - colon - 1), option);
        memset(colon + 1, '*', (size_t)(last - colon - 1));
    }
    return last + 1;
}

/* host:port, of which the host may be [::1]. Returns what follows. */
static const char *parse_host(struct target *target, const char *at, const char *option) {
    const char *end = at + strcspn(at, "/?");
    const char *host = at, *host_end;
    if (*at == '[') {
        host = at + 1;
        host_end = memchr(host, ']', (size_t)(end - host));
        if (!host_end) refuse(option, "a [ without a ]");
        at = host_end + 1;
    } else {
        host_end = memchr(at, ':', (size_t)(end - at));
        if (!host_end) host_end = end;
        at = host_end;
    }
    if (host_end > host) target->host = decoded(host, (size_t)(host_end - host), option);
    if (at < end && *at != ':') refuse(option, "something between the host and the port");
    if (at < end) {
        target->port =
            number_of(at + 1, (size_t)(end - at - 1), 65535, option, "a port is 1 to 65535");
        if (target->port == 0) refuse(option, "a port is 1 to 65535");
    }
    return end;
}

static void set_database(struct target *target, const char *text, const char *option) {
    target->database = number_of(text, strlen(text), 1000000, option, "a database is a number");
    target->has_database = true;
}

static void parse_socket(struct target *target, const char *at, const char *option) {
    const char *end = at + strcspn(at, "?");
    if (*at != '/') refuse(option, "a socket's path begins with a slash");
    target->socket = decoded(at, (size_t)(end - at), option);
    if (strncmp(end, "?db=", 4) == 0) {
        set_database(target, end + 4, option);
    } else if (*end) {
        refuse(option, "something other than ?db= after the path");
    }
}

void target_parse_url(struct target *target, char *url, const char *option) {
    if (*url == '/') {
        target->socket = url;
        return;
    }
    static const char *const schemes[] = {"redis://", "rediss://", "unix://"};
    for (size_t i = 0; i < 3; i++) {
        if (strncmp(url, schemes[i], strlen(schemes[i])) != 0) continue;
        char *at = parse_user(target, url + strlen(schemes[i]), i == 2, option);
        if (i == 2) {
            parse_socket(target, at, option);
            return;
        }
        target->is_tls |= i == 1;
        const char *rest = parse_host(target, at, option);
        if (*rest == '?') refuse(option, "something other than a database after the host");
        if (*rest == '/' && rest[1]) set_database(target, rest + 1, option);
        return;
    }
    refuse(option, "it begins with none of redis://, rediss://, unix:// and /");
}

/* ---- Passwords and names ------------------------------------------------------------------- */

void target_set_password(struct target *target, char *password) {
    size_t len = strlen(password);
    char *copy = tool_alloc(len + 1);
    memcpy(copy, password, len + 1);
    memset(password, '*', len);
    target->password = copy;
}

void target_use_environment(struct target *target) {
    const char *password = getenv("REDISCLI_AUTH");
    if (!target->password && password && *password) target->password = password;
}

bool target_is_given(const struct target *target) {
    return target->has_url || target->has_address || target->has_database || target->user ||
           target->password || target->is_tls || target->is_cluster;
}

const char *target_name(const struct target *target, char *out, size_t size) {
    bool has_colon = !target->socket && strchr(target->host, ':');
    if (target->socket) {
        snprintf(out, size, "%s", target->socket);
    } else {
        snprintf(out, size, has_colon ? "[%s]:%d" : "%s:%d", target->host, target->port);
    }
    return out;
}
