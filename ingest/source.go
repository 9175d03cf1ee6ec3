package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/all"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/stored"
	"github.com/gdsvd/gdsvd/ingest/internal/tenx"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/remote"
)

// A source is an open input whose format is recognised and whose header is read.
type source struct {
	*input.File
	format string
	reader format.Reader
	shape  *format.Shape // declared shape; nil: keys are ids
	size   int64         // bytes of a file that is not compressed; else 0
	tally  format.Tally
	begin  int64         // bytes of the inputs before, on disk
	shared bool          // workers read from the input
	base   bool          // the store that is appended to
	taken  chan struct{} // closed once all batches of the input have been taken
}

// openSource opens an input. prev is the input before it, or nil.
func openSource(ctx context.Context, op input.Opener, name string, o request, prev *source) (*source, error) {
	begin := op.Bytes.Load()
	if o.base != nil && name == o.base.path && prev == nil {
		r, err := stored.Open(o.FS, name, o.Graph == Undirected)
		if err != nil {
			return nil, err
		}
		return &source{File: input.Closing(name, r.Close), begin: begin, taken: make(chan struct{}), reader: r, shared: true, base: true, format: "store"}, nil
	}
	f, err := op.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	src := &source{File: f, begin: begin, taken: make(chan struct{})}
	if err := src.open(o, int64(op.MaxWindow), prev); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return src, nil
}

func (src *source) open(o request, window int64, prev *source) (err error) {
	alone := func(name string) error {
		return &format.ParseError{File: name, Err: fmt.Errorf("an input with a declared shape beside others: %w", format.ErrUnsupported), Want: "one such input alone"}
	}
	in := &format.Input{
		Name: src.Name, Stream: src.File, Chosen: o.Format != "", Columns: o.Columns, IDs: o.ids, Events: o.Events, Times: o.readsTimes(), Window: window,
	}
	in.Declare = func(s format.Shape) error {
		if src.shape == nil {
			src.shape = new(format.Shape)
		}
		*src.shape = s
		_, err := o.packer(s)
		return err
	}
	if in.At, in.Size, err = src.At(); err != nil {
		return err
	}
	src.size = in.Size
	if prev != nil {
		in.Before = prev.reader
	}
	f := o.recognise(in)
	if f.Name != "" && prev != nil && prev.shape != nil {
		return alone(prev.Name)
	}
	in.Format = f.Name
	if src.reader, err = f.Open(in); err != nil {
		return err
	}
	if in.Times && (!f.Timed || src.shape != nil) {
		return &format.ParseError{File: in.Name, Err: fmt.Errorf("input of format %s: %w; those of text, JSON lines and Parquet can, and a random hold-out needs none", in.Format, format.ErrNoTimes)}
	}
	if prev != nil && src.shape != nil {
		return alone(src.Name)
	}
	src.format = in.Format
	if o.base != nil && (prev == nil || prev.base) {
		if src.shape != nil {
			return alone(src.Name)
		}
		return o.base.follows(src, o)
	}
	return src.agree(prev)
}

func (o Options) formats() []format.Format {
	var own all.Options
	own.Text.Separator, own.Text.Header = o.Separator, o.Header
	own.Pairs.IndexBase, own.Pairs.Features = o.IndexBase, o.Features
	return append(all.Formats(own), o.Formats...)
}

// recognise returns the chosen format, or the last format that recognises the input; one without a name overrides the choice.
func (o Options) recognise(in *format.Input) format.Format {
	h := format.Head{Chosen: o.Format != ""}
	var err error
	if h.Bytes, err = in.Peek(format.ChunkBytes); err != nil {
		h.Whole = errors.Is(err, io.EOF) // another error occurs again when the input is read
	}
	var chosen format.Format
	for _, f := range slices.Backward(o.formats()) {
		if h.Chosen && f.Name == o.Format {
			chosen = f
		}
		if f.Sniff != nil && (!h.Chosen || f.Name == "") && f.Sniff(h) {
			return f
		}
	}
	return chosen
}

func (o Options) formatNames() []string {
	names := []string{auto}
	for _, f := range o.formats() {
		if f.Name != "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// expand is input.Files.Expand; it also replaces a folder of 10x by its matrix, and keeps the store appended to as it is.
func (o *request) expand(ctx context.Context, inputs []string) ([]string, error) {
	if o.base != nil {
		names, err := o.files().Expand(ctx, inputs[1:])
		return append([]string{o.base.path}, names...), err
	}
	for i, name := range inputs {
		if f := o.withFiles(name); f != nil {
			if err := o.besideFile(ctx, name, f); err != nil {
				return nil, err
			}
			continue
		}
		l, err := o.list(ctx, name)
		if err != nil {
			return nil, err
		}
		if l == nil {
			continue
		}
		folder, err := tenx.Find(name, l)
		if err != nil {
			return nil, err
		}
		if folder == nil {
			continue
		}
		if len(inputs) > 1 {
			return nil, tenx.Refused(name, "a folder of 10x stands alone: ingest each into a store of its own")
		}
		inputs = slices.Clone(inputs)
		inputs[i] = folder.Matrix
		if err := o.beside(folder); err != nil {
			return nil, err
		}
	}
	return o.files().Expand(ctx, inputs)
}

// list lists the folder that an input may name, alone or with a prefix behind it; nil: the input names something else.
func (o *request) list(ctx context.Context, name string) (*tenx.Listing, error) {
	l := &tenx.Listing{Dir: name, Join: filepath.Join}
	switch {
	case name == "-" || remote.Is(name) && !remote.IsFolder(name):
		return nil, nil
	case remote.Is(name):
		l.Join = func(parts ...string) string { return strings.Join(parts, "") }
		objects, err := o.net.Expand(ctx, name+"*")
		for _, object := range objects {
			l.Names = append(l.Names, input.BaseName(object))
		}
		return l, err
	}
	switch fi, err := o.FS.Stat(name); {
	case err == nil && !fi.IsDir():
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		l.Dir, l.Prefix = filepath.Split(name)
		l.Dir = filepath.Clean(l.Dir)
	case err != nil:
		return nil, fmt.Errorf("read input: %w", err)
	}
	entries, err := o.FS.ReadDir(l.Dir)
	if l.Prefix != "" && err != nil {
		return nil, nil // opening the input reports the error
	}
	if err != nil {
		return nil, fmt.Errorf("read input: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			l.Names = append(l.Names, e.Name())
		}
	}
	return l, nil
}

// beside sets Options.RowIDs and ColIDs to the files of ids of a folder of 10x, unless they are set.
func (o *request) beside(f *tenx.Folder) error {
	for side, found := range []string{format.RowSide: f.Features, format.ColSide: f.Barcodes} {
		ids := [...]*string{format.RowSide: &o.RowIDs, format.ColSide: &o.ColIDs}[side]
		switch {
		case *ids != "":
		case found == "":
			return f.Lacks([]string{format.RowSide: "features", format.ColSide: "barcodes"}[side])
		default:
			title := []int{format.RowSide: 1, format.ColSide: -1}[side]
			*ids, o.labels[side] = found, func(in *format.Input, close func() error) (format.IDs, error) {
				return text.FieldLabels(in, 0, title, close)
			}
		}
	}
	return nil
}

// withFiles returns the files beside an input of this name, or of the chosen format; nil: none.
func (o Options) withFiles(name string) *format.Beside {
	for _, f := range o.formats() {
		if f.Beside != nil && (f.Name == o.Format || o.Format == "" && strings.HasSuffix(name, f.Beside.Suffix)) {
			return f.Beside
		}
	}
	return nil
}

// besideFile sets Options.RowIDs and ColIDs to the files beside an input, unless they are set, and counts their ids.
func (o *request) besideFile(ctx context.Context, name string, f *format.Beside) error {
	base := strings.TrimSuffix(name, f.Suffix)
	for side, suffix := range f.Files {
		side, ids := format.Side(side), [...]*string{&o.RowIDs, &o.ColIDs}[side]
		given := *ids != ""
		if !given {
			*ids, o.labels[side] = base+suffix, func(in *format.Input, close func() error) (format.IDs, error) { return f.Labels(side, in, close) }
		}
		l, err := o.openLabels(ctx, o.opener(window(o.Memory)), side)
		if !given && errors.Is(err, fs.ErrNotExist) {
			*ids, o.labels[side] = "", nil
			continue // reading the input reports it, unless the input is of another format
		}
		if err != nil {
			return err
		}
		if err := text.ReadLabels(l, func(i int64, _ format.Label) error { o.ids[side] = i + 1; return nil }); err != nil {
			return err
		}
	}
	return nil
}
