/* The values of options. See values.h. */

#include "rdb/tool/values.h"

#include "rdb/tool/help.h"
#include "rdb/tool/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ------------------------------------------------------------------------------ */

/* The decimal number at the front of a text; *end: what follows, or the text if there is none.
 * strtod alone would take spaces, signs, "inf", "nan" and hexadecimal too. */
static double take_number(const char *text, const char **end) {
    bool is_decimal = (*text >= '0' && *text <= '9') || *text == '.';
    bool is_hex = text[0] == '0' && (text[1] | 0x20) == 'x';
    *end = text;
    if (!is_decimal || is_hex) return 0;
    char *stop;
    double value = strtod(text, &stop);
    *end = stop;
    return value;
}

static double parse_real(const char *name, const char *text) {
    const char *end;
    double value = take_number(text, &end);
    if (end != text && strcmp(end, "%") == 0) {
        tool_die("--%s: '%s' is not a number, write %.12g", name, text, value / 100);
    }
    if (end == text || *end != '\0' || !isfinite(value)) {
        tool_die("--%s: '%s' is not a number", name, text);
    }
    return value;
}

/* What a unit after a number multiplies it by: `step` for K, its square for M, ... 1 if there is no
 * unit. *end moves past it. */
static double take_unit(const char **end, double step) {
    static const char units[] = "KkMmGgTt";
    const char *at = **end ? strchr(units, **end) : NULL;
    if (!at) return 1;
    ++*end;
    int power = (int)(at - units) / 2 + 1;
    return pow(step, power);
}

/* A whole number from 1 on: digits alone are exact where a double is not. A number with a unit may
 * have a fraction that the unit makes whole. */
static uint64_t take_whole(const char *name, const char *text, const char *end, double value,
                           const char *units) {
    uint64_t whole = 0;
    if (text[strspn(text, "0123456789")] == '\0') {
        whole = strtoull(text, NULL, 10); // at most ULLONG_MAX
    } else if (end != text && *end == '\0' && value >= 1 && value < 0x1p63 &&
               value == floor(value)) {
        whole = (uint64_t)value;
    }
    if (whole < 1 || whole > INT64_MAX) {
        tool_die("--%s: '%s' is not a number from 1 to 2^63-1, as %s", name, text, units);
    }
    return whole;
}

uint64_t values_count(const char *name, const char *text) {
    const char *end;
    double value = take_number(text, &end);
    if (end != text) value *= take_unit(&end, 1000);
    // 2.3M is 2.3 * 1000000 in binary too, but for the last bit of the product.
    if (fabs(value - nearbyint(value)) < value * 0x1p-50) value = nearbyint(value);
    return take_whole(name, text, end, value, "5000000, 5e6 or 5M");
}

uint64_t values_bytes(const char *name, const char *text) {
    const char *end;
    double value = take_number(text, &end), unit = 1;
    if (end != text) unit = take_unit(&end, 1024);
    if (unit != 1 && end[0] == 'i' && (end[1] | 0x20) == 'b') end++;
    if (unit != 1 && (end[0] | 0x20) == 'b') end++;
    if (unit != 1) value = floor(value * unit); // 1.1K is some number of bytes
    return take_whole(name, text, end, value, "500000000, 500M or 1.5GB");
}

int values_small(const char *name, const char *text, int least, int most) {
    const char *end = text + strspn(text, "0123456789");
    long value = strtol(text, NULL, 10); // more than a long holds is LONG_MAX
    if (end == text || *end != '\0' || value < least || value > most) {
        tool_die("--%s: '%s' is not a number from %d to %d", name, text, least, most);
    }
    return (int)value;
}

double values_between(const char *name, const char *text, double over, double under) {
    double value = parse_real(name, text);
    if (!(value > over && value < under)) {
        tool_die("--%s: %s is not between %g and %g", name, text, over, under);
    }
    return value;
}

double values_bits_per_key(const char *text) {
    double value = parse_real("bits-per-key", text);
    if (!(value >= LIMITS_MIN_BITS_PER_KEY && value <= LIMITS_MAX_BITS_PER_KEY)) {
        tool_die("--bits-per-key: %s is not from 1 to 256", text);
    }
    return value;
}

/* ---- Times -------------------------------------------------------------------------------- */

/* The seconds of a unit of time; 0 if the letter is none. */
static double seconds_of(char letter) {
    switch (letter) {
    case 's': return 1;
    case 'm': return 60;
    case 'h': return 3600;
    case 'd': return 86400;
    default: return 0;
    }
}

/* A whole number of seconds, with or without a unit: 90, 1.5h. */
uint32_t values_window(const char *text) {
    const char *end;
    double value = take_number(text, &end);
    double unit = end == text ? 0 : seconds_of(*end);
    if (unit != 0) value *= unit, end++;
    bool is_time = end != text && *end == '\0' && value >= 1 && value <= LIMITS_MAX_WINDOW;
    if (!is_time || value != floor(value)) {
        tool_die("--window: '%s' is not a time from 1 to %u seconds, as 90, 15m, 24h or 7d", text,
                 LIMITS_MAX_WINDOW);
    }
    return (uint32_t)value;
}

/* ---- Words -------------------------------------------------------------------------------- */

uint8_t values_delimiter(const char *text) {
    if (strcmp(text, "\\t") == 0) return '\t';
    if (strlen(text) != 1) tool_die("--delimiter: '%s' is not one character", text);
    return (uint8_t)*text;
}

enum layout values_layout(const char *text) {
    const char *words[LAYOUT_COUNT];
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        words[i] = layout_word((enum layout)i);
        if (strcmp(text, words[i]) == 0) return (enum layout)i;
    }
    char list[256];
    help_list(words, LAYOUT_COUNT, list, sizeof(list));
    tool_die("--layout: '%s' is none of %s", text, list);
}

enum scheme values_scheme(const char *text) {
    if (strcmp(text, "xxh64") == 0) return SCHEME_XXH64;
    if (strcmp(text, "fnv1a") == 0) return SCHEME_FNV1A;
    tool_die("--hash: '%s' is neither xxh64 nor fnv1a", text);
}

enum file_format values_format(const char *name, const char *text) {
    enum file_format format = file_format_of(text);
    if (format != FILE_UNKNOWN) return format;
    const char *names[FILE_UNKNOWN];
    for (int i = 0; i < FILE_UNKNOWN; i++) names[i] = file_format_name((enum file_format)i);
    char list[256];
    help_list(names, FILE_UNKNOWN, list, sizeof(list));
    tool_die("--%s: there is no format '%s'%s, but %s", name, text,
             help_suggestion(text, names, FILE_UNKNOWN), list);
}
