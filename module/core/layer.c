/* One fixed-size Bloom filter. See layer.h. */

#include "module/core/layer.h"

#include "module/core/mem.h"

#include <string.h>

enum status layer_init(struct layer *layer, struct sizing size, uint64_t capacity,
                       double error_rate) {
    uint8_t *bits = mem_alloc_zeroed((size_t)layer_bytes(size.nbits));
    if (!bits) return STATUS_NOMEM;
    *layer = (struct layer){.bits = bits,
                            .nbits = size.nbits,
                            .capacity = capacity,
                            .error_rate = error_rate,
                            .nhashes = size.nhashes};
    return STATUS_OK;
}

enum status layer_copy(struct layer *to, const struct layer *from) {
    size_t size = (size_t)layer_bytes(from->nbits);
    uint8_t *bits = mem_alloc(size);
    if (!bits) return STATUS_NOMEM;
    memcpy(bits, from->bits, size);
    *to = *from;
    to->bits = bits;
    return STATUS_OK;
}

void layer_clear(struct layer *layer) {
    mem_free(layer->bits);
    layer->bits = NULL;
}

bool layer_contains(const struct layer *layer, struct hash hash) {
    uint64_t walk = hash.a;
    for (uint32_t i = 0; i < layer->nhashes; i++, walk += hash.b) {
        uint64_t pos = walk % layer->nbits;
        if (!(layer->bits[pos >> 3] & (1U << (pos & 7)))) return false;
    }
    return true;
}

bool layer_add(struct layer *layer, struct hash hash) {
    uint64_t walk = hash.a;
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < layer->nhashes; i++, walk += hash.b) {
        uint64_t pos = walk % layer->nbits;
        uint8_t *byte = &layer->bits[pos >> 3];
        uint8_t mask = (uint8_t)(1U << (pos & 7));
        fresh += !(*byte & mask);
        *byte |= mask;
    }
    layer->ones += fresh;
    layer->items += fresh != 0;
    return fresh != 0;
}

uint64_t layer_count_ones(const struct layer *layer) {
    uint64_t size = layer_bytes(layer->nbits);
    uint64_t ones = 0;
    uint64_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, layer->bits + i, 8);
        ones += (uint64_t)__builtin_popcountll(word);
    }
    for (; i < size; i++) ones += (uint64_t)__builtin_popcount(layer->bits[i]);
    return ones;
}

bool layer_tail_is_zero(const struct layer *layer) {
    uint64_t used = layer->nbits % 8;
    return used == 0 || layer->bits[layer->nbits / 8] >> used == 0;
}

double layer_current_error_rate(const struct layer *layer) {
    double fill = (double)layer->ones / (double)layer->nbits;
    double rate = 1;
    for (uint32_t i = 0; i < layer->nhashes; i++) rate *= fill;
    return rate;
}
