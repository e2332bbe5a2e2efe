// The BloomFilter of github.com/bits-and-blooms/bloom.
//
//	program write FILE N P      writes a filter of the items on standard input
//	program write FILE m M K    one of M bits and K hashes
//	program read FILE           prints 1 (possibly in) or 0 for each of them
//
// Items are hexadecimal digits, one a line; an empty line is the empty item.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"

	"github.com/bits-and-blooms/bloom/v3"
)

func try(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func items() (found [][]byte) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		item, err := hex.DecodeString(lines.Text())
		try(err)
		found = append(found, item)
	}
	try(lines.Err())
	return found
}

func number(word string) uint {
	n, err := strconv.ParseUint(word, 10, 64)
	try(err)
	return uint(n)
}

func create(words []string) *bloom.BloomFilter {
	if words[0] == "m" {
		return bloom.New(number(words[1]), number(words[2]))
	}
	rate, err := strconv.ParseFloat(words[1], 64)
	try(err)
	return bloom.NewWithEstimates(number(words[0]), rate)
}

func write(name string, filter *bloom.BloomFilter) {
	for _, item := range items() {
		filter.Add(item)
	}
	file, err := os.Create(name)
	try(err)
	_, err = filter.WriteTo(file)
	try(err)
	try(file.Close())
}

func read(name string) {
	file, err := os.Open(name)
	try(err)
	var filter bloom.BloomFilter
	_, err = filter.ReadFrom(bufio.NewReader(file))
	try(err)
	out := bufio.NewWriter(os.Stdout)
	for _, item := range items() {
		answer := 0
		if filter.Test(item) {
			answer = 1
		}
		fmt.Fprintln(out, answer)
	}
	try(out.Flush())
}

func main() {
	if os.Args[1] == "read" {
		read(os.Args[2])
	} else {
		write(os.Args[2], create(os.Args[3:]))
	}
}
