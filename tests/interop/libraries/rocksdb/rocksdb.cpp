// RocksDB's own tables and their full filters.
//
//   rocksdb write FILE BITS_PER_KEY FORMAT_VERSION [FILTER]   writes an .sst of the keys on standard input
//   rocksdb read FILE [FILTER]                                prints 1 or 0 for each: what the filter answers
//
// FILTER is what goes into the filter beside keys, or instead of them: both4, their first 4 bytes too;
// prefixes4, these alone. A key of 4 bytes is its own prefix: so `read` is asked for prefixes.
//
// Keys are hexadecimal digits, one a line; an empty line is the empty key. RocksDB has no public call
// that queries a filter. So the .sst becomes the only file of a new database, and every key is looked up
// there: the filter has answered 0 where BLOOM_FILTER_USEFUL counts the lookup. A file is not
// searched for keys outside its range: the empty key and 100 times ff are written into every .sst.
// Blocks have no checksum, so that a test can put another filter of the same size in its place.

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
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

static rocksdb::Options options(double bits_per_key, uint32_t format_version, const std::string &filter) {
    rocksdb::BlockBasedTableOptions table;
    table.whole_key_filtering = filter != "prefixes4";
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(bits_per_key));
    table.format_version = format_version;
    table.checksum = rocksdb::kNoChecksum;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    if (filter != "keys") options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

static void write(const std::string &file, const rocksdb::Options &how) {
    std::vector<std::string> keys = read_keys();
    keys.push_back("");
    keys.push_back(std::string(100, '\xff'));
    std::sort(keys.begin(), keys.end()); // as unsigned bytes, which is RocksDB's own order
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), how);
    expect(writer.Open(file));
    for (const std::string &key : keys) expect(writer.Put(key, ""));
    expect(writer.Finish());
}

static void read(const std::string &file, const std::string &filter) {
    rocksdb::Options opening = options(10, 5, filter); // a table says itself which format it has
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
    std::string verb = argc > 2 ? argv[1] : "";
    int most = verb == "write" ? 6 : 4;
    std::string filter = argc == most ? argv[argc - 1] : "keys";
    if (verb == "write" && (argc == 5 || argc == 6)) {
        write(argv[2], options(std::stod(argv[3]), static_cast<uint32_t>(std::stoul(argv[4])), filter));
    } else if (verb == "read" && (argc == 3 || argc == 4)) {
        read(argv[2], filter);
    } else {
        std::cerr << "usage: rocksdb write FILE BITS_PER_KEY FORMAT_VERSION [FILTER] | read FILE [FILTER]\n";
        return 2;
    }
}
