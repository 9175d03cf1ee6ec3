package main

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// writeTables writes the records of each experiment as CSV. Lengths are in
// seconds, sizes in bytes.
func (l *lab) writeTables(records []*Record) error {
	by := map[string][]*Record{}
	for _, r := range records {
		by[r.Experiment] = append(by[r.Experiment], r)
	}
	var err error
	for experiment, some := range by {
		rows := [][]string{recordHeader}
		for _, r := range some {
			rows = append(rows, r.row())
		}
		err = errors.Join(err, writeCSV(filepath.Join(l.Dir, experiment+".csv"), rows))
	}
	if some := by["passes"]; some != nil {
		rows := [][]string{{"matrix", "method", "passes", "seconds", "worst_residual", "mean_residual"}}
		for _, r := range some {
			for _, p := range r.Points {
				rows = append(rows, []string{r.Matrix, r.Method, strconv.Itoa(p.Passes), number(p.Seconds), number(p.Worst), number(p.Mean)})
			}
		}
		err = errors.Join(err, writeCSV(filepath.Join(l.Dir, "passes-points.csv"), rows))
	}
	return err
}

var recordHeader = []string{
	"matrix", "rows", "cols", "store_bytes", "k", "gap", "a", "b", "method", "beta", "status",
	"passes", "products", "seconds", "err_sigma", "err_vectors", "residual",
}

func (r *Record) row() []string {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		r.Matrix, whole(r.Rows), whole(r.Cols), whole(r.Bytes), strconv.Itoa(r.Rank), number(r.Gap), number(r.A), number(r.B),
		r.Method, number(r.Beta), r.Status, strconv.Itoa(r.Passes), whole(r.Products), number(r.Seconds),
		number(r.ErrSigma), number(r.ErrVectors), number(r.Residual),
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func writeCSV(name string, rows [][]string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}
