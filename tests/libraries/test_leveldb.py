"""LevelDB's filters, as Debian's libleveldb writes and reads them."""

import random
import subprocess

import pytest

from checks import add_all, look_up_all
from formats_model import LevelDb
from resp import OK, bulk

LEVELDB_PROGRAM = r"""
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
// Bits per key and the number of keys as arguments; keys, then probes, as lines of hex on stdin.
// Out: the filter as hex, then the answers.
static std::string unhex(const std::string &text) {
    std::string out;
    for (size_t i = 0; i + 1 < text.size(); i += 2) out += (char)strtol(text.substr(i, 2).c_str(), 0, 16);
    return out;
}
int main(int, char **argv) {
    const leveldb::FilterPolicy *policy = leveldb::NewBloomFilterPolicy(atoi(argv[1]));
    std::vector<std::string> lines;
    for (int c; (c = getchar()) != EOF;) {
        static std::string line;
        if (c != '\n') { line += (char)c; continue; }
        lines.push_back(unhex(line));
        line.clear();
    }
    size_t nkeys = (size_t)atoi(argv[2]);
    std::vector<leveldb::Slice> keys;
    for (size_t i = 0; i < nkeys; i++) keys.emplace_back(lines[i]);
    std::string filter;
    policy->CreateFilter(keys.data(), (int)nkeys, &filter);
    for (unsigned char c : filter) printf("%02x", c);
    printf("\n");
    for (const std::string &line : lines) putchar(policy->KeyMayMatch(line, filter) ? '1' : '0');
    printf("\n");
}
"""


@pytest.fixture(scope="module")
def libleveldb(tmp_path_factory):
    include = b"#include <leveldb/filter_policy.h>"
    command = ["sh", "-c", "g++ -E -x c++ -"]
    if subprocess.run(command, input=include, capture_output=True, check=False).returncode:
        pytest.skip("there is no g++ or no libleveldb-dev: make test-libraries installs them")
    where = tmp_path_factory.mktemp("leveldb")
    (where / "f.cc").write_text(LEVELDB_PROGRAM)
    command = ["g++", "-O1", "-o", where / "f", where / "f.cc", "-lleveldb"]
    subprocess.run(command, check=True)

    def build(keys, probes, bits_per_key):
        text = b"".join(line.hex().encode() + b"\n" for line in [*keys, *probes])
        out = subprocess.run(
            [where / "f", str(bits_per_key), str(len(keys))], input=text, stdout=subprocess.PIPE, check=True
        )
        data, answers = out.stdout.decode().split("\n")[:2]
        return bytes.fromhex(data), [int(c) for c in answers]

    return build


@pytest.mark.parametrize("bits_per_key", [1, 5, 10, 16, 43, 50])
@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_leveldb_is_what_libleveldb_writes_and_answers(call, libleveldb, bits_per_key, count):
    source = random.Random(bits_per_key * 10000 + count)
    keys = [source.randbytes(source.randint(0, 40)) for _ in range(count)]
    probes = [source.randbytes(source.randint(0, 40)) for _ in range(3000)]
    theirs, answers = libleveldb(keys, probes, bits_per_key)
    assert theirs == LevelDb.built(keys, bits_per_key).data  # the model itself
    assert call("BF.IMPORT", "k", "FORMAT", "leveldb", "DATA", theirs) == OK
    assert look_up_all(call, "k", keys + probes) == answers
    assert call("BF.EXPORT", "k", "FORMAT", "leveldb") == bulk(theirs)
    empty = bytes(len(theirs) - 1) + theirs[-1:]
    assert call("BF.IMPORT", "k2", "FORMAT", "leveldb", "CAPACITY", "5000", "DATA", empty) == OK
    add_all(call, "k2", keys)
    assert call("BF.EXPORT", "k2", "FORMAT", "leveldb") == bulk(theirs)
