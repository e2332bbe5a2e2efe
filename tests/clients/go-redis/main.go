// go-redis: program PORT PROTOCOL. ../README.md lists the calls and the reasons.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const binary = "\x00\xff\r\n\x80"

// One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one).
const one = "01020000007b14ae47e17a843f000000000000e03f0101000000000000002f000000000000000102000000000000000b00000" +
	"04564a07b0cc930b9e2e1fe54c4b2e464096547f4af40208ae0f36175b9fa97c6abd601000000000000000100000000000000"

var (
	ctx           = context.Background()
	r             *redis.Client
	protocol      int
	checks, wrong int
)

// check counts one comparison; the types must agree too.
func check(what string, got, wanted any) {
	checks++
	if !reflect.DeepEqual(got, wanted) {
		wrong++
		fmt.Printf("wrong: %s, got %.300q, wanted %.300q\n", what, fmt.Sprint(got), fmt.Sprint(wanted))
	}
}

// result is one answer of the library: the value, or the error if there is one.
func result[T any](value T, err error) any {
	if err != nil {
		return err.Error()
	}
	return value
}

func reserve() {
	info, _ := r.ClientInfo(ctx).Result()
	check("protocol", info.Resp, protocol)
	check("reserve", result(r.BFReserve(ctx, "plain", 0.01, 1000).Result()), "OK")
	check("reserve expansion", result(r.BFReserveExpansion(ctx, "grown", 0.001, 100, 4).Result()), "OK")
	check("reserve nonscaling", result(r.BFReserveNonScaling(ctx, "fixed", 1e-7, 2).Result()), "OK")
	all := &redis.BFReserveOptions{Capacity: 200, Error: 0.001, Expansion: 3}
	check("reserve with args", result(r.BFReserveWithArgs(ctx, "args", all).Result()), "OK")
	check("reserve again", result(r.BFReserve(ctx, "plain", 0.01, 1000).Result()), "ERR item exists")
}

func add() {
	check("add", result(r.BFAdd(ctx, "plain", "a").Result()), true)
	check("add again", result(r.BFAdd(ctx, "plain", "a").Result()), false)
	check("add binary", result(r.BFAdd(ctx, "plain", binary).Result()), true)
	check("madd", result(r.BFMAdd(ctx, "plain", "a", "b", "c").Result()), []bool{false, true, true})
	all := &redis.BFInsertOptions{Capacity: 500, Error: 0.001, Expansion: 3}
	check("insert", result(r.BFInsert(ctx, "inserted", all, "x", "y", "x").Result()), []bool{true, true, false})
	existing := &redis.BFInsertOptions{NoCreate: true}
	check("insert nocreate", result(r.BFInsert(ctx, "inserted", existing, "z").Result()), []bool{true})
	check("insert nocreate missing", result(r.BFInsert(ctx, "missing", existing, "z").Result()), "ERR not found")
	fixed := &redis.BFInsertOptions{Capacity: 2, NonScaling: true}
	check("insert nonscaling", result(r.BFInsert(ctx, "small", fixed, "x").Result()), []bool{true})
	check("insert plain", result(r.BFInsert(ctx, "default", &redis.BFInsertOptions{}, "x").Result()), []bool{true})
}

func lookups() {
	check("exists", result(r.BFExists(ctx, "plain", "a").Result()), true)
	check("exists absent", result(r.BFExists(ctx, "plain", "absent").Result()), false)
	check("exists binary", result(r.BFExists(ctx, "plain", binary).Result()), true)
	check("exists binary cut", result(r.BFExists(ctx, "plain", binary[:4]).Result()), false)
	check("exists missing", result(r.BFExists(ctx, "missing", "a").Result()), false)
	check("mexists", result(r.BFMExists(ctx, "plain", "a", "absent", "c").Result()), []bool{true, false, true})
	check("card", result(r.BFCard(ctx, "plain").Result()), int64(4))
	check("card missing", result(r.BFCard(ctx, "missing").Result()), int64(0))
}

func info() {
	size := r.BFInfo(ctx, "plain").Val().Size
	check("info size", size > 1000, true)
	check("info", result(r.BFInfo(ctx, "plain").Result()),
		redis.BFInfo{Capacity: 1000, Size: size, Filters: 1, ItemsInserted: 4, ExpansionRate: 2})
	check("info capacity", result(r.BFInfoCapacity(ctx, "plain").Result()), redis.BFInfo{Capacity: 1000})
	check("info size alone", result(r.BFInfoSize(ctx, "plain").Result()), redis.BFInfo{Size: size})
	check("info filters", result(r.BFInfoFilters(ctx, "plain").Result()), redis.BFInfo{Filters: 1})
	check("info items", result(r.BFInfoItems(ctx, "plain").Result()), redis.BFInfo{ItemsInserted: 4})
	check("info expansion", result(r.BFInfoExpansion(ctx, "inserted").Result()), redis.BFInfo{ExpansionRate: 3})
	check("info by name", result(r.BFInfoArg(ctx, "args", "EXPANSION").Result()), redis.BFInfo{ExpansionRate: 3})
	check("info missing", result(r.BFInfo(ctx, "missing").Result()), "ERR not found")
	// The library reads an integer where RedisBloom, Redis 8 and we answer null.
	_, err := r.BFInfo(ctx, "fixed").Result()
	check("info nonscaling", errors.Is(err, redis.Nil), true)
	_, err = r.BFInfoExpansion(ctx, "fixed").Result()
	check("info expansion, nonscaling", errors.Is(err, redis.Nil), true)
	// What COMMANDS.md says to call instead.
	check("info capacity, nonscaling", result(r.BFInfoCapacity(ctx, "fixed").Result()), redis.BFInfo{Capacity: 2})
	check("info filters, nonscaling", result(r.BFInfoFilters(ctx, "fixed").Result()), redis.BFInfo{Filters: 1})
	check("info items, nonscaling", result(r.BFInfoItems(ctx, "fixed").Result()), redis.BFInfo{})
	check("info size, nonscaling", r.BFInfoSize(ctx, "fixed").Val().Size > 0, true)
	check("info raw, nonscaling", lastOfInfo(r.Do(ctx, "BF.INFO", "fixed").Result()), "Expansion rate <nil>")
}

// lastOfInfo is the last field and its value: names and values in a row over RESP2, a map over RESP3.
func lastOfInfo(reply any, err error) string {
	switch fields := reply.(type) {
	case []any:
		return fmt.Sprint(fields[len(fields)-2], " ", fields[len(fields)-1])
	case map[any]any:
		return fmt.Sprint("Expansion rate ", fields["Expansion rate"])
	}
	return fmt.Sprint(err)
}

func failures() {
	// An error inside an array fails the whole call; what was added before it stays added.
	check("madd full", result(r.BFMAdd(ctx, "fixed", "p", "q", "r", "s").Result()), "ERR non scaling filter is full")
	check("madd full: card", result(r.BFCard(ctx, "fixed").Result()), int64(2))
	check("add full", result(r.BFAdd(ctx, "fixed", "r").Result()), "ERR non scaling filter is full")
	check("add full, known", result(r.BFAdd(ctx, "fixed", "p").Result()), false)
	r.Set(ctx, "text", "x", 0)
	wrongType := "WRONGTYPE Operation against a key holding the wrong kind of value"
	check("add wrong type", result(r.BFAdd(ctx, "text", "a").Result()), wrongType)
	check("exists wrong type", result(r.BFExists(ctx, "text", "a").Result()), wrongType)
}

func chunks(key string) []redis.ScanDump {
	var found []redis.ScanDump
	for {
		var iterator int64
		if len(found) > 0 {
			iterator = found[len(found)-1].Iter
		}
		chunk, err := r.BFScanDump(ctx, key, iterator).Result()
		if err != nil || chunk.Iter == 0 {
			return found
		}
		found = append(found, chunk)
	}
}

func dump() {
	items := make([]any, 1000)
	for i := range items {
		items[i] = "item-" + strconv.Itoa(i)
	}
	check("grow", len(r.BFMAdd(ctx, "grown", items...).Val()), 1000)
	check("info grown", r.BFInfo(ctx, "grown").Val().Filters, int64(3))
	dumped := chunks("grown")
	check("scandump", len(dumped), 4)
	for _, chunk := range dumped {
		check("loadchunk", result(r.BFLoadChunk(ctx, "loaded", chunk.Iter, chunk.Data).Result()), "OK")
	}
	check("dump of the copy", chunks("loaded"), dumped)
	check("mexists in the copy", result(r.BFMExists(ctx, "loaded", "item-0", "item-999", "absent").Result()),
		[]bool{true, true, false})
}

func call(words ...any) any { return result(r.Do(ctx, words...).Result()) }

func raw() {
	debug, _ := r.Do(ctx, "BF.DEBUG", "plain").StringSlice()
	check("debug", len(debug) == 2 && debug[0] == "size:4" && strings.HasPrefix(debug[1], "bytes:"), true)
	data, _ := r.Do(ctx, "BF.EXPORT", "plain").Text()
	check("import", call("BF.IMPORT", "imported", "FORMAT", "portable", "DATA", data), "OK")
	check("export of the copy", call("BF.EXPORT", "imported"), data)
	check("exists in the copy", result(r.BFExists(ctx, "imported", binary).Result()), true)
	refused := call("BF.IMPORT", "bad", "FORMAT", "portable", "DATA", data[1:]).(string)
	check("import cut", strings.HasPrefix(refused, "ERR bad data"), true)
}

// table is a map: over RESP2 its names and values come in a row.
func table(reply any) map[any]any {
	if whole, ok := reply.(map[any]any); ok && protocol == 3 {
		return whole
	}
	made := map[any]any{}
	for flat, _ := reply.([]any); protocol == 2 && len(flat) > 1; flat = flat[2:] {
		made[flat[0]] = flat[1]
	}
	return made
}

func stats() {
	seen := table(call("BF.STATS", "plain"))
	check("stats has 17 fields", len(seen), 17)
	check("stats", []any{seen["layout"], seen["items"], seen["capacity"]}, []any{"CLASSIC", int64(4), int64(1000)})
	ratio := seen["utilisation"]
	if text, ok := ratio.(string); ok && protocol == 2 {
		ratio, _ = strconv.ParseFloat(text, 64)
	}
	check("stats, a real", ratio, 0.004)
	check("stats, a flag", seen["items are estimated"], map[int]any{2: int64(0), 3: false}[protocol])
	layers, _ := seen["layers"].([]any)
	check("stats layers", len(layers), 1)
	for _, reply := range layers {
		layer := table(reply)
		check("stats layer", []any{layer["bits"], layer["hashes"]}, []any{int64(10595), int64(7)})
	}
	check("stats missing", call("BF.STATS", "missing"), "ERR not found")
}

func combine() {
	r.BFReserve(ctx, "other", 0.01, 1000)
	r.BFMAdd(ctx, "other", "a", "only")
	check("merge", call("BF.MERGE", "merged", "plain", "other"), "OK")
	check("mexists merged", result(r.BFMExists(ctx, "merged", "b", "only", "absent").Result()), []bool{true, true, false})
	check("interstore", call("BF.INTERSTORE", "common", "plain", "other"), "OK")
	check("mexists common", result(r.BFMExists(ctx, "common", "a", "b", "only").Result()), []bool{true, false, false})
	check("clear", call("BF.CLEAR", "merged"), "OK")
	check("exists cleared", result(r.BFExists(ctx, "merged", "a").Result()), false)
	yes := map[int]any{2: int64(1), 3: true}[protocol]
	check("exists by raw command", call("BF.EXISTS", "plain", "a"), yes)
}

func forget() {
	check("reserve counting", call("BF.RESERVE", "counting", 0.01, 100, "LAYOUT", "COUNTING"), "OK")
	check("madd counting", result(r.BFMAdd(ctx, "counting", "a", "b", "a").Result()), []bool{true, true, false})
	check("count", call("BF.COUNT", "counting", "a"), int64(2))
	yes, no := map[int]any{2: int64(1), 3: true}[protocol], map[int]any{2: int64(0), 3: false}[protocol]
	check("del", call("BF.DEL", "counting", "a", "absent"), []any{yes, no})
	check("count after del", call("BF.COUNT", "counting", "a"), int64(1))
	check("del missing", call("BF.DEL", "missing", "a"), []any{no})
	check("reserve window", call("BF.RESERVE", "seen", 0.01, 100, "WINDOW", 3600), "OK")
	check("rotate", call("BF.ROTATE", "seen"), "OK")
	check("rotate missing", call("BF.ROTATE", "missing"), "ERR not found")
}

func load() {
	data, _ := hex.DecodeString(one)
	check("load", call("BF.LOAD", "moved", data), "OK")
	check("card of the loaded", call("BF.CARD", "moved"), int64(1))
	refused := call("BF.LOAD", "bad", data[:len(data)-1]).(string)
	check("load cut", strings.HasPrefix(refused, "ERR bloom object decoding failed"), true)
}

func bulk() {
	check("bulkadd", call("BF.BULKADD", "bulky", "LINES", "a\nb\na"), "\xc0")
	check("bulkexists", call("BF.BULKEXISTS", "bulky", "WIDTH", 1, "axb"), "\xa0")
	check("bulkadd cut", call("BF.BULKADD", "bulky", "WIDTH", 2, "abc"), "ERR the data is no whole number of items of 2 bytes")
}

func main() {
	protocol, _ = strconv.Atoi(os.Args[2])
	r = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1], Protocol: protocol})
	for _, part := range []func(){reserve, add, lookups, info, failures, dump, raw, stats, combine, forget, load, bulk} {
		part()
	}
	fmt.Println("version", redis.Version())
	fmt.Println("checks", checks)
	if wrong > 0 {
		os.Exit(1)
	}
}
