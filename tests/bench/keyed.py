"""The part `keyed`: HASH SIP13 beside CLASSIC with XXH64, in the rounds of speed.py.

Both filters have n items at 10 bits each, the same size and the same number of hashes, in one server. The
items have 16 bytes (load.c). A keyed lookup must cost at most BOUND times CLASSIC's.
"""

from harness import MODULE, BenchServer
from speed import BITS_PER_KEY, LIMITED, Variant, error_rates
from speed import measure as measure_rows

DEFAULT_N = 20_000_000  # 24 MiB each
ROWS = LIMITED  # lookups and adds, one a command and 1,000
NAMES = ["floor", "floor, for writing", "CLASSIC", "SIP13"]
BOUND = 1.15


def measure(n, rounds, seconds):
    """{n, rows, error_rates}"""
    server = BenchServer(MODULE, with_floor=True).start()
    bits = ("BITSPERKEY", BITS_PER_KEY)
    variants = [Variant("CLASSIC", server, "c", (bits, ())),
                Variant("SIP13", server, "s", (bits, ("HASH", "SIP13")))]
    try:
        rows = measure_rows(variants, n, rounds, seconds, ROWS, has_limit=False)
    finally:
        server.close()
    return {"n": n, "rows": rows, "error_rates": error_rates(rows)}
