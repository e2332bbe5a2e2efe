// Guava's BloomFilter.
//
//   java Guava write FILE KIND N P   writes a filter of the items on standard input (shared/Items.java)
//   java Guava read FILE KIND        prints 1 (possibly in) or 0 for each of them
//
// KIND is bytes, string or long: which funnel the items go through; or old, which is bytes with the
// strategy of filters from before Guava 18. The library still reads that one but creates it no more:
// an empty filter gets it by its first byte.

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;

public final class Guava {
    private static <T> BloomFilter<T> withOldStrategy(BloomFilter<T> empty, Funnel<T> funnel) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        empty.writeTo(out);
        byte[] bytes = out.toByteArray();
        bytes[0] = 0;
        return BloomFilter.readFrom(new ByteArrayInputStream(bytes), funnel);
    }

    private static <T> void run(String[] arguments, Funnel<T> funnel, Function<byte[], T> item) throws IOException {
        Path file = Path.of(arguments[1]);
        if (arguments[0].equals("read")) {
            try (InputStream in = Files.newInputStream(file)) {
                BloomFilter<T> filter = BloomFilter.readFrom(in, funnel);
                Items.answer(bytes -> filter.mightContain(item.apply(bytes)));
            }
            return;
        }
        BloomFilter<T> filter = BloomFilter.create(funnel, Long.parseLong(arguments[3]), Double.parseDouble(arguments[4]));
        if (arguments[2].equals("old")) filter = withOldStrategy(filter, funnel);
        for (byte[] bytes : Items.read()) filter.put(item.apply(bytes));
        try (OutputStream out = Files.newOutputStream(file)) {
            filter.writeTo(out);
        }
    }

    public static void main(String[] arguments) throws IOException {
        switch (arguments[2]) {
            case "bytes", "old" -> run(arguments, Funnels.byteArrayFunnel(), bytes -> bytes);
            case "string" -> run(arguments, Funnels.stringFunnel(StandardCharsets.UTF_8), Items::text);
            case "long" -> run(arguments, Funnels.longFunnel(), Items::number);
            default -> throw new IllegalArgumentException(arguments[2]);
        }
    }
}
