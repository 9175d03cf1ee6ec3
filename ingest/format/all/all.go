// Package all lists the formats that ingest reads.
package all

import (
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/csrstream"
	"github.com/gdsvd/gdsvd/ingest/format/delimited"
	"github.com/gdsvd/gdsvd/ingest/format/idx"
	"github.com/gdsvd/gdsvd/ingest/format/jsonlines"
	"github.com/gdsvd/gdsvd/ingest/format/mtx"
	"github.com/gdsvd/gdsvd/ingest/format/npy"
	"github.com/gdsvd/gdsvd/ingest/format/npz"
	"github.com/gdsvd/gdsvd/ingest/format/parquet"
	"github.com/gdsvd/gdsvd/ingest/format/plink"
	"github.com/gdsvd/gdsvd/ingest/format/refused"
	"github.com/gdsvd/gdsvd/ingest/format/svmlight"
)

// Options are the options of the formats that have any.
type Options struct {
	Text  delimited.Options
	Pairs svmlight.Options
}

// Formats returns the formats of this module, the most general one first: an input has the last format that recognises it.
func Formats(o Options) []format.Format {
	return []format.Format{
		delimited.MovieLens(o.Text),
		delimited.Format(o.Text),
		refused.Text,
		jsonlines.Format,
		svmlight.Format(o.Pairs),
		mtx.Format,
		idx.Format,
		csrstream.Format,
		npy.Format,
		npz.Format,
		parquet.Format,
		plink.Format,
		refused.Files,
	}
}
