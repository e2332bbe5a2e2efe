"""Copies a Parquet file without the rows whose id has come before, in this file or an earlier one.

    parquet_ids.py in.parquet out.parquet column

The column has integers, sent as 8 bytes each, or strings without newlines, sent as lines. The rows go by
in pieces, so the file may be larger than the memory; the filter is in the server, 30 bits a row. It stays
there: the next file is compared with this one too. A false positive is a row that is dropped although its
id is new: one in a million at most.
"""
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import redis

r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"))
KEY = "ids"
PIECE = 10_000  # items of a command: the server answers others in between. A multiple of 8
ROWS = 50 * PIECE  # of a round trip: as many commands wait in one pipeline


def reserve(rows):
    """Room for this file's ids; with later files the filter grows."""
    if not r.exists(KEY):
        r.execute_command("BF.RESERVE", KEY, 0.000001, max(rows, 1))


def words(piece):
    """How the items of a piece are sent."""
    if pa.types.is_integer(piece.type):
        return "WIDTH", 8, piece.to_numpy().astype("<i8").tobytes()  # a null is an error
    lines = "\n".join(piece.to_pylist()) + "\n"
    if lines.count("\n") != len(piece):
        raise ValueError("a newline within a string")
    return "LINES", lines


def add(column):
    """Adds the ids; returns for each whether it is new."""
    pipe = r.pipeline(transaction=False)
    for start in range(0, len(column), PIECE):
        pipe.execute_command("BF.BULKADD", KEY, *words(column[start:start + PIECE]))
    bits = np.frombuffer(b"".join(pipe.execute()), np.uint8)
    return np.unpackbits(bits, count=len(column)).astype(bool)


def deduplicate(source, target, name):
    file, kept = pq.ParquetFile(source), 0
    reserve(file.metadata.num_rows)
    with pq.ParquetWriter(target, file.schema_arrow) as out:
        for rows in file.iter_batches(ROWS):
            new = rows.filter(pa.array(add(rows.column(name))))
            out.write_batch(new)
            kept += len(new)
    return file.metadata.num_rows, kept


if __name__ == "__main__":
    total, left = deduplicate(*sys.argv[1:])
    print(f"{total} rows, {left} kept, {total - left} dropped")
