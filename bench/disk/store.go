package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
)

// The store has the look of MovieLens 10M; its rows come again and again until it is large enough.
const (
	storeCols   = 10677
	storeRows   = 4000 // different ones
	storePerRow = 143
)

// makeStore writes a store of about size bytes and returns its path.
func makeStore(dir, coding string, size int64) (_ string, err error) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := csr.Values{Coding: csr.Float64}
	perEntry := 9.06 // bytes
	next := rng.NormFloat64
	if coding == "dict4" {
		values = csr.Values{Coding: csr.Dict4, Table: []float64{0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5}}
		perEntry = 1.57
		next = func() float64 { return values.Table[rng.IntN(10)] }
	} else if coding != "float64" {
		return "", fmt.Errorf("coding %q", coding)
	}
	cols, vals := someRows(rng, next)
	path := filepath.Join(dir, fmt.Sprintf("disk-%s-%dMiB.csr", coding, size>>20))
	w, err := csr.Create(path, csr.CreateOptions{Cols: storeCols, Values: values, Force: true})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	entries := int64(float64(size) / perEntry)
	for i := 0; entries > 0; i = (i + 1) % storeRows {
		if err := w.AppendRow(cols[i], vals[i]); err != nil {
			return "", err
		}
		entries -= int64(len(cols[i]))
	}
	return path, w.Commit()
}

// someRows draws rows with popular columns and between 20 and a few hundred entries.
func someRows(rng *rand.Rand, next func() float64) (cols [][]uint32, vals [][]float64) {
	for range storeRows {
		var c []uint32
		for range 20 + int((storePerRow-20)*rng.ExpFloat64()) {
			u := rng.Float64()
			c = append(c, uint32(storeCols*u*u*u))
		}
		slices.Sort(c)
		c = slices.Compact(c)
		v := make([]float64, len(c))
		for i := range v {
			v[i] = next()
		}
		cols, vals = append(cols, c), append(vals, v)
	}
	return cols, vals
}
