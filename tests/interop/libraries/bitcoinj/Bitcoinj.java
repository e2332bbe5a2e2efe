// bitcoinj's BloomFilter: what a BIP 37 filterload message holds.
//
//   java Bitcoinj write FILE N P TWEAK FLAG   writes a filter of the items on standard input (shared/Items.java)
//   java Bitcoinj read FILE                   prints 1 (possibly in) or 0 for each of them
//
// FLAG is UPDATE_NONE, UPDATE_ALL or UPDATE_P2PUBKEY_ONLY.

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bitcoinj.core.BloomFilter;

public final class Bitcoinj {
    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[1]);
        if (arguments[0].equals("read")) {
            BloomFilter filter = BloomFilter.read(ByteBuffer.wrap(Files.readAllBytes(file)));
            Items.answer(filter::contains);
        } else {
            BloomFilter filter = new BloomFilter(Integer.parseInt(arguments[2]), Double.parseDouble(arguments[3]),
                Integer.parseUnsignedInt(arguments[4]), BloomFilter.BloomUpdate.valueOf(arguments[5]));
            Items.read().forEach(filter::insert);
            Files.write(file, filter.serialize());
        }
    }
}
