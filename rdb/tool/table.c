/* Every command and every option. See table.h. */

#include "rdb/tool/table.h"

#include "rdb/tool/tool.h"

const struct command table_commands[] = {
    {BUILD, "build", "[file ...]", "a filter of the items of files, or of standard input",
     "bloomport build --error 0.001 -o users.bloom users.txt\n"
     "cut -f 2 log.tsv | bloomport build --capacity 10M --expansion 2 -o seen.bloom\n"
     "bloomport build --from-set users -h db.example.com --expansion 2 -o users.bloom\n"
     "bloomport build --column 3 --delimiter , --from-line 2 -o users.bloom users.csv.gz\n"
     "bloomport build --like-key users -o more.bloom more.txt\n"
     "bloomport build --format guava --error 0.001 -o users.guava users.txt\n",
     build_run},
    {CHECK, "check", "filter [file ...]", "the items that the filter may contain",
     "bloomport check users.bloom candidates.txt\n"
     "bloomport check --absent --count users.bloom < candidates.txt\n"
     "bloomport check --server --key users -h db.example.com candidates.txt\n",
     check_run},
    {INFO, "info", "filter [...]",
     "what a file is: format, sizes, fill, estimated items, current error rate",
     "bloomport info users.bloom\n"
     "bloomport info --json users.bloom\n"
     "bloomport info *.sst\n",
     info_run},
    {MERGE, "merge", "filter filter [...]", "the union of filters of equal geometry",
     "bloomport merge monday.bloom tuesday.bloom -o both.bloom\n", merge_run},
    {CONVERT, "convert", "filter", "the same filter in another format",
     "bloomport convert users.bloom --to portable -o users.portable\n"
     "bloomport convert block --from leveldb --to dump -o block.dump\n"
     "bloomport convert 000012.sst --to rocksdb -o 000012.filter\n"
     "bloomport convert --from cassandra --variant 4.x Filter.db --to dump -o table.bloom\n",
     convert_run},
    {PUSH, "push", "filter", "a filter from a file to a server",
     "bloomport push users.bloom --key users --expansion 2\n"
     "bloomport push users.bloom --key users --replace -h db.example.com -p 6380\n",
     push_run},
    {PULL, "pull", "", "a filter from a server to a file",
     "bloomport pull --key users -o users.bloom\n"
     "bloomport pull --key users --format parquet -o users.parquet\n"
     "bloomport pull --redisson users --key users-bf --expansion 2\n",
     pull_run},
    {ADD, "add", "[file ...]", "the items of files into a filter on a server",
     "bloomport add --key users users.txt.zst\n"
     "bloomport add --key users --error 0.001 --capacity 10M --expansion 2 users.txt\n"
     "bloomport add --key users --from-line 1230001 users.txt\n",
     add_run},
    {COPY, "copy", "", "a filter from one server to another",
     "bloomport copy --from redis://old:6379 --to redis://new:6379 --key users\n"
     "bloomport copy --from redis://a --to rediss://b --cacert ca.pem --key users --key-to all "
     "--merge\n",
     copy_run},
    {LIST, "list", "[pattern]", "all filters of a server: items, capacity, error rate, size, state",
     "bloomport list -h db.example.com\n"
     "bloomport list --sort bytes --json 'user:*'\n"
     "bloomport list --state full,overfilled,nearly-full\n"
     "bloomport list --quiet || echo 'a filter is full, or the server cannot be reached'\n"
     "watch bloomport list --sort utilisation\n",
     list_run},
    {SIZE, "size", "", "the calculator: any two numbers give the rest",
     "bloomport size --items 10M --error 0.001\n"
     "bloomport size --items 1G --memory 1GB --json\n"
     "bloomport size --window 24h --items 1M --error 0.01\n",
     size_run},
    {COMPLETION, "completion", "bash|zsh|fish", "a shell's completions for this program",
     "bloomport completion bash > /etc/bash_completion.d/bloomport\n", completion_run},
};
const size_t table_ncommands = sizeof(table_commands) / sizeof(table_commands[0]);

#define SERVER (BUILD | CHECK | PUSH | PULL | LIST | ADD)
#define ITEMS (BUILD | CHECK | ADD)

const struct option_row table_options[] = {
    {OPTION_NULL, '0', "null", NULL, ITEMS, "items end in a NUL byte, not in a newline"},
    {OPTION_HEX, 0, "hex", NULL, ITEMS, "items are written as hexadecimal digits, two a byte"},
    {OPTION_COLUMN, 0, "column", "number", ITEMS, "an item is this column of its line, from 1"},
    {OPTION_DELIMITER, 0, "delimiter", "character", ITEMS,
     "what separates columns (a tab): one character, or \\t"},
    {OPTION_FROM_LINE, 0, "from-line", "number", ITEMS,
     "begin at this line, from 1: 2 leaves out a heading"},
    {OPTION_FROM_SET, 0, "from-set", "key", BUILD,
     "the items are a key's: a set, a sorted set, a list, or a hash's fields"},
    {OPTION_FROM_KEYS, 0, "from-keys", "pattern", BUILD,
     "the items are the names of keys that match, as user:*"},
    {OPTION_ABSENT, 'v', "absent", NULL, CHECK,
     "print the items that are surely not in the filter"},
    {OPTION_COUNT, 'c', "count", NULL, CHECK, "print only how many they are"},
    {OPTION_ITEMS, 0, "items", "number", SIZE, "how many items; K, M, G, T count in 1000"},
    {OPTION_ITEMS, 0, "capacity", "number", SIZE, "another name of --items"},
    {OPTION_BITS, 0, "bits", "number", SIZE, "how many bits in all; K, M, G, T count in 1000"},
    {OPTION_MEMORY, 0, "memory", "size", SIZE, "how many bytes in all; KB, MB, GB count in 1024"},
    {OPTION_ERROR, 0, "error", "rate", BUILD | ADD, "false-positive rate, between 0 and 1 (0.01)"},
    {OPTION_ERROR, 0, "error", "rate", SIZE, "false-positive rate, between 0 and 1"},
    {OPTION_BITS_PER_KEY, 0, "bits-per-key", "bits", BUILD | SIZE | ADD,
     "bits per item, 1 to 256, instead of --error"},
    {OPTION_CAPACITY, 0, "capacity", "number", BUILD,
     "items the filter is sized for (as many as are read)"},
    {OPTION_CAPACITY, 0, "capacity", "number", ADD, "items a new filter is sized for (100)"},
    {OPTION_CAPACITY, 0, "capacity", "number", CONVERT | PUSH,
     "the capacity, where the file's format does not record it"},
    {OPTION_EXPANSION, 0, "expansion", "number", BUILD,
     "it grows: each new layer has this many times the last one's capacity"},
    {OPTION_EXPANSION, 0, "expansion", "number", ADD, "how a new filter grows; 0: it does not"},
    {OPTION_EXPANSION, 0, "expansion", "number", PUSH, "it grows on the server, as by BF.RESERVE"},
    {OPTION_EXPANSION, 0, "expansion", "number", PULL,
     "with --redisson: it grows, as by BF.RESERVE"},
    {OPTION_LIKE, 0, "like", "file", BUILD,
     "take all parameters from this filter: both can be merged"},
    {OPTION_LIKE_KEY, 0, "like-key", "key", BUILD, "the same, from a key of the server"},
    {OPTION_LAYOUT, 0, "layout", "layout", BUILD, "classic (fewest bits) or blocked (fastest)"},
    {OPTION_LAYOUT, 0, "layout", "layout", SIZE | ADD,
     "classic (fewest bits), blocked (fastest) or counting"},
    {OPTION_HASH, 0, "hash", "hash", BUILD | SIZE, "xxh64 (default) or fnv1a"},
    {OPTION_HASH, 0, "hash", "hash", CHECK | INFO | MERGE | CONVERT | PUSH,
     "xxh64 (default) or fnv1a: portable and sstable files do not record it"},
    {OPTION_WINDOW, 0, "window", "time", SIZE,
     "items are forgotten after this time: seconds, or 15m, 24h, 7d"},
    {OPTION_GENERATIONS, 0, "generations", "number", SIZE,
     "parts that the window is forgotten in, 1 to 64 (4)"},
    {OPTION_FROM_FORMAT, 0, "format", "format", CHECK | INFO | PUSH,
     "the file's format, if it is not recognised: leveldb and cassandra never are"},
    {OPTION_FROM_FORMAT, 0, "from", "format", CHECK | INFO | PUSH, NULL},
    {OPTION_FROM_FORMAT, 0, "from", "format", CONVERT | MERGE,
     "the format read, if it is not recognised: leveldb and cassandra never are"},
    {OPTION_TO_FORMAT, 0, "to", "format", CONVERT, "the format to write"},
    {OPTION_TO_FORMAT, 0, "format", "format", CONVERT, NULL},
    {OPTION_TO_FORMAT, 0, "format", "format", BUILD | PULL,
     "the format to write (one that records capacity and rate: dump)"},
    {OPTION_TO_FORMAT, 0, "format", "format", MERGE, "the format to write (that of the first)"},
    {OPTION_VARIANT, 0, "variant", "variant", CHECK | INFO | MERGE | CONVERT | PUSH,
     "of cassandra: old, 3.x or 4.x, unless a name as nb-1-big-Filter.db tells"},
    {OPTION_VARIANT, 0, "variant", "variant", BUILD | PULL,
     "of cassandra: old, 3.x or 4.x; of spark: v1 or v2"},
    {OPTION_PREFIX, 0, "prefix", NULL, CHECK | INFO | MERGE | CONVERT | PUSH,
     "of a table of RocksDB: its filter is one of prefixes of keys"},
    {OPTION_OUTPUT, 'o', "output", "file", BUILD | MERGE | CONVERT | PULL,
     "where to write (standard output)"},
    {OPTION_JSON, 0, "json", NULL, INFO | SIZE, "print one JSON object"},
    {OPTION_JSON, 0, "json", NULL, LIST, "print a JSON array"},
    {OPTION_KEY, 0, "key", "key", CHECK | PUSH | PULL | COPY | ADD, "the key on the server"},
    {OPTION_FROM_URL, 0, "from", "url", COPY,
     "the server that has it: redis[s]://[[user]:password@]host[:port][/database], unix:///path, "
     "or a socket's path"},
    {OPTION_TO_URL, 0, "to", "url", COPY, "the server that gets it, likewise"},
    {OPTION_KEY_TO, 0, "key-to", "key", COPY, "the key there, if it is another one"},
    {OPTION_MERGE, 0, "merge", NULL, COPY, "add it to the filter that the key there holds"},
    {OPTION_MERGE, 0, "merge", NULL, PUSH, "add it to the filter that the key holds"},
    {OPTION_NOCREATE, 0, "nocreate", NULL, ADD, "make no new filter: the key must exist"},
    {OPTION_REDISSON, 0, "redisson", "name", PULL,
     "the filter is Redisson's, NAME and {NAME}:config; --key: push it to this key"},
    {OPTION_REPLACE, 0, "replace", NULL, PUSH | COPY, "replace the key if it exists"},
    {OPTION_REPLACE, 0, "replace", NULL, PULL, "with --redisson and --key: replace the key"},
    {OPTION_SERVER, 0, "server", NULL, CHECK,
     "the filter is on a server: --key names it, no file does"},
    {OPTION_HOST, 'h', "host", "host", SERVER, "the server's host (127.0.0.1)"},
    {OPTION_PORT, 'p', "port", "port", SERVER, "the server's port (6379)"},
    {OPTION_SOCKET, 's', "socket", "file", SERVER,
     "the server's Unix socket, instead of host and port"},
    {OPTION_URL, 'u', "url", "url", SERVER,
     "redis[s]://[[user]:password@]host[:port][/database], unix:///path, or a socket's path"},
    {OPTION_DB, 'n', "db", "number", SERVER, "the database (0; list: all)"},
    {OPTION_USER, 0, "user", "name", SERVER, "the ACL user"},
    {OPTION_PASS, 'a', "pass", "password", SERVER,
     "the password; better in REDISCLI_AUTH, which nobody sees"},
    {OPTION_TLS, 0, "tls", NULL, SERVER, "connect with TLS"},
    {OPTION_CACERT, 0, "cacert", "file", SERVER | COPY,
     "certificates of those who may sign the server's"},
    {OPTION_CACERTDIR, 0, "cacertdir", "file", SERVER | COPY, "a directory of such certificates"},
    {OPTION_CERT, 0, "cert", "file", SERVER | COPY, "our own certificate"},
    {OPTION_TLS_KEY, 0, "tls-key", "file", SERVER | COPY,
     "its private key, if not in the same file"},
    {OPTION_SNI, 0, "sni", "host", SERVER,
     "the host name to ask for in TLS, which the certificate must have (the host)"},
    {OPTION_INSECURE, 0, "insecure", NULL, SERVER | COPY, "accept any certificate, of anybody"},
    {OPTION_INSECURE_NAME, 0, "insecure-name", NULL, SERVER | COPY,
     "accept a certificate for any host, if the right ones signed it"},
    {OPTION_TIMEOUT, 0, "timeout", "seconds", SERVER | COPY,
     "give a silent server up after this time (10 to connect, 300 for a reply); 0: never"},
    {OPTION_CLUSTER, 0, "cluster", NULL, SERVER | COPY,
     "find the node of a cluster that has the key"},
    {OPTION_SORT, 0, "sort", "order", LIST,
     "state (default: what needs action first), utilisation, key, items, capacity, error, bytes"},
    {OPTION_STATE, 0, "state", "states", LIST,
     "only those: overfilled, full, nearly-full, many-layers, clock-behind, ok, with commas"},
    {OPTION_QUIET, 'q', "quiet", NULL, BUILD | CHECK | MERGE | CONVERT | PUSH | PULL | COPY | ADD,
     "no summary and no notes on standard error"},
    {OPTION_QUIET, 'q', "quiet", NULL, LIST,
     "print nothing: status 1 says that a filter is full or overfilled"},
    {OPTION_HELP, 'h', "help", NULL, ~(unsigned)SERVER, "this text"},
    {OPTION_HELP, 0, "help", NULL, SERVER, "this text"},
};
const size_t table_noptions = sizeof(table_options) / sizeof(table_options[0]);
