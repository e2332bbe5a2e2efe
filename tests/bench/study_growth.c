/* How should a growing filter share its error rate among its layers? Bits per item of a filter
 * reserved for 1,000 items, p = 0.01 and 0.001, under three budgets, when it holds what it was
 * reserved for, and when it has grown to 10^6 and 10^9 items. The sizes are the module's own; the
 * third budget is the one it uses (sizing.c). Arithmetic only: the rates are measured by
 * tests/unit/test_rates.c. */

#include "module/core/math/real.h"
#include "module/core/math/sizing.h"

#include <stdio.h>

static const struct geometry CLASSIC = {LAYOUT_CLASSIC, SCHEME_XXH64};

#define FIRST_CAPACITY 1000.0

/* The part of the whole error rate that layer `i` gets, growing from `before` to `after` items. */
typedef double (*budget)(int i, double before, double after);

static double halving(int i, double before, double after) {
    (void)before, (void)after;
    return real_pow(0.5, i + 1);
}

static double geometric(int i, double before, double after) {
    (void)before, (void)after;
    return i == 0 ? SIZING_FIRST_SHARE : (1 - SIZING_FIRST_SHARE) * 0.1 * real_pow(0.9, i - 1);
}

static double doublings(int i, double before, double after) {
    if (i == 0) return SIZING_FIRST_SHARE;
    return (1 - SIZING_FIRST_SHARE) * sizing_growth_share(FIRST_CAPACITY, before, after);
}

/* Bits per item when `adds` distinct items have been offered. Those that seem to be there already
 * are not added: a layer takes capacity/(1 - rate of the older layers) offers to fill. */
static double bits_per_item(budget share, double p, double expansion, double adds) {
    double capacity = FIRST_CAPACITY, total = 0, bits = 0, items = 0, older = 0;
    for (int i = 0;; i++) {
        struct sizing size;
        double rate = p * share(i, total, total + capacity);
        if (!sizing_by_error((uint64_t)capacity, rate, CLASSIC, &size)) return NAN;
        bits += (double)size.nbits;
        double offers = capacity / (1 - older);
        if (offers >= adds) return bits / (items + adds * (1 - older));
        adds -= offers;
        items += capacity;
        total += capacity;
        older += rate;
        capacity *= expansion;
    }
}

int main(void) {
    static const struct {
        const char *name;
        budget share;
    } BUDGETS[] = {{"halving: 1/2, 1/4, 1/8, ...", halving},
                   {"5/8, then 0.9 times the last", geometric},
                   {"5/8, then evenly over doublings", doublings}};
    static const double RATES[] = {0.01, 0.001};
    for (int r = 0; r < 2; r++) {
        printf("p = %g, bits per item:%*s reserved  10^6 (x2)  10^6 (x4)  10^9 (x2)\n", RATES[r],
               r ? 9 : 10, "");
        for (int b = 0; b < 3; b++) {
            budget share = BUDGETS[b].share;
            printf("  %-34s %7.2f %10.2f %10.2f %10.2f\n", BUDGETS[b].name,
                   bits_per_item(share, RATES[r], 2, FIRST_CAPACITY),
                   bits_per_item(share, RATES[r], 2, 1e6), bits_per_item(share, RATES[r], 4, 1e6),
                   bits_per_item(share, RATES[r], 2, 1e9));
        }
    }
    return 0;
}
