import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.redisson.Redisson;
import org.redisson.api.RBloomFilterNative;
import org.redisson.api.RedissonClient;
import org.redisson.api.bloomfilter.BloomFilterInfo;
import org.redisson.api.bloomfilter.BloomFilterInfoOption;
import org.redisson.api.bloomfilter.BloomFilterInitArgs;
import org.redisson.api.bloomfilter.BloomFilterInsertArgs;
import org.redisson.api.bloomfilter.BloomFilterScanDumpInfo;
import org.redisson.client.codec.ByteArrayCodec;
import org.redisson.client.codec.StringCodec;
import org.redisson.client.protocol.RedisCommand;
import org.redisson.client.protocol.decoder.ObjectListReplayDecoder;
import org.redisson.command.CommandAsyncExecutor;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

/**
 * Redisson: Client PORT PROTOCOL. RBloomFilterNative is its BF.* (RBloomFilter is a bitmap of its
 * own). Several items are answered with the set of those that were new, or are there.
 */
class Client extends Checks {
    static RedissonClient r;
    static CommandAsyncExecutor executor; // for commands the library has no method for

    static RBloomFilterNative<String> bf(String key) {
        return r.getBloomFilterNative(key, StringCodec.INSTANCE);
    }

    static RBloomFilterNative<byte[]> binary(String key) {
        return r.getBloomFilterNative(key, ByteArrayCodec.INSTANCE);
    }

    /** For calls without an answer. */
    static void done(String what, Runnable call) {
        check(what, () -> {
            call.run();
            return "done";
        }, "done");
    }

    static <T> T call(RedisCommand<T> command, Object... words) {
        Object[] bytes = Arrays.stream(words)
            .map(word -> word instanceof String text ? text.getBytes(StandardCharsets.UTF_8) : word).toArray();
        return executor.get(executor.writeAsync(words[0].toString(), ByteArrayCodec.INSTANCE, command, bytes));
    }

    static byte[] bytes(String command, Object... words) {
        return (byte[]) (Object) call(new RedisCommand<>(command), words);
    }

    static List<Object> list(String command, Object... words) {
        return call(new RedisCommand<>(command, new ObjectListReplayDecoder<>()), words);
    }

    static Object any(String command, Object... words) {
        return call(new RedisCommand<>(command), words);
    }

    static void status(String what, String command, Object... words) {
        check(what, () -> String.valueOf((Object) call(new RedisCommand<>(command), words)), "OK");
    }

    static void reserve() {
        done("reserve", () -> bf("plain").init(0.01, 1000));
        done("reserve expansion", () -> bf("grown").init(BloomFilterInitArgs.create().errorRate(0.001).capacity(100).expansionRate(4)));
        done("reserve nonscaling", () -> bf("fixed").init(BloomFilterInitArgs.create().errorRate(1e-7).capacity(2).nonScaling(true)));
        refused("reserve again", "item exists", () -> {
            bf("plain").init(0.01, 1000);
            return "done";
        });
    }

    static void add() {
        check("add", () -> bf("plain").add("a"), true);
        check("add again", () -> bf("plain").add("a"), false);
        check("add binary", () -> binary("plain").add(BINARY), true);
        check("madd", () -> bf("plain").add(List.of("a", "b", "c")), Set.of("b", "c"));
        check("insert", () -> bf("inserted").insert(BloomFilterInsertArgs.elements(List.of("x", "y"))
            .capacity(500).errorRate(0.001).expansionRate(3)), Set.of("x", "y"));
        check("insert nocreate", () -> bf("inserted").insert(BloomFilterInsertArgs.elements(List.of("z", "x")).noCreate(true)), Set.of("z"));
        refused("insert nocreate missing", "not found",
            () -> bf("missing").insert(BloomFilterInsertArgs.elements(List.of("z")).noCreate(true)));
        check("insert nonscaling", () -> bf("small").insert(BloomFilterInsertArgs.elements(List.of("x"))
            .capacity(2).nonScaling(true)), Set.of("x"));
    }

    static void lookups() {
        check("exists", () -> bf("plain").exists("a"), true);
        check("exists absent", () -> bf("plain").exists("absent"), false);
        check("exists binary", () -> binary("plain").exists(BINARY), true);
        check("exists binary cut", () -> binary("plain").exists(BINARY_CUT), false);
        check("exists missing", () -> bf("missing").exists("a"), false);
        check("mexists", () -> bf("plain").exists(List.of("a", "absent", "c")), Set.of("a", "c"));
        check("card", () -> bf("plain").count(), 4L);
        check("card missing", () -> bf("missing").count(), 0L);
    }

    static List<Long> three(String key) {
        BloomFilterInfo info = bf(key).getInfo();
        return List.of(info.getCapacity(), info.getSubFilterCount(), info.getItemCount());
    }

    static void info() {
        check("info", () -> three("plain"), List.of(1000L, 1L, 4L));
        check("info expansion", () -> bf("inserted").getInfo().getExpansionRate(), 3L);
        check("info size", () -> bf("plain").getInfo().getSize() > 1000, true);
        // Two answers, of RedisBloom and bloomport alike, that this library cannot read: null for the expansion of
        // a non-scaling filter, and over RESP3 a map of one field.
        refused("info nonscaling", "Unexpected exception", () -> bf("fixed").getInfo());
        if (r.getConfig().getProtocol() == Protocol.RESP2) {
            check("info capacity", () -> bf("plain").getInfo(BloomFilterInfoOption.CAPACITY), 1000L);
            check("info size alone", () -> bf("plain").getInfo(BloomFilterInfoOption.SIZE), bf("plain").getInfo().getSize());
            check("info filters", () -> bf("plain").getInfo(BloomFilterInfoOption.FILTERS), 1L);
            check("info items", () -> bf("plain").getInfo(BloomFilterInfoOption.ITEMS), 4L);
            check("info expansion alone", () -> bf("plain").getInfo(BloomFilterInfoOption.EXPANSION), 2L);
        }
        refused("info missing", "not found", () -> bf("missing").getInfo());
    }

    static void errors() {
        // An error inside an array fails the whole call; what was added before it stays added.
        refused("madd full", "non scaling filter is full", () -> bf("fixed").add(List.of("p", "q", "r", "s")));
        check("madd full: card", () -> bf("fixed").count(), 2L);
        refused("add full", "non scaling filter is full", () -> bf("fixed").add("r"));
        check("add full, known", () -> bf("fixed").add("p"), false);
        r.getBucket("text", StringCodec.INSTANCE).set("x");
        refused("add wrong type", "WRONGTYPE", () -> bf("text").add("a"));
        refused("exists wrong type", "WRONGTYPE", () -> bf("text").exists("a"));
    }

    static List<Chunk> chunks(String key) {
        return dump(iterator -> {
            BloomFilterScanDumpInfo chunk = bf(key).scanDump(iterator);
            return new Chunk(chunk.getIterator(), chunk.getData());
        });
    }

    static void dumps() {
        check("grow", () -> bf("grown").add(Arrays.asList(many())).size() > 990, true);
        check("info grown", () -> three("grown").subList(0, 2), List.of(2100L, 3L));
        List<Chunk> dumped = chunks("grown");
        check("scandump", dumped::size, 4);
        for (Chunk chunk : dumped) {
            done("loadchunk", () -> bf("loaded").loadChunk(chunk.iterator(), chunk.bytes()));
        }
        check("dump of the copy", () -> chunks("loaded"), dumped);
        check("mexists in the copy", () -> bf("loaded").exists(List.of("item-0", "item-999", "absent")), Set.of("item-0", "item-999"));
    }

    static void raw() {
        check("debug", () -> {
            List<Object> lines = list("BF.DEBUG", "plain");
            return List.of(lines.size(), latin((byte[]) lines.get(0)), latin((byte[]) lines.get(1)).substring(0, 6));
        }, List.of(2, "size:4", "bytes:"));
        byte[] data = bytes("BF.EXPORT", "plain");
        status("import", "BF.IMPORT", "imported", "FORMAT", "portable", "DATA", data);
        check("export of the copy", () -> latin(bytes("BF.EXPORT", "imported")), latin(data));
        check("exists in the copy", () -> binary("imported").exists(BINARY), true);
        byte[] cut = Arrays.copyOf(data, data.length - 1);
        refused("import cut", "bad data", () -> bytes("BF.IMPORT", "bad", "FORMAT", "portable", "DATA", cut));
    }

    static void combine() {
        bf("other").init(0.01, 1000);
        bf("other").add(List.of("a", "only"));
        status("merge", "BF.MERGE", "merged", "plain", "other");
        check("mexists merged", () -> bf("merged").exists(List.of("b", "only", "absent")), Set.of("b", "only"));
        status("interstore", "BF.INTERSTORE", "common", "plain", "other");
        check("mexists common", () -> bf("common").exists(List.of("a", "b", "only")), Set.of("a"));
        status("clear", "BF.CLEAR", "merged");
        check("exists cleared", () -> bf("merged").exists("a"), false);
    }

    static void forget() {
        status("reserve counting", "BF.RESERVE", "counting", "0.01", "100", "LAYOUT", "COUNTING");
        check("madd counting", () -> bf("counting").add(List.of("a", "b", "a")), Set.of("a", "b"));
        check("count", () -> any("BF.COUNT", "counting", "a"), 2L);
        // As in BF.STATS, the decoder of lists gives 1 and 0 for booleans too.
        check("del", () -> list("BF.DEL", "counting", "a", "absent"), List.of(1L, 0L));
        check("count after del", () -> any("BF.COUNT", "counting", "a"), 1L);
        check("del missing", () -> list("BF.DEL", "missing", "a"), List.of(0L));
        status("reserve window", "BF.RESERVE", "seen", "0.01", "100", "WINDOW", "3600");
        status("rotate", "BF.ROTATE", "seen");
        refused("rotate missing", "not found", () -> any("BF.ROTATE", "missing"));
    }

    static void load() {
        status("load", "BF.LOAD", "moved", ONE);
        check("card of the loaded", () -> any("BF.CARD", "moved"), 1L);
        refused("load cut", "bloom object decoding failed", () -> any("BF.LOAD", "bad", ONE_CUT));
    }

    static void bulk() {
        check("bulkadd", () -> latin(bytes("BF.BULKADD", "bulky", "LINES", "a\nb\na")), "\u00c0");
        check("bulkexists", () -> latin(bytes("BF.BULKEXISTS", "bulky", "WIDTH", "1", "axb")), "\u00a0");
        refused("bulkadd cut", "no whole number of items of 2 bytes", () -> bytes("BF.BULKADD", "bulky", "WIDTH", "2", "abc"));
    }

    public static void main(String[] arguments) {
        String address = "redis://127.0.0.1:" + arguments[0];
        Protocol protocol = arguments[1].equals("3") ? Protocol.RESP3 : Protocol.RESP2;
        Config config = new Config().setProtocol(protocol);
        config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(1);
        r = Redisson.create(config);
        executor = ((Redisson) r).getCommandExecutor();
        refused("protocol", "resp=" + arguments[1], () -> {
            throw new Exception(latin(bytes("CLIENT", "INFO")));
        });
        reserve();
        add();
        lookups();
        info();
        errors();
        dumps();
        raw();
        boolean three = protocol == Protocol.RESP3;
        stats(three ? Double.class : String.class, 0L, key -> list("BF.STATS", key));
        combine();
        forget();
        load();
        bulk();
        finish(Redisson.class);
    }
}
