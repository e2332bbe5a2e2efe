/* Logarithm and exponential, the same to the last bit on every machine.
 *
 * A master and its replica grow the same layers only if both compute the same sizes. C libraries
 * differ in the last bit of log, exp and pow. The functions here use only + - * / and frexp, ldexp
 * and floor, which IEEE 754 defines exactly (the build forbids fused multiply-add). Their relative
 * error is below 1e-15, tested against libm. */

#ifndef BLOOMPORT_REAL_H
#define BLOOMPORT_REAL_H

#include <math.h>

#define REAL_LN2 0.693147180559945309417

/* ln x for x > 0: x = f * 2^e with f in [1/sqrt 2, sqrt 2), then ln f = 2 artanh((f-1)/(f+1)). */
static inline double real_ln(double x) {
    int e;
    double f = frexp(x, &e);
    if (f < 0.70710678118654752440) {
        f *= 2;
        e--;
    }
    double s = (f - 1) / (f + 1);
    double s2 = s * s, sum = 0;
    for (int n = 25; n >= 1; n -= 2) sum = sum * s2 + 1.0 / n; // |s| <= 0.172: s^26 < 1e-19
    return 2 * s * sum + e * REAL_LN2;
}

/* e^x: x = n ln 2 + r with |r| <= ln(2)/2, then Taylor's series of e^r. */
static inline double real_exp(double x) {
    static const double LN2_HI = 0x1.62e42feep-1, LN2_LO = 0x1.a39ef35793c76p-33;
    if (x < -745) return 0; // e^x is below the smallest double
    double n = floor(x / REAL_LN2 + 0.5);
    double r = (x - n * LN2_HI) - n * LN2_LO;
    double sum = 1;
    for (int i = 18; i >= 1; i--) sum = 1 + sum * r / i;
    return ldexp(sum, (int)n);
}

/* x^y for x > 0. */
static inline double real_pow(double x, double y) {
    return real_exp(y * real_ln(x));
}

#endif
