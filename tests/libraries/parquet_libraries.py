"""What Parquet libraries do with Bloom filters, for test_parquet.py, which runs this with the
interpreter of build/venv (`make test-libraries` makes it): pyarrow and duckdb are not in Debian.

    parquet_libraries.py write FILE NDV FPP     a file of the values, with a Bloom filter, by pyarrow;
                                                prints where the filter begins, and its bytes' number
    parquet_libraries.py probe FILE             duckdb's answers from the file's filter, 1 or 0 each

Values come on standard input, one a line. pyarrow has no call that queries a Bloom filter; duckdb has.
"""

import sys


def write(path, ndv, fpp, values):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"c": pyarrow.array(values, pyarrow.string())})
    options = {"c": {"ndv": int(ndv), "fpp": float(fpp)}}
    pyarrow.parquet.write_table(table, path, bloom_filter_options=options)
    column = pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0)
    print(column.bloom_filter_offset, column.bloom_filter_length)


def probe(path, values):
    import duckdb

    query = "select bloom_filter_excludes from parquet_bloom_probe('%s', 'c', '%s')"
    for value in values:
        ((excluded,),) = duckdb.sql(query % (path, value)).fetchall()
        sys.stdout.write("01"[not excluded])


if __name__ == "__main__":
    {"write": write, "probe": probe}[sys.argv[1]](*sys.argv[2:], sys.stdin.read().splitlines())
