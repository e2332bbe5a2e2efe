// BloomFilter of Apache DataSketches.
//
//   java DataSketches write FILE KIND N P SEED   writes a filter of the items on standard input (shared/Items.java)
//   java DataSketches read FILE KIND             prints 1 (possibly in) or 0 for each of them
//
// KIND is bytes, string or long: which update() the items go through.

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.datasketches.filters.bloomfilter.BloomFilter;
import org.apache.datasketches.filters.bloomfilter.BloomFilterBuilder;
import org.apache.datasketches.memory.Memory;

public final class DataSketches {
    private static void update(BloomFilter filter, String kind, byte[] item) {
        switch (kind) {
            case "string" -> filter.update(Items.text(item));
            case "long" -> filter.update(Items.number(item));
            default -> filter.update(item);
        }
    }

    private static boolean query(BloomFilter filter, String kind, byte[] item) {
        return switch (kind) {
            case "string" -> filter.query(Items.text(item));
            case "long" -> filter.query(Items.number(item));
            default -> filter.query(item);
        };
    }

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[1]);
        String kind = arguments[2];
        if (arguments[0].equals("read")) {
            BloomFilter filter = BloomFilter.heapify(Memory.wrap(Files.readAllBytes(file)));
            Items.answer(item -> query(filter, kind, item));
        } else {
            BloomFilter filter = BloomFilterBuilder.createByAccuracy(
                Long.parseLong(arguments[3]), Double.parseDouble(arguments[4]), Long.parseLong(arguments[5]));
            for (byte[] item : Items.read()) update(filter, kind, item);
            Files.write(file, filter.toByteArray());
        }
    }
}
