#compdef bloomport
# zsh completions for bloomport, written by `bloomport completion zsh`.
_bloomport() {
    local -a commands
    commands=(
        'build:a filter of the items of files, or of standard input'
        'check:the items that the filter may contain'
        'info:what a file is: format, sizes, fill, estimated items, current error rate'
        'merge:the union of filters of equal geometry'
        'convert:the same filter in another format'
        'push:a filter from a file to a server'
        'pull:a filter from a server to a file'
        'add:the items of files into a filter on a server'
        'copy:a filter from one server to another'
        'list:all filters of a server: items, capacity, error rate, size, state'
        'size:the calculator: any two numbers give the rest'
        'completion:a shell'\''s completions for this program'
        'help:the help of a command'
    )
    if (( CURRENT == 2 )); then _describe command commands; return; fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
    help) _describe command commands ;;
    build) _arguments -s \
        '(-0 --null)'{-0,--null}'[items end in a NUL byte, not in a newline]' \
        '--hex[items are written as hexadecimal digits, two a byte]' \
        '--column=[an item is this column of its line, from 1]:number: ' \
        '--delimiter=[what separates columns (a tab): one character, or \t]:character: ' \
        '--from-line=[begin at this line, from 1: 2 leaves out a heading]:number: ' \
        '--from-set=[the items are a key'\''s: a set, a sorted set, a list, or a hash'\''s fields]:key: ' \
        '--from-keys=[the items are the names of keys that match, as user:*]:pattern: ' \
        '--error=[false-positive rate, between 0 and 1 (0.01)]:rate: ' \
        '--bits-per-key=[bits per item, 1 to 256, instead of --error]:bits: ' \
        '--capacity=[items the filter is sized for (as many as are read)]:number: ' \
        '--expansion=[it grows: each new layer has this many times the last one'\''s capacity]:number: ' \
        '--like=[take all parameters from this filter: both can be merged]:file:_files' \
        '--like-key=[the same, from a key of the server]:key: ' \
        '--layout=[classic (fewest bits) or blocked (fastest)]:layout:(classic blocked counting)' \
        '--hash=[xxh64 (default) or fnv1a]:hash:(xxh64 fnv1a)' \
        '--format=[the format to write (one that records capacity and rate: dump)]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--variant=[of cassandra: old, 3.x or 4.x; of spark: v1 or v2]:variant:(old 3.x 4.x v1 v2)' \
        '(-o --output)'{-o,--output}'[where to write (standard output)]:file:_files' \
        '(-h --host)'{-h,--host}'[the server'\''s host (127.0.0.1)]:host: ' \
        '(-p --port)'{-p,--port}'[the server'\''s port (6379)]:port: ' \
        '(-s --socket)'{-s,--socket}'[the server'\''s Unix socket, instead of host and port]:file:_files' \
        '(-u --url)'{-u,--url}'[redis[s\]://[[user\]:password@\]host[:port\][/database\], unix:///path, or a socket'\''s path]:url: ' \
        '(-n --db)'{-n,--db}'[the database (0; list: all)]:number: ' \
        '--user=[the ACL user]:name: ' \
        '(-a --pass)'{-a,--pass}'[the password; better in REDISCLI_AUTH, which nobody sees]:password: ' \
        '--tls[connect with TLS]' \
        '--cacert=[certificates of those who may sign the server'\''s]:file:_files' \
        '--cacertdir=[a directory of such certificates]:file:_files' \
        '--cert=[our own certificate]:file:_files' \
        '--tls-key=[its private key, if not in the same file]:file:_files' \
        '--sni=[the host name to ask for in TLS, which the certificate must have (the host)]:host: ' \
        '--insecure[accept any certificate, of anybody]' \
        '--insecure-name[accept a certificate for any host, if the right ones signed it]' \
        '--timeout=[give a silent server up after this time (10 to connect, 300 for a reply); 0: never]:seconds: ' \
        '--cluster[find the node of a cluster that has the key]' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '--help[this text]' \
        '*:file:_files' ;;
    check) _arguments -s \
        '(-0 --null)'{-0,--null}'[items end in a NUL byte, not in a newline]' \
        '--hex[items are written as hexadecimal digits, two a byte]' \
        '--column=[an item is this column of its line, from 1]:number: ' \
        '--delimiter=[what separates columns (a tab): one character, or \t]:character: ' \
        '--from-line=[begin at this line, from 1: 2 leaves out a heading]:number: ' \
        '(-v --absent)'{-v,--absent}'[print the items that are surely not in the filter]' \
        '(-c --count)'{-c,--count}'[print only how many they are]' \
        '--hash=[xxh64 (default) or fnv1a: portable and sstable files do not record it]:hash:(xxh64 fnv1a)' \
        '--format=[the file'\''s format, if it is not recognised: leveldb and cassandra never are]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--variant=[of cassandra: old, 3.x or 4.x, unless a name as nb-1-big-Filter.db tells]:variant:(old 3.x 4.x v1 v2)' \
        '--prefix[of a table of RocksDB: its filter is one of prefixes of keys]' \
        '--key=[the key on the server]:key: ' \
        '--server[the filter is on a server: --key names it, no file does]' \
        '(-h --host)'{-h,--host}'[the server'\''s host (127.0.0.1)]:host: ' \
        '(-p --port)'{-p,--port}'[the server'\''s port (6379)]:port: ' \
        '(-s --socket)'{-s,--socket}'[the server'\''s Unix socket, instead of host and port]:file:_files' \
        '(-u --url)'{-u,--url}'[redis[s\]://[[user\]:password@\]host[:port\][/database\], unix:///path, or a socket'\''s path]:url: ' \
        '(-n --db)'{-n,--db}'[the database (0; list: all)]:number: ' \
        '--user=[the ACL user]:name: ' \
        '(-a --pass)'{-a,--pass}'[the password; better in REDISCLI_AUTH, which nobody sees]:password: ' \
        '--tls[connect with TLS]' \
        '--cacert=[certificates of those who may sign the server'\''s]:file:_files' \
        '--cacertdir=[a directory of such certificates]:file:_files' \
        '--cert=[our own certificate]:file:_files' \
        '--tls-key=[its private key, if not in the same file]:file:_files' \
        '--sni=[the host name to ask for in TLS, which the certificate must have (the host)]:host: ' \
        '--insecure[accept any certificate, of anybody]' \
        '--insecure-name[accept a certificate for any host, if the right ones signed it]' \
        '--timeout=[give a silent server up after this time (10 to connect, 300 for a reply); 0: never]:seconds: ' \
        '--cluster[find the node of a cluster that has the key]' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '--help[this text]' \
        '*:file:_files' ;;
    info) _arguments -s \
        '--hash=[xxh64 (default) or fnv1a: portable and sstable files do not record it]:hash:(xxh64 fnv1a)' \
        '--format=[the file'\''s format, if it is not recognised: leveldb and cassandra never are]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--variant=[of cassandra: old, 3.x or 4.x, unless a name as nb-1-big-Filter.db tells]:variant:(old 3.x 4.x v1 v2)' \
        '--prefix[of a table of RocksDB: its filter is one of prefixes of keys]' \
        '--json[print one JSON object]' \
        '(-h --help)'{-h,--help}'[this text]' \
        '*:file:_files' ;;
    merge) _arguments -s \
        '--hash=[xxh64 (default) or fnv1a: portable and sstable files do not record it]:hash:(xxh64 fnv1a)' \
        '--from=[the format read, if it is not recognised: leveldb and cassandra never are]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--format=[the format to write (that of the first)]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--variant=[of cassandra: old, 3.x or 4.x, unless a name as nb-1-big-Filter.db tells]:variant:(old 3.x 4.x v1 v2)' \
        '--prefix[of a table of RocksDB: its filter is one of prefixes of keys]' \
        '(-o --output)'{-o,--output}'[where to write (standard output)]:file:_files' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '(-h --help)'{-h,--help}'[this text]' \
        '*:file:_files' ;;
    convert) _arguments -s \
        '--capacity=[the capacity, where the file'\''s format does not record it]:number: ' \
        '--hash=[xxh64 (default) or fnv1a: portable and sstable files do not record it]:hash:(xxh64 fnv1a)' \
        '--from=[the format read, if it is not recognised: leveldb and cassandra never are]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--to=[the format to write]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--variant=[of cassandra: old, 3.x or 4.x, unless a name as nb-1-big-Filter.db tells]:variant:(old 3.x 4.x v1 v2)' \
        '--prefix[of a table of RocksDB: its filter is one of prefixes of keys]' \
        '(-o --output)'{-o,--output}'[where to write (standard output)]:file:_files' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '(-h --help)'{-h,--help}'[this text]' \
        '*:file:_files' ;;
    push) _arguments -s \
        '--capacity=[the capacity, where the file'\''s format does not record it]:number: ' \
        '--expansion=[it grows on the server, as by BF.RESERVE]:number: ' \
        '--hash=[xxh64 (default) or fnv1a: portable and sstable files do not record it]:hash:(xxh64 fnv1a)' \
        '--format=[the file'\''s format, if it is not recognised: leveldb and cassandra never are]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--variant=[of cassandra: old, 3.x or 4.x, unless a name as nb-1-big-Filter.db tells]:variant:(old 3.x 4.x v1 v2)' \
        '--prefix[of a table of RocksDB: its filter is one of prefixes of keys]' \
        '--key=[the key on the server]:key: ' \
        '--merge[add it to the filter that the key holds]' \
        '--replace[replace the key if it exists]' \
        '(-h --host)'{-h,--host}'[the server'\''s host (127.0.0.1)]:host: ' \
        '(-p --port)'{-p,--port}'[the server'\''s port (6379)]:port: ' \
        '(-s --socket)'{-s,--socket}'[the server'\''s Unix socket, instead of host and port]:file:_files' \
        '(-u --url)'{-u,--url}'[redis[s\]://[[user\]:password@\]host[:port\][/database\], unix:///path, or a socket'\''s path]:url: ' \
        '(-n --db)'{-n,--db}'[the database (0; list: all)]:number: ' \
        '--user=[the ACL user]:name: ' \
        '(-a --pass)'{-a,--pass}'[the password; better in REDISCLI_AUTH, which nobody sees]:password: ' \
        '--tls[connect with TLS]' \
        '--cacert=[certificates of those who may sign the server'\''s]:file:_files' \
        '--cacertdir=[a directory of such certificates]:file:_files' \
        '--cert=[our own certificate]:file:_files' \
        '--tls-key=[its private key, if not in the same file]:file:_files' \
        '--sni=[the host name to ask for in TLS, which the certificate must have (the host)]:host: ' \
        '--insecure[accept any certificate, of anybody]' \
        '--insecure-name[accept a certificate for any host, if the right ones signed it]' \
        '--timeout=[give a silent server up after this time (10 to connect, 300 for a reply); 0: never]:seconds: ' \
        '--cluster[find the node of a cluster that has the key]' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '--help[this text]' \
        '*:file:_files' ;;
    pull) _arguments -s \
        '--expansion=[with --redisson: it grows, as by BF.RESERVE]:number: ' \
        '--format=[the format to write (one that records capacity and rate: dump)]:format:(portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst)' \
        '--variant=[of cassandra: old, 3.x or 4.x; of spark: v1 or v2]:variant:(old 3.x 4.x v1 v2)' \
        '(-o --output)'{-o,--output}'[where to write (standard output)]:file:_files' \
        '--key=[the key on the server]:key: ' \
        '--redisson=[the filter is Redisson'\''s, NAME and {NAME}:config; --key: push it to this key]:name: ' \
        '--replace[with --redisson and --key: replace the key]' \
        '(-h --host)'{-h,--host}'[the server'\''s host (127.0.0.1)]:host: ' \
        '(-p --port)'{-p,--port}'[the server'\''s port (6379)]:port: ' \
        '(-s --socket)'{-s,--socket}'[the server'\''s Unix socket, instead of host and port]:file:_files' \
        '(-u --url)'{-u,--url}'[redis[s\]://[[user\]:password@\]host[:port\][/database\], unix:///path, or a socket'\''s path]:url: ' \
        '(-n --db)'{-n,--db}'[the database (0; list: all)]:number: ' \
        '--user=[the ACL user]:name: ' \
        '(-a --pass)'{-a,--pass}'[the password; better in REDISCLI_AUTH, which nobody sees]:password: ' \
        '--tls[connect with TLS]' \
        '--cacert=[certificates of those who may sign the server'\''s]:file:_files' \
        '--cacertdir=[a directory of such certificates]:file:_files' \
        '--cert=[our own certificate]:file:_files' \
        '--tls-key=[its private key, if not in the same file]:file:_files' \
        '--sni=[the host name to ask for in TLS, which the certificate must have (the host)]:host: ' \
        '--insecure[accept any certificate, of anybody]' \
        '--insecure-name[accept a certificate for any host, if the right ones signed it]' \
        '--timeout=[give a silent server up after this time (10 to connect, 300 for a reply); 0: never]:seconds: ' \
        '--cluster[find the node of a cluster that has the key]' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '--help[this text]' \
        '*:file:_files' ;;
    add) _arguments -s \
        '(-0 --null)'{-0,--null}'[items end in a NUL byte, not in a newline]' \
        '--hex[items are written as hexadecimal digits, two a byte]' \
        '--column=[an item is this column of its line, from 1]:number: ' \
        '--delimiter=[what separates columns (a tab): one character, or \t]:character: ' \
        '--from-line=[begin at this line, from 1: 2 leaves out a heading]:number: ' \
        '--error=[false-positive rate, between 0 and 1 (0.01)]:rate: ' \
        '--bits-per-key=[bits per item, 1 to 256, instead of --error]:bits: ' \
        '--capacity=[items a new filter is sized for (100)]:number: ' \
        '--expansion=[how a new filter grows; 0: it does not]:number: ' \
        '--layout=[classic (fewest bits), blocked (fastest) or counting]:layout:(classic blocked counting)' \
        '--key=[the key on the server]:key: ' \
        '--nocreate[make no new filter: the key must exist]' \
        '(-h --host)'{-h,--host}'[the server'\''s host (127.0.0.1)]:host: ' \
        '(-p --port)'{-p,--port}'[the server'\''s port (6379)]:port: ' \
        '(-s --socket)'{-s,--socket}'[the server'\''s Unix socket, instead of host and port]:file:_files' \
        '(-u --url)'{-u,--url}'[redis[s\]://[[user\]:password@\]host[:port\][/database\], unix:///path, or a socket'\''s path]:url: ' \
        '(-n --db)'{-n,--db}'[the database (0; list: all)]:number: ' \
        '--user=[the ACL user]:name: ' \
        '(-a --pass)'{-a,--pass}'[the password; better in REDISCLI_AUTH, which nobody sees]:password: ' \
        '--tls[connect with TLS]' \
        '--cacert=[certificates of those who may sign the server'\''s]:file:_files' \
        '--cacertdir=[a directory of such certificates]:file:_files' \
        '--cert=[our own certificate]:file:_files' \
        '--tls-key=[its private key, if not in the same file]:file:_files' \
        '--sni=[the host name to ask for in TLS, which the certificate must have (the host)]:host: ' \
        '--insecure[accept any certificate, of anybody]' \
        '--insecure-name[accept a certificate for any host, if the right ones signed it]' \
        '--timeout=[give a silent server up after this time (10 to connect, 300 for a reply); 0: never]:seconds: ' \
        '--cluster[find the node of a cluster that has the key]' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '--help[this text]' \
        '*:file:_files' ;;
    copy) _arguments -s \
        '--key=[the key on the server]:key: ' \
        '--from=[the server that has it: redis[s\]://[[user\]:password@\]host[:port\][/database\], unix:///path, or a socket'\''s path]:url: ' \
        '--to=[the server that gets it, likewise]:url: ' \
        '--key-to=[the key there, if it is another one]:key: ' \
        '--merge[add it to the filter that the key there holds]' \
        '--replace[replace the key if it exists]' \
        '--cacert=[certificates of those who may sign the server'\''s]:file:_files' \
        '--cacertdir=[a directory of such certificates]:file:_files' \
        '--cert=[our own certificate]:file:_files' \
        '--tls-key=[its private key, if not in the same file]:file:_files' \
        '--insecure[accept any certificate, of anybody]' \
        '--insecure-name[accept a certificate for any host, if the right ones signed it]' \
        '--timeout=[give a silent server up after this time (10 to connect, 300 for a reply); 0: never]:seconds: ' \
        '--cluster[find the node of a cluster that has the key]' \
        '(-q --quiet)'{-q,--quiet}'[no summary and no notes on standard error]' \
        '(-h --help)'{-h,--help}'[this text]' \
        '*:file:_files' ;;
    list) _arguments -s \
        '--json[print a JSON array]' \
        '(-h --host)'{-h,--host}'[the server'\''s host (127.0.0.1)]:host: ' \
        '(-p --port)'{-p,--port}'[the server'\''s port (6379)]:port: ' \
        '(-s --socket)'{-s,--socket}'[the server'\''s Unix socket, instead of host and port]:file:_files' \
        '(-u --url)'{-u,--url}'[redis[s\]://[[user\]:password@\]host[:port\][/database\], unix:///path, or a socket'\''s path]:url: ' \
        '(-n --db)'{-n,--db}'[the database (0; list: all)]:number: ' \
        '--user=[the ACL user]:name: ' \
        '(-a --pass)'{-a,--pass}'[the password; better in REDISCLI_AUTH, which nobody sees]:password: ' \
        '--tls[connect with TLS]' \
        '--cacert=[certificates of those who may sign the server'\''s]:file:_files' \
        '--cacertdir=[a directory of such certificates]:file:_files' \
        '--cert=[our own certificate]:file:_files' \
        '--tls-key=[its private key, if not in the same file]:file:_files' \
        '--sni=[the host name to ask for in TLS, which the certificate must have (the host)]:host: ' \
        '--insecure[accept any certificate, of anybody]' \
        '--insecure-name[accept a certificate for any host, if the right ones signed it]' \
        '--timeout=[give a silent server up after this time (10 to connect, 300 for a reply); 0: never]:seconds: ' \
        '--cluster[find the node of a cluster that has the key]' \
        '--sort=[state (default: what needs action first), utilisation, key, items, capacity, error, bytes]:order:(state utilisation key items capacity error bytes)' \
        '--state=[only those: overfilled, full, nearly-full, many-layers, clock-behind, ok, with commas]:states:(overfilled full nearly-full many-layers clock-behind ok)' \
        '(-q --quiet)'{-q,--quiet}'[print nothing: status 1 says that a filter is full or overfilled]' \
        '--help[this text]' \
        '*:file:_files' ;;
    size) _arguments -s \
        '--items=[how many items; K, M, G, T count in 1000]:number: ' \
        '--capacity=[another name of --items]:number: ' \
        '--bits=[how many bits in all; K, M, G, T count in 1000]:number: ' \
        '--memory=[how many bytes in all; KB, MB, GB count in 1024]:size: ' \
        '--error=[false-positive rate, between 0 and 1]:rate: ' \
        '--bits-per-key=[bits per item, 1 to 256, instead of --error]:bits: ' \
        '--layout=[classic (fewest bits), blocked (fastest) or counting]:layout:(classic blocked counting)' \
        '--hash=[xxh64 (default) or fnv1a]:hash:(xxh64 fnv1a)' \
        '--window=[items are forgotten after this time: seconds, or 15m, 24h, 7d]:time: ' \
        '--generations=[parts that the window is forgotten in, 1 to 64 (4)]:number: ' \
        '--json[print one JSON object]' \
        '(-h --help)'{-h,--help}'[this text]' \
        '*:file:_files' ;;
    completion) _arguments -s \
        '(-h --help)'{-h,--help}'[this text]' \
        '*:shell:(bash zsh fish)' ;;
    esac
}
_bloomport "$@"
