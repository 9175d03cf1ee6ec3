package ingest

import (
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
)

// Report is what an ingest did.
type Report struct {
	Store           string
	Finished        bool   // it was there already; what is not told by the store is 0
	Format          string // recognised
	Rows, Cols, NNZ int64  // in the user's orientation
	Transposed      bool   // the store holds the transpose
	Lines, BadLines int64
	FirstBad        []error          // up to 10 tolerated *ParseErrors
	LeftOut         map[string]int64 // what the input has beside the matrix, as labels, and how many
	Duplicates      int64            // entries merged into another one
	Bytes           int64            // of the store
	InputBytes      int64            // uncompressed
	Fingerprint     string
	Estimate        Estimate
	Resumes         int   // times it was interrupted and resumed
	Runs            int   // sorted, most at a time
	Spool           int64 // bytes the runs took before they were merged
	IDLists         int   // sorted lists of ids that did not fit in memory
	ReadSeconds     float64
	SortSeconds     float64 // ranking the ids included
	WriteSeconds    float64
	SpilledBytes    int64 // entries written to temporary files, rewriting included
}

// leaveOut counts what an input has beside the matrix.
func (r *Report) leaveOut(names [2]string, counts [2]int64) {
	for i, n := range counts {
		if n > 0 {
			if r.LeftOut == nil {
				r.LeftOut = map[string]int64{}
			}
			r.LeftOut[names[i]] += n
		}
	}
}

// describe completes the report from the published store.
func (g *ingestion) describe(out string) error {
	rep := g.report
	sec := g.meter.seconds
	rep.ReadSeconds, rep.SortSeconds, rep.WriteSeconds = sec[StageRead], sec[StageIDs]+sec[StageSort], sec[StageWrite]
	s, err := csr.Open(out, csr.OpenOptions{FS: g.o.FS})
	if err != nil {
		return fmt.Errorf("open the new store: %w", err)
	}
	rep.Rows, rep.Cols, rep.NNZ, rep.Transposed = s.Rows(), s.Cols(), s.NNZ(), s.Transposed()
	if rep.Transposed {
		rep.Rows, rep.Cols = rep.Cols, rep.Rows
	}
	rep.Fingerprint, rep.Bytes = s.Fingerprint(), s.Size()
	return s.Close()
}
