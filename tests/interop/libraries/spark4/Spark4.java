// Spark's BloomFilter in Spark 4, which writes two versions of its format.
//
//   java Spark4 write FILE KIND N P VERSION SEED   VERSION is default, V1 or V2; SEED counts in V2
//   java Spark4 read FILE KIND                     all else as in ../spark3/Spark.java

import java.io.IOException;
import java.nio.file.Path;
import org.apache.spark.util.sketch.BloomFilter;

public final class Spark4 extends Spark {
    static BloomFilter create(long n, double p, String version, int seed) {
        if (version.equals("default")) return BloomFilter.create(n, p);
        return BloomFilter.create(BloomFilter.Version.valueOf(version), n, BloomFilter.optimalNumOfBits(n, p), seed);
    }

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[1]);
        if (arguments[0].equals("read")) {
            read(file, arguments[2]);
        } else {
            write(file, arguments[2], create(Long.parseLong(arguments[3]), Double.parseDouble(arguments[4]),
                arguments[5], Integer.parseInt(arguments[6])));
        }
    }
}
