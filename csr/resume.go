package csr

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gdsvd/gdsvd/internal/crc"
)

// UnfinishedError tells that the writing of a store, or an ingest, has been interrupted,
// now or before, and that what is done is kept: Resume of its options goes on from there.
type UnfinishedError struct {
	What string // "store" or "ingest"
	Dir  string // the directory with what is done
	Err  error  // what has interrupted it; nil if that was before
}

func (e *UnfinishedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s holds an unfinished %s: resume it, or force a new one", e.Dir, e.What)
	}
	return fmt.Sprintf("%v; %s holds what is done: it can be resumed", e.Err, e.Dir)
}

// Unwrap returns what has interrupted it.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// ResumeError tells why an unfinished store or ingest cannot be resumed.
type ResumeError struct {
	What, Dir string // as of an [UnfinishedError]
	Err       error
}

func (e *ResumeError) Error() string {
	return fmt.Sprintf("%s cannot be resumed: %v; force a new %s", e.Dir, e.Err, e.What)
}

// Unwrap returns why.
func (e *ResumeError) Unwrap() error { return e.Err }

// ErrFinished tells that there is nothing for CreateOptions.Resume to do: what
// exists is the complete store that is asked for.
var ErrFinished = errors.New("a finished store, nothing to resume")

// finished says more of what was found at path by a writer that was to resume:
// ErrFinished, or why it is another store, if it is one.
func finished(path string, o *CreateOptions, exists error) error {
	had, err := completeJournal(o.FS, path, o.ShardSize)
	if err != nil {
		return exists // not of a store
	}
	has, err := newJournal(o)
	if err != nil {
		return err
	}
	if err := had.matches(has); err != nil {
		return fmt.Errorf("%w: a finished store, but another one: %w", exists, err)
	}
	return fmt.Errorf("%w: %w", exists, ErrFinished)
}

// left tells whether a writer with the options goes on in the directory that
// another one has left; else it is of no use.
func left(dir string, o *CreateOptions) (goOn bool, err error) {
	_, err = o.FS.Lstat(filepath.Join(dir, journalName))
	switch {
	case err == nil && !o.Resume && !o.Force:
		return false, &UnfinishedError{What: "store", Dir: dir}
	case err == nil:
		return o.Resume, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("create store: %w", err)
	case !o.Resume:
		return false, nil
	}
	// Without a journal it may be a complete store, or an old one about to be
	// removed. Whichever it is, it is good if it is the one asked for.
	had, err := completeJournal(o.FS, dir, o.ShardSize)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, &ResumeError{What: "store", Dir: dir, Err: fmt.Errorf("%s: %w", manifestName, err)}
	}
	has, err := newJournal(o)
	return err == nil && had.matches(has) == nil, err
}

// save writes down that another shard is finished; squares is the sum of the
// squares up to its end.
func (w *Writer) save(squares squares) error {
	if !w.opts.Keep {
		return nil
	}
	j := w.journal
	j.include(&w.manifest.Shards[len(w.manifest.Shards)-1])
	j.Squares = sumState{squares.sum, squares.c, levels[squares.level].exponent}
	if w.truth != nil {
		truth := *w.truth
		truth.Fingerprint, truth.CRC = "", 0
		j.Truth = &truth
	}
	err := w.fs.SyncDir(w.dir) // the name of the shard before the journal that counts it
	if err == nil && !w.kept {
		err = w.fs.SyncDir(filepath.Dir(w.dir))
	}
	if err == nil {
		err = j.write(w.fs, w.dir)
	}
	if err == nil {
		w.kept = true
		w.staging.Keep()
		err = w.fs.SyncDir(w.dir)
	}
	if err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	return nil
}

// include counts another finished shard.
func (j *journal) include(s *ShardInfo) {
	j.Shards++
	j.Rows += s.Rows
	j.NNZ += s.NNZ
	j.Footers = crc.Sum(crcOf(le.AppendUint32(le.AppendUint32(nil, uint32(j.Footers)), uint32(s.CRC))))
}

// endJournal removes the journal of a store that is complete.
func (w *Writer) endJournal() error {
	if !w.kept {
		return nil
	}
	err := w.fs.SyncDir(w.dir) // the name of the manifest
	if err == nil {
		err = w.fs.Remove(filepath.Join(w.dir, journalName))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("commit store: %w", err)
	}
	return nil
}

// Leave ends a write that err has interrupted, as Abort does. With Keep and a
// finished shard that stays, and the error is an [*UnfinishedError].
func (w *Writer) Leave(err error) error {
	if w.done {
		return err
	}
	err = errors.Join(err, w.Abort())
	if !w.kept || err == nil {
		return err
	}
	return &UnfinishedError{What: "store", Dir: w.dir, Err: err}
}

// resume brings the Writer to where another one has stopped.
func (w *Writer) resume() error {
	j, err := readJournal(w.fs, w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = w.adopt()
	} else if err == nil {
		err = w.goOn(j)
	}
	if err != nil {
		return &ResumeError{What: "store", Dir: w.dir, Err: plain(err)}
	}
	w.kept = true
	return nil
}

// plain says of a damaged shard what it is, not what to do about a store.
func plain(err error) error {
	if bad := (*corruptError)(nil); errors.As(err, &bad) {
		return fmt.Errorf("%s: %s: %w", bad.File, bad.Section, bad.Err)
	}
	return err
}

// goOn restores the Writer from the journal and the shards it counts.
func (w *Writer) goOn(j *journal) error {
	m, now := &w.manifest, w.journal
	if err := j.matches(now); err != nil {
		return err
	}
	l := &shardLoader{fs: w.fs, store: w.dir, manifest: m, report: func(err error) error { return err }}
	for i := range int(j.Shards) {
		info, err := l.describe(shardName(i), now.Rows)
		if err != nil {
			return err
		}
		m.Shards = append(m.Shards, info)
		s, err := l.load(i)
		if err != nil {
			return err
		}
		w.blocks = append(w.blocks, s.blocks...)
		if err := s.m.Close(); err != nil {
			return err
		}
		now.include(&info)
	}
	if now.Rows != j.Rows || now.NNZ != j.NNZ || now.Footers != j.Footers {
		return errors.New("its shards are not those it was left with")
	}
	for i := range w.blocks {
		m.MaxBlock.include(&w.blocks[i])
	}
	m.Rows, m.NNZ, w.truth = j.Rows, j.NNZ, j.Truth
	w.squares = squares{neumaier{j.Squares.Sum, j.Squares.Compensation}, levelOf(j.Squares.Exponent)}
	return w.sweep()
}

// sweep removes what is not finished.
func (w *Writer) sweep() error {
	entries, err := w.fs.ReadDir(w.dir)
	if err != nil {
		return err
	}
	keep := map[string]bool{journalName: true}
	for _, s := range w.manifest.Shards {
		keep[s.Name] = true
	}
	for _, e := range entries {
		if !keep[e.Name()] {
			if err := w.fs.Remove(filepath.Join(w.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// adopt takes over a complete store, which only was not published.
func (w *Writer) adopt() error {
	s, err := Open(w.dir, OpenOptions{FS: w.fs})
	if err != nil {
		return err
	}
	w.manifest, w.sealed = s.Manifest(), true
	w.truth, err = s.Truth()
	return errors.Join(err, s.Close())
}

// describe says of a finished shard what the manifest will. It proves nothing:
// load does.
func (l *shardLoader) describe(name string, firstRow int64) (info ShardInfo, err error) {
	info = ShardInfo{Name: name, FirstRow: firstRow}
	f, err := l.fs.Open(filepath.Join(l.store, name))
	if errors.Is(err, fs.ErrNotExist) {
		return info, l.bad(&info, "file", -1, "missing")
	}
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fi, err := f.Stat()
	if err != nil {
		return info, err
	}
	info.Size = fi.Size()
	least := int64(headerSize + 8*len(l.manifest.Values.Table) + trailerSize)
	if info.Size < least {
		return info, l.bad(&info, "file", info.Size, "cut short")
	}
	var t [trailerSize]byte
	if _, err := f.ReadAt(t[:], info.Size-trailerSize); err != nil {
		return info, err
	}
	info.Blocks, info.CRC = int64(le.Uint32(t[8:])), crc.Sum(le.Uint32(t[12:]))
	if le.Uint32(t[20:]) != crcOf(t[:20]) || info.Blocks < 1 || info.Blocks*footerRecord > info.Size-least {
		return info, l.bad(&info, "trailer", info.Size-trailerSize, "%w", crc.ErrMismatch)
	}
	footer := make([]byte, info.Blocks*footerRecord)
	if _, err := f.ReadAt(footer, info.Size-trailerSize-int64(len(footer))); err != nil {
		return info, err
	}
	for ; len(footer) > 0; footer = footer[footerRecord:] {
		info.Rows += int64(le.Uint32(footer[16:]))
		info.NNZ += int64(le.Uint32(footer[20:]))
	}
	return info, nil
}
