//! Reads and writes Bloom filters in bloomport's portable format with the crate xxhash-rust.
//!
//!     bloom query FILE       items on standard input, one a line; prints 1 (possibly in) or 0
//!     bloom build K M FILE   writes a filter of M bits, K hashes, holding the items
//!
//! The file: k u32 | m u64 | bits, little-endian. It is what BF.EXPORT answers and BF.IMPORT takes.

use std::error::Error;
use std::io::{self, BufRead, BufWriter, Write};
use std::{env, fs};

use xxhash_rust::xxh64::xxh64;

const HEADER: usize = 12;

fn bytes_for(m: u64) -> u64 {
    m / 8 + u64::from(m % 8 != 0)
}

struct Filter {
    k: u32,
    m: u64,
    data: Vec<u8>, // header and bits
}

impl Filter {
    fn load(data: Vec<u8>) -> Result<Filter, Box<dyn Error>> {
        if data.len() < HEADER {
            return Err("not a portable filter".into());
        }
        let k = u32::from_le_bytes(data[..4].try_into()?);
        let m = u64::from_le_bytes(data[4..HEADER].try_into()?);
        if k == 0 || m == 0 || (data.len() - HEADER) as u64 != bytes_for(m) {
            return Err("not a portable filter".into());
        }
        Ok(Filter { k, m, data })
    }

    fn create(k: u32, m: u64) -> Result<Filter, Box<dyn Error>> {
        let mut data = vec![0; HEADER + usize::try_from(bytes_for(m))?];
        data[..4].copy_from_slice(&k.to_le_bytes());
        data[4..HEADER].copy_from_slice(&m.to_le_bytes());
        Filter::load(data)
    }

    /// The byte (of `data`) and the mask of each of the item's k bits.
    fn places(&self, item: &[u8]) -> impl Iterator<Item = (usize, u8)> {
        let h1 = xxh64(item, 0);
        let h2 = xxh64(item, 1);
        let m = self.m;
        (0..u64::from(self.k)).map(move |i| {
            let p = h1.wrapping_add(i.wrapping_mul(h2)) % m;
            (HEADER + (p >> 3) as usize, 1 << (p & 7))
        })
    }

    fn has(&self, item: &[u8]) -> bool {
        self.places(item)
            .all(|(byte, mask)| self.data[byte] & mask != 0)
    }

    fn add(&mut self, item: &[u8]) {
        for (byte, mask) in self.places(item) {
            self.data[byte] |= mask;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let items = io::stdin().lock().split(b'\n');
    match arguments[..] {
        ["query", path] => {
            let filter = Filter::load(fs::read(path)?)?;
            let mut out = BufWriter::new(io::stdout().lock());
            for item in items {
                writeln!(out, "{}", u8::from(filter.has(&item?)))?;
            }
            out.flush()?;
        }
        ["build", k, m, path] => {
            let mut filter = Filter::create(k.parse()?, m.parse()?)?;
            for item in items {
                filter.add(&item?);
            }
            fs::write(path, filter.data)?;
        }
        _ => return Err("usage: bloom query FILE | build K M FILE".into()),
    }
    Ok(())
}
