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
	"github.com/gdsvd/gdsvd/ingest/format/refused"
	"github.com/gdsvd/gdsvd/ingest/format/svmlight"
)

// Formats are those of this module, the most general one first: an input is of
// the last format that recognises it.
func Formats() []format.Format {
	return []format.Format{
		delimited.MovieLens,
		delimited.Format,
		refused.Text,
		jsonlines.Format,
		svmlight.Format,
		mtx.Format,
		idx.Format,
		csrstream.Format,
		npy.Format,
		npz.Format,
		parquet.Format,
		refused.Files,
	}
}
