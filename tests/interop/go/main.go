// Reads and writes Bloom filters in bloomport's portable format with github.com/cespare/xxhash/v2.
//
//	bloom query FILE       items on standard input, one a line; prints 1 (possibly in) or 0
//	bloom build K M FILE   writes a filter of M bits, K hashes, holding the items
//
// The file: k u32 | m u64 | bits, little-endian. It is what BF.EXPORT answers and BF.IMPORT takes.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

const header = 12

type filter struct {
	k    uint32
	m    uint64
	data []byte // header and bits
}

func bytesFor(m uint64) uint64 { return m/8 + (m%8+7)/8 } // m+7 could wrap

func load(data []byte) (*filter, error) {
	if len(data) < header {
		return nil, errors.New("not a portable filter")
	}
	f := &filter{binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint64(data[4:]), data}
	if f.k == 0 || f.m == 0 || uint64(len(data)-header) != bytesFor(f.m) {
		return nil, errors.New("not a portable filter")
	}
	return f, nil
}

func create(k uint32, m uint64) (*filter, error) {
	data := make([]byte, header+bytesFor(m))
	binary.LittleEndian.PutUint32(data, k)
	binary.LittleEndian.PutUint64(data[4:], m)
	return load(data)
}

// Sum64 has seed 0; any other seed takes a Digest.
func seed1(item []byte) uint64 {
	digest := xxhash.NewWithSeed(1)
	digest.Write(item)
	return digest.Sum64()
}

func (f *filter) has(item []byte) bool {
	h, h2 := xxhash.Sum64(item), seed1(item)
	for i := uint32(0); i < f.k; i, h = i+1, h+h2 { // uint64 wraps, as the format wants
		p := h % f.m
		if f.data[header+(p>>3)]&(1<<(p&7)) == 0 {
			return false
		}
	}
	return true
}

func (f *filter) add(item []byte) {
	h, h2 := xxhash.Sum64(item), seed1(item)
	for i := uint32(0); i < f.k; i, h = i+1, h+h2 {
		p := h % f.m
		f.data[header+(p>>3)] |= 1 << (p & 7)
	}
}

func eachLine(do func(item []byte)) error {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			do(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func query(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := load(data)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	return eachLine(func(item []byte) {
		if f.has(item) {
			out.WriteString("1\n")
		} else {
			out.WriteString("0\n")
		}
	})
}

func build(kText, mText, path string) error {
	k, err := strconv.ParseUint(kText, 10, 32)
	if err != nil {
		return err
	}
	m, err := strconv.ParseUint(mText, 10, 64)
	if err != nil {
		return err
	}
	f, err := create(uint32(k), m)
	if err != nil {
		return err
	}
	if err := eachLine(f.add); err != nil {
		return err
	}
	return os.WriteFile(path, f.data, 0o644)
}

func main() {
	err := errors.New("usage: bloom query FILE | build K M FILE")
	if len(os.Args) == 3 && os.Args[1] == "query" {
		err = query(os.Args[2])
	} else if len(os.Args) == 5 && os.Args[1] == "build" {
		err = build(os.Args[2], os.Args[3], os.Args[4])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
