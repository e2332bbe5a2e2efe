import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the Java clients share: comparing and counting. What is asked, and why, is in ../README.md. */
class Checks {
    static final byte[] BINARY = {0, -1, '\r', '\n', -128};
    static final byte[] BINARY_CUT = Arrays.copyOf(BINARY, 4);

    /** One piece of a dump; the bytes as text, one character each, so that pieces can be compared. */
    record Chunk(long iterator, String data) {
        Chunk(long iterator, byte[] data) {
            this(iterator, latin(data));
        }

        byte[] bytes() {
            return data.getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    interface Scan {
        Chunk at(long iterator);
    }

    static {
        // Ends the program although a library's threads go on.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
    }

    private static int checks;
    private static int wrong;

    /** Any call: an exception is an answer too, its text. */
    static void check(String what, Callable<?> call, Object wanted) {
        Object got;
        try {
            got = call.call();
        } catch (Exception error) {
            got = error.getMessage() == null ? error.toString() : error.getMessage();
        }
        checks++;
        if (!Objects.equals(got, wanted)) {
            wrong++;
            System.out.printf("wrong: %s, got %s, wanted %s%n", what, shown(got), shown(wanted));
        }
    }

    /** The call fails, and the server's words are in the exception's text. */
    static void refused(String what, String words, Callable<?> call) {
        check(what, () -> {
            try {
                return call.call();
            } catch (Exception error) {
                String text = String.valueOf(error.getMessage());
                return text.contains(words) ? words : text;
            }
        }, words);
    }

    static String latin(byte[] data) {
        return new String(data, StandardCharsets.ISO_8859_1);
    }

    static List<Chunk> dump(Scan scan) {
        List<Chunk> found = new java.util.ArrayList<>();
        for (Chunk chunk = scan.at(0); chunk.iterator() != 0; chunk = scan.at(chunk.iterator())) {
            found.add(chunk);
        }
        return found;
    }

    static String[] many() {
        String[] items = new String[1000];
        Arrays.setAll(items, i -> "item-" + i);
        return items;
    }

    /** Ends the program; the version is in the name of the library's file. */
    static void finish(Class<?> library) {
        String file = library.getProtectionDomain().getCodeSource().getLocation().getPath();
        Matcher version = Pattern.compile("-(\\d[^/]*)\\.jar$").matcher(file);
        System.out.println("version " + (version.find() ? version.group(1) : "?"));
        System.out.println("checks " + checks);
        System.exit(wrong > 0 ? 1 : 0);
    }

    private static String shown(Object value) {
        String text = String.valueOf(value).replaceAll("\\s", " ");
        return text.substring(0, Math.min(300, text.length()));
    }
}
