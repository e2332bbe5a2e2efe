/* The BLOCKED layout. See blocked.h. */

#include "module/core/filter/blocked.h"

#include "module/core/filter/bits.h"
#include "module/core/filter/layer.h"
#include "module/core/math/rate.h"

static const uint32_t SALTS[BLOCKED_HASHES] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                               0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};

/* ---- Plain C: byte by byte, so that any byte order of the machine gives the same bits ------- */

static bool plain_contains(const uint8_t *block, uint32_t x) {
    unsigned hit = 1;
    for (unsigned i = 0; i < BLOCKED_HASHES; i++) {
        uint32_t bit = (x * SALTS[i]) >> 27;
        hit &= (unsigned)block[4 * i + (bit >> 3)] >> (bit & 7);
    }
    return hit & 1;
}

static unsigned plain_add(uint8_t *block, uint32_t x) {
    unsigned fresh = 0;
    for (unsigned i = 0; i < BLOCKED_HASHES; i++) {
        uint32_t bit = (x * SALTS[i]) >> 27;
        uint8_t mask = (uint8_t)(1U << (bit & 7));
        uint8_t *byte = &block[4 * i + (bit >> 3)];
        fresh += !(*byte & mask);
        *byte |= mask;
    }
    return fresh;
}

/* ---- The eight words at once: simd_contains and simd_add in the instructions of the CPU ------ */

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_SIMD_CODE 1
#define SIMD __attribute__((target("avx2")))

static bool cpu_has_simd(void) {
    return __builtin_cpu_supports("avx2");
}

/* The item's bits: one in each word. */
static inline SIMD __m256i item_mask(uint32_t x) {
    __m256i salts = _mm256_loadu_si256((const __m256i *)(const void *)SALTS);
    __m256i bit = _mm256_srli_epi32(_mm256_mullo_epi32(_mm256_set1_epi32((int)x), salts), 27);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), bit);
}

static SIMD bool simd_contains(const uint8_t *block, uint32_t x) {
    __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)block);
    return _mm256_testc_si256(words, item_mask(x));
}

static SIMD unsigned simd_add(uint8_t *block, uint32_t x) {
    __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)block);
    __m256i mask = item_mask(x);
    __m256i missing = _mm256_andnot_si256(words, mask);
    if (_mm256_testz_si256(missing, missing)) return 0;
    _mm256_storeu_si256((__m256i *)(void *)block, _mm256_or_si256(words, mask));
    __m256i present = _mm256_cmpeq_epi32(missing, _mm256_setzero_si256());
    int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(present));
    return BLOCKED_HASHES - (unsigned)__builtin_popcount((unsigned)lanes);
}

#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_neon.h>
#define HAS_SIMD_CODE 1
#define SIMD

/* Every CPU of this architecture that runs Linux has NEON: the compiler relies on it too. */
static bool cpu_has_simd(void) {
    return true;
}

/* A block, or the item's bits in it: NEON's registers have four words each. */
struct halves {
    uint32x4_t low;
    uint32x4_t high;
};

/* By bytes, which may lie at any address. */
static inline struct halves load_block(const uint8_t *block) {
    return (struct halves){vreinterpretq_u32_u8(vld1q_u8(block)),
                           vreinterpretq_u32_u8(vld1q_u8(block + 16))};
}

static inline uint32x4_t mask_of(uint32_t x, const uint32_t *salts) {
    uint32x4_t bit = vshrq_n_u32(vmulq_n_u32(vld1q_u32(salts), x), 27);
    return vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(bit));
}

/* The item's bits: one in each word. */
static inline struct halves item_mask(uint32_t x) {
    return (struct halves){mask_of(x, SALTS), mask_of(x, SALTS + 4)};
}

static inline struct halves bits_missing(struct halves words, struct halves mask) {
    return (struct halves){vbicq_u32(mask.low, words.low), vbicq_u32(mask.high, words.high)};
}

static inline bool is_zero(struct halves words) {
    return vmaxvq_u32(vorrq_u32(words.low, words.high)) == 0;
}

static bool simd_contains(const uint8_t *block, uint32_t x) {
    return is_zero(bits_missing(load_block(block), item_mask(x)));
}

static unsigned simd_add(uint8_t *block, uint32_t x) {
    struct halves words = load_block(block), mask = item_mask(x);
    struct halves missing = bits_missing(words, mask);
    if (is_zero(missing)) return 0;
    vst1q_u8(block, vreinterpretq_u8_u32(vorrq_u32(words.low, mask.low)));
    vst1q_u8(block + 16, vreinterpretq_u8_u32(vorrq_u32(words.high, mask.high)));
    // vtst gives all ones, which is -1, for a word with a missing bit.
    uint32x4_t found =
        vaddq_u32(vtstq_u32(missing.low, missing.low), vtstq_u32(missing.high, missing.high));
    return 0 - vaddvq_u32(found);
}

#else
#define HAS_SIMD_CODE 0

static bool cpu_has_simd(void) {
    return false;
}
#endif

#if HAS_SIMD_CODE
static SIMD void simd_contains_many(const uint8_t *bits, uint64_t nbits, const struct hash *hashes,
                                    size_t n, bool *contained) {
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hashes[i].a;
        contained[i] = simd_contains(bits + blocked_offset(nbits, hash), (uint32_t)hash);
    }
}

static SIMD void simd_add_many(uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                               unsigned *fresh) {
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hashes[i].a;
        fresh[i] = simd_add(bits + blocked_offset(nbits, hash), (uint32_t)hash);
    }
}
#else
#define simd_contains plain_contains
#define simd_add plain_add
#define simd_contains_many plain_contains_many
#define simd_add_many plain_add_many
#endif

static void plain_contains_many(const uint8_t *bits, uint64_t nbits, const struct hash *hashes,
                                size_t n, bool *contained) {
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hashes[i].a;
        contained[i] = plain_contains(bits + blocked_offset(nbits, hash), (uint32_t)hash);
    }
}

static void plain_add_many(uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                           unsigned *fresh) {
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hashes[i].a;
        fresh[i] = plain_add(bits + blocked_offset(nbits, hash), (uint32_t)hash);
    }
}

/* ---- The choice ----------------------------------------------------------------------------- */

static bool uses_simd;

__attribute__((constructor)) static void choose(void) {
    uses_simd = cpu_has_simd();
}

bool blocked_use_simd(bool wanted) {
    uses_simd = wanted && cpu_has_simd();
    return uses_simd;
}

bool blocked_contains(const uint8_t *bits, uint64_t nbits, uint64_t hash) {
    const uint8_t *block = bits + blocked_offset(nbits, hash);
    return uses_simd ? simd_contains(block, (uint32_t)hash) : plain_contains(block, (uint32_t)hash);
}

void blocked_contains_many(const uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                           bool *contained) {
    (uses_simd ? simd_contains_many : plain_contains_many)(bits, nbits, hashes, n, contained);
}

unsigned blocked_add(uint8_t *bits, uint64_t nbits, uint64_t hash) {
    uint8_t *block = bits + blocked_offset(nbits, hash);
    return uses_simd ? simd_add(block, (uint32_t)hash) : plain_add(block, (uint32_t)hash);
}

void blocked_add_many(uint8_t *bits, uint64_t nbits, const struct hash *hashes, size_t n,
                      unsigned *fresh) {
    (uses_simd ? simd_add_many : plain_add_many)(bits, nbits, hashes, n, fresh);
}

/* ---- The row -------------------------------------------------------------------------------- */

static double rate_when_full_of(uint64_t items, struct sizing size, enum scheme scheme) {
    (void)scheme;
    return rate_blocked_when_full((double)items, size.nbits / BLOCKED_BLOCK_BITS);
}

static double rate_at(const struct layer *layer, double ones) {
    double fill = ones / (double)layer->nbits;
    return rate_blocked_now(fill, layer->nbits / BLOCKED_BLOCK_BITS);
}

const struct layout_row BLOCKED_LAYOUT = {
    .unit = "bits",
    .byte_shift = 3,
    .has_blocks = true,
    .multiple = BLOCKED_BLOCK_BITS,
    .max_bits = BLOCKED_MAX_BLOCKS * BLOCKED_BLOCK_BITS,
    .nhashes = BLOCKED_HASHES,
    .max_hashes = SIZING_MOST_HASHES,
    .is_one_word = true,
    .grows = true,
    .takes_window = true,
    .is_in_v1 = true,
    .flat = LAYOUT_BLOCKED,
    .probes_ahead = 2,
    .ones = bits_count,
    .unite = bits_unite,
    .intersect = bits_intersect,
    .rate_when_full = rate_when_full_of,
    .rate_at = rate_at,
};
