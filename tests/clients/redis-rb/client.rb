# redis-rb: client.rb PORT PROTOCOL. ../README.md lists the calls and the reasons.
# It has no methods for BF.*: call takes any command. Dumps arrive as strings marked UTF-8 but with
# their bytes untouched, so they can be stored and sent back as they are.
require "redis"

BINARY = "\x00\xff\r\n\x80".b
# One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one).
ONE = ["01020000007b14ae47e17a843f000000000000e03f0101000000000000002f000000000000000102000000000000000b00000" \
       "04564a07b0cc930b9e2e1fe54c4b2e464096547f4af40208ae0f36175b9fa97c6abd601000000000000000100000000000000"].pack("H*")
FULL = "ERR non scaling filter is full"
$r = Redis.new(port: ARGV[0].to_i)
$checks = $wrong = 0

def check(what, got, wanted)
  $checks += 1
  return if got == wanted

  $wrong += 1
  puts "wrong: #{what}, got #{got.inspect[0, 300]}, wanted #{wanted.inspect[0, 300]}"
end

# The answer; an error is its text.
def call(*words)
  $r.call(*words)
rescue Redis::CommandError => error
  error.message
end

# A map, which is names and values in a row, by name.
def table(flat)
  flat.each_slice(2).to_h
end

# BF.INFO by name, without the size.
def four(key)
  info = table(call("BF.INFO", key))
  info.values_at("Capacity", "Number of filters", "Number of items inserted", "Expansion rate")
end

def dump(key)
  found = []
  iterator = 0
  loop do
    iterator, data = call("BF.SCANDUMP", key, iterator)
    return found if iterator.zero?

    found << [iterator, data]
  end
end

check "protocol", call("CLIENT", "INFO")[/resp=(\d)/, 1], ARGV[1]

check "reserve", call("BF.RESERVE", "plain", 0.01, 1000), "OK"
check "reserve expansion", call("BF.RESERVE", "grown", 0.001, 100, "EXPANSION", 4), "OK"
check "reserve nonscaling", call("BF.RESERVE", "fixed", 1e-7, 2, "NONSCALING"), "OK"
check "reserve again", call("BF.RESERVE", "plain", 0.01, 1000), "ERR item exists"

check "add", call("BF.ADD", "plain", "a"), 1
check "add again", call("BF.ADD", "plain", "a"), 0
check "add binary", call("BF.ADD", "plain", BINARY), 1
check "madd", call("BF.MADD", "plain", "a", "b", "c"), [0, 1, 1]
check "insert", call("BF.INSERT", "inserted", "CAPACITY", 500, "ERROR", 0.001, "EXPANSION", 3,
                     "ITEMS", "x", "y", "x"), [1, 1, 0]
check "insert nocreate", call("BF.INSERT", "inserted", "NOCREATE", "ITEMS", "z"), [1]
check "insert nonscaling", call("BF.INSERT", "small", "CAPACITY", 2, "NONSCALING", "ITEMS", "x"), [1]
check "insert nocreate missing", call("BF.INSERT", "missing", "NOCREATE", "ITEMS", "z"), "ERR not found"

check "exists", call("BF.EXISTS", "plain", "a"), 1
check "exists absent", call("BF.EXISTS", "plain", "absent"), 0
check "exists binary", call("BF.EXISTS", "plain", BINARY), 1
check "exists binary cut", call("BF.EXISTS", "plain", BINARY[0...-1]), 0
check "exists missing", call("BF.EXISTS", "missing", "a"), 0
check "mexists", call("BF.MEXISTS", "plain", "a", "absent", "c"), [1, 0, 1]
check "card", call("BF.CARD", "plain"), 4
check "card missing", call("BF.CARD", "missing"), 0

check "info", four("plain"), [1000, 1, 4, 2]
check "info has five fields", call("BF.INFO", "plain").size, 10
check "info inserted", four("inserted"), [500, 1, 3, 3]
check "info nonscaling", four("fixed"), [2, 1, 0, nil]
check "info items", call("BF.INFO", "plain", "ITEMS"), [4]
check "info missing", call("BF.INFO", "missing"), "ERR not found"

*answers, last = call("BF.MADD", "fixed", "p", "q", "r", "s")
check "madd full", [answers, last.class, last.message], [[1, 1], Redis::CommandError, FULL]
check "add full", call("BF.ADD", "fixed", "r"), FULL
check "add full, known", call("BF.ADD", "fixed", "p"), 0
$r.set("text", "x")
check "add wrong type", call("BF.ADD", "text", "a")[/\w+/], "WRONGTYPE"
check "exists wrong type", call("BF.EXISTS", "text", "a")[/\w+/], "WRONGTYPE"

answers = call("BF.MADD", "grown", *(0...1000).map { |i| "item-#{i}" })
check "grow", answers.sum > 990, true
check "info grown", four("grown").first(2), [2100, 3]
dumped = dump("grown")
check "scandump", dumped.size, 4
dumped.each { |iterator, data| check "loadchunk", call("BF.LOADCHUNK", "loaded", iterator, data), "OK" }
check "dump of the copy", dump("loaded"), dumped
check "mexists in the copy", call("BF.MEXISTS", "loaded", "item-0", "item-999", "absent"), [1, 1, 0]

debug = call("BF.DEBUG", "plain")
check "debug", [debug.size, debug[0], debug[1][0, 6]], [2, "size:4", "bytes:"]
data = call("BF.EXPORT", "plain")
check "import", call("BF.IMPORT", "imported", "FORMAT", "portable", "DATA", data), "OK"
check "export of the copy", call("BF.EXPORT", "imported"), data
check "exists in the copy", call("BF.EXISTS", "imported", BINARY), 1
check "import cut", call("BF.IMPORT", "bad", "FORMAT", "portable", "DATA", data.byteslice(1..))[0, 12], "ERR bad data"

stats = table(call("BF.STATS", "plain"))
check "stats has 17 fields", stats.size, 17
check "stats", stats.values_at("layout", "items", "capacity"), ["CLASSIC", 4, 1000]
check "stats, a real", [stats["utilisation"].class, stats["utilisation"].to_f], [String, 0.004]
check "stats, a flag", stats["items are estimated"], 0
check "stats layers", stats["layers"].map { |layer| table(layer).values_at("bits", "hashes") }, [[10595, 7]]
check "stats missing", call("BF.STATS", "missing"), "ERR not found"

call("BF.RESERVE", "other", 0.01, 1000)
call("BF.MADD", "other", "a", "only")
check "merge", call("BF.MERGE", "merged", "plain", "other"), "OK"
check "mexists merged", call("BF.MEXISTS", "merged", "b", "only", "absent"), [1, 1, 0]
check "interstore", call("BF.INTERSTORE", "common", "plain", "other"), "OK"
check "mexists common", call("BF.MEXISTS", "common", "a", "b", "only"), [1, 0, 0]
check "clear", call("BF.CLEAR", "merged"), "OK"
check "exists cleared", call("BF.EXISTS", "merged", "a"), 0

check "reserve counting", call("BF.RESERVE", "counting", 0.01, 100, "LAYOUT", "COUNTING"), "OK"
check "madd counting", call("BF.MADD", "counting", "a", "b", "a"), [1, 1, 0]
check "count", call("BF.COUNT", "counting", "a"), 2
check "del", call("BF.DEL", "counting", "a", "absent"), [1, 0]
check "count after del", call("BF.COUNT", "counting", "a"), 1
check "del missing", call("BF.DEL", "missing", "a"), [0]
check "reserve window", call("BF.RESERVE", "seen", 0.01, 100, "WINDOW", 3600), "OK"
check "rotate", call("BF.ROTATE", "seen"), "OK"
check "rotate missing", call("BF.ROTATE", "missing"), "ERR not found"

check "load", call("BF.LOAD", "moved", ONE), "OK"
check "card of the loaded", call("BF.CARD", "moved"), 1
check "load cut", call("BF.LOAD", "bad", ONE[0...-1]), "ERR bloom object decoding failed"

check "bulkadd", call("BF.BULKADD", "bulky", "LINES", "a\nb\na").b, "\xc0".b
check "bulkexists", call("BF.BULKEXISTS", "bulky", "WIDTH", 1, "axb").b, "\xa0".b
check "bulkadd cut", call("BF.BULKADD", "bulky", "WIDTH", 2, "abc"), "ERR the data is no whole number of items of 2 bytes"

puts "version #{Redis::VERSION}", "checks #{$checks}"
exit $wrong.zero?
