"""The hash functions of other libraries' filters in plain Python, from their public descriptions.

    murmur3_128     MurmurHash3 x64 128: Guava, bits-and-blooms; Cassandra's extends the sign of the tail's bytes
    murmur3_32      MurmurHash3 x86 32: BIP37
    spark_hash      the same, but each byte of the tail is a block of its own, sign-extended
    rocksdb_hash32  LevelDB's hash, the sign of the tail's bytes extended: RocksDB before format_version 5
    xxph3           XXH3 as of xxHash 0.7.2, with RocksDB's own value of the empty item
    highway128      HighwayHash-128 with Redisson's key
"""

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


def rotl32(x, n):
    return (x << n | x >> (32 - n)) & MASK32


def rotl64(x, n):
    return (x << n | x >> (64 - n)) & MASK64


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def signed(x, nbits):
    """x mod 2^nbits as a two's complement number."""
    x &= (1 << nbits) - 1
    return x - (1 << nbits) if x >> (nbits - 1) else x


# ---- MurmurHash3 x64 128 -------------------------------------------------------------------------

C1, C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def mix_k1(k):
    return rotl64(k * C1 & MASK64, 31) * C2 & MASK64


def mix_k2(k):
    return rotl64(k * C2 & MASK64, 33) * C1 & MASK64


def fmix64(h):
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
    return h ^ h >> 33


def tail_word(tail, is_signed):
    """Up to eight bytes, little-endian; sign-extended bytes are xored into the ones above them too."""
    word = 0
    for i, byte in enumerate(tail):
        word ^= (signed(byte, 8) if is_signed else byte) << 8 * i
    return word & MASK64


def murmur3_128(data, signed_tail=False):
    """(h1, h2), seed 0."""
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        h1 ^= mix_k1(u64(data, at))
        h1 = ((rotl64(h1, 27) + h2) * 5 + 0x52DCE729) & MASK64
        h2 ^= mix_k2(u64(data, at + 8))
        h2 = ((rotl64(h2, 31) + h1) * 5 + 0x38495AB5) & MASK64
    tail = data[whole:]
    h1 ^= mix_k1(tail_word(tail[:8], signed_tail)) ^ len(data)
    h2 ^= mix_k2(tail_word(tail[8:], signed_tail)) ^ len(data)
    h1 = h1 + h2 & MASK64
    h2 = h2 + h1 & MASK64
    h1, h2 = fmix64(h1), fmix64(h2)
    h1 = h1 + h2 & MASK64
    return h1, h2 + h1 & MASK64


# ---- MurmurHash3 x86 32 --------------------------------------------------------------------------


def mix_word(k):
    return rotl32(k * 0xCC9E2D51 & MASK32, 15) * 0x1B873593 & MASK32


def mix_block(h, k):
    return (rotl32(h ^ mix_word(k), 13) * 5 + 0xE6546B64) & MASK32


def fmix32(h):
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK32
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK32
    return h ^ h >> 16


def murmur3_32_blocks(data, seed):
    h = seed & MASK32
    for at in range(0, len(data) // 4 * 4, 4):
        h = mix_block(h, u32(data, at))
    return h, data[len(data) // 4 * 4 :]


def murmur3_32(data, seed):
    h, tail = murmur3_32_blocks(data, seed)
    return fmix32(h ^ mix_word(int.from_bytes(tail, "little")) ^ len(data))


def spark_hash(data, seed):
    """As a signed number."""
    h, tail = murmur3_32_blocks(data, seed)
    for byte in tail:
        h = mix_block(h, signed(byte, 8) & MASK32)
    return signed(fmix32(h ^ len(data)), 32)


# ---- RocksDB -------------------------------------------------------------------------------------


def rocksdb_hash32(data, seed=0xBC9F1D34):
    mul = 0xC6A4A793
    h = seed ^ (len(data) * mul & MASK32)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        h = (h + u32(data, at)) * mul & MASK32
        h ^= h >> 16
    if whole < len(data):
        h = (h + sum(signed(byte, 8) << 8 * i for i, byte in enumerate(data[whole:]))) * mul & MASK32
        h ^= h >> 24
    return h


P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
Q1, Q2, Q3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8"
    "fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb17"
    "0ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
assert len(SECRET) == 192


def fold(a, b):
    product = a * b
    return (product ^ product >> 64) & MASK64


def avalanche(h):
    h &= MASK64
    h = (h ^ h >> 37) * P3 & MASK64
    return h ^ h >> 32


def xxph3_short(data):
    n = len(data)
    if n == 0:
        return fold(u64(SECRET, 0), P2)
    if n <= 3:
        word = data[0] | data[n // 2] << 8 | data[n - 1] << 16 | n << 24
        return avalanche((word ^ u32(SECRET, 0)) * P1)
    if n <= 8:
        word = (u32(data, 0) | u32(data, n - 4) << 32) ^ u64(SECRET, 0)
        x = n + (word ^ word >> 51) * Q1 & MASK64
        return avalanche((x ^ x >> 47) * P2)
    low, high = u64(data, 0) ^ u64(SECRET, 0), u64(data, n - 8) ^ u64(SECRET, 8)
    return avalanche(n + low + high + fold(low, high))


def xxph3_middle(data):
    n = len(data)

    def mix(at, secret):
        return fold(u64(data, at) ^ u64(SECRET, secret), u64(data, at + 8) ^ u64(SECRET, secret + 8))

    acc = n * P1
    if n <= 128:
        for j in range((n - 1) // 32 + 1):
            acc += mix(16 * j, 32 * j) + mix(n - 16 * (j + 1), 32 * j + 16)
        return avalanche(acc)
    acc = avalanche(acc + sum(mix(16 * j, 16 * j) for j in range(8)))
    acc += sum(mix(16 * j, 16 * (j - 8) + 3) for j in range(8, n // 16))
    return avalanche(acc + mix(n - 16, 119))


def xxph3_long(data):
    n, acc = len(data), [Q3, P1, P2, P3, P4, Q2, P5, Q1]

    def stripe(at, secret):
        for j in range(8):
            word = u64(data, at + 8 * j)
            key = word ^ u64(SECRET, secret + 8 * j)
            acc[j] = (acc[j] + word + (key & MASK32) * (key >> 32)) & MASK64

    for start in range(0, n, 1024):
        for i in range(min(n - start, 1024) // 64):
            stripe(start + 64 * i, 8 * i)
        if n - start >= 1024:
            for j in range(8):
                acc[j] = (acc[j] ^ acc[j] >> 47 ^ u64(SECRET, 128 + 8 * j)) * Q1 & MASK64
    if n % 64:
        stripe(n - 64, 121)
    folded = sum(fold(acc[2 * j] ^ u64(SECRET, 11 + 16 * j), acc[2 * j + 1] ^ u64(SECRET, 19 + 16 * j)) for j in range(4))
    return avalanche(n * P1 + folded)


def xxph3(data):
    if len(data) <= 16:
        return xxph3_short(data)
    return xxph3_middle(data) if len(data) <= 240 else xxph3_long(data)


# ---- HighwayHash-128 -----------------------------------------------------------------------------

KEY = (0x9E3779B97F4A7C15, 0xF39CC0605CEDC834, 0x1082276BF3A27251, 0xF86C6A11D0C18E95)
INIT0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
INIT1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)
# byte i of the result is byte ZIPPER[i] of the pair, of which the low word has bytes 0 to 7
ZIPPER = (3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7)


def zipped(low, high):
    pair = (low | high << 64).to_bytes(16, "little")
    pair = bytes(pair[i] for i in ZIPPER)
    return u64(pair, 0), u64(pair, 8)


class Highway:
    def __init__(self, key):
        self.mul0, self.mul1 = list(INIT0), list(INIT1)
        self.v0 = [a ^ k for a, k in zip(INIT0, key)]
        self.v1 = [b ^ rotl64(k, 32) for b, k in zip(INIT1, key)]

    def update(self, words):
        v0, v1, mul0, mul1 = self.v0, self.v1, self.mul0, self.mul1
        for i in range(4):
            v1[i] = (v1[i] + mul0[i] + words[i]) & MASK64
            mul0[i] ^= (v1[i] & MASK32) * (v0[i] >> 32)
            v0[i] = (v0[i] + mul1[i]) & MASK64
            mul1[i] ^= (v0[i] & MASK32) * (v1[i] >> 32)
        for to, source in ((v0, v1), (v1, v0)):
            for i in (0, 2):
                low, high = zipped(source[i], source[i + 1])
                to[i], to[i + 1] = (to[i] + low) & MASK64, (to[i + 1] + high) & MASK64

    def update_rest(self, rest):
        """The last 1 to 31 bytes."""
        n, whole = len(rest), len(rest) // 4 * 4
        self.v0 = [(v + (n << 32) + n) & MASK64 for v in self.v0]
        self.v1 = [rotl32(v & MASK32, n) | rotl32(v >> 32, n) << 32 for v in self.v1] if n else self.v1
        packet = bytearray(32)
        packet[:whole] = rest[:whole]
        if n & 16:
            packet[28:] = rest[-4:]
        elif n % 4:
            packet[16], packet[17], packet[18] = rest[whole], rest[whole + (n % 4 >> 1)], rest[-1]
        self.update([u64(packet, 8 * i) for i in range(4)])


def highway128(data):
    state, whole = Highway(KEY), len(data) // 32 * 32
    for at in range(0, whole, 32):
        state.update([u64(data, at + 8 * i) for i in range(4)])
    if whole < len(data):
        state.update_rest(data[whole:])
    for _ in range(6):
        state.update([rotl64(state.v0[i], 32) for i in (2, 3, 0, 1)])
    v0, v1, mul0, mul1 = state.v0, state.v1, state.mul0, state.mul1
    return tuple((v0[i] + mul0[i] + v1[i + 2] + mul1[i + 2]) & MASK64 for i in (0, 1))
