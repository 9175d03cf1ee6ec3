package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// countries and what separates the ids of one from those of the next, and
// films of one year from those of the next.
const (
	countries = 8
	userStep  = 72000
	filmStep  = 66000
)

// makeText writes files of ratings until they have size bytes together.
func (c *config) makeText(ctx context.Context, size, ratings int64) (files []string, bytesMade int64, err error) {
	share := float64(ratings) / 10000054
	part := filepath.Join(c.dir, "part.dat")
	err = c.gdsvd.Do(ctx, "generate", "ratings", "-q", "-o", part, "--force", "--seed", "1", "--ratings", strconv.FormatInt(ratings, 10),
		"--users", strconv.Itoa(int(69878*share)), "--items", strconv.Itoa(max(400, int(10677*share))))
	if err != nil {
		return nil, 0, err
	}
	base, err := os.ReadFile(part)
	if err := errors.Join(err, os.Remove(part)); err != nil {
		return nil, 0, err
	}
	for n := 0; bytesMade < size; n++ {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		name := filepath.Join(c.dir, fmt.Sprintf("part-%03d.dat", n))
		users, films := int64(n%countries)*userStep, int64(n/countries)*filmStep
		made, err := writePart(name, base, users, films, size-bytesMade)
		if err != nil {
			return nil, 0, err
		}
		files, bytesMade = append(files, name), bytesMade+made
	}
	return files, bytesMade, nil
}

// writePart writes a text with its users and films renumbered, or the
// beginning of it that has size bytes.
func writePart(name string, base []byte, users, films, size int64) (made int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for len(base) > 0 && made < size {
		user, rest := number(base)
		film, rest := number(rest[2:])
		end := bytes.IndexByte(rest, '\n') + 1
		line = strconv.AppendInt(line[:0], user+users, 10)
		line = append(line, "::"...)
		line = strconv.AppendInt(line, film+films, 10)
		line = append(line, rest[:end]...)
		base = rest[end:]
		made += int64(len(line))
		if _, err := w.Write(line); err != nil {
			return 0, err
		}
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return made, f.Close()
}

// number reads the digits that text begins with.
func number(text []byte) (n int64, rest []byte) {
	i := 0
	for ; text[i] >= '0' && text[i] <= '9'; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:]
}
