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

// A task is what the stages of an ingest are given: what is asked for, and where. They write into the report what they have
// found, and read nothing from it.
type task struct {
	o                    request
	plan                 plan
	in                   inputs
	staging, testStaging *vfs.Staging // of the store, and of what is held out; nil: nothing is
	scratch              *scratch.Dir
	meter                *meter
	report               *Report
	cuts                 [2][]string // of the ids of rows and columns, into as many parts as there are tasks; may be few
}

// Duplicates says what becomes of several entries at one place of the matrix.
type Duplicates uint8

const (
	// DuplicatesError refuses them, naming both lines.
	DuplicatesError Duplicates = iota
	// Sum adds them up, smallest first, so that the sum does not depend on input order.
	Sum
	// Mean is their sum divided by their number.
	Mean
	// First keeps the first in input order.
	First
	// Last keeps the last in input order.
	Last
	// Max keeps the largest.
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

// SpoolSuffix is added to the name of a store for the directory of what does
// not fit in memory while it is made: runs of entries, lists of ids and, if the
// ingest can be resumed, the journal that says how far it has come.
const SpoolSuffix = ".spool"

// DefaultMemory is the budget when Options.Memory is 0.
const DefaultMemory = 1 << 30

// DefaultCheckpointEvery is when Options.CheckpointEvery is 0.
const DefaultCheckpointEvery = 5 * time.Second

// Options of Ingest. The zero value is usable.
type Options struct {
	// Format is the name of one of Formats; "" or "auto" recognises it by content, never by name.
	Format string
	// Formats are further ones, beside all.Formats, that inputs may have. An input is of the
	// last one that recognises it.
	Formats []format.Format `json:"-"`
	// Separator between fields; a string of blanks means any run of blanks and
	// tabs (write "\t" for one tab). Empty means: detect "::", tab, comma,
	// semicolon, pipe or blanks.
	Separator string
	// Columns are user, item, value and time, each the name of a column in the header
	// or its 1-based number. With two of them, or an empty value, every entry is 1. Empty means what
	// the header tells, or without one the first, second and (if there are more than two)
	// third column; see the package's documentation.
	Columns []string
	Header  format.Header
	// Events counts lines: an entry is the number of lines at its place, and no column is a
	// value. Duplicates is Sum then.
	Events bool
	// IndexBase is the number of the first column in svmlight rows.
	IndexBase format.IndexBase
	// Features is the number of columns of svmlight rows; 0 means that of the last one that occurs.
	Features int64
	// RowIDs and ColIDs are files of the ids of the rows and columns of an input of indices,
	// as Matrix Market, one a line in the order of the indices; "": the ids are the
	// indices, or what the format knows.
	RowIDs, ColIDs string
	// KeepOrder leaves rows and columns in the order of the indices; without it those that have
	// ids are in ascending order of them. The ids have to fit in memory.
	KeepOrder bool
	// RowTitles and ColTitles are files of what people call the rows and columns: ids and
	// titles, in any order. Titles is one of either, if that can be told by the name of the
	// column of ids or by the ids; what can be both is an AmbiguityError.
	Titles, RowTitles, ColTitles string
	Duplicates                   Duplicates
	Filter                       Filter
	Holdout                      Holdout
	Orient                       Orientation
	// Graph makes a square matrix of edges: rows and columns are the same nodes.
	Graph     Graph
	SelfLoops SelfLoops
	// Memory is the budget in bytes for what ingest keeps resident, the program
	// itself and Go's runtime included; 0 means DefaultMemory. Set the limit of
	// Go's heap to HeapLimit(Memory) to hold the collector to it.
	Memory int64
	// ShardSize is passed to csr.
	ShardSize int64
	// Workers parse and sort; 0 means GOMAXPROCS.
	Workers int
	// Force replaces an existing store, and begins anew where an ingest has been interrupted.
	Force bool
	// Resume goes on where an ingest of the same inputs with the same options has
	// been interrupted; if there was none it begins. The store has the same bytes
	// as that of an ingest without a break. The budget may grow in between.
	Resume bool
	// CheckpointEvery is the time between two saves of an ingest that needs
	// temporary files; 0 means DefaultCheckpointEvery, less means never.
	CheckpointEvery time.Duration
	// IgnoreSpace begins even if the disk seems too full for temporary files and store.
	IgnoreSpace bool
	// MaxBadLines is how many unreadable lines are left out before the ingest fails.
	MaxBadLines int64
	// Tasks read the inputs if not nil, the files of a share each; the store is the same.
	Tasks *Tasks `json:"-"`
	// FS is where inputs are read, temporary files and the store written; nil means vfs.OS().
	FS vfs.FS `json:"-"`
	// Stdin is read for the input "-".
	Stdin io.Reader `json:"-"`
	// Transport makes the requests for inputs that are URLs, one round trip at a time; nil: HTTP/1.1, with the
	// proxies of the environment and the certificates of the system.
	Transport http.RoundTripper `json:"-"`
	// Observer receives progress, one call at a time.
	Observer func(Progress) `json:"-"`
	// Log receives decisions (format, separator, orientation, spilling) at level debug; nil means none.
	Log *slog.Logger `json:"-"`
}

// Graph says whether entries are edges between nodes, rows and columns being the same.
type Graph uint8

const (
	// NoGraph: rows and columns have ids of their own.
	NoGraph Graph = iota
	// Directed has an entry in the row of the first node of an edge and the column of the second.
	Directed
	// Undirected has two entries for an edge, (i, j) and (j, i), of one value. An edge that the
	// input gives in both directions is given twice, and Options.Duplicates says what
	// becomes of that; a symmetric Matrix Market file gives each once.
	Undirected
)

func (g Graph) String() string { return format.NameOf(g, "none", "directed", "undirected") }

// SelfLoops says what becomes of an edge from a node to itself.
type SelfLoops uint8

const (
	// LoopsKept has one entry on the diagonal for it.
	LoopsKept SelfLoops = iota
	// LoopsDropped leaves it out; the node remains if it has another edge.
	LoopsDropped
	// LoopsError refuses it.
	LoopsError
)

func (l SelfLoops) String() string { return format.NameOf(l, "keep", "drop", "error") }

// A request is the options of one ingest, defaults filled in, and what belongs to it alone.
type request struct {
	Options
	net    *remote.Client
	base   *base         // the store that is appended to, the first input; else nil
	labels [2]readLabels // by format.Side: how the file of ids is read that has been found beside the input; nil: an id a line
	ids    [2]int64      // how many these are, and others given, of a format that has to know
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

// ValidateSifting tells what is wrong with Filter and Holdout.
func (o Options) ValidateSifting() error {
	if err := cmp.Or(o.Filter.validate(), o.Holdout.validate()); err != nil {
		return err
	}
	f := o.Filter
	switch { // of a graph: what would leave none, or part the two entries of an edge
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

// DisplayName is an input as reports and errors name it: a URL without its password and query.
func DisplayName(name string) string { return input.DisplayName(name) }

func (o request) opener(window int64) input.Opener {
	return input.Opener{Files: o.files(), Stdin: o.Stdin, Bytes: new(atomic.Int64), MaxWindow: uint64(window)}
}

func (o request) files() input.Files { return input.Files{FS: o.FS, Net: o.net} }

// sifts tells whether the matrix is another one than that of all entries.
func (o Options) sifts() bool { return o.Filter.matrix() || o.Holdout.kind() != heldout.None }
