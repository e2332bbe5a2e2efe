import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Predicate;

/** The items on standard input, hexadecimal digits, one a line; an empty line is the empty item. */
final class Items {
    private Items() {}

    static List<byte[]> read() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        return in.lines().map(HexFormat.of()::parseHex).toList();
    }

    /** Prints 1 or 0 for each. */
    static void answer(Predicate<byte[]> contains) throws IOException {
        StringBuilder answers = new StringBuilder();
        for (byte[] item : read()) answers.append(contains.test(item) ? "1\n" : "0\n");
        System.out.print(answers);
    }

    static String text(byte[] item) {
        return new String(item, StandardCharsets.UTF_8);
    }

    /** Our bytes of a long: 8, little-endian. */
    static long number(byte[] item) {
        return ByteBuffer.wrap(item).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }
}
