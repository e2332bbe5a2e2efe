/* valkey-bloom's filters in the pure code: hash, sizes, growth, BF.LOAD's string, the header of
 * chunks, and filters of our own out of them. tests/golden/valkeybloom has what it wrote itself. */

#include "tests/unit/helpers.h"

#include "rdb/codec.h"
#include "rdb/formats/formats.h"
#include "rdb/formats/valkeybloom.h"
#include "rdb/header.h"

#include <math.h>

#define GOLDEN "tests/golden/valkeybloom/filters.txt" // from the root, where the tests run
#define PROBES 5000
#define LOAD_RATE 5 // offsets in BF.LOAD's string
#define LOAD_RATIO 13
#define LOAD_FLAG 21
#define LOAD_LAYERS 22
#define LOAD_ARRAY 38 // of the first layer

/* ---- What valkey-bloom wrote ---- */

struct bytes {
    uint8_t *at;
    size_t len;
};

/* A line of the golden file. */
struct golden {
    char *key, *extra, *answers, *load;
    uint64_t items;
    const char *prefix;
};

static struct bytes from_hex(const char *text) {
    struct bytes bytes = {malloc(strlen(text) / 2 + 1), strlen(text) / 2};
    for (size_t i = 0; i < bytes.len; i++) {
        const char digits[] = {text[2 * i], text[2 * i + 1], 0};
        bytes.at[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return bytes;
}

/* Calls `visit` for every line whose last field begins like `kind`: a digit of a string of BF.LOAD,
 * or "old:", encoding version 0. Returns how many there were. */
static int for_each_golden(const char *kind, void (*visit)(const struct golden *golden)) {
    FILE *file = fopen(GOLDEN, "r");
    if (!file) fail_msg("%s is not there: run this at the root of the repository", GOLDEN);
    static char line[1 << 16];
    int n = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#') continue;
        struct golden golden;
        golden.key = strtok(line, " \n");
        golden.items = strtoull(strtok(NULL, " \n"), NULL, 10);
        golden.extra = strtok(NULL, " \n");
        golden.answers = strtok(NULL, " \n");
        golden.load = strtok(NULL, " \n");
        golden.prefix = strncmp(golden.load, "old:", 4) == 0 ? "vbold" : "vbfix";
        if (strncmp(golden.load, kind, strlen(kind)) != 0) continue;
        visit(&golden);
        n++;
    }
    fclose(file);
    return n;
}

static struct filter *load(const struct bytes *bytes) {
    struct filter *filter = NULL;
    const char *fault = NULL;
    enum status st =
        valkeybloom_decode_load(bytes->at, bytes->len, FILTER_NO_LIMIT, &filter, &fault);
    if (st != STATUS_OK) fail_msg("status %d, %s", (int)st, fault ? fault : "no fault");
    return filter;
}

static struct bytes encode(const struct filter *filter) {
    struct bytes bytes = {.len = (size_t)valkeybloom_load_size(filter)};
    bytes.at = malloc(bytes.len);
    valkeybloom_encode_load(filter, bytes.at);
    return bytes;
}

static void assert_same_bytes(const struct bytes *a, const struct bytes *b) {
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->at, b->at, a->len);
}

static struct hash hash_of_text(const struct filter *filter, const char *format, const char *prefix,
                                uint64_t i) {
    char text[64];
    int len = snprintf(text, sizeof text, format, prefix, (unsigned long long)i);
    return filter_hash(filter, text, (size_t)len);
}

static void assert_answers(const struct filter *filter, const struct golden *golden) {
    for (uint64_t i = 0; i < PROBES; i++) {
        const char digit[] = {golden->answers[i / 4], 0};
        bool expected = (strtoul(digit, NULL, 16) >> (3 - i % 4) & 1) != 0;
        struct hash hash = hash_of_text(filter, "%s:probe:%llu", golden->prefix, i);
        if (filter_contains(filter, hash) != expected)
            fail_msg("%s: probe %d", golden->key, (int)i);
    }
    if (filter->expansion == 0) return; // the last items may not have fit
    for (uint64_t i = 0; i < golden->items; i++) {
        assert_true(filter_contains(filter, hash_of_text(filter, "%s:%llu", golden->prefix, i)));
    }
}

/* ---- Hash and sizes ---- */

static struct seed seed_of(const char *name) {
    struct seed seed = {{0, 0, 0, 0}};
    if (strcmp(name, "fixed") == 0) return VALKEYBLOOM_FIXED_SEED;
    if (strcmp(name, "zero") == 0) return seed;
    for (uint64_t i = 0; i < 32; i++) seed.keys[i / 8] |= i << (8 * (i % 8));
    return seed;
}

static void sizes_and_positions_are_the_recorded_ones(void **state) {
    (void)state;
    static uint8_t ramp[300];
    for (size_t i = 0; i < sizeof ramp; i++) ramp[i] = (uint8_t)(i % 251);
    const struct {
        const char *seed;
        uint64_t capacity;
        double rate;
        uint64_t nbits;
        const void *item;
        size_t len;
        uint32_t nhashes;
        uint64_t positions[20];
    } ROWS[] = {
        {"fixed", 100, 0.01, 960, "a", 1, 7, {596, 218, 72, 34, 252, 214, 432}},
        {"fixed", 100, 0.01, 960, "", 0, 7, {598, 580, 798, 418, 38, 618, 238}},
        {"fixed", 1, 0.01, 16, "item", 4, 11, {13, 8, 13, 5, 13, 5, 13, 5, 13, 5, 13}},
        {"fixed", 100, 0.9, 24, "item", 4, 1, {5}},
        {"count",
         1000,
         0.001,
         14384,
         "hello world",
         11,
         10,
         {10881, 12195, 9959, 7770, 5581, 3392, 4659, 2470, 281, 12476}},
        {"count",
         1000,
         0.001,
         14384,
         "12345678",
         8,
         10,
         {14278, 8664, 9750, 4030, 1766, 13886, 11622, 5902, 3638, 1374}},
        {"count", 50000, 0.000001, 1437760, "\x00\xff\x00", 3, 20, {1253541, 964794,  83353,
                                                                    1048147, 350925,  1315719,
                                                                    842753,  145531,  1110325,
                                                                    413103,  1377897, 680675,
                                                                    207709,  1172503, 475281,
                                                                    2315,    742853,  269887,
                                                                    1010425, 537459}},
        {"zero", 100, 0.01, 960, "a", 1, 7, {564, 564, 220, 784, 132, 440, 748}},
        {"zero",
         1000000,
         0.01,
         9585064,
         ramp,
         sizeof ramp,
         7,
         {6932515, 6932515, 1651601, 8608300, 5955751, 3327386, 674837}},
    };
    for (size_t row = 0; row < COUNT(ROWS); row++) {
        struct sizing size;
        assert_true(sizing_as_valkeybloom(ROWS[row].capacity, ROWS[row].rate, &size));
        assert_int_equal(size.nbits, ROWS[row].nbits);
        assert_int_equal(size.nhashes, ROWS[row].nhashes);
        struct seed seed = seed_of(ROWS[row].seed);
        struct hash hash = hash_of_sip13(&seed, ROWS[row].item, ROWS[row].len);
        struct layer layer = {0};
        layer_set_geometry(&layer, (struct geometry){LAYOUT_CLASSIC, SCHEME_SIP13});
        layer_set_nbits(&layer, size.nbits);
        for (uint32_t i = 0; i < size.nhashes; i++) {
            uint64_t value = walk_value(SCHEME_SIP13, hash, size.nbits, i);
            assert_int_equal(layer_position(&layer, value), ROWS[row].positions[i]);
        }
    }
}

static void the_fixed_seed_is_its_bytes(void **state) {
    (void)state;
    struct bytes seed =
        from_hex("590ff522ea7811daa714d8093b3e7bd91d898a733e988887307f97cd28073383");
    for (size_t i = 0; i < 4; i++) {
        assert_true(hash_le(seed.at + 8 * i, 8) == VALKEYBLOOM_FIXED_SEED.keys[i]);
    }
    assert_true(valkeybloom_is_fixed_seed(&VALKEYBLOOM_FIXED_SEED));
    struct seed other = VALKEYBLOOM_FIXED_SEED;
    other.keys[3] ^= 1;
    assert_false(valkeybloom_is_fixed_seed(&other));
    free(seed.at);
}

/* ---- BF.LOAD's string ---- */

static void check_recorded(const struct golden *golden) {
    struct bytes bytes = from_hex(golden->load);
    struct filter *filter = load(&bytes);
    assert_true(filter->origin == ORIGIN_VALKEYBLOOM && !filter->is_loading);
    assert_null(limits_fault(filter));
    assert_true(codec_bits_are_sound(filter));
    assert_answers(filter, golden);
    struct bytes again = encode(filter);
    assert_same_bytes(&again, &bytes);
    free(again.at);
    free(bytes.at);
    filter_free(filter);
}

/* Only a string that nobody would write has it so. */
static void the_flag_of_any_seed_stays_with_the_fixed_seed(void **state) {
    (void)state;
    struct filter_params params = {.capacity = 10,
                                   .error_rate = 0.01,
                                   .scheme = SCHEME_SIP13,
                                   .seed = VALKEYBLOOM_FIXED_SEED,
                                   .origin = ORIGIN_VALKEYBLOOM,
                                   .ratio = 0.5};
    for (uint8_t flag = 0; flag < 2; flag++) {
        struct filter *filter = filter_as(&params);
        struct bytes bytes = encode(filter);
        assert_int_equal(bytes.at[LOAD_FLAG], 0);
        bytes.at[LOAD_FLAG] = flag;
        struct filter *loaded = load(&bytes);
        struct bytes again = encode(loaded);
        assert_same_bytes(&again, &bytes);
        assert_int_equal(same_filter(loaded, filter), flag == 0);
        free(again.at);
        free(bytes.at);
        filter_free(loaded);
        filter_free(filter);
    }
}

static void recorded_filters_answer_as_recorded_and_keep_their_bytes(void **state) {
    (void)state;
    assert_int_equal(for_each_golden("01", check_recorded), 22);
}

/* An empty filter with the parameters of another one. */
static struct filter *empty_like(const struct filter *filter) {
    struct filter_params params = {.capacity = filter->layers[0].capacity,
                                   .error_rate = filter->error_rate,
                                   .expansion = filter->expansion,
                                   .scheme = SCHEME_SIP13,
                                   .seed = filter->seed,
                                   .origin = ORIGIN_VALKEYBLOOM,
                                   .ratio = filter->ratio};
    struct filter *fresh = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &fresh), STATUS_OK);
    return fresh;
}

static void add_extra(struct filter *filter, char *list) {
    for (char *word = strtok(list, ","); word && word[0] == 'x'; word = strtok(NULL, ",")) {
        struct bytes item = from_hex(word + 1);
        bool added;
        struct hash hash = filter_hash(filter, item.at, item.len);
        assert_int_equal(add_growing(filter, hash, FILTER_NO_LIMIT, &added), STATUS_OK);
        free(item.at);
    }
}

static void add_again(const struct golden *golden) {
    struct bytes bytes = from_hex(golden->load);
    struct filter *filter = load(&bytes), *fresh = empty_like(filter);
    for (uint64_t i = 0; i < golden->items; i++) {
        bool added;
        add_growing(fresh, hash_of_text(fresh, "%s:%llu", golden->prefix, i), FILTER_NO_LIMIT,
                    &added);
    }
    add_extra(fresh, golden->extra);
    assert_true(same_filter(filter, fresh));
    struct bytes again = encode(fresh);
    assert_same_bytes(&again, &bytes);
    free(again.at);
    free(bytes.at);
    filter_free(filter);
    filter_free(fresh);
}

static void the_same_items_make_the_recorded_bytes(void **state) {
    (void)state;
    assert_int_equal(for_each_golden("01", add_again), 22);
}

/* Adds new items until the filter has `nlayers` layers. */
static void grow_to(struct filter *filter, uint32_t nlayers) {
    for (uint64_t i = 0; filter->nlayers < nlayers; i++) {
        bool added;
        assert_true(i < 1000000);
        assert_int_equal(add_growing(filter, hash_of_text(filter, "%s:%llu", "more", i),
                                     FILTER_NO_LIMIT, &added),
                         STATUS_OK);
    }
}

static void grow_recorded(const struct golden *golden) {
    struct bytes bytes = from_hex(golden->load);
    struct filter *filter = load(&bytes);
    uint32_t before = filter->nlayers;
    bool is_known_growth = filter->expansion == 0 || filter->layers[0].nhashes == 1;
    if (!is_known_growth) grow_to(filter, before + 2);
    for (uint32_t i = 1; i < filter->nlayers && !is_known_growth; i++) {
        const struct layer *layer = &filter->layers[i];
        double capacity = (double)filter->layers[0].capacity * pow(filter->expansion, i);
        double rate = filter->error_rate * pow(filter->ratio, i);
        double size = ceil(capacity * log(rate) / (-8 * log(2) * log(2)));
        assert_true((double)layer->capacity == capacity);
        assert_true(fabs(layer->error_rate - rate) <= rate * 1e-14);
        assert_int_equal(layer->nbits, 8 * (uint64_t)size);
        assert_int_equal(layer->nhashes, (uint32_t)fmax(1, round(8 * size / capacity * log(2))));
        assert_true(i + 1 == filter->nlayers || layer->items == layer->capacity);
    }
    struct bytes grown = encode(filter);
    struct filter *again = load(&grown);
    assert_true(same_filter(filter, again));
    filter_free(again);
    free(grown.at);
    free(bytes.at);
    filter_free(filter);
}

static void a_loaded_filter_grows_by_valkey_blooms_rules(void **state) {
    (void)state;
    assert_int_equal(for_each_golden("01", grow_recorded), 22);
}

static void the_header_of_an_array_is_checked_on_its_own(void **state) {
    (void)state;
    struct filter filter = {.seed = VALKEYBLOOM_FIXED_SEED};
    struct layer layer = {.nbits = 16, .nhashes = 11};
    uint8_t array[VALKEYBLOOM_ARRAY_HEADER + 2] = {0};
    uint64_t nbits = 1, nhashes = 2;
    struct seed seed = {{0, 0, 0, 0}};
    valkeybloom_encode_array_header(&filter, &layer, array);
    for (size_t len = 0; len < sizeof array; len++) {
        assert_non_null(valkeybloom_decode_array_header(array, len, &nbits, &nhashes, &seed));
    }
    array[9] = 0;
    assert_string_equal(
        valkeybloom_decode_array_header(array, sizeof array, &nbits, &nhashes, &seed), "hashes");
    assert_true(nbits == 1 && nhashes == 2 && seed.keys[0] == 0);
    array[9] = 11;
    assert_null(valkeybloom_decode_array_header(array, sizeof array, &nbits, &nhashes, &seed));
    assert_true(nbits == 16 && nhashes == 11 && valkeybloom_is_fixed_seed(&seed));
}

/* ---- Encoding version 0 ---- */

/* Appends the layer "capacity,items,m,k,bits" of the golden file. */
static void put_old_layer(struct filter *filter, char *text) {
    struct valkeybloom_layer layer = {.seed = VALKEYBLOOM_FIXED_SEED};
    layer.capacity = strtoull(text, &text, 10);
    layer.items = strtoull(text + 1, &text, 10);
    layer.nbits = strtoull(text + 1, &text, 10);
    layer.nhashes = strtoull(text + 1, &text, 10);
    assert_null(valkeybloom_put_layer(filter, &layer));
    struct bytes bits = from_hex(text + 1);
    assert_int_equal(bits.len, layer.nbits / 8);
    valkeybloom_reverse_bits(bits.at, bits.len);
    struct layer *newest = filter_newest(filter), source = *newest;
    source.bits = bits.at;
    source.ones = layer_count_ones(&source);
    assert_int_equal(layer_copy(newest, &source), STATUS_OK);
    free(bits.at);
}

static void check_old(const struct golden *golden) {
    char *rest = strchr(golden->load, ';');
    uint32_t word = (uint32_t)strtoul(strchr(golden->load, ',') + 1, NULL, 16);
    word = __builtin_bswap32(word); // the bytes of a float, as they come
    float rate;
    memcpy(&rate, &word, 4);
    struct valkeybloom_fixed fixed = {.expansion = strtoull(golden->load + 4, NULL, 10),
                                      .error_rate = (double)rate,
                                      .ratio = VALKEYBLOOM_OLD_RATIO};
    for (const char *at = rest; at; at = strchr(at + 1, ';')) fixed.nlayers++;
    const char *fault;
    struct filter *filter = valkeybloom_new_bare(&fixed, &fault);
    assert_non_null(filter);
    for (char *layer = strtok(rest, ";"); layer; layer = strtok(NULL, ";")) {
        put_old_layer(filter, layer);
    }
    assert_null(valkeybloom_check_sums(filter));
    assert_answers(filter, golden);
    struct bytes bytes = encode(filter); // saved in version 1 from now on
    struct filter *again = load(&bytes);
    assert_true(same_filter(filter, again));
    free(bytes.at);
    filter_free(again);
    filter_free(filter);
}

static void filters_of_the_old_encoding_answer_as_recorded(void **state) {
    (void)state;
    assert_int_equal(for_each_golden("old:", check_old), 3);
}

/* ---- What is refused ---- */

/* A filter of three layers for 2, 4 and 8 items, with one item in the last. */
static struct filter *grown(void) {
    struct filter like = {.error_rate = 0.1, .ratio = 0.5, .expansion = 2};
    struct layer first = {.capacity = 2};
    like.layers = &first;
    like.seed = seed_of("count");
    struct filter *filter = empty_like(&like);
    grow_to(filter, 3);
    return filter;
}

/* Heap blocks of the exact length: the sanitizer sees overreads. */
static enum status decode(const uint8_t *bytes, size_t len, uint64_t max_bytes, struct filter **out,
                          const char **fault) {
    uint8_t *exact = malloc(len ? len : 1);
    if (len) memcpy(exact, bytes, len);
    *fault = NULL;
    enum status status = valkeybloom_decode_load(exact, len, max_bytes, out, fault);
    free(exact);
    return status;
}

static void every_truncation_and_extension_is_refused(void **state) {
    (void)state;
    struct filter *filter = grown(), *out = NULL;
    struct bytes bytes = encode(filter);
    uint8_t *longer = calloc(1, bytes.len + 80);
    memcpy(longer, bytes.at, bytes.len);
    for (size_t len = 0; len <= bytes.len + 80; len++) {
        const char *fault;
        if (len == bytes.len) continue;
        assert_int_equal(decode(longer, len, FILTER_NO_LIMIT, &out, &fault), STATUS_CORRUPT);
        assert_non_null(fault);
        assert_ptr_not_equal(fault, VALKEYBLOOM_UNKNOWN_VERSION);
    }
    free(longer);
    free(bytes.at);
    filter_free(filter);
}

/* What a decoded filter must bear. */
static void use(struct filter *filter) {
    assert_null(limits_fault(filter));
    assert_true(codec_bits_are_sound(filter));
    struct bytes bytes = encode(filter);
    struct filter *again = load(&bytes);
    assert_true(same_filter(filter, again));
    free(bytes.at);
    filter_free(again);
    bool added;
    add_growing(filter, hash_of_text(filter, "%s:%llu", "use", 1), 1 << 20, &added);
    if (!limits_obstacle_to_native(filter)) {
        assert_null(header_make_native(filter));
        assert_null(limits_fault(filter));
    }
}

static void every_changed_byte_is_refused_or_a_usable_filter(void **state) {
    (void)state;
    struct filter *filter = grown();
    struct bytes bytes = encode(filter);
    unsigned refused = 0, sound = 0;
    for (size_t at = 0; at < bytes.len; at++) {
        for (int value = 0; value < 256; value++) {
            uint8_t kept = bytes.at[at];
            bytes.at[at] = (uint8_t)value;
            struct filter *out = NULL;
            const char *fault;
            enum status st = decode(bytes.at, bytes.len, 1 << 20, &out, &fault);
            if (st == STATUS_OK) {
                use(out);
                filter_free(out);
                sound++;
            } else {
                assert_int_equal(st, STATUS_CORRUPT);
                assert_int_equal(fault == VALKEYBLOOM_UNKNOWN_VERSION, at == 0);
                refused++;
            }
            bytes.at[at] = kept;
        }
    }
    assert_true(refused > 1000 && sound > 1000);
    free(bytes.at);
    filter_free(filter);
}

/* A change of BF.LOAD's string of one layer, and the field that is named. */
static void expect_fault(size_t at, uint64_t value, size_t nbytes, const char *expected) {
    struct filter like = {.error_rate = 0.01, .ratio = 0.5, .expansion = 2};
    struct layer first = {.capacity = 100};
    like.layers = &first;
    like.seed = seed_of("count");
    struct filter *filter = empty_like(&like), *out = NULL;
    struct bytes bytes = encode(filter);
    struct writer w = {bytes.at + at};
    put_uint(&w, value, nbytes);
    const char *fault;
    enum status st = decode(bytes.at, bytes.len, FILTER_NO_LIMIT, &out, &fault);
    if (expected) {
        assert_int_equal(st, STATUS_CORRUPT);
        assert_string_equal(fault, expected);
    } else {
        assert_int_equal(st, STATUS_OK);
        filter_free(out);
    }
    free(bytes.at);
    filter_free(filter);
}

static void expect_bad_double(size_t at, double value, const char *expected) {
    uint64_t word;
    memcpy(&word, &value, 8);
    expect_fault(at, word, 8, expected);
}

static void every_field_is_checked(void **state) {
    (void)state;
    const size_t items = LOAD_ARRAY + 45 + 120, capacity = items + 8;
    expect_fault(0, 1, 1, NULL);
    expect_fault(0, 2, 1, "version");
    expect_fault(1, UINT32_MAX, 4, NULL);
    expect_bad_double(LOAD_RATE, 0, "error rate");
    expect_bad_double(LOAD_RATE, 1, "error rate");
    expect_bad_double(LOAD_RATE, -0.01, "error rate");
    expect_bad_double(LOAD_RATE, (double)NAN, "error rate");
    expect_bad_double(LOAD_RATE, 1e-320, NULL); // BF.RESERVE takes it
    expect_bad_double(LOAD_RATIO, 0, "tightening ratio");
    expect_bad_double(LOAD_RATIO, 1, "tightening ratio");
    expect_bad_double(LOAD_RATIO, (double)NAN, "tightening ratio");
    expect_fault(LOAD_FLAG, 2, 1, "seed flag");
    expect_fault(LOAD_FLAG, 0, 1, "seed"); // it is not the fixed one
    expect_fault(LOAD_LAYERS, 0, 8, "number of layers");
    expect_fault(LOAD_LAYERS, 2, 8, "length of an array");
    expect_fault(LOAD_LAYERS, UINT64_MAX, 8, "number of layers");
    expect_fault(30, UINT64_MAX, 8, "length of an array");
    expect_fault(LOAD_ARRAY, 2, 1, "version of an array");
    expect_fault(LOAD_ARRAY + 1, 119, 8, "bits");
    expect_fault(LOAD_ARRAY + 9, 0, 4, "hashes");
    expect_fault(LOAD_ARRAY + 9, 1100, 4, NULL);
    expect_fault(LOAD_ARRAY + 9, 1101, 4, "hashes");
    expect_fault(items, 100, 8, NULL);
    expect_fault(items, 101, 8, "items");
    expect_fault(items, UINT64_MAX, 8, "items");
    expect_fault(capacity, 0, 8, "capacity");
    expect_fault(capacity, INT64_MAX, 8, NULL);
    expect_fault(capacity, (uint64_t)INT64_MAX + 1, 8, "capacity");
}

static void layers_must_have_one_seed_and_all_but_the_last_be_full(void **state) {
    (void)state;
    struct filter *filter = grown(), *out = NULL;
    struct bytes bytes = encode(filter);
    size_t first = layer_array_bytes(&filter->layers[0]);
    size_t items = LOAD_ARRAY + 45 + first, second = items + 16 + 8;
    const char *fault;
    bytes.at[second + 13] ^= 1;
    assert_int_equal(decode(bytes.at, bytes.len, FILTER_NO_LIMIT, &out, &fault), STATUS_CORRUPT);
    assert_string_equal(fault, "seed");
    bytes.at[second + 13] ^= 1;
    bytes.at[items]--;
    assert_int_equal(decode(bytes.at, bytes.len, FILTER_NO_LIMIT, &out, &fault), STATUS_CORRUPT);
    assert_string_equal(fault, "items");
    free(bytes.at);
    filter_free(filter);
}

/* ---- Memory ---- */

static void a_promise_of_more_bytes_than_there_are_allocates_none(void **state) {
    (void)state;
    struct filter *filter = grown(), *out = NULL;
    struct bytes bytes = encode(filter);
    filter_free(filter);
    struct writer layers = {bytes.at + LOAD_LAYERS};
    const char *fault;
    put_u64(&layers, 65536);
    spy_fail_at(0);
    assert_int_equal(decode(bytes.at, bytes.len, FILTER_NO_LIMIT, &out, &fault), STATUS_CORRUPT);
    assert_int_equal(spy.calls, 0);
    layers.at -= 8;
    put_u64(&layers, 3);
    struct writer length = {bytes.at + LOAD_ARRAY - 8};
    put_u64(&length, UINT64_C(1) << 40);
    put_u8(&length, 1);
    put_u64(&length, (UINT64_C(1) << 40) - 45);
    assert_int_equal(decode(bytes.at, bytes.len, FILTER_NO_LIMIT, &out, &fault), STATUS_CORRUPT);
    assert_true(spy.largest < 1000);
    free(bytes.at);
}

static void decoding_is_held_to_max_bytes_and_out_of_memory_leaves_nothing(void **state) {
    (void)state;
    struct filter *filter = grown(), *out = NULL;
    struct bytes bytes = encode(filter);
    uint64_t size = filter_size_bytes(filter);
    filter_free(filter);
    const char *fault;
    assert_int_equal(decode(bytes.at, bytes.len, size - 1, &out, &fault), STATUS_NOMEM);
    enum status status = STATUS_NOMEM;
    for (long n = 1; status != STATUS_OK; n++) {
        spy_fail_at(n);
        status = decode(bytes.at, bytes.len, size, &out, &fault);
        assert_true(status == STATUS_OK || status == STATUS_NOMEM);
        if (status == STATUS_OK) {
            assert_int_equal(n, 2 + 3 + 1); // the filter, its layers, three arrays
            filter_free(out);
        }
        assert_int_equal(spy.live, 0);
    }
    free(bytes.at);
}

/* ---- The header of chunks ---- */

static struct bytes header_of(const struct filter *filter) {
    struct bytes bytes = {.len = codec_header_size(filter)};
    bytes.at = malloc(bytes.len);
    codec_encode_header(filter, bytes.at);
    return bytes;
}

static enum status decode_header(const uint8_t *bytes, size_t len, struct filter **out) {
    uint8_t *exact = malloc(len ? len : 1);
    if (len) memcpy(exact, bytes, len);
    enum status status = codec_decode_header(exact, len, 1 << 20, out);
    free(exact);
    return status;
}

static void chunk_recorded(const struct golden *golden) {
    struct bytes bytes = from_hex(golden->load);
    struct filter *filter = load(&bytes), *copy = NULL;
    struct bytes header = header_of(filter);
    assert_int_equal(header.len, 72 + 32 * filter->nlayers + 8);
    assert_memory_equal(header.at, "BLOOMFLT", 8);
    assert_int_equal(decode_header(header.at, header.len, &copy), STATUS_OK);
    const uint8_t *piece;
    size_t len;
    for (uint64_t at = 0; (len = codec_piece_at(filter, at, 7, &piece)) > 0; at += len) {
        enum codec_piece result = codec_put_piece(copy, at + len, piece, len);
        assert_true(result == CODEC_PIECE_STORED || result == CODEC_PIECE_PRESENT);
    }
    assert_true(same_filter(filter, copy));
    struct bytes again = encode(copy);
    assert_same_bytes(&again, &bytes);
    free(again.at);
    free(header.at);
    free(bytes.at);
    filter_free(copy);
    filter_free(filter);
}

static void header_and_pieces_make_the_same_filter(void **state) {
    (void)state;
    assert_int_equal(for_each_golden("01", chunk_recorded), 22);
}

/* A header that never changes: capacity 2, error rate 0.1, expansion 2, three layers. */
static void a_known_filter_has_its_golden_header(void **state) {
    (void)state;
    struct filter *filter = grown();
    struct bytes header = header_of(filter);
    struct bytes golden = from_hex("424c4f4f4d464c54"
                                   "01000000"
                                   "02000000"
                                   "03000000"
                                   "01000000"
                                   "9a9999999999b93f"
                                   "000000000000e03f"
                                   "000102030405060708090a0b0c0d0e0f"
                                   "101112131415161718191a1b1c1d1e1f"
                                   "0200000000000000"
                                   "0200000000000000"
                                   "1000000000000000"
                                   "0600000000000000"
                                   "0400000000000000"
                                   "0400000000000000"
                                   "2000000000000000"
                                   "0600000000000000"
                                   "0800000000000000"
                                   "0100000000000000"
                                   "4000000000000000"
                                   "0600000000000000");
    assert_int_equal(header.len, golden.len + 8);
    assert_memory_equal(header.at, golden.at, golden.len);
    assert_true(hash_le(header.at + golden.len, 8) == XXH64(golden.at, golden.len, 0));
    free(golden.at);
    free(header.at);
    filter_free(filter);
}

static void damaged_headers_are_refused(void **state) {
    (void)state;
    struct filter *filter = grown(), *out = NULL;
    struct bytes header = header_of(filter);
    uint8_t *longer = calloc(1, header.len + 32);
    memcpy(longer, header.at, header.len);
    for (size_t len = 0; len <= header.len + 32; len++) {
        if (len != header.len) assert_int_equal(decode_header(longer, len, &out), STATUS_CORRUPT);
    }
    for (size_t at = 0; at < 8 * header.len; at++) {
        longer[at / 8] ^= (uint8_t)(1U << at % 8);
        assert_int_equal(decode_header(longer, header.len, &out), STATUS_CORRUPT);
        longer[at / 8] ^= (uint8_t)(1U << at % 8);
    }
    free(longer);
    free(header.at);
    filter_free(filter);
}

/* The checksum is made right again: now the fields themselves are checked. */
static void headers_with_other_fields_are_refused_or_usable_filters(void **state) {
    (void)state;
    struct filter *filter = grown();
    struct bytes header = header_of(filter);
    for (size_t at = 0; at < header.len - 8; at++) {
        for (int value = 0; value < 256; value += 5) {
            uint8_t kept = header.at[at];
            header.at[at] = (uint8_t)value;
            struct writer w = {header.at + header.len - 8};
            put_u64(&w, hash_checksum(header.at, header.len - 8));
            struct filter *out = NULL;
            enum status st = decode_header(header.at, header.len, &out);
            bool is_zero = (at >= 21 && at < 24) || (at >= 72 && (at - 72) % 32 >= 28);
            if (value != kept && (at < 12 || is_zero)) assert_int_equal(st, STATUS_CORRUPT);
            if (st == STATUS_OK) {
                use(out);
                filter_free(out);
            }
            header.at[at] = kept;
        }
    }
    free(header.at);
    filter_free(filter);
}

/* ---- Filters of our own ---- */

static void convert_recorded(const struct golden *golden) {
    struct bytes bytes = from_hex(golden->load);
    struct filter *filter = load(&bytes), *copy = NULL;
    struct seed seed = filter->seed;
    double first = filter->error_rate;
    assert_null(limits_obstacle_to_native(filter));
    assert_null(header_make_native(filter));
    assert_null(limits_fault(filter));
    assert_true(filter->origin == ORIGIN_OWN && filter->ratio == 0);
    assert_ptr_equal(origin_rules(filter->origin, filter->scheme), origin_row(ORIGIN_OWN));
    assert_memory_equal(&filter->seed, &seed, sizeof seed);
    assert_answers(filter, golden);
    double sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].error_rate;
    assert_true(filter->expansion ? filter->error_rate >= fmin(sum, 0.999)
                                  : filter->error_rate == first);

    struct bytes header = header_of(filter);
    assert_memory_equal(header.at, "BLOOMPRT", 8);
    assert_int_equal(decode_header(header.at, header.len, &copy), STATUS_OK);
    assert_int_equal(copy->origin, ORIGIN_OWN);
    assert_ptr_equal(origin_rules(copy->origin, copy->scheme), origin_row(ORIGIN_OWN));
    filter_free(copy);
    free(header.at);
    free(bytes.at);
    filter_free(filter);
}

static void filters_of_our_own_answer_as_before_and_can_be_saved(void **state) {
    (void)state;
    assert_int_equal(for_each_golden("01", convert_recorded), 22);
}

/* The promise: the rates of all layers, with those to come, stay under the filter's. */
static void a_filter_of_our_own_keeps_its_rate_when_it_grows(void **state) {
    (void)state;
    struct filter *filter = grown();
    assert_null(header_make_native(filter));
    grow_to(filter, 12);
    double sum = 0;
    for (uint32_t i = 0; i < filter->nlayers; i++) sum += filter->layers[i].error_rate;
    assert_true(sum <= filter->error_rate);
    filter_free(filter);
}

static void what_our_own_type_cannot_have_is_an_obstacle(void **state) {
    (void)state;
    struct filter *filter = grown();
    struct layer *newest = filter_newest(filter);
    filter->expansion = UINT32_MAX; // what its own type has, ours has too
    newest->nhashes = SIZING_INCUMBENT_HASHES;
    assert_null(limits_obstacle_to_native(filter));
    newest->nhashes = 6;
    newest->items = newest->ones + 1; // within the capacity
    newest->capacity = newest->items;
    assert_string_equal(limits_obstacle_to_native(filter), "items");
    newest->items = 0;
    assert_string_equal(limits_obstacle_to_native(filter), "items");
    newest->items = 1;
    assert_null(limits_obstacle_to_native(filter));
    filter_free(filter);
}

static void the_format_keeps_foreign_filters_or_makes_them_ours(void **state) {
    (void)state;
    struct filter *filter = grown();
    assert_null(formats_obstacle(filter, FORMAT_VALKEYBLOOM, VARIANT_NONE));
    assert_string_equal(formats_obstacle(filter, FORMAT_PORTABLE, VARIANT_NONE),
                        "hash is SIP13, use valkeybloom");
    struct bytes bytes = encode(filter);
    for (int keep = 0; keep < 2; keep++) {
        struct formats_options options = {.keep_foreign = keep};
        struct filter *out = NULL;
        const char *fault;
        assert_int_equal(formats_decode(FORMAT_VALKEYBLOOM, bytes.at, bytes.len, &options,
                                        FILTER_NO_LIMIT, &out, &fault),
                         STATUS_OK);
        assert_int_equal(out->origin, keep ? ORIGIN_VALKEYBLOOM : ORIGIN_OWN);
        assert_null(formats_obstacle(out, FORMAT_VALKEYBLOOM, VARIANT_NONE));
        struct bytes again = encode(out); // also of our own: the ratio is valkey-bloom's default
        assert_same_bytes(&again, &bytes);
        free(again.at);
        filter_free(out);
    }
    free(bytes.at);
    filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(sizes_and_positions_are_the_recorded_ones),
        spied(the_fixed_seed_is_its_bytes),
        spied(the_flag_of_any_seed_stays_with_the_fixed_seed),
        spied(recorded_filters_answer_as_recorded_and_keep_their_bytes),
        spied(the_same_items_make_the_recorded_bytes),
        spied(a_loaded_filter_grows_by_valkey_blooms_rules),
        spied(the_header_of_an_array_is_checked_on_its_own),
        spied(filters_of_the_old_encoding_answer_as_recorded),
        spied(every_truncation_and_extension_is_refused),
        spied(every_changed_byte_is_refused_or_a_usable_filter),
        spied(every_field_is_checked),
        spied(layers_must_have_one_seed_and_all_but_the_last_be_full),
        spied(a_promise_of_more_bytes_than_there_are_allocates_none),
        spied(decoding_is_held_to_max_bytes_and_out_of_memory_leaves_nothing),
        spied(header_and_pieces_make_the_same_filter),
        spied(a_known_filter_has_its_golden_header),
        spied(damaged_headers_are_refused),
        spied(headers_with_other_fields_are_refused_or_usable_filters),
        spied(filters_of_our_own_answer_as_before_and_can_be_saved),
        spied(a_filter_of_our_own_keeps_its_rate_when_it_grows),
        spied(what_our_own_type_cannot_have_is_an_obstacle),
        spied(the_format_keeps_foreign_filters_or_makes_them_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
