// Reads and writes Bloom filters in bloomport's portable format with libxxhash (C++17, -lxxhash).
//
//   bloom query FILE       items on standard input, one a line; prints 1 (possibly in) or 0
//   bloom build K M FILE   writes a filter of M bits, K hashes, holding the items
//
// The file: k u32 | m u64 | bits, little-endian. It is what BF.EXPORT answers and BF.IMPORT takes.

#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <xxhash.h>

namespace {

constexpr std::size_t header = 12;

class Filter {
  public:
    explicit Filter(std::vector<unsigned char> data) : data_(std::move(data)) {
        if (data_.size() >= header) {
            k_ = static_cast<std::uint32_t>(number(0, 4));
            m_ = number(4, 8);
        }
        if (k_ == 0 || m_ == 0 || data_.size() - header != bytes_for(m_))
            throw std::runtime_error("not a portable filter");
    }

    static Filter create(std::uint32_t k, std::uint64_t m) {
        std::vector<unsigned char> data(header + bytes_for(m));
        for (int i = 0; i < 4; i++) data[i] = static_cast<unsigned char>(k >> 8 * i);
        for (int i = 0; i < 8; i++) data[4 + i] = static_cast<unsigned char>(m >> 8 * i);
        return Filter(std::move(data));
    }

    bool has(const std::string &item) const {
        std::uint64_t h = XXH64(item.data(), item.size(), 0);
        const std::uint64_t h2 = XXH64(item.data(), item.size(), 1);
        for (std::uint32_t i = 0; i < k_; i++, h += h2) { // unsigned: wraps, as the format wants
            const std::uint64_t p = h % m_;
            if (!(data_[header + (p >> 3)] & 1u << (p & 7))) return false;
        }
        return true;
    }

    void add(const std::string &item) {
        std::uint64_t h = XXH64(item.data(), item.size(), 0);
        const std::uint64_t h2 = XXH64(item.data(), item.size(), 1);
        for (std::uint32_t i = 0; i < k_; i++, h += h2) {
            const std::uint64_t p = h % m_;
            data_[header + (p >> 3)] |= static_cast<unsigned char>(1u << (p & 7));
        }
    }

    const std::vector<unsigned char> &data() const { return data_; }

  private:
    static std::uint64_t bytes_for(std::uint64_t m) { return m / 8 + (m % 8 != 0); }

    std::uint64_t number(std::size_t at, int size) const {
        std::uint64_t n = 0;
        while (size-- > 0) n = n << 8 | data_[at + static_cast<std::size_t>(size)];
        return n;
    }

    std::vector<unsigned char> data_; // header and bits
    std::uint32_t k_ = 0;
    std::uint64_t m_ = 0;
};

int run(const std::vector<std::string> &arguments) {
    std::string item;
    if (arguments.size() == 2 && arguments[0] == "query") {
        std::ifstream file(arguments[1], std::ios::binary);
        const Filter filter({std::istreambuf_iterator<char>(file), {}});
        while (std::getline(std::cin, item)) std::cout << (filter.has(item) ? "1\n" : "0\n");
        return std::cout.flush() ? 0 : 2;
    }
    if (arguments.size() == 4 && arguments[0] == "build") {
        Filter filter = Filter::create(static_cast<std::uint32_t>(std::stoul(arguments[1])),
                                       std::stoull(arguments[2]));
        while (std::getline(std::cin, item)) filter.add(item);
        std::ofstream file(arguments[3], std::ios::binary);
        file.write(reinterpret_cast<const char *>(filter.data().data()),
                   static_cast<std::streamsize>(filter.data().size()));
        return file.flush() ? 0 : 2;
    }
    std::cerr << "usage: bloom query FILE | build K M FILE\n";
    return 2;
}

} // namespace

int main(int argc, char **argv) {
    std::ios::sync_with_stdio(false);
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception &problem) {
        std::cerr << problem.what() << '\n';
        return 2;
    }
}
