/* What the fuzz targets share. See fuzz.h. */

#include "tests/fuzz/fuzz.h"

#include "module/core/filter/blocked.h"
#include "module/core/filter/packed.h"
#include "module/core/filter/window.h"
#include "module/core/mem.h"
#include "rdb/codec.h"
#include "rdb/formats/formats.h"
#include "rdb/short_record.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void fuzz_fail(const char *claim, const char *file, int line) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, claim);
    abort();
}

/* ---- Memory --------------------------------------------------------------------------------- */

#define MOST_BLOCKS 4096

size_t fuzz_largest = FUZZ_LARGEST;

static struct {
    void *blocks[MOST_BLOCKS]; // allocated and not freed
    size_t nblocks;
    unsigned calls, fail_at;
} heap;

static void *take_block(size_t size) {
    heap.calls++;
    if (heap.calls == heap.fail_at || size > fuzz_largest || heap.nblocks == MOST_BLOCKS) {
        return NULL;
    }
    void *block = malloc(size);
    if (block) heap.blocks[heap.nblocks++] = block;
    return block;
}

static void give_back(void *block) {
    size_t i = heap.nblocks;
    while (i > 0 && heap.blocks[i - 1] != block) i--;
    CLAIM(i > 0); // otherwise freed twice, or never allocated
    heap.blocks[i - 1] = heap.blocks[--heap.nblocks];
    free(block);
}

void fuzz_fail_at(unsigned fail_at) {
    heap.calls = 0;
    heap.fail_at = fail_at;
}

void fuzz_begin(unsigned fail_at) {
    mem_set_hooks((struct mem_hooks){take_block, give_back});
    CLAIM(heap.nblocks == 0);
    fuzz_fail_at(fail_at);
}

void fuzz_end(void) {
    CLAIM(heap.nblocks == 0); // otherwise leaked
}

void fuzz_end_forgiving(void) {
    while (heap.nblocks > 0) free(heap.blocks[--heap.nblocks]);
}

/* ---- What must hold ------------------------------------------------------------------------- */

static uint64_t array_bytes(const struct layer *layer) {
    uint64_t per_byte = layer->layout == LAYOUT_COUNTING ? 2 : 8;
    return (layer->nbits + per_byte - 1) / per_byte;
}

/* The set bits, or the counters over 0. None may be beyond m. */
static uint64_t count_ones(const struct layer *layer) {
    unsigned width = layer->layout == LAYOUT_COUNTING ? 4 : 1, per_byte = 8 / width;
    uint64_t ones = 0, bytes = array_bytes(layer);
    for (uint64_t p = 0; p < bytes * per_byte; p++) {
        unsigned byte = layer->bits[p / per_byte];
        unsigned value = byte >> width * (p % per_byte) & ((1U << width) - 1);
        CLAIM(p < layer->nbits || value == 0);
        ones += value != 0;
    }
    return ones;
}

static void check_layer(const struct filter *f, const struct layer *l) {
    CLAIM(l->bits && l->nbits >= 1 && l->nbits <= (uint64_t)1 << 60);
    CLAIM(l->nhashes >= 1 &&
          l->nhashes <= limits_max_hashes((struct geometry){f->layout, f->scheme}));
    CLAIM(l->capacity >= 1 && l->capacity <= INT64_MAX);
    bool counts = f->layout == LAYOUT_COUNTING; // copies too
    CLAIM(l->items <= l->capacity || f->is_estimated || filter_is_foreign(f) || counts);
    CLAIM(l->items <= INT64_MAX);
    CLAIM(l->error_rate > 0 && l->error_rate <= 1);
    CLAIM(l->layout == f->layout && l->shift == scheme_row(f->scheme)->shift);
    CLAIM(l->inverse == UINT64_MAX / l->nbits);
    if (f->layout == LAYOUT_COUNTING) CLAIM(l->nhashes <= 30);
    if (f->layout == LAYOUT_BLOCKED) CLAIM(l->nbits % 256 == 0 && l->nhashes == 8);
    if (f->scheme == SCHEME_ROCKSDB || f->scheme == SCHEME_ROCKSDB4) CLAIM(l->nbits % 512 == 0);
    if (f->scheme == SCHEME_BIP37) CLAIM(l->nbits <= 8 * 36000);
    if (f->is_loading) return; // the bits are not all there
    CLAIM(l->ones == count_ones(l));
    if (filter_is_foreign(f)) return; // RedisBloom takes any bits with any count
    if (counts) return;               // removals may leave any set bits
    CLAIM(l->items <= l->ones && (double)l->items * l->nhashes >= (double)l->ones);
}

/* Generations come in order, and all live when the newest begins. */
static void check_window(const struct filter *f) {
    CLAIM(f->layout != LAYOUT_COUNTING || (!f->window && f->expansion == 0 && f->nlayers == 1));
    if (!f->window) CLAIM(f->generations == 0 && f->window_capacity == 0);
    if (f->window) CLAIM(f->window <= 1000000000 && f->generations >= 1 && f->generations <= 64);
    if (f->window) CLAIM(f->expansion > 0 && f->window_capacity >= 1);
    uint64_t newest = filter_newest(f)->start, before = 0;
    for (uint32_t i = 0; i < f->nlayers; i++) {
        uint64_t start = f->layers[i].start;
        CLAIM(start >= before && (start == 0) == (newest == 0) && (f->window || start == 0));
        if (start) CLAIM(start % window_step(f->window, f->generations) == 0);
        if (start) CLAIM(start <= INT64_MAX && window_end(f, start) > newest);
        before = start;
    }
}

void fuzz_check(const struct filter *f) {
    CLAIM(f->form == 0 && f->nlayers >= 1);
    CLAIM(f->expansion <= limits_max_expansion(f->scheme) || filter_is_foreign(f));
    CLAIM(f->bits_per_key == 0
              ? f->error_rate > 0 && f->error_rate < 1
              : f->error_rate == 0 && f->bits_per_key >= 1 && f->bits_per_key <= 256);
    CLAIM(f->layout != LAYOUT_BLOCKED || f->scheme == SCHEME_XXH64);
    if (f->scheme >= SCHEME_GUAVA32) CLAIM(f->layout == LAYOUT_CLASSIC && !f->window);
    check_window(f);
    uint64_t bytes = 0;
    double capacity = 0;
    for (uint32_t i = 0; i < f->nlayers; i++) {
        check_layer(f, &f->layers[i]);
        bytes += array_bytes(&f->layers[i]);
        capacity += (double)f->layers[i].capacity;
    }
    CLAIM(f->is_loading ? f->loaded < bytes : f->loaded == bytes);
    CLAIM(capacity <= 0x1p63 && filter_capacity(f) <= INT64_MAX);
    CLAIM(filter_array_bytes(f) == bytes);
}

/* ---- Images --------------------------------------------------------------------------------- */

struct image fuzz_image(const struct filter *filter) {
    size_t header = codec_header_size(filter);
    struct image image = {NULL, header, header + (size_t)filter_array_bytes(filter)};
    image.bytes = malloc(image.len);
    CLAIM(image.bytes);
    codec_encode_header(filter, image.bytes);
    uint8_t *at = image.bytes + header;
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        size_t size = (size_t)array_bytes(&filter->layers[i]);
        memcpy(at, filter->layers[i].bits, size);
        at += size;
    }
    return image;
}

void fuzz_release(struct image *image) {
    free(image->bytes);
    image->bytes = NULL;
}

bool fuzz_same(const struct image *a, const struct image *b) {
    return a->header == b->header && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

void fuzz_claim_same(const struct filter *filter, const struct image *image) {
    struct image other = fuzz_image(filter);
    CLAIM(fuzz_same(image, &other));
    fuzz_release(&other);
}

struct filter *fuzz_load(const struct image *image) {
    struct filter *filter = NULL;
    enum status st = codec_decode_header(image->bytes, image->header, FILTER_NO_LIMIT, &filter);
    CLAIM(st == STATUS_OK);
    bool is_loading = filter->is_loading;
    uint64_t loaded = filter->loaded, total = image->len - image->header;
    codec_expect_pieces(filter);
    const uint8_t *bytes = image->bytes + image->header;
    for (uint64_t at = 0; at < loaded;) {
        const uint8_t *here;
        size_t len = codec_piece_at(filter, at, (size_t)(loaded - at), &here);
        CLAIM(len > 0);
        enum codec_piece result = codec_put_piece(filter, at + len, bytes + at, len);
        CLAIM(result == CODEC_PIECE_STORED ||
              (filter_is_foreign(filter) && result == CODEC_PIECE_PRESENT));
        at += len;
    }
    CLAIM(filter->is_loading == is_loading && filter->loaded == loaded && loaded <= total);
    return filter;
}

/* ---- The mill ------------------------------------------------------------------------------- */

/* The short record, if it has one. */
static void save_short(const struct filter *filter, const struct image *image) {
    uint8_t record[SHORT_RECORD_MOST_BYTES];
    size_t len = short_record_encode(filter, record);
    if (len == 0) return;
    void *value = NULL;
    CLAIM(short_record_decode(record, len, FILTER_NO_LIMIT, NULL, &value) == STATUS_OK);
    struct packed_view view;
    fuzz_claim_same(packed_view(value, &view), image);
    packed_free(value);
}

static void save_and_load(const struct filter *filter) {
    struct image image = fuzz_image(filter);
    struct filter *again = fuzz_load(&image);
    fuzz_check(again);
    fuzz_claim_same(again, &image);
    filter_free(again);
    save_short(filter, &image);
    fuzz_release(&image);
}

static void copy_and_pack(const struct filter *filter) {
    struct filter *copy = NULL;
    struct image image = fuzz_image(filter);
    CLAIM(filter_copy(filter, &copy) == STATUS_OK);
    void *value = packed_pack(copy);
    struct packed_view view;
    fuzz_claim_same(packed_view(value, &view), &image);
    struct filter *whole = packed_unpack(value);
    CLAIM(whole && packed_size_bytes(value) > 0);
    fuzz_claim_same(whole, &image);
    filter_free(whole);
    packed_free(value);
    fuzz_release(&image);
}

/* What is exported again is the same bytes. */
static void claim_same_bytes(const struct filter *back, enum format format, const uint8_t *bytes,
                             size_t size) {
    CLAIM(!formats_obstacle(back, format, VARIANT_NONE) && formats_size(back, format) == size);
    uint8_t *again = malloc(size ? size : 1);
    CLAIM(again);
    formats_encode(back, format, VARIANT_NONE, again);
    CLAIM(memcmp(again, bytes, size) == 0);
    free(again);
}

static void export_and_import(const struct filter *filter, enum format format) {
    if (formats_obstacle(filter, format, VARIANT_NONE)) return;
    size_t size = (size_t)formats_size(filter, format);
    uint8_t *bytes = malloc(size ? size : 1);
    CLAIM(bytes);
    formats_encode(filter, format, VARIANT_NONE, bytes);
    const struct layer *first = &filter->layers[0];
    bool is_old = filter->scheme == SCHEME_CASSANDRA2;
    struct formats_options options = {.capacity = filter_capacity(filter),
                                      .expansion = filter->expansion,
                                      .scheme = filter->scheme,
                                      .variant = is_old ? VARIANT_OLD : VARIANT_4X,
                                      .keep_foreign = filter_is_foreign(filter),
                                      .nbits = first->nbits,
                                      .nhashes = first->nhashes};
    struct filter *back = NULL;
    const char *fault = NULL;
    enum status st = formats_decode(format, bytes, size, &options, FILTER_NO_LIMIT, &back, &fault);
    CLAIM(st == STATUS_OK);
    fuzz_check(back);
    CLAIM(back->scheme == filter->scheme && back->layout == filter->layout);
    CLAIM(filter_array_bytes(back) == filter_array_bytes(filter));
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        const struct layer *a = &filter->layers[i], *b = &back->layers[i];
        CLAIM(a->nbits == b->nbits && a->nhashes == b->nhashes && a->ones == b->ones);
        CLAIM(memcmp(a->bits, b->bits, (size_t)layer_bytes(a->nbits)) == 0);
    }
    if (scheme_row(filter->scheme)->is_imported) claim_same_bytes(back, format, bytes, size);
    filter_free(back);
    free(bytes);
}

#define ITEMS 12

/* The hashes of GO and BIP37 are good only as long as their items stay where they are. */
static const uint8_t NUMBERS[ITEMS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void look_up(const struct filter *filter) {
    struct hash hashes[ITEMS];
    bool answers[ITEMS];
    for (size_t i = 0; i < ITEMS; i++) hashes[i] = filter_hash(filter, &NUMBERS[i], i % 2);
    batch_contains_many(filter, hashes, ITEMS, answers);
    for (size_t i = 0; i < ITEMS; i++) CLAIM(answers[i] == filter_contains(filter, hashes[i]));
    for (uint32_t i = 0; i < filter->nlayers; i++) {
        uint64_t estimate = layer_estimate_items(&filter->layers[i]);
        double rate = layer_current_error_rate(&filter->layers[i]);
        CLAIM(estimate <= filter->layers[i].ones && rate >= 0 && rate <= 1);
    }
}

/* Whether the items are the adds that changed the filter, not those that found their item absent.
 */
static bool counts_changes(const struct filter *filter) {
    return filter->window || filter->layout == LAYOUT_COUNTING;
}

/* Adds one item, and grows the filter if it must. */
static enum status add_one(struct filter *filter, uint16_t item) {
    struct hash hash = filter_hash(filter, &item, sizeof(item));
    bool known = filter_contains(filter, hash);
    uint64_t items = filter_items(filter);
    struct outcome outcome;
    enum status st = filter_add(filter, hash, &outcome);
    if (st == STATUS_GROW) st = filter_grow(filter, FILTER_NO_LIMIT, LIMITS_MAX_LAYERS);
    if (st == STATUS_OK && !filter_contains(filter, hash)) st = filter_add(filter, hash, &outcome);
    CLAIM(st == STATUS_OK ? filter_contains(filter, hash) : !known || filter->window);
    if (st != STATUS_OK) return st;
    bool counts = counts_changes(filter) ? outcome.changed : outcome.answer;
    CLAIM(filter_items(filter) == items + counts);
    return st;
}

/* Adds items one by one, then many at once: until a few layers have come, if it grows at all. */
static void add(struct filter *filter) {
    uint32_t layers = filter->nlayers;
    for (uint16_t i = 0; i < 48 && filter->nlayers < layers + 3; i++) {
        if (add_one(filter, i) != STATUS_OK) break;
    }
    struct hash hashes[ITEMS];
    bool added[ITEMS];
    size_t done;
    for (size_t i = 0; i < ITEMS; i++) hashes[i] = filter_hash(filter, &NUMBERS[i], 1);
    uint64_t items = filter_items(filter);
    add_many_growing(filter, hashes, ITEMS, FILTER_NO_LIMIT, added, &done);
    for (size_t i = 0; i < done; i++) {
        items += added[i];
        CLAIM(filter_contains(filter, hashes[i]));
    }
    CLAIM(counts_changes(filter) ? filter_items(filter) >= items : filter_items(filter) == items);
}

/* Begins the next generation of a window, if a filter can have it; removes items of COUNTING. */
static void forget(struct filter *filter) {
    uint64_t step = filter->window ? window_step(filter->window, filter->generations) : 0;
    uint64_t start = filter_newest(filter)->start + step;
    struct filter *dropped = NULL;
    if (filter->window && start <= INT64_MAX) {
        enum status st = window_rotate(filter, start, FILTER_NO_LIMIT, &dropped);
        CLAIM(st == STATUS_OK ? filter_newest(filter)->start == start : !dropped);
        filter_free(dropped);
    }
    for (uint16_t i = 0; filter->layout == LAYOUT_COUNTING && i < 24; i++) {
        struct hash hash = filter_hash(filter, &i, sizeof(i));
        bool changed, known = filter_contains(filter, hash);
        CLAIM(filter_remove(filter, hash, &changed) == known && (known || !changed));
    }
}

void fuzz_mill(struct filter *filter, unsigned parts) {
    fuzz_fail_at(0);
    fuzz_check(filter);
    if (parts & MILL_SAVE) save_and_load(filter);
    if (parts & MILL_COPY) copy_and_pack(filter);
    if (!filter->is_loading) {
        if (parts & MILL_ASK) look_up(filter);
        for (int f = 0; parts & MILL_EXPORT && f < FORMAT_COUNT; f++) {
            export_and_import(filter, (enum format)f);
        }
        if (parts & MILL_ADD) {
            add(filter);
            forget(filter);
            fuzz_check(filter);
            if (filter->window) add(filter);
            fuzz_check(filter);
            save_and_load(filter);
        }
    }
    filter_free(filter);
}
