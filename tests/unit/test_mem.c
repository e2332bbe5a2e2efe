/* Memory: zeroed blocks are zero whatever the allocator hands out, and take no memory until they
 * are written to; a failed allocation returns NULL. */

#include "tests/unit/helpers.h"

#include <unistd.h>

static bool all_zero(const uint8_t *bytes, size_t len) {
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static void assert_zeroed(size_t size) {
    uint8_t *block = mem_alloc_zeroed(size);
    assert_non_null(block);
    if (!all_zero(block, size)) fail_msg("a zeroed block of %zu bytes is not zero", size);
    mem_free(block);
}

/* Around every power of two from 1 byte to 64 MiB, so around any threshold, page or huge page. */
static void zeroed_blocks_are_zero_when_the_allocator_hands_out_dirty_memory(void **state) {
    (void)state;
    for (size_t power = 1; power <= (size_t)64 << 20; power *= 2) {
        for (size_t size = power > 2 ? power - 2 : 1; size <= power + 2; size++) {
            assert_zeroed(size);
        }
    }
}

static void zeroed_blocks_of_odd_sizes_are_zero(void **state) {
    (void)state;
    struct rng r = rng_seeded(2);
    for (int i = 0; i < 300; i++) {
        assert_zeroed(1 + rng_below(&r, (uint64_t)1 << (1 + rng_below(&r, 23))));
    }
}

static void zeroed_blocks_are_zero_where_a_freed_one_was_written(void **state) {
    (void)state;
    for (size_t size = 4096; size <= (size_t)8 << 20; size *= 2) {
        uint8_t *block = mem_alloc_zeroed(size);
        assert_non_null(block);
        memset(block, 0xff, size);
        mem_free(block);
        assert_zeroed(size);
    }
}

static void zeroing_leaves_the_neighbours_alone(void **state) {
    (void)state;
    for (size_t size = 1000; size <= (size_t)4 << 20; size = size * 3 / 2) {
        uint8_t *block[3];
        for (int i = 0; i < 3; i++) block[i] = mem_alloc(size);
        for (int i = 0; i < 3; i++) memset(block[i], 0x55, size);
        mem_free(block[1]);
        block[1] = mem_alloc_zeroed(size);
        for (int i = 0; i < 3; i += 2) {
            assert_int_equal(block[i][0], 0x55);
            assert_memory_equal(block[i], block[i] + 1, size - 1);
        }
        for (int i = 0; i < 3; i++) mem_free(block[i]);
    }
}

static void the_whole_of_a_block_can_be_written(void **state) {
    (void)state;
    for (size_t size = 1; size <= (size_t)4 << 20; size = size * 2 + 1) {
        uint8_t *block = mem_alloc(size); // the sanitizer reports a write past it
        assert_non_null(block);
        memset(block, 0xff, size);
        mem_free(block);
    }
}

static void a_refused_allocation_is_null(void **state) {
    (void)state;
    for (size_t size = 1; size <= (size_t)64 << 20; size *= 4) {
        spy_fail_at(1);
        assert_null(mem_alloc(size));
        spy_fail_at(1);
        assert_null(mem_alloc_zeroed(size));
    }
}

static void a_block_no_machine_has_is_null(void **state) {
    (void)state;
    assert_null(mem_alloc((size_t)1 << 60));
    assert_null(mem_alloc_zeroed((size_t)1 << 60));
    assert_null(mem_alloc_zeroed(SIZE_MAX));
    assert_null(mem_alloc_zeroed(SIZE_MAX - 4095));
}

static void freeing_null_does_nothing(void **state) {
    (void)state;
    mem_free(NULL);
    assert_int_equal(spy.live, 0);
}

static void every_block_goes_back_to_the_allocator_it_came_from(void **state) {
    (void)state;
    void *small = mem_alloc(10);
    void *large = mem_alloc_zeroed((size_t)8 << 20);
    assert_int_equal(spy.live, 2);
    mem_free(small);
    mem_free(large);
    assert_int_equal(spy.live, 0);
}

static void the_allocator_is_asked_for_no_more_than_the_size(void **state) {
    (void)state;
    void *block = mem_alloc_zeroed((size_t)8 << 20);
    assert_true(spy.largest == (uint64_t)8 << 20);
    mem_free(block);
}

/* The pages of a block end less than a page from both of its ends, and never beyond them. */
static void assert_inner(uintptr_t block, size_t size, size_t page) {
    struct mem_pages inner = mem_inner_pages(block, size, page);
    assert_true(inner.head + inner.size <= size);
    assert_int_equal(inner.size % page, 0);
    if (inner.size > 0) {
        assert_int_equal((block + inner.head) % page, 0);
        assert_true(inner.head < page && size - inner.head - inner.size < page);
    } else {
        uintptr_t first = (block + page - 1) / page * page;
        assert_true(first + page > block + size);
    }
}

static void the_pages_of_a_block_are_inside_it_whatever_their_size(void **state) {
    (void)state;
    struct rng r = rng_seeded(3);
    for (size_t page = 4096; page <= (size_t)64 << 10; page *= 4) {
        for (int i = 0; i < 10000; i++) {
            uintptr_t block = ((uintptr_t)1 << 40) + rng_below(&r, 3 * page);
            assert_inner(block, rng_below(&r, 5 * page), page);
            assert_inner(block / page * page, rng_below(&r, 6) * page, page);
        }
    }
}

static long resident_bytes(void) {
    long total = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%ld %ld", &total, &resident), 2);
    fclose(statm);
    return resident * sysconf(_SC_PAGESIZE);
}

/* This needs 8 GiB of address space and a machine that overcommits memory, as Linux does by
 * default. It is skipped under the sanitizer and an emulator, which write to their own map of such
 * a block, and under valgrind, where the zeroes are written. */
static void a_zeroed_block_of_8_gib_takes_less_than_1_mb_until_written(void **state) {
    (void)state;
    if (RUNS_SLOWLY) {
        print_message("sanitizers, valgrind and emulators write to their maps of such a block\n");
        skip();
    }
    size_t size = (size_t)8 << 30;
    long before = resident_bytes();
    uint8_t *block = mem_alloc_zeroed(size);
    assert_non_null(block);
    long grown = resident_bytes() - before;
    print_message("resident memory grew by %ld bytes\n", grown);
    assert_true(grown < 1000000);
    for (size_t at = 0; at < size; at += size / 64) assert_int_equal(block[at], 0);
    assert_int_equal(block[size - 1], 0);
    mem_free(block);
    assert_true(resident_bytes() - before < 1000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_block_of_8_gib_takes_less_than_1_mb_until_written),
        cmocka_unit_test(zeroed_blocks_are_zero_where_a_freed_one_was_written),
        cmocka_unit_test(zeroing_leaves_the_neighbours_alone),
        cmocka_unit_test(the_pages_of_a_block_are_inside_it_whatever_their_size),
        cmocka_unit_test(the_whole_of_a_block_can_be_written),
        spied(zeroed_blocks_are_zero_when_the_allocator_hands_out_dirty_memory),
        spied(zeroed_blocks_of_odd_sizes_are_zero),
        spied(a_refused_allocation_is_null),
        spied(a_block_no_machine_has_is_null),
        spied(freeing_null_does_nothing),
        spied(every_block_goes_back_to_the_allocator_it_came_from),
        spied(the_allocator_is_asked_for_no_more_than_the_size),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
