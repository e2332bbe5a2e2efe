/* The BLOCKED layout, against a naive model written from the specification of Parquet's split-block
 * filter: words of 32 bits, 8 of them a block, stored little-endian. The plain code is also
 * compared with the SIMD code (AVX2 or NEON): bits, answers and counts are equal. */

#define _DEFAULT_SOURCE // for MAP_ANONYMOUS

#include "tests/unit/helpers.h"

#include "module/core/blocked.h"
#include "rdb/codec.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- The model ---- */

static const uint32_t SALT[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

struct model {
    uint32_t *words;
    uint64_t nblocks;
};

static struct model model_new(uint64_t nblocks) {
    struct model model = {calloc(nblocks, 32), nblocks};
    assert_non_null(model.words);
    return model;
}

/* block = ((h>>32) * z) >> 32 */
static uint64_t model_block(uint64_t nblocks, uint64_t hash) {
    uint64_t high = hash / 4294967296U;
    return (high * nblocks) / 4294967296U;
}

/* Bit (x * salt[i] mod 2^32) >> 27 of word i, x the low half. */
static uint32_t model_mask(uint64_t hash, unsigned i) {
    uint64_t product = (hash % 4294967296U) * SALT[i] % 4294967296U;
    return (uint32_t)1 << product / 134217728U;
}

static bool model_contains(const struct model *model, uint64_t hash) {
    const uint32_t *block = model->words + 8 * model_block(model->nblocks, hash);
    for (unsigned i = 0; i < 8; i++) {
        if ((block[i] & model_mask(hash, i)) == 0) return false;
    }
    return true;
}

static unsigned model_add(struct model *model, uint64_t hash) {
    uint32_t *block = model->words + 8 * model_block(model->nblocks, hash);
    unsigned fresh = 0;
    for (unsigned i = 0; i < 8; i++) {
        fresh += (block[i] & model_mask(hash, i)) == 0;
        block[i] |= model_mask(hash, i);
    }
    return fresh;
}

static void assert_same_bits(const uint8_t *bits, const struct model *model) {
    for (uint64_t i = 0; i < model->nblocks * 8; i++) {
        const uint8_t *at = bits + 4 * i;
        uint64_t word = at[0] + at[1] * 256U + at[2] * 65536U + at[3] * UINT64_C(16777216);
        if (word != model->words[i]) {
            fail_msg("word %llu of block %llu of %llu: %#llx, expected %#x",
                     (unsigned long long)i % 8, (unsigned long long)i / 8,
                     (unsigned long long)model->nblocks, (unsigned long long)word, model->words[i]);
        }
    }
}

/* ---- Hashes and sizes ---- */

static const uint64_t BLOCKS[] = {1,   2,   3,   4,   5,    7,    8,    31,   32,  33,
                                  100, 255, 256, 257, 1000, 1023, 1025, 4099, 7777};

/* A random word; now and then one with an edge value in its halves. */
static uint64_t random_hash(struct rng *r) {
    static const uint64_t EDGES[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    uint64_t hash = rng_next(r);
    if (rng_below(r, 8) == 0) hash = hash << 32 | EDGES[rng_below(r, COUNT(EDGES))];
    if (rng_below(r, 8) == 0) hash = hash % 4294967296U | EDGES[rng_below(r, COUNT(EDGES))] << 32;
    return hash;
}

/* Adds so many items that blocks go from empty to nearly full, then looks items up. The bits are at
 * an odd address, as the code may not rely on alignment. */
static void check_against_the_model(uint64_t nblocks, uint64_t nitems, struct rng *r) {
    uint8_t *block = calloc(nblocks * 32 + 1, 1), *bits = block + 1;
    struct model model = model_new(nblocks);
    for (uint64_t i = 0; i < nitems; i++) {
        uint64_t hash = random_hash(r);
        assert_int_equal(blocked_contains(bits, nblocks * 256, hash), model_contains(&model, hash));
        assert_int_equal(blocked_add(bits, nblocks * 256, hash), model_add(&model, hash));
        assert_true(blocked_contains(bits, nblocks * 256, hash));
        assert_int_equal(blocked_add(bits, nblocks * 256, hash), 0);
    }
    assert_same_bits(bits, &model);
    for (int i = 0; i < 3000; i++) {
        uint64_t hash = random_hash(r);
        assert_int_equal(blocked_contains(bits, nblocks * 256, hash), model_contains(&model, hash));
    }
    assert_same_bits(bits, &model); // a lookup changes nothing
    free(model.words);
    free(block);
}

static void check_all_sizes(void) {
    struct rng r = rng_seeded(200);
    for (size_t i = 0; i < COUNT(BLOCKS); i++) {
        check_against_the_model(BLOCKS[i], BLOCKS[i] * 3, &r);
        check_against_the_model(BLOCKS[i], BLOCKS[i] < 2000 ? BLOCKS[i] * 25 : 20000, &r);
    }
}

/* True if there is SIMD code for the CPU, which is then switched on. */
static bool with_simd(void) {
    if (blocked_use_simd(true)) return true;
    print_message(
        "this CPU has neither AVX2 nor NEON: there is plain code only, nothing to compare\n");
    return false;
}

static int simd_as_found(void **state) {
    blocked_use_simd(true);
    return spy_remove(state);
}

#define SWITCHING(test) cmocka_unit_test_setup_teardown(test, spy_install, simd_as_found)

static void plain_code_agrees_with_the_naive_model_bit_by_bit(void **state) {
    (void)state;
    assert_false(blocked_use_simd(false));
    check_all_sizes();
}

static void simd_code_agrees_with_the_naive_model_bit_by_bit(void **state) {
    (void)state;
    if (!with_simd()) skip();
    check_all_sizes();
}

/* ---- Plain and SIMD ---- */

static void plain_and_simd_give_the_same_bits_answers_and_fresh_counts(void **state) {
    (void)state;
    if (!with_simd()) skip();
    struct rng r = rng_seeded(201);
    for (size_t i = 0; i < COUNT(BLOCKS); i++) {
        uint64_t nbits = BLOCKS[i] * 256;
        uint8_t *plain = calloc(BLOCKS[i], 32), *simd = calloc(BLOCKS[i], 32);
        for (int step = 0; step < 4000; step++) {
            uint64_t hash = random_hash(&r);
            blocked_use_simd(false);
            bool was_there = blocked_contains(plain, nbits, hash);
            unsigned fresh = step % 2 ? blocked_add(plain, nbits, hash) : 9;
            blocked_use_simd(true);
            assert_int_equal(blocked_contains(simd, nbits, hash), was_there);
            assert_int_equal(step % 2 ? blocked_add(simd, nbits, hash) : 9, fresh);
        }
        assert_memory_equal(plain, simd, nbits / 8);
        free(plain);
        free(simd);
    }
}

/* Adds `n` random items, 256 at a time and every other time one by one, after looking them up. */
static void add_random(uint8_t *bits, uint64_t nbits, uint64_t n, uint64_t *found,
                       uint64_t *fresh) {
    enum { AT_ONCE = 256 };
    struct rng r = rng_seeded(205);
    struct hash hashes[AT_ONCE] = {{0, 0}};
    bool contained[AT_ONCE];
    unsigned added[AT_ONCE];
    for (uint64_t done = 0; done < n; done += AT_ONCE) {
        for (size_t i = 0; i < AT_ONCE; i++) hashes[i].a = random_hash(&r);
        bool is_single = done / AT_ONCE % 2;
        if (!is_single) {
            blocked_contains_many(bits, nbits, hashes, AT_ONCE, contained);
            blocked_add_many(bits, nbits, hashes, AT_ONCE, added);
        }
        for (size_t i = 0; i < AT_ONCE; i++) {
            *found += is_single ? blocked_contains(bits, nbits, hashes[i].a) : contained[i];
            *fresh += is_single ? blocked_add(bits, nbits, hashes[i].a) : added[i];
        }
    }
}

/* The figures were recorded from the plain code on amd64: every other code and machine has them. */
static void ten_million_random_items_give_the_recorded_bits_on_every_machine(void **state) {
    (void)state;
    uint64_t nblocks = 1000003, nbits = nblocks * 256;
    for (int simd = 0; simd < 2; simd++) {
        if (simd && !with_simd()) continue;
        if (!simd) blocked_use_simd(false);
        uint8_t *bits = calloc(nblocks, 32);
        uint64_t found = 0, fresh = 0;
        add_random(bits, nbits, 10000000, &found, &fresh);
        assert_true(found == 1340311 && fresh == 60796701);
        assert_true(hash_checksum(bits, nbits / 8) == UINT64_C(0xf8aebcf404d7d7e7));
        free(bits);
    }
}

/* Every one of the 2^8 sets of words of a block where the item's bit is missing. */
static void fresh_bits_are_counted_whichever_words_lack_them(void **state) {
    (void)state;
    struct rng r = rng_seeded(202);
    for (int simd = 0; simd < 2; simd++) {
        if (simd && !with_simd()) continue;
        if (!simd) blocked_use_simd(false);
        for (unsigned missing = 0; missing < 256; missing++) {
            uint64_t hash = random_hash(&r);
            struct model model = model_new(1);
            uint8_t bits[32], whole[32];
            unsigned expected = 0;
            for (unsigned i = 0; i < 8; i++) {
                bool lacks = missing >> i & 1;
                model.words[i] = (uint32_t)rng_next(&r) | model_mask(hash, i);
                if (lacks) model.words[i] -= model_mask(hash, i);
                expected += lacks;
                for (unsigned j = 0; j < 4; j++) {
                    bits[4 * i + j] = (uint8_t)(model.words[i] >> 8 * j);
                }
            }
            assert_int_equal(blocked_contains(bits, 256, hash), expected == 0);
            assert_int_equal(blocked_add(bits, 256, hash), expected);
            model_add(&model, hash);
            assert_same_bits(bits, &model);
            memcpy(whole, bits, sizeof whole);
            assert_int_equal(blocked_add(bits, 256, hash), 0);
            assert_memory_equal(bits, whole, sizeof whole);
            free(model.words);
        }
    }
}

/* ---- Many ---- */

static void check_many(const uint8_t *bits, uint64_t nblocks, size_t n, struct rng *r) {
    struct hash hashes[256] = {{0, 0}};
    bool contained[256];
    for (size_t i = 0; i < n; i++) hashes[i] = (struct hash){random_hash(r), rng_next(r)};
    blocked_contains_many(bits, nblocks * 256, hashes, n, contained);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(contained[i], blocked_contains(bits, nblocks * 256, hashes[i].a));
    }
    if (n > 1) hashes[n - 1] = hashes[n / 2]; // one of them twice
    uint8_t *one = malloc(nblocks * 32), *many = malloc(nblocks * 32);
    unsigned fresh[256];
    memcpy(one, bits, nblocks * 32);
    memcpy(many, bits, nblocks * 32);
    blocked_add_many(many, nblocks * 256, hashes, n, fresh);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fresh[i], blocked_add(one, nblocks * 256, hashes[i].a));
    }
    assert_memory_equal(one, many, nblocks * 32);
    free(one);
    free(many);
}

static void many_equal_one_by_one_for_every_length(void **state) {
    (void)state;
    struct rng r = rng_seeded(203);
    for (size_t i = 0; i < COUNT(BLOCKS); i++) {
        uint64_t nblocks = BLOCKS[i];
        uint8_t *bits = malloc(nblocks * 32); // one bit in 8 is missing: about a third are absent
        for (uint64_t j = 0; j < nblocks * 32; j++) {
            bits[j] = (uint8_t)(rng_next(&r) | rng_next(&r) | rng_next(&r));
        }
        for (int simd = 0; simd < 2; simd++) {
            if (simd && !with_simd()) continue;
            if (!simd) blocked_use_simd(false);
            for (size_t n = 0; n <= 256; n++) check_many(bits, nblocks, n, &r);
        }
        free(bits);
    }
}

/* ---- Known filters ---- */

/* A published vector: what parquet-mr wrote for "a0" to "a9" in one block. Other implementations of
 * the specification (arrow-rs among them) test themselves with it. */
static void the_block_of_parquet_mr_for_a0_to_a9_comes_out_byte_by_byte(void **state) {
    (void)state;
    static const uint8_t PUBLISHED[32] = {200, 1,   80, 20, 64,  68, 8,   109, 6,  37, 4,
                                          67,  144, 80, 96, 32,  8,  132, 43,  33, 0,  5,
                                          99,  65,  2,  0,  224, 44, 64,  78,  96, 4};
    for (int simd = 0; simd < 2; simd++) {
        blocked_use_simd(simd);
        struct layer layer;
        assert_int_equal(layer_init(&layer, (struct sizing){256, 8}, BLOCKED, 10, 0.5), STATUS_OK);
        for (char i = '0'; i <= '9'; i++) {
            char item[2] = {'a', i};
            assert_true(layer_add(&layer, scheme_hash(SCHEME_XXH64, NULL, item, 2)).answer);
        }
        assert_memory_equal(layer.bits, PUBLISHED, sizeof PUBLISHED);
        assert_true(layer.items == 10 && layer.ones == layer_count_ones(&layer));
        layer_clear(&layer);
    }
}

/* Items "0" to "999" at 10 bits per key: 10000 bits are 40 blocks. The figures come from a Python
 * program that shares no code with this one; golden = XXH64(the 1280 bytes, seed 0). */
static void blocked_filter_has_its_golden_bits(void **state) {
    (void)state;
    struct filter_params params = {.capacity = 1000, .bits_per_key = 10, .layout = LAYOUT_BLOCKED};
    for (int simd = 0; simd < 2; simd++) {
        blocked_use_simd(simd);
        struct filter *filter = NULL;
        assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
        for (uint64_t i = 0; i < 1000; i++) {
            char text[8];
            int len = snprintf(text, sizeof text, "%d", (int)i);
            bool added;
            struct hash hash = filter_hash(filter, text, (size_t)len);
            assert_int_equal(add_growing(filter, hash, FILTER_NO_LIMIT, &added), STATUS_OK);
        }
        assert_true(filter->layers[0].nbits == 10240 && filter->layers[0].nhashes == 8);
        assert_true(filter->layers[0].ones == 5550);
        assert_true(hash_checksum(filter->layers[0].bits, 1280) == UINT64_C(0x3993562b01272732));
        filter_free(filter);
    }
}

/* ---- Layers ---- */

static void layer_counts_agree_with_the_naive_model(void **state) {
    (void)state;
    struct rng r = rng_seeded(204);
    for (size_t i = 0; i < COUNT(BLOCKS); i++) {
        struct layer layer, copy;
        struct sizing size = {BLOCKS[i] * 256, 8};
        assert_int_equal(layer_init(&layer, size, BLOCKED, 1000, 0.1), STATUS_OK);
        struct model model = model_new(BLOCKS[i]);
        uint64_t ones = 0, items = 0;
        for (int step = 0; step < 1000; step++) {
            struct hash hash = {random_hash(&r), rng_next(&r)}; // the second word has no part in it
            unsigned fresh = model_add(&model, hash.a);
            assert_int_equal(layer_contains(&layer, hash), fresh == 0);
            assert_int_equal(layer_add(&layer, hash).answer, fresh != 0);
            ones += fresh;
            items += fresh != 0;
        }
        assert_true(layer.ones == ones && layer.items == items);
        assert_true(layer_count_ones(&layer) == ones);
        assert_same_bits(layer.bits, &model);
        assert_int_equal(layer_copy(&copy, &layer), STATUS_OK);
        assert_true(copy.layout == LAYOUT_BLOCKED && same_layer(&copy, &layer));
        layer_clear(&copy);
        layer_clear(&layer);
        free(model.words);
    }
}

/* The most blocks there can be, 128 GiB of addresses that no memory backs: the block is the high
 * half of the hash itself, and nothing overflows. */
static void the_largest_filter_uses_its_first_and_last_block(void **state) {
    (void)state;
    uint64_t nblocks = BLOCKED_MAX_BLOCKS, nbits = nblocks * BLOCKED_BLOCK_BITS;
    uint8_t *bits = mmap(NULL, nblocks * 32, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bits == MAP_FAILED) {
        print_message("this system does not give 128 GiB of addresses\n");
        skip();
    }
    static const uint64_t HIGH[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    for (size_t i = 0; i < COUNT(HIGH); i++) {
        for (int simd = 0; simd < 2; simd++) {
            blocked_use_simd(simd);
            uint64_t hash = HIGH[i] << 32 | 0x12345678;
            struct model block = model_new(1);
            model_add(&block, hash);
            assert_int_equal(blocked_contains(bits, nbits, hash), simd != 0);
            assert_int_equal(blocked_add(bits, nbits, hash), simd ? 0 : 8);
            assert_same_bits(bits + HIGH[i] * 32, &block);
            free(block.words);
        }
    }
    munmap(bits, nblocks * 32);
}

/* ---- Sizing ---- */

static const uint64_t CAPACITIES[] = {1,       2,        10,        100,        1000,
                                      1234567, 50000000, 200000000, 1000000000, 5000000000};

static void bits_per_key_are_rounded_up_to_whole_blocks_of_8_hashes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(CAPACITIES); i++) {
        for (uint64_t bits = 1; bits <= 200; bits += 1 + bits / 4) {
            struct sizing size;
            assert_true(sizing_by_bits(CAPACITIES[i], (double)bits, BLOCKED, &size));
            assert_int_equal(size.nhashes, 8);
            assert_true(size.nbits % 256 == 0);
            assert_true(size.nbits >= CAPACITIES[i] * bits);
            assert_true(size.nbits < CAPACITIES[i] * bits + 256);
        }
    }
}

static void by_error_rate_it_is_the_smallest_number_of_blocks_that_keeps_the_rate(void **state) {
    (void)state;
    static const double RATES[] = {0.9, 0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6};
    for (size_t i = 0; i < COUNT(CAPACITIES); i++) {
        for (size_t j = 0; j < COUNT(RATES); j++) {
            struct sizing size;
            assert_true(sizing_by_error(CAPACITIES[i], RATES[j], BLOCKED, &size));
            assert_true(size.nhashes == 8 && size.nbits % 256 == 0 && size.nbits > 0);
            assert_true(sizing_error_rate(CAPACITIES[i], size, BLOCKED) <= RATES[j]);
            if (size.nbits == 256) continue;
            struct sizing less = {size.nbits - 256, 8};
            // From 10^7 blocks on, one more makes no difference that a double shows.
            double slack = size.nbits < 10000000 ? 0 : 1e-6;
            assert_true(sizing_error_rate(CAPACITIES[i], less, BLOCKED) > RATES[j] * (1 - slack));
        }
    }
}

/* The authors of the split-block filter give about 10.5 bits per item for 1 %, 16.9 for 0.1 %. */
static void large_filters_take_the_bits_that_the_specification_speaks_of(void **state) {
    (void)state;
    struct sizing size;
    assert_true(sizing_by_error(10000000, 0.01, BLOCKED, &size));
    assert_true(fabs((double)size.nbits / 1e7 - 10.5) < 0.1);
    assert_true(sizing_by_error(10000000, 0.001, BLOCKED, &size));
    print_message("0.1 %%: %g bits\n", (double)size.nbits / 1e7);
    assert_true(fabs((double)size.nbits / 1e7 - 16.9) < 0.1);
}

/* Sizing once never ended where the rate is all but 1 and at 200,000,000 items of 10 bits. If that
 * comes back, the alarm ends this program. */
static void sizing_comes_to_an_end_at_any_capacity_and_any_rate(void **state) {
    (void)state;
    static const double RATES[] = {1 - 1e-16, 0.999999999, 0.9999, 0.99, 0.5, 0.01, 1e-6, 1e-12};
    static const double BITS[] = {1, 1.5, 2, 2.9, 3, 4, 8, 10, 20, 256};
    struct sizing size;
    alarm(120);
    for (size_t i = 0; i < COUNT(CAPACITIES); i++) {
        for (size_t j = 0; j < COUNT(RATES); j++) {
            if (!sizing_by_error(CAPACITIES[i], RATES[j], BLOCKED, &size)) continue;
            assert_true(sizing_error_rate(CAPACITIES[i], size, BLOCKED) <= RATES[j]);
        }
        double last = 1;
        for (size_t j = 0; j < COUNT(BITS); j++) {
            if (!sizing_by_bits(CAPACITIES[i], BITS[j], BLOCKED, &size)) continue;
            double rate = sizing_error_rate(CAPACITIES[i], size, BLOCKED);
            assert_true(rate > 0 && rate <= last); // more bits, no worse
            last = rate;
        }
    }
    alarm(0);
}

/* 256 items to a block of 256 bits: most of the adds cannot count, and nearly all bits are set. */
static void at_1_bit_per_key_every_answer_is_yes(void **state) {
    (void)state;
    alarm(120);
    for (size_t i = 3; i < COUNT(CAPACITIES); i++) {
        struct sizing size;
        assert_true(sizing_by_bits(CAPACITIES[i], 1, BLOCKED, &size));
        double rate = sizing_error_rate(CAPACITIES[i], size, BLOCKED);
        assert_true(rate > 0.99 && rate <= 1);
    }
    alarm(0);
}

static void more_than_2_to_the_40_bits_is_false_with_out_unchanged(void **state) {
    (void)state;
    struct sizing size = {42, 43};
    assert_true(sizing_max_bits(BLOCKED) == UINT64_C(1) << 40);
    assert_false(sizing_by_bits((UINT64_C(1) << 37) + 1, 8, BLOCKED, &size));
    assert_false(sizing_by_bits(INT64_MAX, 256, BLOCKED, &size));
    assert_false(sizing_by_error(UINT64_C(1) << 40, 0.01, BLOCKED, &size));
    assert_false(sizing_by_error(INT64_MAX, 0.5, BLOCKED, &size));
    assert_false(sizing_by_error(1000, 1e-300, BLOCKED, &size));
    assert_true(size.nbits == 42 && size.nhashes == 43);
    assert_true(sizing_by_bits(UINT64_C(1) << 37, 8, BLOCKED, &size));
    assert_true(size.nbits == UINT64_C(1) << 40);
}

static void filters_of_blocked_and_fnv1a_are_refused(void **state) {
    (void)state;
    struct filter_params params = {
        .capacity = 100, .error_rate = 0.01, .layout = LAYOUT_BLOCKED, .scheme = SCHEME_FNV1A};
    struct filter *filter = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_PARAM);
    params.bits_per_key = 10;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_PARAM);
    assert_null(filter);
}

/* ---- Headers: rdb/FORMAT.md 2 ---- */

enum { AT_SCHEME = 12, AT_NHASHES = 48 + 32, AT_NBITS = 48 + 36, HEADER = 100 };

static void write_le(uint8_t *at, uint64_t value, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++, value /= 256) at[i] = (uint8_t)(value % 256);
}

/* The header of a loading filter of one empty block: `loaded` is then right for any other size. */
static enum status decode_with(uint64_t nbits, uint64_t nhashes, uint64_t scheme) {
    struct filter_params params = {.capacity = 1, .bits_per_key = 1, .layout = LAYOUT_BLOCKED};
    struct filter *filter = NULL, *decoded = NULL;
    assert_int_equal(filter_new(&params, FILTER_NO_LIMIT, &filter), STATUS_OK);
    filter->is_loading = true;
    filter->loaded = 0;
    uint8_t header[HEADER];
    assert_int_equal(codec_header_size(filter), HEADER);
    codec_encode_header(filter, header);
    filter_free(filter);
    assert_int_equal(header[13], 1); // the layout's number
    write_le(header + AT_SCHEME, scheme, 1);
    write_le(header + AT_NHASHES, nhashes, 4);
    write_le(header + AT_NBITS, nbits, 8);
    write_le(header + HEADER - 8, hash_checksum(header, HEADER - 8), 8);
    enum status status = codec_decode_header(header, HEADER, 100000, &decoded);
    if (status == STATUS_OK) {
        assert_true(decoded->layout == LAYOUT_BLOCKED && decoded->layers[0].nbits == nbits);
        assert_true(decoded->layers[0].layout == LAYOUT_BLOCKED);
    }
    filter_free(decoded);
    return status;
}

static void headers_of_whole_blocks_are_accepted(void **state) {
    (void)state;
    for (uint64_t nblocks = 1; nblocks < 100; nblocks++) {
        assert_int_equal(decode_with(nblocks * 256, 8, SCHEME_XXH64), STATUS_OK);
    }
}

static void headers_of_anything_but_whole_blocks_are_refused(void **state) {
    (void)state;
    for (uint64_t nbits = 0; nbits < 2000; nbits++) {
        if (nbits == 0 || nbits % 256 != 0) {
            assert_int_equal(decode_with(nbits, 8, SCHEME_XXH64), STATUS_CORRUPT);
        }
    }
}

static void headers_of_other_than_8_hashes_are_refused(void **state) {
    (void)state;
    for (uint64_t nhashes = 0; nhashes <= 256; nhashes++) {
        if (nhashes == 8) continue;
        assert_int_equal(decode_with(256, nhashes, SCHEME_XXH64), STATUS_CORRUPT);
    }
}

static void headers_of_fnv1a_are_refused(void **state) {
    (void)state;
    assert_int_equal(decode_with(256, 8, SCHEME_FNV1A), STATUS_CORRUPT);
}

/* 2^40 bits are legal, but more than this test's limit of 100,000 bytes. */
static void headers_of_more_than_2_to_the_40_bits_are_refused(void **state) {
    (void)state;
    uint64_t most = UINT64_C(1) << 40;
    assert_int_equal(decode_with(most, 8, SCHEME_XXH64), STATUS_NOMEM);
    assert_int_equal(decode_with(most + 256, 8, SCHEME_XXH64), STATUS_CORRUPT);
    assert_int_equal(decode_with(SIZING_MAX_BITS, 8, SCHEME_XXH64), STATUS_CORRUPT);
    assert_int_equal(decode_with(UINT64_MAX - 255, 8, SCHEME_XXH64), STATUS_CORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SWITCHING(plain_code_agrees_with_the_naive_model_bit_by_bit),
        SWITCHING(simd_code_agrees_with_the_naive_model_bit_by_bit),
        SWITCHING(plain_and_simd_give_the_same_bits_answers_and_fresh_counts),
        SWITCHING(ten_million_random_items_give_the_recorded_bits_on_every_machine),
        SWITCHING(fresh_bits_are_counted_whichever_words_lack_them),
        SWITCHING(many_equal_one_by_one_for_every_length),
        SWITCHING(the_block_of_parquet_mr_for_a0_to_a9_comes_out_byte_by_byte),
        SWITCHING(blocked_filter_has_its_golden_bits),
        SWITCHING(layer_counts_agree_with_the_naive_model),
        SWITCHING(the_largest_filter_uses_its_first_and_last_block),
        spied(bits_per_key_are_rounded_up_to_whole_blocks_of_8_hashes),
        spied(by_error_rate_it_is_the_smallest_number_of_blocks_that_keeps_the_rate),
        spied(large_filters_take_the_bits_that_the_specification_speaks_of),
        spied(sizing_comes_to_an_end_at_any_capacity_and_any_rate),
        spied(at_1_bit_per_key_every_answer_is_yes),
        spied(more_than_2_to_the_40_bits_is_false_with_out_unchanged),
        spied(filters_of_blocked_and_fnv1a_are_refused),
        spied(headers_of_whole_blocks_are_accepted),
        spied(headers_of_anything_but_whole_blocks_are_refused),
        spied(headers_of_other_than_8_hashes_are_refused),
        spied(headers_of_fnv1a_are_refused),
        spied(headers_of_more_than_2_to_the_40_bits_are_refused),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
