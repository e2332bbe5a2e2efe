import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the Java clients share: comparing and counting. ../README.md lists the calls and the reasons. */
class Checks {
    static final byte[] BINARY = {0, -1, '\r', '\n', -128};
    static final byte[] BINARY_CUT = Arrays.copyOf(BINARY, 4);

    /** One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one). */
    static final byte[] ONE = HexFormat.of().parseHex(
        "01020000007b14ae47e17a843f000000000000e03f0101000000000000002f000000000000000102000000000000000b00000"
        + "04564a07b0cc930b9e2e1fe54c4b2e464096547f4af40208ae0f36175b9fa97c6abd601000000000000000100000000000000");
    static final byte[] ONE_CUT = Arrays.copyOf(ONE, ONE.length - 1);

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

    /** A string of a raw reply, which may be bytes; anything else as it is. */
    static Object plain(Object reply) {
        return reply instanceof byte[] bytes ? latin(bytes) : reply;
    }

    /** A map: some libraries have pairs for it, some, and all over RESP2, names and values in a row. */
    static Map<Object, Object> table(Object reply) {
        Map<Object, Object> made = new LinkedHashMap<>();
        List<?> list = reply instanceof Map<?, ?> map ? List.copyOf(map.entrySet()) : (List<?>) reply;
        for (int i = 0; i < list.size(); i++) {
            if (list.get(i) instanceof Map.Entry<?, ?> pair) {
                made.put(plain(pair.getKey()), plain(pair.getValue()));
            } else {
                made.put(plain(list.get(i)), plain(list.get(++i)));
            }
        }
        return made;
    }

    /** BF.STATS by a raw command; `real` is the type the library has for a real number, `no` for 0. */
    static void stats(Class<?> real, Object no, Function<String, Object> call) {
        Map<Object, Object> seen = table(call.apply("plain"));
        check("stats has 17 fields", seen::size, 17);
        check("stats", () -> List.of(seen.get("layout"), seen.get("items"), seen.get("capacity")), List.of("CLASSIC", 4L, 1000L));
        Object ratio = seen.get("utilisation");
        check("stats, a real", ratio::getClass, real);
        check("stats, a real", () -> Double.parseDouble(ratio.toString()), 0.004);
        check("stats, a flag", () -> seen.get("items are estimated"), no);
        List<?> layers = (List<?>) seen.get("layers");
        check("stats layers", layers::size, 1);
        Map<Object, Object> layer = table(layers.get(0));
        check("stats layer", () -> List.of(layer.get("bits"), layer.get("hashes")), List.of(10595L, 7L));
        refused("stats missing", "not found", () -> call.apply("missing"));
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
