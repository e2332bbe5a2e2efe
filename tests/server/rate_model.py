"""The error rate that a filter of scheme XXH64 or FNV1A states, from its set bits: module/core/math/rate.c in
another language, for arrays of an odd number of bits and BLOCKED ones. unit/test_stated.c measures that
the rates are true; with this model the server's tests compare what it states to the last digits."""

import math


def totient(n):
    return sum(math.gcd(i, n) == 1 for i in range(1, n + 1))


def repeating(k, m, wraps, weights):
    """The mean of weights[positions that a query visits] over all strides. m is odd."""
    two, odd = (1, m) if wraps else (m, 1)
    total = 0.0
    for d in (d for d in range(1, min(k - 1, m) + 1) if m % d == 0):
        limit = min(math.gcd(d, two) * odd, k)
        for b in range(1, limit):
            visits = b // math.gcd(b, d) * d
            if visits < limit and math.gcd(b, odd) == 1:
                family = weights[visits] + 2 * sum(weights[visits + visits // b : limit : visits // b])
                total += totient(b) * totient(d) * family / (b * (k - visits)) / m
    circles = (d for d in range(1, min(two, k - 1) + 1) if two % d == 0 and d * odd < k)
    return total + sum(totient(d) * weights[d * odd] for d in circles) / two


def items_of_fill(k, m, wraps, fill):
    distinct = k - repeating(k, m, wraps, [k - i for i in range(k + 1)]) if m < 100 * k else k
    slope = sum(fill**i for i in range(k))
    return max(0.0, sum(fill**i / i for i in range(1, k + 1)) * m / distinct - 0.5 * math.log(slope))


def aligned(k, wraps, fill, powers):
    """What items that run along the query add, for each item and m^2."""
    whole = (3 + 14 / k) / k**2 if wraps else 2
    weight = whole + sum(powers[j] * (whole * math.comb(j + 2, 2) if wraps else 4) for j in range(1, k - 2))
    weight += (2.2 if wraps else 5) * (k - 3) * fill ** (k / 2)
    unset = 1 - fill
    return weight * (1 - powers[k] - k * powers[k - 1] * unset - math.comb(k, 2) * powers[k - 2] * unset**2)


def classic(ones, m, k, wraps=True):
    fill = ones / m
    if fill <= 0 or fill >= 1:
        return float(fill >= 1)
    items = items_of_fill(k, m, wraps, fill)
    powers = [1.0]
    for i in range(k):
        powers.append(powers[-1] * (ones - i) / (m - i) if ones > i else 0.0)
    rare = repeating(k, m, wraps, [power - powers[k] for power in powers])
    if k >= 3:
        rare += items / m**2 * aligned(k, wraps, fill, powers)
        cosets = (d for d in range(2, k + 1) if not wraps and m % d == 0)
        rare += 0.6 * items / m**3 * sum(totient(d) * d**2 for d in cosets)
    if k > 3:
        rare += items / m**3 * 0.25 * (k**2 - 9)
    return min(1.0, powers[k] + max(0.0, 1 - (k / m) ** 2) * rare)


def blocked(ones, m):
    """The mean over the blocks, whose items are binomial."""
    fill, blocks = ones / m, m // 256
    if blocks == 1 or fill in (0, 1):
        return fill**8
    items = math.log(1 - fill) / math.log(1 - 1 / 32 / blocks)
    rate, chance, j = 0.0, math.exp(items * math.log(1 - 1 / blocks)), 0
    while j <= items and (j <= items / blocks or chance > 1e-20):
        rate += chance * (1 - (31 / 32) ** j) ** 8
        chance *= (items - j) / (j + 1) / (blocks - 1)
        j += 1
    return rate


def stated(layout, hash_, layers, ones):
    """The rate of a chain of layers, each with its number of set bits."""
    right = 1.0
    for layer, n in zip(layers, ones):
        right *= 1 - (blocked(n, layer.bits) if layout == b"BLOCKED" else classic(n, layer.bits, layer.hashes, hash_ != b"FNV1A"))
    return 1 - right


def least_ones(n, m):
    """Six sigma fewer set bits: what chance may have added."""
    unset = 1 - n / m
    return n if n in (0, m) else max(0.0, n - 6 * math.sqrt(max(0.0, m * unset * (1 - unset + unset * math.log(unset)))))


def is_overfilled(layout, hash_, layers, ones, promised):
    least = [least_ones(n, layer.bits) for layer, n in zip(layers, ones)]
    return stated(layout, hash_, layers, least) > 1.1 * promised
