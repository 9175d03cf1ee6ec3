package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/ingest/internal/sieve"
	"github.com/gdsvd/gdsvd/internal/remote"
)

// A task is the input of the stages of an ingest: the request, and where to read and write. The stages write their findings
// into the report, and read nothing from it.
type task struct {
	o                    request
	plan                 plan
	in                   inputs
	staging, testStaging *vfs.Staging // stages the store, and the store of the entries held out; nil: no entries are held out
	scratch              *scratch.Dir
	meter                *meter
	report               *Report
	cuts                 [2][]string // ids of rows and columns that cut lists into as many parts as there are tasks; may be fewer
}

// Duplicates says how several entries at one place of the matrix are handled.
type Duplicates uint8

const (
	// DuplicatesError refuses duplicates with an error that names both lines.
	DuplicatesError Duplicates = iota
	// Sum adds the values, smallest first, so that the sum does not depend on the input order.
	Sum
	// Mean is the sum of the values divided by their number.
	Mean
	// First keeps the first value in input order.
	First
	// Last keeps the last value in input order.
	Last
	// Max keeps the largest value.
	Max
)

func (d Duplicates) String() string {
	return format.NameOf(d, "error", "sum", "mean", "first", "last", "max")
}

// Orientation says which side of the user's matrix lies along the stored rows.
type Orientation uint8

const (
	// OrientAuto stores the longer side as rows (the user's rows on a tie).
	OrientAuto Orientation = iota
	// OrientRows stores the user's rows as rows.
	OrientRows
	// OrientCols stores the user's columns as rows.
	OrientCols
)

func (o Orientation) String() string { return format.NameOf(o, "auto", "rows", "cols") }

// Transposes decides whether a rows × cols matrix is stored transposed.
func (o Orientation) Transposes(rows, cols int64) bool {
	switch o {
	case OrientRows:
		return false
	case OrientCols:
		return true
	}
	return cols > rows
}

const auto = "auto"

// SpoolSuffix is added to the name of a store to name the directory of the data that do not fit in memory while the store is
// made: runs of entries, lists of ids and, if the ingest can be resumed, the journal of its progress.
const SpoolSuffix = ".spool"

// DefaultMemory is the budget if Options.Memory is 0.
const DefaultMemory = 1 << 30

// DefaultCheckpointEvery is the interval if Options.CheckpointEvery is 0.
const DefaultCheckpointEvery = 5 * time.Second

// Options are the options of Ingest. The zero value is usable.
type Options struct {
	// Format is the name of a format; "" or "auto" recognises the format by content, never by the name of a file.
	Format string
	// Formats are formats that inputs may have in addition to all.Formats. An input is of the last format that recognises it.
	Formats []format.Format `json:"-"`
	// Separator between fields; a string of blanks means any run of blanks and
	// tabs (write "\t" for one tab). Empty means: detect "::", tab, comma,
	// semicolon, pipe or blanks.
	Separator string
	// Columns are user, item, value and time, each the name of a column in the header or its 1-based number. With two columns,
	// or an empty value, every entry is 1. If Columns is empty, the header determines the columns; without a header they are
	// the first, second and (if there are more than two) third column; see the package's documentation.
	Columns []string
	Header  format.Header
	// Events counts lines: an entry is the number of lines at its place, and no column holds values. Duplicates is then Sum.
	Events bool
	// IndexBase is the number of the first column in svmlight rows.
	IndexBase format.IndexBase
	// Features is the number of columns of svmlight rows; 0: the largest index determines it.
	Features int64
	// RowIDs and ColIDs are files of the ids of the rows and columns of an input of indices, such as Matrix Market, one id a
	// line in the order of the indices; "": the ids are the indices, or the ids that the format provides.
	RowIDs, ColIDs string
	// KeepOrder leaves rows and columns in the order of their indices; otherwise those with ids are in ascending order of
	// their ids. The ids have to fit in memory.
	KeepOrder bool
	// RowTitles and ColTitles are files of ids of rows and columns and their titles, in any order. Titles is such a file for
	// either side, which is determined by the name of its column of ids or by the ids; an undetermined side is an
	// AmbiguityError.
	Titles, RowTitles, ColTitles string
	Duplicates                   Duplicates
	Filter                       Filter
	Holdout                      Holdout
	Orient                       Orientation
	// Graph makes a square matrix of edges: rows and columns are the same nodes.
	Graph     Graph
	SelfLoops SelfLoops
	// Memory is the budget in bytes for all resident memory of ingest, including the program and Go's runtime; 0 means
	// DefaultMemory. To hold the garbage collector to it, set the limit of Go's heap to HeapLimit(Memory).
	Memory int64
	// ShardSize is passed to csr.
	ShardSize int64
	// Workers is the number of goroutines that parse, and of those that sort; 0 means GOMAXPROCS.
	Workers int
	// Force replaces an existing store, and begins anew where an ingest has been interrupted.
	Force bool
	// Resume continues an interrupted ingest of the same inputs with the same options; if there is none, the ingest begins.
	// The store has the same bytes as that of an uninterrupted ingest. Memory may be larger than before.
	Resume bool
	// CheckpointEvery is the time between two saves of an ingest that needs temporary files; 0 means DefaultCheckpointEvery, a
	// negative value no saves.
	CheckpointEvery time.Duration
	// IgnoreSpace begins even if the disk seems too full for the temporary files and the store.
	IgnoreSpace bool
	// MaxBadLines is the largest number of unreadable lines that are left out; one more fails the ingest.
	MaxBadLines int64
	// Tasks, if not nil, read the inputs, a share of the files each; the store is the same.
	Tasks *Tasks `json:"-"`
	// FS is where inputs are read, and temporary files and the store are written; nil means vfs.OS().
	FS vfs.FS `json:"-"`
	// Stdin is read for the input "-".
	Stdin io.Reader `json:"-"`
	// Transport makes the requests for inputs that are URLs, one round trip at a time; nil means HTTP/1.1, with the proxies of
	// the environment and the certificates of the system.
	Transport http.RoundTripper `json:"-"`
	// Observer receives progress, one call at a time.
	Observer func(Progress) `json:"-"`
	// Log receives decisions (format, separator, orientation, spilling) at level debug; nil means no log.
	Log *slog.Logger `json:"-"`
}

// Graph says whether entries are edges between nodes, rows and columns being the same.
type Graph uint8

const (
	// NoGraph: rows and columns have ids of their own.
	NoGraph Graph = iota
	// Directed makes an entry in the row of the first node of an edge and the column of its second node.
	Directed
	// Undirected makes two entries of an edge, (i, j) and (j, i), with the same value. An edge that the input gives in both
	// directions is a duplicate (see Options.Duplicates); a symmetric Matrix Market file gives each edge once.
	Undirected
)

func (g Graph) String() string { return format.NameOf(g, "none", "directed", "undirected") }

// SelfLoops says how an edge from a node to itself is handled.
type SelfLoops uint8

const (
	// LoopsKept makes one entry on the diagonal.
	LoopsKept SelfLoops = iota
	// LoopsDropped leaves the edge out; the node remains if it has another edge.
	LoopsDropped
	// LoopsError refuses the edge.
	LoopsError
)

func (l SelfLoops) String() string { return format.NameOf(l, "keep", "drop", "error") }

// A request holds the options of one ingest, with defaults filled in, and data of this ingest alone.
type request struct {
	Options
	net    *remote.Client
	base   *base         // the store that is appended to, which is the first input; nil: no append
	labels [2]readLabels // by format.Side: reads the file of ids found beside the input; nil: one id a line
	ids    [2]int64      // by format.Side: number of ids in the file, if the format has to know it
}

type readLabels func(in *format.Input, close func() error) (format.IDs, error)

func (o Options) withDefaults() request {
	o.Memory = cmp.Or(o.Memory, DefaultMemory)
	o.CheckpointEvery = cmp.Or(o.CheckpointEvery, DefaultCheckpointEvery)
	if o.Events && o.Duplicates == DuplicatesError {
		o.Duplicates = Sum
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Format == auto {
		o.Format = ""
	}
	o.FS = cmp.Or(o.FS, vfs.OS())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return request{Options: o, net: remote.New(remote.Options{Transport: o.Transport, Log: o.Log})}
}

func (o Options) validate() error {
	switch n := len(o.Columns); {
	case o.Format != "" && !slices.Contains(o.formatNames(), o.Format):
		return fmt.Errorf("unknown format %q: want one of %s", o.Format, strings.Join(o.formatNames(), ", "))
	case n != 0 && (n < 2 || n > 4):
		return fmt.Errorf("read columns %q: want user,item or user,item,value or user,item,value,time", strings.Join(o.Columns, ","))
	case strings.ContainsAny(o.Separator, "\r\n\""):
		return fmt.Errorf("read separator %q: it cannot hold a line end or a quote", o.Separator)
	case o.Events && n == 3:
		return fmt.Errorf("count events, with the values of column %q: want no column of values", o.Columns[2])
	case o.Events && o.Duplicates != Sum:
		return fmt.Errorf("count events, but of several take the %v: events are summed", o.Duplicates)
	case o.Features < 0:
		return fmt.Errorf("%d features: want 0 or more", o.Features)
	case o.RowIDs == "-" || o.ColIDs == "-":
		return errors.New("read ids from standard input: want a file")
	case o.Graph > Undirected || o.SelfLoops > LoopsError:
		return fmt.Errorf("graph %v with self-loops %v: no such option", o.Graph, o.SelfLoops)
	case o.Graph == NoGraph && o.SelfLoops != LoopsKept:
		return errors.New("self-loops are of a graph: say which, directed or undirected")
	case o.Graph != NoGraph && (o.ColIDs != "" || o.ColTitles != "" || o.Titles != ""):
		return errors.New("the columns of a graph are its rows: give ids and titles as those of rows")
	case o.Titles == "-" || o.RowTitles == "-" || o.ColTitles == "-":
		return errors.New("read titles from standard input: want a file")
	case o.MaxBadLines < 0:
		return fmt.Errorf("tolerate %d bad lines: want 0 or more", o.MaxBadLines)
	case o.Memory < 0:
		return fmt.Errorf("work within %d bytes: want a positive budget", o.Memory)
	}
	return o.ValidateSifting()
}

// ValidateSifting returns an error if Filter or Holdout is not valid.
func (o Options) ValidateSifting() error {
	if err := cmp.Or(o.Filter.validate(), o.Holdout.validate()); err != nil {
		return err
	}
	f := o.Filter
	switch { // in a graph: filters that would leave rows and columns of different nodes, or separate the two entries of an edge
	case o.Graph == Undirected && f.MinPerRow != f.MinPerCol:
		return fmt.Errorf("keep rows with %d and columns with %d entries of an undirected graph: want equally many, they are the same nodes", f.MinPerRow, f.MinPerCol)
	case o.Graph == Directed && max(f.MinPerRow, f.MinPerCol) > 0:
		return errors.New("keep rows or columns with enough entries of a directed graph: its rows and columns would not be the same nodes")
	case o.Graph == Undirected && o.Holdout.kind() != heldout.None:
		return errors.New("hold out entries of an undirected graph: each edge has two; want a directed one")
	}
	return nil
}

func (o Options) readsTimes() bool { return o.Filter.times() || o.Holdout.times() }

func (o Options) sifting(s format.Shape) (n int64) {
	stored := extsort.NewPacker(s.Rows, s.Cols, o.Orient.Transposes(s.Rows, s.Cols))
	if o.Filter.matrix() {
		n += sieve.Bytes(stored)
	}
	switch o.Holdout.kind() {
	case heldout.None:
		return n
	case heldout.Random:
		n += 8 * stored.Cols
	case heldout.Last:
		n += (24 + 16*o.Holdout.Last) * stored.Cols
	}
	return n + stored.Cols/4
}

// DisplayName returns the name of an input for reports and errors: a URL without its password and query.
func DisplayName(name string) string { return input.DisplayName(name) }

func (o request) opener(window int64) input.Opener {
	return input.Opener{Files: o.files(), Stdin: o.Stdin, Bytes: new(atomic.Int64), MaxWindow: uint64(window)}
}

func (o request) files() input.Files { return input.Files{FS: o.FS, Net: o.net} }

// sifts reports whether a Filter of the matrix or a Holdout applies, so that the stored matrix is not that of all entries.
func (o Options) sifts() bool { return o.Filter.matrix() || o.Holdout.kind() != heldout.None }
