/* The pieces in which the bits of a filter are sent (rdb/FORMAT.md 4): the bit arrays of all layers
 * are one run of bytes, and a piece is any part of it within one layer. */

#include "tests/unit/helpers.h"

#include "rdb/codec.h"

/* Two layers, the second not full; m of neither is a multiple of 8, so that both have a tail. */
static struct filter *source_filter(void) {
    struct filter *filter = filter_new_bare(2);
    assert_non_null(filter);
    filter->expansion = 2;
    filter->error_rate = 0.01;
    filter->bits_per_key = 0;
    filter->layout = LAYOUT_CLASSIC;
    filter->scheme = SCHEME_XXH64;
    filter->nlayers = 2;
    struct layer *layers = filter->layers;
    assert_int_equal(layer_init(&layers[0], (struct sizing){803, 7}, CLASSIC, 50, 0.005),
                     STATUS_OK);
    assert_int_equal(layer_init(&layers[1], (struct sizing){2001, 8}, CLASSIC, 100, 0.002),
                     STATUS_OK);
    filter->is_loading = false;
    filter->loaded = filter_array_bytes(filter); // 101 + 251
    for (uint64_t i = 0; i < 50; i++) layer_add(&layers[0], item_hash(SCHEME_XXH64, i));
    for (uint64_t i = 50; i < 90; i++) layer_add(&layers[1], item_hash(SCHEME_XXH64, i));
    return filter;
}

#define FIRST 101 // bytes of the first layer
#define TOTAL 352 // of both

/* The filter as it is when only the header has arrived. */
static struct filter *loading_filter(const struct filter *source) {
    uint8_t header[256];
    struct filter *filter = NULL;
    assert_true(codec_header_size(source) <= sizeof header);
    codec_encode_header(source, header);
    assert_int_equal(
        codec_decode_header(header, codec_header_size(source), FILTER_NO_LIMIT, &filter),
        STATUS_OK);
    filter->is_loading = true;
    filter->loaded = 0;
    return filter;
}

/* Byte `at` of the run, read without codec.c. */
static uint8_t run_byte(const struct filter *source, size_t at) {
    return at < FIRST ? source->layers[0].bits[at] : source->layers[1].bits[at - FIRST];
}

/* Puts the bytes from `from` to before `end`, as the source has them. */
static enum codec_piece put(struct filter *filter, const struct filter *source, size_t from,
                            size_t end) {
    uint8_t *bytes =
        malloc(end - from + 1); // a block of its own: the sanitizer sees reads past its ends
    for (size_t i = from; i < end; i++) bytes[i - from] = run_byte(source, i);
    enum codec_piece piece = codec_put_piece(filter, end, bytes, end - from);
    free(bytes);
    return piece;
}

/* Calls `put` with bit `flip` of the byte `damage` flipped. */
static enum codec_piece put_damaged(struct filter *filter, const struct filter *source, size_t from,
                                    size_t end, size_t damage, unsigned flip) {
    uint8_t bytes[TOTAL];
    for (size_t i = from; i < end; i++) bytes[i - from] = run_byte(source, i);
    bytes[damage - from] ^= (uint8_t)(1U << flip);
    return codec_put_piece(filter, end, bytes, end - from);
}

/* Sets up `source` and `filter`, which is loading; `release` frees both. */
#define PIECES_SETUP()                                                                             \
    (void)state;                                                                                   \
    struct filter *source = source_filter(), *filter = loading_filter(source)

static void release(struct filter *source, struct filter *filter) {
    filter_free(filter);
    filter_free(source);
}

/* ---- Reading ---- */

static void pieces_of_any_size_are_the_whole_run_and_cross_no_layer(void **state) {
    (void)state;
    struct filter *source = source_filter();
    for (size_t most = 1; most <= TOTAL + 1; most++) {
        uint64_t offset = 0;
        const uint8_t *bytes = NULL;
        size_t len;
        while ((len = codec_piece_at(source, offset, most, &bytes)) > 0) {
            assert_true(len <= most);
            assert_true(offset >= FIRST || offset + len <= FIRST);
            for (size_t i = 0; i < len; i++) {
                assert_int_equal(bytes[i], run_byte(source, (size_t)offset + i));
            }
            offset += len;
        }
        assert_true(offset == TOTAL);
    }
    filter_free(source);
}

static void pieces_are_as_long_as_they_can_be(void **state) {
    (void)state;
    struct filter *source = source_filter();
    const uint8_t *bytes = NULL;
    assert_int_equal(codec_piece_at(source, 0, 1000, &bytes), FIRST);
    assert_int_equal(codec_piece_at(source, 0, 100, &bytes), 100);
    assert_int_equal(codec_piece_at(source, FIRST - 1, 1000, &bytes), 1);
    assert_int_equal(codec_piece_at(source, FIRST, 1000, &bytes), TOTAL - FIRST);
    assert_int_equal(codec_piece_at(source, TOTAL - 1, 1000, &bytes), 1);
    filter_free(source);
}

static void there_is_no_piece_at_the_end_or_past_it(void **state) {
    (void)state;
    struct filter *source = source_filter();
    const uint8_t untouched = 0, *bytes = &untouched;
    static const uint64_t OFFSETS[] = {TOTAL, TOTAL + 1, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < COUNT(OFFSETS); i++) {
        assert_int_equal(codec_piece_at(source, OFFSETS[i], 1000, &bytes), 0);
        assert_ptr_equal(bytes, &untouched);
    }
    filter_free(source);
}

static void pieces_are_not_copies(void **state) {
    (void)state;
    struct filter *source = source_filter();
    const uint8_t *bytes = NULL;
    codec_piece_at(source, FIRST + 7, 1000, &bytes);
    assert_ptr_equal(bytes, source->layers[1].bits + 7);
    filter_free(source);
}

/* ---- Writing ---- */

static void pieces_in_order_of_any_size_make_the_same_filter(void **state) {
    (void)state;
    struct filter *source = source_filter();
    for (size_t size = 1; size <= TOTAL; size++) {
        struct filter *filter = loading_filter(source);
        size_t from = 0;
        while (from < TOTAL) {
            size_t limit = from < FIRST ? FIRST : TOTAL;
            size_t end = from + size < limit ? from + size : limit;
            assert_true(filter->is_loading && filter->loaded == from);
            assert_int_equal(put(filter, source, from, end), CODEC_PIECE_STORED);
            from = end;
        }
        assert_false(filter->is_loading);
        assert_true(same_filter(filter, source));
        filter_free(filter);
    }
    filter_free(source);
}

static void a_piece_again_is_known_and_changes_nothing(void **state) {
    PIECES_SETUP();
    assert_int_equal(put(filter, source, 0, 60), CODEC_PIECE_STORED);
    struct filter *before = copy_of(filter);
    assert_int_equal(put(filter, source, 0, 60), CODEC_PIECE_PRESENT);
    assert_int_equal(put(filter, source, 0, 20), CODEC_PIECE_PRESENT);
    assert_int_equal(put(filter, source, 30, 60), CODEC_PIECE_PRESENT);
    assert_true(same_filter(filter, before));
    filter_free(before);
    release(source, filter);
}

static void a_piece_again_with_other_bytes_is_bad_and_changes_nothing(void **state) {
    PIECES_SETUP();
    assert_int_equal(put(filter, source, 0, 60), CODEC_PIECE_STORED);
    struct filter *before = copy_of(filter);
    for (size_t damage = 0; damage < 60; damage++) {
        assert_int_equal(put_damaged(filter, source, 0, 60, damage, 3), CODEC_PIECE_BAD);
    }
    assert_true(same_filter(filter, before));
    filter_free(before);
    release(source, filter);
}

static void a_piece_after_a_gap_is_refused_and_changes_nothing(void **state) {
    PIECES_SETUP();
    struct filter *before = copy_of(filter);
    assert_int_equal(put(filter, source, 1, 60), CODEC_PIECE_GAP);
    assert_int_equal(put(filter, source, 60, FIRST), CODEC_PIECE_GAP);
    assert_int_equal(put(filter, source, FIRST, TOTAL), CODEC_PIECE_GAP);
    assert_true(same_filter(filter, before));
    filter_free(before);
    release(source, filter);
}

static void a_piece_across_layers_is_refused_and_changes_nothing(void **state) {
    PIECES_SETUP();
    struct filter *before = copy_of(filter);
    assert_int_equal(put(filter, source, 0, FIRST + 1), CODEC_PIECE_CROSSING);
    assert_int_equal(put(filter, source, 0, TOTAL), CODEC_PIECE_CROSSING);
    assert_true(same_filter(filter, before));
    assert_int_equal(put(filter, source, 0, 90), CODEC_PIECE_STORED);
    assert_int_equal(put(filter, source, 90, FIRST + 1), CODEC_PIECE_CROSSING);
    assert_true(filter->loaded == 90);
    filter_free(before);
    release(source, filter);
}

static void a_piece_outside_is_refused_and_changes_nothing(void **state) {
    PIECES_SETUP();
    struct filter *before = copy_of(filter);
    uint8_t bytes[TOTAL + 2] = {0};
    static const uint64_t ENDS[] = {TOTAL + 1,     TOTAL + 100,    UINT64_C(1) << 32,
                                    INT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT(ENDS); i++) {
        enum codec_piece piece = codec_put_piece(filter, ENDS[i], bytes, 1);
        assert_int_equal(piece, CODEC_PIECE_OUTSIDE);
    }
    for (size_t len = 2; len <= TOTAL + 1; len++) { // only its last byte lies beyond
        assert_int_equal(codec_put_piece(filter, TOTAL + 1, bytes, len), CODEC_PIECE_OUTSIDE);
    }
    assert_true(same_filter(filter, before));
    filter_free(before);
    release(source, filter);
}

static void a_piece_that_would_begin_before_byte_0_is_refused(void **state) {
    PIECES_SETUP();
    struct filter *before = copy_of(filter);
    uint8_t bytes[TOTAL] = {0};
    for (size_t len = 1; len < TOTAL; len++) {
        enum codec_piece piece = codec_put_piece(filter, len - 1, bytes, len);
        assert_true(piece != CODEC_PIECE_STORED && piece != CODEC_PIECE_PRESENT);
    }
    assert_true(same_filter(filter, before));
    filter_free(before);
    release(source, filter);
}

static void an_empty_piece_changes_nothing(void **state) {
    PIECES_SETUP();
    assert_int_equal(put(filter, source, 0, 60), CODEC_PIECE_STORED);
    struct filter *before = copy_of(filter);
    static const uint64_t ENDS[] = {0, 30, 60, 61, FIRST, TOTAL, TOTAL + 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT(ENDS); i++) {
        assert_int_not_equal(codec_put_piece(filter, ENDS[i], "", 0), CODEC_PIECE_STORED);
        assert_true(same_filter(filter, before));
    }
    filter_free(before);
    release(source, filter);
}

/* The beginning of the piece is loaded already: if the piece is stored, then with its exact bytes.
 */
static void a_piece_that_overlaps_what_is_there_does_no_harm(void **state) {
    PIECES_SETUP();
    assert_int_equal(put(filter, source, 0, 60), CODEC_PIECE_STORED);
    enum codec_piece piece = put(filter, source, 40, 80);
    uint64_t reached = piece == CODEC_PIECE_STORED ? 80 : 60;
    assert_true(filter->loaded == reached);
    struct filter *before = copy_of(filter);
    assert_int_not_equal(put_damaged(filter, source, 50, 90, 55, 0), CODEC_PIECE_STORED);
    assert_true(same_filter(filter, before));
    assert_int_equal(put(filter, source, reached, FIRST), CODEC_PIECE_STORED);
    assert_int_equal(put(filter, source, FIRST, TOTAL), CODEC_PIECE_STORED);
    assert_true(same_filter(filter, source));
    filter_free(before);
    release(source, filter);
}

/* ---- The end ---- */

static void a_last_piece_with_a_wrong_bit_is_not_taken_and_the_right_one_then_is(void **state) {
    PIECES_SETUP();
    assert_int_equal(put(filter, source, 0, FIRST), CODEC_PIECE_STORED);
    struct filter *before = copy_of(filter);
    for (size_t damage = FIRST; damage < TOTAL; damage++) {
        unsigned flip = (unsigned)(damage % 8);
        if (damage == TOTAL - 1) flip = 0; // m = 2001: its only bit
        assert_int_equal(put_damaged(filter, source, FIRST, TOTAL, damage, flip), CODEC_PIECE_BAD);
        assert_true(filter->is_loading && filter->loaded == FIRST);
    }
    assert_true(same_filter(filter, before));
    assert_int_equal(put(filter, source, FIRST, TOTAL), CODEC_PIECE_STORED);
    assert_true(same_filter(filter, source));
    filter_free(before);
    release(source, filter);
}

static void a_wrong_bit_in_an_earlier_layer_refuses_the_last_piece(void **state) {
    PIECES_SETUP();
    put_damaged(filter, source, 0, FIRST, 50, 0); // may be found now or at the end
    assert_int_not_equal(put(filter, source, FIRST, TOTAL), CODEC_PIECE_STORED);
    assert_true(filter->is_loading);
    release(source, filter);
}

/* One bit is cleared, one beyond m is set: the count of set bits alone does not show it. */
static void a_last_piece_with_a_bit_beyond_m_is_not_taken(void **state) {
    PIECES_SETUP();
    assert_int_equal(put(filter, source, 0, FIRST), CODEC_PIECE_STORED);
    for (unsigned stray = 1; stray < 8; stray++) {
        uint8_t bytes[TOTAL - FIRST];
        memcpy(bytes, source->layers[1].bits, sizeof bytes);
        size_t victim = 0;
        while (bytes[victim] == 0) victim++;
        bytes[victim] &= (uint8_t)(bytes[victim] - 1);
        bytes[sizeof bytes - 1] |= (uint8_t)(1U << stray);
        assert_int_equal(codec_put_piece(filter, TOTAL, bytes, sizeof bytes), CODEC_PIECE_BAD);
        assert_true(filter->is_loading);
    }
    release(source, filter);
}

static void pieces_for_a_whole_filter_are_known_or_refused(void **state) {
    (void)state;
    struct filter *source = source_filter(), *filter = copy_of(source);
    assert_int_equal(put(filter, source, 0, FIRST), CODEC_PIECE_PRESENT);
    assert_int_equal(put_damaged(filter, source, 0, FIRST, 5, 5), CODEC_PIECE_BAD);
    assert_int_equal(put(filter, source, FIRST, TOTAL), CODEC_PIECE_PRESENT);
    assert_true(same_filter(filter, source));
    release(source, filter);
}

/* ---- BLOCKED ---- */

/* A grown BLOCKED filter is sent as its header and pieces; the copy takes later adds alike. */
static void a_blocked_filter_in_pieces_is_the_same_filter_and_grows_alike(void **state) {
    (void)state;
    struct filter_params params = {
        .capacity = 50, .error_rate = 0.01, .expansion = 2, .layout = LAYOUT_BLOCKED};
    struct filter *source = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &source), STATUS_OK);
    fill_to(source, 300, 0);
    assert_int_equal(source->nlayers, 3);
    for (size_t most = 1; most < 200; most += 13) {
        struct filter *filter = loading_filter(source);
        const uint8_t *bytes;
        size_t len;
        for (uint64_t at = 0; (len = codec_piece_at(source, at, most, &bytes)) > 0; at += len) {
            assert_true(filter->is_loading);
            assert_int_equal(codec_put_piece(filter, at + len, bytes, len), CODEC_PIECE_STORED);
        }
        assert_true(same_filter(filter, source));
        struct filter *other = copy_of(source);
        for (uint64_t i = 1000; i < 1500; i++) {
            assert_int_equal(add_item(filter, i), add_item(other, i));
        }
        assert_true(same_filter(filter, other) && filter->nlayers > 3);
        filter_free(other);
        filter_free(filter);
    }
    filter_free(source);
}

static void a_blocked_last_piece_with_a_wrong_bit_is_not_taken(void **state) {
    (void)state;
    struct filter_params params = {.capacity = 20, .bits_per_key = 10, .layout = LAYOUT_BLOCKED};
    struct filter *source = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &source), STATUS_OK);
    fill_to(source, 15, 0);
    struct filter *filter = loading_filter(source);
    for (size_t bit = 0; bit < 256; bit++) {
        uint8_t bytes[32];
        memcpy(bytes, source->layers[0].bits, sizeof bytes);
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_int_equal(codec_put_piece(filter, 32, bytes, 32), CODEC_PIECE_BAD);
    }
    assert_int_equal(codec_put_piece(filter, 32, source->layers[0].bits, 32), CODEC_PIECE_STORED);
    assert_true(same_filter(filter, source));
    release(source, filter);
}

/* ---- Soundness ---- */

static void bits_are_sound_as_added_and_unsound_after_any_flip(void **state) {
    (void)state;
    struct filter *source = source_filter();
    assert_true(codec_bits_are_sound(source));
    for (size_t bit = 0; bit < 8 * TOTAL; bit++) {
        uint8_t *byte = bit / 8 < FIRST ? &source->layers[0].bits[bit / 8]
                                        : &source->layers[1].bits[bit / 8 - FIRST];
        *byte ^= (uint8_t)(1U << bit % 8);
        assert_false(codec_bits_are_sound(source));
        *byte ^= (uint8_t)(1U << bit % 8);
    }
    assert_true(codec_bits_are_sound(source));
    filter_free(source);
}

static void a_bit_moved_beyond_m_is_unsound_in_any_layer(void **state) {
    (void)state;
    struct filter *source = source_filter();
    for (uint32_t i = 0; i < 2; i++) {
        struct layer *layer = &source->layers[i];
        uint64_t last = layer_bytes(layer->nbits) - 1, victim = 0;
        while (layer->bits[victim] == 0) victim++;
        uint8_t lowest = (uint8_t)(layer->bits[victim] & -layer->bits[victim]);
        layer->bits[victim] ^= lowest;
        layer->bits[last] ^= 0x80;
        assert_true(layer_count_ones(layer) == layer->ones);
        assert_false(codec_bits_are_sound(source));
        layer->bits[victim] ^= lowest;
        layer->bits[last] ^= 0x80;
    }
    assert_true(codec_bits_are_sound(source));
    filter_free(source);
}

/* An RDB file has the bits of a partly loaded filter too; those that have not arrived are zeroes.
 */
static void
bits_of_a_filter_half_way_are_sound_unless_one_is_set_that_has_not_arrived(void **state) {
    PIECES_SETUP();
    assert_int_equal(put(filter, source, 0, 50), CODEC_PIECE_STORED);
    assert_true(codec_bits_are_sound(filter));
    for (size_t at = 50; at < TOTAL; at++) {
        struct layer *layer = &filter->layers[at >= FIRST];
        uint8_t *byte = &layer->bits[at < FIRST ? at : at - FIRST];
        *byte ^= 4;
        assert_false(codec_bits_are_sound(filter));
        *byte ^= 4;
    }
    assert_true(codec_bits_are_sound(filter));
    release(source, filter);
}

/* ---- The work ---- */

/* A chain of as many layers as there can be, of one byte each, with all bits set. */
static struct filter *longest_chain(void) {
    struct filter *filter = filter_new_bare(LIMITS_MAX_LAYERS);
    assert_non_null(filter);
    for (; filter->nlayers < LIMITS_MAX_LAYERS; filter->nlayers++) {
        struct layer *layer = &filter->layers[filter->nlayers];
        assert_int_equal(layer_init(layer, (struct sizing){8, 7}, CLASSIC, 8, 0.01), STATUS_OK);
        layer->items = layer->ones = 8;
        layer->bits[0] = 0xff;
    }
    filter->error_rate = 0.01;
    filter->loaded = LIMITS_MAX_LAYERS;
    return filter;
}

static uint32_t distance(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

/* The steps are those of the place from which the next byte is looked for. */
static void pieces_in_order_take_one_step_a_layer_however_many_there_are(void **state) {
    (void)state;
    struct filter *filter = longest_chain();
    uint64_t steps = 0;
    const uint8_t *bytes;
    for (int out = 1; out >= 0; out--) { // given out, and then taken in
        filter->is_loading = !out;
        if (!out) filter->loaded = 0;
        for (uint32_t i = 0; i < LIMITS_MAX_LAYERS; i++) {
            uint32_t before = filter->place;
            if (out) assert_int_equal(codec_piece_at(filter, i, 100, &bytes), 1);
            if (!out)
                assert_int_equal(codec_put_piece(filter, i + 1, "\xff", 1), CODEC_PIECE_STORED);
            assert_int_equal(filter->place, i);
            steps += i == 0 ? 0 : distance(before, i); // from the end to the beginning in one
        }
    }
    assert_int_equal(steps, 2 * (LIMITS_MAX_LAYERS - 1));
    assert_false(filter->is_loading);
    filter_free(filter);
}

static void a_byte_is_found_in_any_order(void **state) {
    (void)state;
    struct filter *filter = source_filter();
    struct rng r = rng_seeded(7);
    for (int i = 0; i < 10000; i++) {
        uint64_t offset = rng_below(&r, TOTAL + 20), within = 0;
        const struct layer *layer = filter_locate(filter, offset, &within);
        if (offset >= TOTAL) {
            assert_null(layer);
            continue;
        }
        assert_ptr_equal(layer, &filter->layers[offset >= FIRST]);
        assert_int_equal(within, offset >= FIRST ? offset - FIRST : offset);
    }
    assert_null(filter_locate(filter, UINT64_MAX, &(uint64_t){0}));
    filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        spied(pieces_in_order_take_one_step_a_layer_however_many_there_are),
        spied(a_byte_is_found_in_any_order),
        spied(pieces_of_any_size_are_the_whole_run_and_cross_no_layer),
        spied(pieces_are_as_long_as_they_can_be),
        spied(there_is_no_piece_at_the_end_or_past_it),
        spied(pieces_are_not_copies),
        spied(pieces_in_order_of_any_size_make_the_same_filter),
        spied(a_piece_again_is_known_and_changes_nothing),
        spied(a_piece_again_with_other_bytes_is_bad_and_changes_nothing),
        spied(a_piece_after_a_gap_is_refused_and_changes_nothing),
        spied(a_piece_across_layers_is_refused_and_changes_nothing),
        spied(a_piece_outside_is_refused_and_changes_nothing),
        spied(a_piece_that_would_begin_before_byte_0_is_refused),
        spied(an_empty_piece_changes_nothing),
        spied(a_piece_that_overlaps_what_is_there_does_no_harm),
        spied(a_last_piece_with_a_wrong_bit_is_not_taken_and_the_right_one_then_is),
        spied(a_wrong_bit_in_an_earlier_layer_refuses_the_last_piece),
        spied(a_last_piece_with_a_bit_beyond_m_is_not_taken),
        spied(pieces_for_a_whole_filter_are_known_or_refused),
        spied(a_blocked_filter_in_pieces_is_the_same_filter_and_grows_alike),
        spied(a_blocked_last_piece_with_a_wrong_bit_is_not_taken),
        spied(bits_are_sound_as_added_and_unsound_after_any_flip),
        spied(a_bit_moved_beyond_m_is_unsound_in_any_layer),
        spied(bits_of_a_filter_half_way_are_sound_unless_one_is_set_that_has_not_arrived),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
