// Redisson's RBloomFilter, a string and a hash on a server.
//
//   java RedissonFilter write PORT NAME N P   makes a filter of the items on standard input (shared/Items.java)
//   java RedissonFilter read PORT NAME        prints 1 (possibly in) or 0 for each of them

import java.io.IOException;
import org.redisson.Redisson;
import org.redisson.api.RBloomFilter;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.ByteArrayCodec;
import org.redisson.config.Config;

public final class RedissonFilter {
    public static void main(String[] arguments) throws IOException {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[1]).setConnectionMinimumIdleSize(1);
        RedissonClient client = Redisson.create(config);
        try {
            RBloomFilter<byte[]> filter = client.getBloomFilter(arguments[2], ByteArrayCodec.INSTANCE);
            if (arguments[0].equals("read")) {
                Items.answer(filter::contains);
            } else {
                filter.tryInit(Long.parseLong(arguments[3]), Double.parseDouble(arguments[4]));
                Items.read().forEach(filter::add);
            }
        } finally {
            client.shutdown();
        }
    }
}
