/* bloomport list: all filters of a server, as a table or as JSON. */

#include "module/core/mem.h"
#include "rdb/tool/help.h"
#include "rdb/tool/inventory.h"
#include "rdb/tool/json.h"
#include "rdb/tool/options.h"
#include "rdb/tool/report.h"
#include "rdb/tool/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_WIDTH_MAX 60

typedef unsigned long long number; // the type that printf prints portably

/* ---- States ------------------------------------------------------------------------------- */

/* The states of BF.STATS, the most urgent first. */
static const char *const STATES[] = {"overfilled",  "full",         "nearly full",
                                     "many layers", "clock behind", "ok"};
#define NSTATES (sizeof(STATES) / sizeof(STATES[0]))

/* Its place among the states. One that a later server has is more urgent than ok. */
static size_t urgency_of(const char *state) {
    for (size_t i = 0; i < NSTATES; i++) {
        if (strcmp(state, STATES[i]) == 0) return i;
    }
    return NSTATES - 2;
}

/* Whether a word of a list is this state, whose spaces may be hyphens. */
static bool is_word(const char *word, size_t len, const char *state) {
    for (size_t i = 0; i < len; i++) {
        if (state[i] == '\0' || (word[i] != state[i] && !(word[i] == '-' && state[i] == ' '))) {
            return false;
        }
    }
    return state[len] == '\0';
}

/* Whether a state is among the words of --state, separated by commas. */
static bool is_among(const char *words, const char *state) {
    for (size_t len; *words; words += len + (words[len] == ',')) {
        len = strcspn(words, ",");
        if (is_word(words, len, state)) return true;
    }
    return false;
}

static void check_states(const char *words) {
    if (!*words) tool_die("--state names no state");
    for (size_t len; *words; words += len + (words[len] == ',')) {
        len = strcspn(words, ",");
        bool exists = false;
        for (size_t i = 0; i < NSTATES; i++) exists |= is_word(words, len, STATES[i]);
        if (exists) continue;
        char list[128];
        help_list(STATES, NSTATES, list, sizeof(list));
        tool_die("--state: there is no state '%.*s', but %s", (int)len, words, list);
    }
}

/* Keeps the entries of these states. */
static void select_states(struct inventory *inventory, const char *words) {
    size_t kept = 0;
    for (size_t i = 0; i < inventory->n; i++) {
        struct entry entry = inventory->entries[i];
        if (is_among(words, entry.state)) {
            inventory->entries[kept++] = entry;
        } else {
            mem_free(entry.key);
        }
    }
    inventory->n = kept;
}

/* ---- Sorting ------------------------------------------------------------------------------ */

static int compare_keys(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    size_t n = x->key_len < y->key_len ? x->key_len : y->key_len;
    int order = memcmp(x->key, y->key, n);
    if (order) return order;
    if (x->key_len != y->key_len) return x->key_len < y->key_len ? -1 : 1;
    return x->database - y->database;
}

/* The larger number first; equal ones by key. */
static int descending(double x, double y, const void *a, const void *b) {
    return x > y ? -1 : x < y ? 1 : compare_keys(a, b);
}

static int by_items(const void *a, const void *b) {
    return descending((double)((const struct entry *)a)->items,
                      (double)((const struct entry *)b)->items, a, b);
}

static int by_capacity(const void *a, const void *b) {
    return descending((double)((const struct entry *)a)->capacity,
                      (double)((const struct entry *)b)->capacity, a, b);
}

static int by_bytes(const void *a, const void *b) {
    return descending((double)((const struct entry *)a)->bytes,
                      (double)((const struct entry *)b)->bytes, a, b);
}

static int by_error(const void *a, const void *b) {
    return descending(((const struct entry *)a)->error_rate, ((const struct entry *)b)->error_rate,
                      a, b);
}

static int by_utilisation(const void *a, const void *b) {
    return descending(((const struct entry *)a)->utilisation,
                      ((const struct entry *)b)->utilisation, a, b);
}

/* What calls for action comes first, and among equals what cannot grow. */
static int by_state(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    size_t i = urgency_of(x->state), j = urgency_of(y->state);
    if (i != j) return i < j ? -1 : 1;
    if (x->grows != y->grows) return x->grows ? 1 : -1;
    return by_utilisation(a, b);
}

static void sort(struct inventory *inventory, const char *by) {
    static const struct {
        const char *word;
        int (*compare)(const void *, const void *);
    } orders[] = {{"state", by_state}, {"utilisation", by_utilisation}, {"key", compare_keys},
                  {"items", by_items}, {"capacity", by_capacity},       {"error", by_error},
                  {"bytes", by_bytes}};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        if (by && strcmp(by, orders[i].word) != 0) continue;
        if (inventory->n) {
            qsort(inventory->entries, inventory->n, sizeof(struct entry), orders[i].compare);
        }
        return;
    }
    tool_die("--sort: '%s' is none of state, utilisation, key, items, capacity, error and bytes",
             by);
}

/* ---- For people --------------------------------------------------------------------------- */

/* A key as a terminal may see it, with where it is. */
static void name_of(const struct entry *entry, bool has_databases, char *out, size_t size) {
    char key[256];
    size_t len = entry->key_len < sizeof(key) - 1 ? entry->key_len : sizeof(key) - 1;
    memcpy(key, entry->key, len);
    for (size_t i = 0; i < len; i++) {
        if (key[i] == '\0') key[i] = '?';
    }
    key[len] = '\0';
    report_make_printable(key);
    if (*entry->node) {
        snprintf(out, size, "%s %s", entry->node, key);
    } else if (has_databases) {
        snprintf(out, size, "db%d %s", entry->database, key);
    } else {
        snprintf(out, size, "%s", key);
    }
}

static void print_rate(double rate) {
    if (rate < 0) {
        printf(" %10s", "-");
    } else {
        printf(" %10.3g", rate);
    }
}

/* Rounded down: 100 means that all of the capacity is used. */
static double percent_used(const struct entry *entry) {
    return entry->capacity ? floor((double)entry->items * 100 / (double)entry->capacity) : 0;
}

static void print_row(const struct entry *entry, const char *name, int width) {
    char items[REPORT_COUNT], capacity[REPORT_COUNT], bytes[REPORT_COUNT];
    printf("%-*s %-8s %15s %15s %5.0f %%", width, name, *entry->layout ? entry->layout : "-",
           report_count(entry->items, items), report_count(entry->capacity, capacity),
           percent_used(entry));
    print_rate(entry->error_rate);
    printf(" %10s %5s  %s\n", report_bytes(entry->bytes, bytes), entry->grows ? "yes" : "no",
           entry->state);
}

static void print_table(const struct inventory *inventory) {
    bool has_databases = false;
    int width = 3;
    char name[600];
    for (size_t i = 0; i < inventory->n; i++) {
        has_databases |= inventory->entries[i].database != inventory->entries[0].database;
    }
    for (size_t i = 0; i < inventory->n; i++) {
        name_of(&inventory->entries[i], has_databases, name, sizeof(name));
        if ((int)strlen(name) > width) width = (int)strlen(name);
    }
    if (width > KEY_WIDTH_MAX) width = KEY_WIDTH_MAX;
    printf("%-*s %-8s %15s %15s %7s %10s %10s %5s  %s\n", width, "key", "layout", "items",
           "capacity", "used", "error rate", "size", "grows", "state");
    for (size_t i = 0; i < inventory->n; i++) {
        name_of(&inventory->entries[i], has_databases, name, sizeof(name));
        print_row(&inventory->entries[i], name, width);
    }
}

/* ---- As JSON ------------------------------------------------------------------------------ */

/* A key that is not printable ASCII has its bytes in key_hex too. */
static void print_json_key(const struct entry *entry) {
    bool is_plain = true;
    for (size_t i = 0; i < entry->key_len; i++) {
        unsigned char c = (unsigned char)entry->key[i];
        is_plain &= c >= 0x20 && c < 0x7f;
    }
    json_bytes("key", entry->key, entry->key_len);
    if (!is_plain) json_hex("key_hex", entry->key, entry->key_len);
}

static void print_json_rate(const char *name, double rate) {
    if (rate < 0) {
        json_null(name);
    } else {
        json_real(name, rate);
    }
}

static void print_json_entry(const struct entry *entry) {
    json_open(NULL, '{');
    print_json_key(entry);
    json_count("db", (uint64_t)entry->database);
    json_text("node", entry->node);
    json_text("layout", entry->layout);
    json_count("layers", entry->layers);
    json_count("items", entry->items);
    json_count("capacity", entry->capacity);
    json_real("utilisation", entry->utilisation);
    print_json_rate("error_rate", entry->error_rate);
    print_json_rate("promised_error_rate", entry->promised);
    json_count("bytes", entry->bytes);
    json_bool("grows", entry->grows);
    json_text("state", entry->state);
    json_close('{');
}

static void print_json(const struct inventory *inventory) {
    json_open(NULL, '[');
    for (size_t i = 0; i < inventory->n; i++) {
        json_break();
        print_json_entry(&inventory->entries[i]);
    }
    json_close('[');
    json_end();
}

/* ---- The command ---------------------------------------------------------------------------- */

/* Whether a filter is full or overfilled; if states were chosen, whether there is one in these that
 * is not ok. */
static bool needs_attention(const struct inventory *inventory, bool is_chosen) {
    for (size_t i = 0; i < inventory->n; i++) {
        const char *state = inventory->entries[i].state;
        if (is_among("full,overfilled", state)) return true;
        if (is_chosen && strcmp(state, "ok") != 0) return true;
    }
    return false;
}

static void print(const struct inventory *inventory, const struct options *options) {
    if (options->quiet) return;
    if (options->json) {
        print_json(inventory);
    } else {
        print_table(inventory);
    }
}

/* What the list does not have, and the reader may think that it has. */
static void note_missing(const struct inventory *inventory) {
    if (inventory->is_node_of_many) {
        report_note("this is one node of a cluster: --cluster lists the filters of all nodes");
    }
    if (inventory->hidden > 0) {
        report_note("%llu more, which the user may not read", (number)inventory->hidden);
    }
}

static int list(struct server *server, const struct options *options) {
    struct inventory inventory = {0};
    const struct target *target = &options->server;
    inventory_take(&inventory, server, target->has_database ? target->database : -1,
                   options->noperands ? options->operands[0] : NULL);
    if (options->states) select_states(&inventory, options->states);
    sort(&inventory, options->sort);
    print(&inventory, options);
    fflush(stdout);
    note_missing(&inventory);
    int status = needs_attention(&inventory, options->states != NULL) ? TOOL_NONE : TOOL_OK;
    inventory_free(&inventory);
    return status;
}

/* Bad words are refused before the server is troubled. */
static void check_options(const struct options *options) {
    options_need_operands(options, 0, 1, "");
    struct inventory nothing = {0};
    sort(&nothing, options->sort);
    if (options->states) check_states(options->states);
}

int list_run(const struct options *options) {
    check_options(options);
    struct server *server = server_open(&options->server);
    int status = list(server, options);
    server_close(server);
    return status;
}
