// Cassandra 3's Filter.db.
//
//   java Cassandra3 write FILE VARIANT N P   writes a filter of the keys on standard input (shared/Items.java)
//   java Cassandra3 read FILE VARIANT        prints 1 (possibly in) or 0 for each of them
//
// VARIANT is old, the order of the two hashes in Cassandra 1.2 to 2.2, or 3.x.

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.util.WrappedDataOutputStreamPlus;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

public final class Cassandra3 {
    private static IFilter.FilterKey key(byte[] item) {
        return Murmur3Partitioner.instance.decorateKey(ByteBuffer.wrap(item));
    }

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[1]);
        boolean old = arguments[2].equals("old");
        if (arguments[0].equals("read")) {
            try (DataInputStream in = new DataInputStream(Files.newInputStream(file));
                 IFilter filter = FilterFactory.deserialize(in, false, old)) {
                Items.answer(item -> filter.isPresent(key(item)));
            }
            return;
        }
        try (IFilter filter = FilterFactory.getFilter(
                Long.parseLong(arguments[3]), Double.parseDouble(arguments[4]), false, old);
             WrappedDataOutputStreamPlus out = new WrappedDataOutputStreamPlus(Files.newOutputStream(file))) {
            for (byte[] item : Items.read()) filter.add(key(item));
            FilterFactory.serialize(filter, out);
        }
    }
}
