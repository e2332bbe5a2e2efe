// RocksDB's own tables and their full filters.
//
//   rocksdb write FILE BITS_PER_KEY FORMAT_VERSION   writes an .sst of the keys on standard input
//   rocksdb read FILE                                prints 1 or 0 for each of them: what the filter answers
//
// Keys are hexadecimal digits, one a line; an empty line is the empty key. RocksDB has no public call
// that queries a filter. So the .sst becomes the only file of a new database, and every key is looked up
// there: the filter has answered 0 where BLOOM_FILTER_USEFUL counts the lookup. A file is not
// searched for keys outside its range: the empty key and 100 times ff are written into every .sst.
// Blocks have no checksum, so that a test can put another filter of the same size in its place.

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

static void expect(const rocksdb::Status &status) {
    if (!status.ok()) {
        std::cerr << status.ToString() << "\n";
        std::exit(1);
    }
}

static std::vector<std::string> read_keys() {
    std::vector<std::string> keys;
    for (std::string line; std::getline(std::cin, line);) {
        std::string key;
        for (size_t i = 0; i + 1 < line.size(); i += 2)
            key.push_back(static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16)));
        keys.push_back(key);
    }
    return keys;
}

static rocksdb::Options options(double bits_per_key, uint32_t format_version) {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(bits_per_key));
    table.format_version = format_version;
    table.checksum = rocksdb::kNoChecksum;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

static void write(const std::string &file, double bits_per_key, uint32_t format_version) {
    std::vector<std::string> keys = read_keys();
    keys.push_back("");
    keys.push_back(std::string(100, '\xff'));
    std::sort(keys.begin(), keys.end()); // as unsigned bytes, which is RocksDB's own order
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options(bits_per_key, format_version));
    expect(writer.Open(file));
    for (const std::string &key : keys) expect(writer.Put(key, ""));
    expect(writer.Finish());
}

static void read(const std::string &file) {
    rocksdb::Options opening = options(10, 5); // a table says itself which format it has
    opening.statistics = rocksdb::CreateDBStatistics();
    std::string name = file + ".db", value;
    expect(rocksdb::DestroyDB(name, opening));
    rocksdb::DB *opened;
    expect(rocksdb::DB::Open(opening, name, &opened));
    std::unique_ptr<rocksdb::DB> db(opened);
    expect(db->IngestExternalFile({file}, rocksdb::IngestExternalFileOptions()));
    for (const std::string &key : read_keys()) {
        uint64_t before = opening.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
        rocksdb::Status status = db->Get(rocksdb::ReadOptions(), key, &value);
        if (!status.IsNotFound()) expect(status);
        uint64_t useful = opening.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL) - before;
        std::cout << (useful ? "0\n" : "1\n");
    }
}

int main(int argc, char **argv) {
    if (argc == 5 && std::string(argv[1]) == "write") {
        write(argv[2], std::stod(argv[3]), static_cast<uint32_t>(std::stoul(argv[4])));
    } else if (argc == 3 && std::string(argv[1]) == "read") {
        read(argv[2]);
    } else {
        std::cerr << "usage: rocksdb write FILE BITS_PER_KEY FORMAT_VERSION | read FILE\n";
        return 2;
    }
}
