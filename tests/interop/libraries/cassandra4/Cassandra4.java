// Filter.db of Cassandra 4 and 5.
//
//   java Cassandra4 write FILE N P      writes a filter of the keys on standard input (shared/Items.java)
//   java Cassandra4 read FILE VARIANT   prints 1 (possibly in) or 0 for each of them
//
// VARIANT is 4.x or 3.x, which this version still reads.

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.util.WrappedDataOutputStreamPlus;
import org.apache.cassandra.utils.BloomFilter;
import org.apache.cassandra.utils.BloomFilterSerializer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

public final class Cassandra4 {
    private static IFilter.FilterKey key(byte[] item) {
        return Murmur3Partitioner.instance.decorateKey(ByteBuffer.wrap(item));
    }

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[1]);
        if (arguments[0].equals("read")) {
            try (DataInputStream in = new DataInputStream(Files.newInputStream(file));
                 IFilter filter = BloomFilterSerializer.deserialize(in, arguments[2].equals("3.x"))) {
                Items.answer(item -> filter.isPresent(key(item)));
            }
            return;
        }
        try (IFilter filter = FilterFactory.getFilter(Long.parseLong(arguments[2]), Double.parseDouble(arguments[3]));
             WrappedDataOutputStreamPlus out = new WrappedDataOutputStreamPlus(Files.newOutputStream(file))) {
            for (byte[] item : Items.read()) filter.add(key(item));
            BloomFilterSerializer.serialize((BloomFilter) filter, out);
        }
    }
}
