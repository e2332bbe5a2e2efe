// Spark's BloomFilter, as df.stat.bloomFilter() returns it, in Spark 3: it writes version 1 of its format.
//
//   java Spark write FILE KIND N P   writes a filter of the items on standard input (shared/Items.java)
//   java Spark read FILE KIND        prints 1 (possibly in) or 0 for each of them
//
// KIND is bytes, string or long: putBinary, putString or putLong.

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.util.sketch.BloomFilter;

public class Spark {
    static void put(BloomFilter filter, String kind, byte[] item) {
        switch (kind) {
            case "string" -> filter.putString(Items.text(item));
            case "long" -> filter.putLong(Items.number(item));
            default -> filter.putBinary(item);
        }
    }

    static boolean mightContain(BloomFilter filter, String kind, byte[] item) {
        return switch (kind) {
            case "string" -> filter.mightContainString(Items.text(item));
            case "long" -> filter.mightContainLong(Items.number(item));
            default -> filter.mightContainBinary(item);
        };
    }

    static void read(Path file, String kind) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            BloomFilter filter = BloomFilter.readFrom(in);
            Items.answer(item -> mightContain(filter, kind, item));
        }
    }

    static void write(Path file, String kind, BloomFilter filter) throws IOException {
        for (byte[] item : Items.read()) put(filter, kind, item);
        try (OutputStream out = Files.newOutputStream(file)) {
            filter.writeTo(out);
        }
    }

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[1]);
        if (arguments[0].equals("read")) {
            read(file, arguments[2]);
        } else {
            write(file, arguments[2], BloomFilter.create(Long.parseLong(arguments[3]), Double.parseDouble(arguments[4])));
        }
    }
}
