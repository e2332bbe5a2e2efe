"""python-bitcoinlib's CBloomFilter: what a BIP 37 filterload message holds.

    bip37.py write FILE N P TWEAK FLAG   writes a filter of the items on standard input
    bip37.py read FILE                   prints 1 (possibly in) or 0 for each of them

Items are hexadecimal digits, one a line; an empty line is the empty item. FLAG is 0, 1 or 2.
"""
import sys
from pathlib import Path

from bitcoin.bloom import CBloomFilter


def main(mode, file, *parameters):
    items = [bytes.fromhex(line) for line in sys.stdin]
    if mode == "read":
        bloom = CBloomFilter.deserialize(Path(file).read_bytes())
        print("\n".join("1" if bloom.contains(item) else "0" for item in items))
        return
    n, rate, tweak, flag = parameters
    bloom = CBloomFilter(int(n), float(rate), int(tweak), int(flag))
    for item in items:
        bloom.insert(item)
    Path(file).write_bytes(bloom.serialize())


if __name__ == "__main__":
    main(*sys.argv[1:])
