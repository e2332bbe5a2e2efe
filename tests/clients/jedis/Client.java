import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.bloom.BFInsertParams;
import redis.clients.jedis.bloom.BFReserveParams;

/** Jedis: Client PORT PROTOCOL */
class Client extends Checks {
    static RedisClient r;
    static Object yes, no; // what a raw command gives

    static Object call(String command, Object... words) {
        byte[][] bytes = new byte[words.length][];
        Arrays.setAll(bytes, i -> words[i] instanceof byte[] raw ? raw : words[i].toString().getBytes(StandardCharsets.UTF_8));
        return r.sendCommand(() -> command.getBytes(StandardCharsets.UTF_8), bytes);
    }

    static String text(Object reply) {
        return latin((byte[]) reply);
    }

    static void reserve() {
        check("reserve", () -> r.bfReserve("plain", 0.01, 1000), "OK");
        check("reserve expansion", () -> r.bfReserve("grown", 0.001, 100, new BFReserveParams().expansion(4)), "OK");
        check("reserve nonscaling", () -> r.bfReserve("fixed", 1e-7, 2, new BFReserveParams().nonScaling()), "OK");
        check("reserve again", () -> r.bfReserve("plain", 0.01, 1000), "ERR item exists");
    }

    static void add() {
        check("add", () -> r.bfAdd("plain", "a"), true);
        check("add again", () -> r.bfAdd("plain", "a"), false);
        check("add binary", () -> call("BF.ADD", "plain", BINARY), yes); // the methods take text only
        check("madd", () -> r.bfMAdd("plain", "a", "b", "c"), List.of(false, true, true));
        BFInsertParams all = new BFInsertParams().capacity(500).error(0.001).expansion(3);
        check("insert", () -> r.bfInsert("inserted", all, "x", "y", "x"), List.of(true, true, false));
        BFInsertParams existing = new BFInsertParams().noCreate();
        check("insert nocreate", () -> r.bfInsert("inserted", existing, "z"), List.of(true));
        check("insert nocreate missing", () -> r.bfInsert("missing", existing, "z"), "ERR not found");
        BFInsertParams fixed = new BFInsertParams().capacity(2).nonScaling();
        check("insert nonscaling", () -> r.bfInsert("small", fixed, "x"), List.of(true));
        check("insert plain", () -> r.bfInsert("default", "x"), List.of(true));
    }

    static void lookups() {
        check("exists", () -> r.bfExists("plain", "a"), true);
        check("exists absent", () -> r.bfExists("plain", "absent"), false);
        check("exists binary", () -> call("BF.EXISTS", "plain", BINARY), yes);
        check("exists binary cut", () -> call("BF.EXISTS", "plain", BINARY_CUT), no);
        check("exists missing", () -> r.bfExists("missing", "a"), false);
        check("mexists", () -> r.bfMExists("plain", "a", "absent", "c"), List.of(true, false, true));
        check("card", () -> r.bfCard("plain"), 4L);
        check("card missing", () -> r.bfCard("missing"), 0L);
    }

    static List<Object> four(String key) {
        Map<String, Object> info = r.bfInfo(key);
        return Arrays.asList(info.get("Capacity"), info.get("Number of filters"),
            info.get("Number of items inserted"), info.get("Expansion rate"));
    }

    static void info() {
        check("info", () -> four("plain"), List.of(1000L, 1L, 4L, 2L));
        check("info size", () -> (Long) r.bfInfo("plain").get("Size") > 1000, true);
        check("info has five fields", () -> r.bfInfo("plain").size(), 5);
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
            Map.Entry<Long, byte[]> chunk = r.bfScanDump(key, iterator);
            return new Chunk(chunk.getKey(), chunk.getValue());
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
            List<?> lines = (List<?>) call("BF.DEBUG", "plain");
            return List.of(lines.size(), text(lines.get(0)), text(lines.get(1)).substring(0, 6));
        }, List.of(2, "size:4", "bytes:"));
        byte[] data = (byte[]) call("BF.EXPORT", "plain");
        check("import", () -> text(call("BF.IMPORT", "imported", "FORMAT", "portable", "DATA", data)), "OK");
        check("export of the copy", () -> text(call("BF.EXPORT", "imported")), latin(data));
        check("exists in the copy", () -> call("BF.EXISTS", "imported", BINARY), yes);
        byte[] cut = Arrays.copyOf(data, data.length - 1);
        refused("import cut", "ERR bad data", () -> call("BF.IMPORT", "bad", "FORMAT", "portable", "DATA", cut));
    }

    static void combine() {
        r.bfReserve("other", 0.01, 1000);
        r.bfMAdd("other", "a", "only");
        check("merge", () -> text(call("BF.MERGE", "merged", "plain", "other")), "OK");
        check("mexists merged", () -> r.bfMExists("merged", "b", "only", "absent"), List.of(true, true, false));
        check("interstore", () -> text(call("BF.INTERSTORE", "common", "plain", "other")), "OK");
        check("mexists common", () -> r.bfMExists("common", "a", "b", "only"), List.of(true, false, false));
        check("clear", () -> text(call("BF.CLEAR", "merged")), "OK");
        check("exists cleared", () -> r.bfExists("merged", "a"), false);
    }

    static void forget() {
        check("reserve counting", () -> text(call("BF.RESERVE", "counting", "0.01", "100", "LAYOUT", "COUNTING")), "OK");
        check("madd counting", () -> r.bfMAdd("counting", "a", "b", "a"), List.of(true, true, false));
        check("count", () -> call("BF.COUNT", "counting", "a"), 2L);
        check("del", () -> call("BF.DEL", "counting", "a", "absent"), List.of(yes, no));
        check("count after del", () -> call("BF.COUNT", "counting", "a"), 1L);
        check("del missing", () -> call("BF.DEL", "missing", "a"), List.of(no));
        check("reserve window", () -> text(call("BF.RESERVE", "seen", "0.01", "100", "WINDOW", "3600")), "OK");
        check("rotate", () -> text(call("BF.ROTATE", "seen")), "OK");
        refused("rotate missing", "not found", () -> call("BF.ROTATE", "missing"));
    }

    static void load() {
        check("load", () -> text(call("BF.LOAD", "moved", ONE)), "OK");
        check("card of the loaded", () -> call("BF.CARD", "moved"), 1L);
        refused("load cut", "bloom object decoding failed", () -> call("BF.LOAD", "bad", ONE_CUT));
    }

    static void bulk() {
        check("bulkadd", () -> text(call("BF.BULKADD", "bulky", "LINES", "a\nb\na")), "\u00c0");
        check("bulkexists", () -> text(call("BF.BULKEXISTS", "bulky", "WIDTH", "1", "axb")), "\u00a0");
        refused("bulkadd cut", "no whole number of items of 2 bytes", () -> call("BF.BULKADD", "bulky", "WIDTH", "2", "abc"));
    }

    public static void main(String[] arguments) {
        boolean three = arguments[1].equals("3");
        yes = three ? (Object) true : (Object) 1L;
        no = three ? (Object) false : (Object) 0L;
        r = RedisClient.builder().hostAndPort("127.0.0.1", Integer.parseInt(arguments[0]))
            .clientConfig(DefaultJedisClientConfig.builder().protocol(three ? RedisProtocol.RESP3 : RedisProtocol.RESP2).build())
            .build();
        refused("protocol", "resp=" + arguments[1], () -> {
            throw new Exception(text(call("CLIENT", "INFO")));
        });
        reserve();
        add();
        lookups();
        info();
        errors();
        dumps();
        raw();
        stats(three ? Double.class : String.class, no, key -> call("BF.STATS", key));
        combine();
        forget();
        load();
        bulk();
        finish(RedisClient.class);
    }
}
