/* Lookups of one item in a run of layers: in all layers of a grown filter but the newest.
 *
 * An absent item has about half of its bits set in a full layer, so two bits of each layer nearly
 * always tell. Each step reads two bits of every layer that is left, without a branch on single
 * bits, and prefetches the lines that the next step reads, those of all layers together:
 *
 *   layer             0   1   2   3   4   5   6   7   8   9
 *   bits 0 and 1      .   .   x   .   .   x   .   .   .   x     x: both are set
 *   bits 2 and 3              .           x               .
 *   the other bits                        .                     no layer is left: absent
 *
 *   chain_first    prefetch the bits 0 and 1 of every layer
 *   chain_second   read them; prefetch the bits 2 and 3 of the layers that are left
 *   chain_third    read them; prefetch the other bits, if a layer is left
 *   chain_answer   read the other bits
 *                    ^ between the steps, other items take theirs (batch.c)
 *
 * The answer is that of layer_contains for each layer, which is the definition. Layers whose bits
 * cannot be computed one by one (BLOCKED; the rules of imported schemes) are looked up by it, after
 * a prefetch. With one bit in the first step an absent item took the same instructions, but a fifth
 * more time: more branches depended on the bits. */

#ifndef BLOOMPORT_CHAIN_H
#define BLOOMPORT_CHAIN_H

#include "module/core/filter/layer.h"

#include <stdbool.h>
#include <stdint.h>

#define CHAIN_LAYERS 32 // of a probe; a longer run takes several
#define CHAIN_VALUES 4  // the bits of the first two steps

/* An item on its way through 1 to CHAIN_LAYERS layers. */
struct chain_probe {
    struct hash hash;
    uint64_t values[CHAIN_VALUES]; // of the item's walk (scheme.h)
    const struct layer *layers;
    uint32_t nlayers;
    bool has_single_bits;
    uint32_t nleft;
    const struct layer *left[CHAIN_LAYERS]; // the newest first
    uint64_t two[CHAIN_LAYERS][2];          // positions: of all layers, and then of left[i]
    uint64_t rest[PROBE_MAX_HASHES];        // the positions of the other bits in left[0]
};

void chain_first(struct chain_probe *probe, const struct layer *layers, uint32_t nlayers,
                 struct hash hash);
void chain_second(struct chain_probe *probe);
void chain_third(struct chain_probe *probe);
bool chain_answer(const struct chain_probe *probe);

/* All steps, for any number of layers. */
bool chain_contains(const struct layer *layers, uint32_t nlayers, struct hash hash);

#endif
