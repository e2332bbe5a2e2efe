"""A DataFrame's Bloom filter, with PySpark. Its Python API has no bloomFilter(); that of its JVM has.

    filter.py write FILE KIND N P   writes a filter of the items on standard input
    filter.py read FILE KIND        prints 1 (possibly in) or 0 for each of them

Items are hexadecimal digits, one a line. KIND is string or long: the column's type. (A column of
bytes cannot have a Bloom filter.)
"""
import sys

from pyspark.sql import SparkSession


def main(mode, file, kind, *parameters):
    lines = [bytes.fromhex(line) for line in sys.stdin]
    items = [item.decode() if kind == "string" else int.from_bytes(item, "little", signed=True) for item in lines]
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if mode == "write":
        frame = spark.createDataFrame([(item,) for item in items], "item " + {"string": "string", "long": "bigint"}[kind])
        bloom = frame._jdf.stat().bloomFilter("item", int(parameters[0]), float(parameters[1]))
        out = spark._jvm.java.io.FileOutputStream(file)
        bloom.writeTo(out)
        out.close()
        return
    bloom = spark._jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(spark._jvm.java.io.FileInputStream(file))
    might_contain = bloom.mightContainString if kind == "string" else bloom.mightContainLong
    print("\n".join("1" if might_contain(item) else "0" for item in items))


if __name__ == "__main__":
    main(*sys.argv[1:])
