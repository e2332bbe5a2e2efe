// Reads and writes Bloom filters in bloomport's portable format with net.openhft:zero-allocation-hashing.
//
//   java Bloom query FILE       items on standard input, one a line; prints 1 (possibly in) or 0
//   java Bloom build K M FILE   writes a filter of M bits, K hashes, holding the items
//
// The file: k u32 | m u64 | bits, little-endian. It is what BF.EXPORT answers and BF.IMPORT takes.
// Java's long is signed, the format's numbers are not: remainderUnsigned and >>> make the difference.
// A byte[] ends at 2 GiB, that is 2^34 bits; a larger file wants mapping in pieces.

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import net.openhft.hashing.LongHashFunction;

public final class Bloom {
    private static final int HEADER = 12;
    private static final LongHashFunction SEED_0 = LongHashFunction.xx(0);
    private static final LongHashFunction SEED_1 = LongHashFunction.xx(1);

    private final int k;
    private final long m;
    private final byte[] data; // header and bits

    Bloom(byte[] data) {
        if (data.length < HEADER) throw new IllegalArgumentException("not a portable filter");
        ByteBuffer header = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        this.k = header.getInt(0);
        this.m = header.getLong(4);
        this.data = data;
        if (k <= 0 || m == 0 || data.length - HEADER != bytesFor(m))
            throw new IllegalArgumentException("not a portable filter, or too large for a byte[]");
    }

    static Bloom create(int k, long m) {
        byte[] data = new byte[Math.toIntExact(HEADER + bytesFor(m))];
        ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN).putInt(k).putLong(m);
        return new Bloom(data);
    }

    private static long bytesFor(long m) {
        return (m >>> 3) + ((m & 7) != 0 ? 1 : 0);
    }

    boolean has(byte[] item) {
        long h = SEED_0.hashBytes(item), h2 = SEED_1.hashBytes(item);
        for (int i = 0; i < k; i++, h += h2) {
            long p = Long.remainderUnsigned(h, m);
            if ((data[HEADER + (int) (p >>> 3)] & 1 << (p & 7)) == 0) return false;
        }
        return true;
    }

    void add(byte[] item) {
        long h = SEED_0.hashBytes(item), h2 = SEED_1.hashBytes(item);
        for (int i = 0; i < k; i++, h += h2) {
            long p = Long.remainderUnsigned(h, m);
            data[HEADER + (int) (p >>> 3)] |= (byte) (1 << (p & 7));
        }
    }

    /** The next line as bytes (readLine would decode them, and end lines at \r too), null at the end. */
    private static byte[] readItem(InputStream in) throws IOException {
        int c = in.read();
        if (c < 0) return null;
        ByteArrayOutputStream item = new ByteArrayOutputStream();
        for (; c >= 0 && c != '\n'; c = in.read()) item.write(c);
        return item.toByteArray();
    }

    public static void main(String[] arguments) throws IOException {
        InputStream in = new BufferedInputStream(System.in, 1 << 16);
        byte[] item;
        if (arguments.length == 2 && arguments[0].equals("query")) {
            Bloom filter = new Bloom(Files.readAllBytes(Path.of(arguments[1])));
            StringBuilder answers = new StringBuilder();
            while ((item = readItem(in)) != null) answers.append(filter.has(item) ? "1\n" : "0\n");
            System.out.print(answers);
        } else if (arguments.length == 4 && arguments[0].equals("build")) {
            Bloom filter = create(Integer.parseInt(arguments[1]), Long.parseUnsignedLong(arguments[2]));
            while ((item = readItem(in)) != null) filter.add(item);
            Files.write(Path.of(arguments[3]), filter.data);
        } else {
            System.err.println("usage: java Bloom query FILE | build K M FILE");
            System.exit(2);
        }
    }
}
