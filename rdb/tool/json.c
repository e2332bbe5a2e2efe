/* JSON on standard output. See json.h. */

#include "rdb/tool/json.h"

#include <stdio.h>

static bool follows_value; // then a comma comes before the next one

static void put_comma(void) {
    if (follows_value) putchar(',');
    follows_value = false;
}

/* What stands before every value. */
static void begin(const char *name) {
    put_comma();
    if (name) printf("\"%s\":", name);
    follows_value = true;
}

void json_open(const char *name, char bracket) {
    begin(name);
    putchar(bracket);
    follows_value = false;
}

void json_close(char bracket) {
    putchar(bracket == '{' ? '}' : ']');
    follows_value = true;
}

void json_break(void) {
    if (!follows_value) return; // the first one stands beside the bracket
    put_comma();
    putchar('\n');
}

void json_end(void) {
    putchar('\n');
    follows_value = false;
}

void json_count(const char *name, uint64_t value) {
    begin(name);
    printf("%llu", (unsigned long long)value);
}

void json_real(const char *name, double value) {
    begin(name);
    printf("%.17g", value);
}

void json_seconds(const char *name, uint64_t ms) {
    begin(name);
    printf("%.13g", (double)ms / 1000);
}

void json_bool(const char *name, bool value) {
    begin(name);
    fputs(value ? "true" : "false", stdout);
}

void json_null(const char *name) {
    begin(name);
    fputs("null", stdout);
}

static void put_character(char c) {
    if (c == '"' || c == '\\') putchar('\\');
    putchar(c);
}

void json_text(const char *name, const char *text) {
    begin(name);
    putchar('"');
    for (; *text; text++) put_character(*text);
    putchar('"');
}

void json_bytes(const char *name, const char *bytes, size_t len) {
    begin(name);
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x20 || c >= 0x7f) {
            printf("\\u%04x", c);
        } else {
            put_character(bytes[i]);
        }
    }
    putchar('"');
}

void json_hex(const char *name, const char *bytes, size_t len) {
    begin(name);
    putchar('"');
    for (size_t i = 0; i < len; i++) printf("%02x", (unsigned char)bytes[i]);
    putchar('"');
}
