//! redis-rs: client PORT PROTOCOL. ../../README.md lists the calls and the reasons.
use redis::bloom::{
    BloomFilterDumpChunk, BloomFilterDumpIterator, BloomFilterInfoType as Info,
    BloomFilterInsertOptions as Insert, BloomFilterScalingOptions as Scaling,
};
use redis::{cmd, from_redis_value, Connection, FromRedisValue, RedisResult, TypedCommands, Value};
use std::collections::HashMap;
use std::fmt::Debug;

const BINARY: &[u8] = b"\x00\xff\r\n\x80";
/// One item, as valkey-bloom's AOF has it (tests/golden/valkeybloom: one).
const ONE: &[u8] = b"\
      \x01\x02\x00\x00\x00\x7b\x14\xae\x47\xe1\x7a\x84\x3f\x00\x00\x00\x00\x00\x00\xe0\x3f\x01\
      \x01\x00\x00\x00\x00\x00\x00\x00\x2f\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\
      \x00\x00\x00\x0b\x00\x00\x00\x45\x64\xa0\x7b\x0c\xc9\x30\xb9\xe2\xe1\xfe\x54\xc4\xb2\xe4\
      \x64\x09\x65\x47\xf4\xaf\x40\x20\x8a\xe0\xf3\x61\x75\xb9\xfa\x97\xc6\xab\xd6\x01\x00\x00\
      \x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00";

#[derive(Default)]
struct Checks {
    checks: u32,
    wrong: u32,
}

impl Checks {
    fn check<T: PartialEq + Debug>(&mut self, what: &str, got: T, wanted: T) {
        self.checks += 1;
        if got != wanted {
            self.wrong += 1;
            let (got, wanted) = (format!("{got:?}"), format!("{wanted:?}"));
            println!("wrong: {what}, got {got:.300}, wanted {wanted:.300}");
        }
    }

    fn answer<T: PartialEq + Debug>(&mut self, what: &str, got: RedisResult<T>, wanted: T) {
        self.check(what, got.map_err(|error| error.to_string()), Ok(wanted));
    }

    fn refused<T: Debug>(&mut self, what: &str, words: &str, got: RedisResult<T>) {
        let text = format!("{:?}", got.map_err(|error| error.to_string()));
        let seen = if text.starts_with("Err") && text.contains(words) { words } else { &text };
        self.check(what, seen, words);
    }
}

fn reserve(c: &mut Checks, r: &mut Connection) {
    c.answer("reserve", r.bf_reserve("plain", 0.01, 1000), ());
    c.answer("reserve expansion", r.bf_reserve_options("grown", 0.001, 100, Scaling::ExpansionRate(4)), ());
    c.answer("reserve nonscaling", r.bf_reserve_options("fixed", 1e-7, 2, Scaling::NonScaling), ());
    c.refused("reserve again", "item exists", r.bf_reserve("plain", 0.01, 1000));
}

fn add(c: &mut Checks, r: &mut Connection) {
    c.answer("add", r.bf_add("plain", "a"), true);
    c.answer("add again", r.bf_add("plain", "a"), false);
    c.answer("add binary", r.bf_add("plain", BINARY), true);
    c.answer("madd", r.bf_madd("plain", &["a", "b", "c"]), vec![false, true, true]);
    let all = Insert::default().capacity(500).error_rate(0.001).expansion(Scaling::ExpansionRate(3));
    c.answer("insert", r.bf_insert_options("inserted", &["x", "y", "x"], all), vec![true, true, false]);
    c.answer(
        "insert nocreate",
        r.bf_insert_options("inserted", "z", Insert::default().nocreate()),
        vec![true],
    );
    let missing = r.bf_insert_options("missing", "z", Insert::default().nocreate());
    c.refused("insert nocreate missing", "not found", missing);
    let fixed = Insert::default().capacity(2).expansion(Scaling::NonScaling);
    c.answer("insert nonscaling", r.bf_insert_options("small", "x", fixed), vec![true]);
    c.answer("insert plain", r.bf_insert("default", "x"), vec![true]);
}

fn lookups(c: &mut Checks, r: &mut Connection) {
    c.answer("exists", r.bf_exists("plain", "a"), true);
    c.answer("exists absent", r.bf_exists("plain", "absent"), false);
    c.answer("exists binary", r.bf_exists("plain", BINARY), true);
    c.answer("exists binary cut", r.bf_exists("plain", &BINARY[..4]), false);
    c.answer("exists missing", r.bf_exists("missing", "a"), false);
    c.answer("mexists", r.bf_mexists("plain", &["a", "absent", "c"]), vec![true, false, true]);
    c.answer("card", r.bf_card("plain"), 4);
    c.answer("card missing", r.bf_card("missing"), 0);
}

/// BF.INFO without the size; the library gives f64, and 0 for the expansion of a non-scaling filter.
fn four(r: &mut Connection, key: &str) -> RedisResult<Vec<f64>> {
    const NAMES: [&str; 4] = ["Capacity", "Number of filters", "Number of items inserted", "Expansion rate"];
    let info = r.bf_info(key)?;
    Ok(NAMES.iter().map(|name| info.get(*name).map_or(-1.0, |value| **value)).collect())
}

fn info(c: &mut Checks, r: &mut Connection) {
    c.answer("info", four(r, "plain"), vec![1000.0, 1.0, 4.0, 2.0]);
    c.answer("info has five fields", r.bf_info("plain").map(|info| info.len()), 5);
    c.answer("info inserted", four(r, "inserted"), vec![500.0, 1.0, 3.0, 3.0]);
    c.answer("info nonscaling", four(r, "fixed"), vec![2.0, 1.0, 0.0, 0.0]);
    c.refused("info missing", "not found", r.bf_info("missing"));
    let fields = [(Info::Capacity, 1000.0), (Info::Filters, 1.0), (Info::Items, 4.0), (Info::Expansion, 2.0)];
    for (field, wanted) in fields {
        c.answer(&format!("info {field:?}"), r.bf_info_type("plain", field).map(|value| *value), wanted);
    }
    c.answer("info size", r.bf_info_type("plain", Info::Size).map(|size| *size > 1000.0), true);
}

fn errors(c: &mut Checks, r: &mut Connection) {
    // An error inside an array fails the whole call; what was added before it stays added.
    c.refused("madd full", "non scaling filter is full", r.bf_madd("fixed", &["p", "q", "r", "s"]));
    c.answer("madd full: card", r.bf_card("fixed"), 2);
    c.refused("add full", "non scaling filter is full", r.bf_add("fixed", "r"));
    c.answer("add full, known", r.bf_add("fixed", "p"), false);
    c.answer("set", r.set("text", "x"), ());
    c.refused("add wrong type", "WRONGTYPE", r.bf_add("text", "a"));
    c.refused("exists wrong type", "WRONGTYPE", r.bf_exists("text", "a"));
}

fn chunks(r: &mut Connection, key: &str) -> RedisResult<Vec<BloomFilterDumpChunk>> {
    BloomFilterDumpIterator::new(r, key).collect()
}

fn dump(c: &mut Checks, r: &mut Connection) -> RedisResult<()> {
    let items: Vec<String> = (0..1000).map(|i| format!("item-{i}")).collect();
    c.answer("grow", r.bf_madd("grown", &items).map(|answers| answers.len()), 1000);
    c.answer("info grown", four(r, "grown").map(|info| info[1]), 3.0);
    let dumped = chunks(r, "grown")?;
    c.check("scandump", dumped.len(), 4);
    for chunk in &dumped {
        c.answer("loadchunk", r.bf_loadchunk("loaded", chunk.clone()), ());
    }
    c.answer("dump of the copy", chunks(r, "loaded"), dumped);
    c.answer(
        "mexists in the copy",
        r.bf_mexists("loaded", &["item-0", "item-999", "absent"]),
        vec![true, true, false],
    );
    Ok(())
}

fn call<T: FromRedisValue>(r: &mut Connection, words: &[&[u8]]) -> RedisResult<T> {
    let mut command = cmd(std::str::from_utf8(words[0]).unwrap());
    words[1..].iter().for_each(|word| {
        command.arg(*word);
    });
    command.query(r)
}

fn raw(c: &mut Checks, r: &mut Connection) -> RedisResult<()> {
    let debug: Vec<String> = call(r, &[b"BF.DEBUG", b"plain"])?;
    c.check("debug", (debug.len(), &debug[0][..], &debug[1][..6]), (2, "size:4", "bytes:"));
    let data: Vec<u8> = call(r, &[b"BF.EXPORT", b"plain"])?;
    let import = |key: &'static [u8], data| [b"BF.IMPORT", key, b"FORMAT", b"portable", b"DATA", data];
    c.answer("import", call(r, &import(b"imported", &data)), Value::Okay);
    c.answer("export of the copy", call(r, &[b"BF.EXPORT", b"imported"]), data.clone());
    c.answer("exists in the copy", r.bf_exists("imported", BINARY), true);
    c.refused("import cut", "bad data", call::<Value>(r, &import(b"bad", &data[1..])));
    Ok(())
}

/// Maps of either protocol become a HashMap; the values keep the protocol's types.
fn stats(c: &mut Checks, r: &mut Connection, three: bool) -> RedisResult<()> {
    let seen: HashMap<String, Value> = call(r, &[b"BF.STATS", b"plain"])?;
    c.check("stats has 17 fields", seen.len(), 17);
    c.check("stats", &seen["layout"], &Value::BulkString(b"CLASSIC".to_vec()));
    c.check("stats", (&seen["items"], &seen["capacity"]), (&Value::Int(4), &Value::Int(1000)));
    let ratio = seen["utilisation"].clone();
    c.check("stats, a real", matches!(ratio, Value::Double(_)), three);
    c.check("stats, a real", from_redis_value::<f64>(ratio)?, 0.004);
    let no = if three { Value::Boolean(false) } else { Value::Int(0) };
    c.check("stats, a flag", &seen["items are estimated"], &no);
    let layers: Vec<HashMap<String, Value>> = from_redis_value(seen["layers"].clone())?;
    c.check("stats layers", layers.len(), 1);
    c.check("stats layer", (&layers[0]["bits"], &layers[0]["hashes"]), (&Value::Int(10595), &Value::Int(7)));
    c.refused("stats missing", "not found", call::<Value>(r, &[b"BF.STATS", b"missing"]));
    Ok(())
}

fn combine(c: &mut Checks, r: &mut Connection) {
    c.answer("reserve other", r.bf_reserve("other", 0.01, 1000), ());
    c.answer("madd other", r.bf_madd("other", &["a", "only"]), vec![true, true]);
    c.answer("merge", call(r, &[b"BF.MERGE", b"merged", b"plain", b"other"]), Value::Okay);
    c.answer("mexists merged", r.bf_mexists("merged", &["b", "only", "absent"]), vec![true, true, false]);
    c.answer("interstore", call(r, &[b"BF.INTERSTORE", b"common", b"plain", b"other"]), Value::Okay);
    c.answer("mexists common", r.bf_mexists("common", &["a", "b", "only"]), vec![true, false, false]);
    c.answer("clear", call(r, &[b"BF.CLEAR", b"merged"]), Value::Okay);
    c.answer("exists cleared", r.bf_exists("merged", "a"), false);
}

fn forget(c: &mut Checks, r: &mut Connection, three: bool) {
    let counting = call(r, &[b"BF.RESERVE", b"counting", b"0.01", b"100", b"LAYOUT", b"COUNTING"]);
    c.answer("reserve counting", counting, Value::Okay);
    c.answer("madd counting", r.bf_madd("counting", &["a", "b", "a"]), vec![true, true, false]);
    c.answer("count", call(r, &[b"BF.COUNT", b"counting", b"a"]), Value::Int(2));
    let flag = |yes| if three { Value::Boolean(yes) } else { Value::Int(yes.into()) };
    let removed = Value::Array(vec![flag(true), flag(false)]);
    c.answer("del", call(r, &[b"BF.DEL", b"counting", b"a", b"absent"]), removed);
    c.answer("count after del", call(r, &[b"BF.COUNT", b"counting", b"a"]), Value::Int(1));
    c.answer("del missing", call(r, &[b"BF.DEL", b"missing", b"a"]), Value::Array(vec![flag(false)]));
    let window = call(r, &[b"BF.RESERVE", b"seen", b"0.01", b"100", b"WINDOW", b"3600"]);
    c.answer("reserve window", window, Value::Okay);
    c.answer("rotate", call(r, &[b"BF.ROTATE", b"seen"]), Value::Okay);
    c.refused("rotate missing", "not found", call::<Value>(r, &[b"BF.ROTATE", b"missing"]));
}

fn load(c: &mut Checks, r: &mut Connection) {
    c.answer("load", call(r, &[b"BF.LOAD", b"moved", ONE]), Value::Okay);
    c.answer("card of the loaded", r.bf_card("moved"), 1);
    let cut = call::<Value>(r, &[b"BF.LOAD", b"bad", &ONE[..ONE.len() - 1]]);
    c.refused("load cut", "bloom object decoding failed", cut);
}

fn bulk(c: &mut Checks, r: &mut Connection) {
    c.answer("bulkadd", call(r, &[b"BF.BULKADD", b"bulky", b"LINES", b"a\nb\na"]), vec![0xc0_u8]);
    c.answer("bulkexists", call(r, &[b"BF.BULKEXISTS", b"bulky", b"WIDTH", b"1", b"axb"]), vec![0xa0_u8]);
    let cut = call::<Value>(r, &[b"BF.BULKADD", b"bulky", b"WIDTH", b"2", b"abc"]);
    c.refused("bulkadd cut", "no whole number of items of 2 bytes", cut);
}

/// The library keeps it to itself; cargo has written it down.
fn version() -> &'static str {
    let entry = include_str!("../Cargo.lock").split("name = \"redis\"").nth(1);
    entry.and_then(|text| text.split('"').nth(1)).unwrap_or("?")
}

fn main() -> RedisResult<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let three = if arguments[2] == "3" { "?protocol=resp3" } else { "" };
    let mut r =
        redis::Client::open(format!("redis://127.0.0.1:{}/{three}", arguments[1]))?.get_connection()?;
    let mut c = Checks::default();
    let client: String = call(&mut r, &[b"CLIENT", b"INFO"])?;
    c.check("protocol", client.contains(&format!("resp={}", arguments[2])), true);
    for part in [reserve, add, lookups, info, errors] {
        part(&mut c, &mut r);
    }
    dump(&mut c, &mut r)?;
    raw(&mut c, &mut r)?;
    stats(&mut c, &mut r, arguments[2] == "3")?;
    combine(&mut c, &mut r);
    forget(&mut c, &mut r, arguments[2] == "3");
    load(&mut c, &mut r);
    bulk(&mut c, &mut r);
    println!("version {}", version());
    println!("checks {}", c.checks);
    std::process::exit(if c.wrong > 0 { 1 } else { 0 });
}
