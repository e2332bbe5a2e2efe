import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.output.ByteArrayOutput;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.ObjectOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.probabilistic.BfInfoValue;
import io.lettuce.core.probabilistic.ScanDumpValue;
import io.lettuce.core.probabilistic.arguments.BfInsertArgs;
import io.lettuce.core.probabilistic.arguments.BfReserveArgs;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Lettuce: Client PORT PROTOCOL */
class Client extends Checks {
    static RedisCommands<String, String> r;
    static RedisCommands<byte[], byte[]> binary;

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** A command the library has no method for. */
    static <T> T call(CommandOutput<byte[], byte[], T> output, String command, Object... words) {
        CommandArgs<byte[], byte[]> arguments = new CommandArgs<>(ByteArrayCodec.INSTANCE);
        for (Object word : words) {
            arguments.add(word instanceof byte[] raw ? raw : utf8(word.toString()));
        }
        ProtocolKeyword name = new ProtocolKeyword() {
            @Override
            public byte[] getBytes() {
                return utf8(command);
            }

            @Override
            public String toString() {
                return command;
            }
        };
        return binary.dispatch(name, output, arguments);
    }

    static String status(String command, Object... words) {
        return call(new StatusOutput<>(ByteArrayCodec.INSTANCE), command, words);
    }

    static byte[] bytes(String command, Object... words) {
        return call(new ByteArrayOutput<>(ByteArrayCodec.INSTANCE), command, words);
    }

    static Long integer(String command, Object... words) {
        return call(new IntegerOutput<>(ByteArrayCodec.INSTANCE), command, words);
    }

    /** Bulk strings in it are byte[]. */
    static List<Object> list(String command, Object... words) {
        return call(new ArrayOutput<>(ByteArrayCodec.INSTANCE), command, words);
    }

    /** Anything: ArrayOutput takes no booleans. */
    static Object any(String command, Object... words) {
        return call(new ObjectOutput<>(ByteArrayCodec.INSTANCE), command, words);
    }

    static void reserve() {
        check("reserve", () -> r.bfReserve("plain", 0.01, 1000), "OK");
        check("reserve expansion", () -> r.bfReserve("grown", 0.001, 100, BfReserveArgs.Builder.expansion(4)), "OK");
        check("reserve nonscaling", () -> r.bfReserve("fixed", 1e-7, 2, BfReserveArgs.Builder.nonScaling()), "OK");
        check("reserve again", () -> r.bfReserve("plain", 0.01, 1000), "ERR item exists");
    }

    static void add() {
        check("add", () -> r.bfAdd("plain", "a"), true);
        check("add again", () -> r.bfAdd("plain", "a"), false);
        check("add binary", () -> binary.bfAdd(utf8("plain"), BINARY), true);
        check("madd", () -> r.bfMAdd("plain", "a", "b", "c"), List.of(false, true, true));
        BfInsertArgs all = BfInsertArgs.Builder.capacity(500).error(0.001).expansion(3);
        check("insert", () -> r.bfInsert("inserted", all, "x", "y", "x"), List.of(true, true, false));
        check("insert nocreate", () -> r.bfInsert("inserted", BfInsertArgs.Builder.noCreate(), "z"), List.of(true));
        check("insert nocreate missing", () -> r.bfInsert("missing", BfInsertArgs.Builder.noCreate(), "z"), "ERR not found");
        check("insert nonscaling", () -> r.bfInsert("small", BfInsertArgs.Builder.capacity(2).nonScaling(), "x"), List.of(true));
        check("insert plain", () -> r.bfInsert("default", "x"), List.of(true));
        check("insert two", () -> r.bfInsert("default", "x", "y"), List.of(false, true));
    }

    static void lookups() {
        check("exists", () -> r.bfExists("plain", "a"), true);
        check("exists absent", () -> r.bfExists("plain", "absent"), false);
        check("exists binary", () -> binary.bfExists(utf8("plain"), BINARY), true);
        check("exists binary cut", () -> binary.bfExists(utf8("plain"), BINARY_CUT), false);
        check("exists missing", () -> r.bfExists("missing", "a"), false);
        check("mexists", () -> r.bfMExists("plain", "a", "absent", "c"), List.of(true, false, true));
        check("card", () -> r.bfCard("plain"), 4L);
        check("card missing", () -> r.bfCard("missing"), 0L);
    }

    static List<Long> four(String key) {
        BfInfoValue info = r.bfInfo(key);
        return Arrays.asList(info.getCapacity(), info.getNumberOfFilters(), info.getNumberOfItemsInserted(), info.getExpansionRate());
    }

    static void info() {
        check("info", () -> four("plain"), List.of(1000L, 1L, 4L, 2L));
        check("info size", () -> r.bfInfo("plain").getSize() > 1000, true);
        check("info has five fields", () -> r.bfInfo("plain").getRawInfo().size(), 5);
        check("info inserted", () -> four("inserted"), List.of(500L, 1L, 3L, 3L));
        check("info nonscaling", () -> four("fixed"), Arrays.asList(2L, 1L, 0L, null));
        check("info missing", () -> r.bfInfo("missing"), "ERR not found");
    }

    static void errors() {
        // The library has no place for an error inside a list of Boolean: null stands for it.
        check("madd full", () -> r.bfMAdd("fixed", "p", "q", "r", "s"), Arrays.asList(true, true, null));
        check("add full", () -> r.bfAdd("fixed", "r"), "ERR non scaling filter is full");
        check("add full, known", () -> r.bfAdd("fixed", "p"), false);
        r.set("text", "x");
        refused("add wrong type", "WRONGTYPE", () -> r.bfAdd("text", "a"));
        refused("exists wrong type", "WRONGTYPE", () -> r.bfExists("text", "a"));
    }

    static List<Chunk> chunks(String key) {
        return dump(iterator -> {
            ScanDumpValue chunk = r.bfScanDump(key, iterator);
            return new Chunk(chunk.getIterator(), chunk.getData());
        });
    }

    static void dumps() {
        check("grow", () -> r.bfMAdd("grown", many()).size(), 1000);
        check("info grown", () -> four("grown").subList(0, 2), List.of(2100L, 3L));
        List<Chunk> dumped = chunks("grown");
        check("scandump", dumped::size, 4);
        for (Chunk chunk : dumped) {
            check("loadchunk", () -> r.bfLoadChunk("loaded", chunk.iterator(), chunk.bytes()), "OK");
        }
        check("dump of the copy", () -> chunks("loaded"), dumped);
        check("mexists in the copy", () -> r.bfMExists("loaded", "item-0", "item-999", "absent"), List.of(true, true, false));
    }

    static void raw() {
        check("debug", () -> {
            List<Object> lines = list("BF.DEBUG", "plain");
            return List.of(lines.size(), latin((byte[]) lines.get(0)), latin((byte[]) lines.get(1)).substring(0, 6));
        }, List.of(2, "size:4", "bytes:"));
        byte[] data = bytes("BF.EXPORT", "plain");
        check("import", () -> status("BF.IMPORT", "imported", "FORMAT", "portable", "DATA", data), "OK");
        check("export of the copy", () -> latin(bytes("BF.EXPORT", "imported")), latin(data));
        check("exists in the copy", () -> binary.bfExists(utf8("imported"), BINARY), true);
        byte[] cut = Arrays.copyOf(data, data.length - 1);
        refused("import cut", "ERR bad data", () -> status("BF.IMPORT", "bad", "FORMAT", "portable", "DATA", cut));
    }

    static void combine() {
        r.bfReserve("other", 0.01, 1000);
        r.bfMAdd("other", "a", "only");
        check("merge", () -> status("BF.MERGE", "merged", "plain", "other"), "OK");
        check("mexists merged", () -> r.bfMExists("merged", "b", "only", "absent"), List.of(true, true, false));
        check("interstore", () -> status("BF.INTERSTORE", "common", "plain", "other"), "OK");
        check("mexists common", () -> r.bfMExists("common", "a", "b", "only"), List.of(true, false, false));
        check("clear", () -> status("BF.CLEAR", "merged"), "OK");
        check("exists cleared", () -> r.bfExists("merged", "a"), false);
    }

    static void forget(Object yes, Object no) {
        check("reserve counting", () -> status("BF.RESERVE", "counting", "0.01", "100", "LAYOUT", "COUNTING"), "OK");
        check("madd counting", () -> r.bfMAdd("counting", "a", "b", "a"), List.of(true, true, false));
        check("count", () -> integer("BF.COUNT", "counting", "a"), 2L);
        check("del", () -> any("BF.DEL", "counting", "a", "absent"), List.of(yes, no));
        check("count after del", () -> integer("BF.COUNT", "counting", "a"), 1L);
        check("del missing", () -> any("BF.DEL", "missing", "a"), List.of(no));
        check("reserve window", () -> status("BF.RESERVE", "seen", "0.01", "100", "WINDOW", "3600"), "OK");
        check("rotate", () -> status("BF.ROTATE", "seen"), "OK");
        refused("rotate missing", "not found", () -> status("BF.ROTATE", "missing"));
    }

    static void load() {
        check("load", () -> status("BF.LOAD", "moved", ONE), "OK");
        check("card of the loaded", () -> integer("BF.CARD", "moved"), 1L);
        refused("load cut", "bloom object decoding failed", () -> status("BF.LOAD", "bad", ONE_CUT));
    }

    static void bulk() {
        check("bulkadd", () -> latin(bytes("BF.BULKADD", "bulky", "LINES", "a\nb\na")), "\u00c0");
        check("bulkexists", () -> latin(bytes("BF.BULKEXISTS", "bulky", "WIDTH", "1", "axb")), "\u00a0");
        refused("bulkadd cut", "no whole number of items of 2 bytes", () -> bytes("BF.BULKADD", "bulky", "WIDTH", "2", "abc"));
    }

    public static void main(String[] arguments) {
        RedisClient client = RedisClient.create(RedisURI.create("127.0.0.1", Integer.parseInt(arguments[0])));
        client.setOptions(ClientOptions.builder()
            .protocolVersion(arguments[1].equals("3") ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2).build());
        r = client.connect(StringCodec.UTF8).sync();
        binary = client.connect(ByteArrayCodec.INSTANCE).sync();
        refused("protocol", "resp=" + arguments[1], () -> {
            throw new Exception(r.clientInfo());
        });
        reserve();
        add();
        lookups();
        info();
        errors();
        dumps();
        raw();
        boolean three = arguments[1].equals("3");
        Object yes = three ? (Object) true : (Object) 1L;
        Object no = three ? (Object) false : (Object) 0L;
        stats(three ? Double.class : String.class, no, key -> any("BF.STATS", key));
        combine();
        forget(yes, no);
        load();
        bulk();
        finish(RedisClient.class);
    }
}
