package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// computeInput is compute for the matrix on standard input, by way of a store beside OUT that is gone at the end.
func (a *app) computeInput(cmd *cobra.Command, o svdOptions) (err error) {
	switch {
	case o.explain:
		return ui.Usagef(cmd, "--explain of -: the matrix on standard input is gone afterwards; ingest it, and explain a run on its store")
	case o.Resume:
		return ui.Usagef(cmd, "--resume of -: the store that the checkpoint is of is gone; ingest standard input, and factorise its store")
	}
	if _, err := a.fsys.Lstat(o.Dir); err == nil && !o.Replace { // found out before the matrix is read
		return &fs.PathError{Op: "create", Path: o.Dir, Err: fs.ErrExist}
	}
	o.CheckpointEvery = -1
	dir, err := os.MkdirTemp(filepath.Dir(o.Dir), ".gdsvd-input-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	in := ingest.Options{Memory: o.Memory, ShardSize: csr.DefaultShard}
	if in.Memory == 0 {
		in.Memory = ingest.DefaultMemory
	}
	defer collectLate(garbage / 8)()
	store := filepath.Join(dir, "store")
	kept := a.fsys
	a.fsys = unsynced{kept}
	_, err = a.ingest(cmd, []string{"-"}, store, in)
	if a.fsys = kept; err != nil {
		return toldIngest(cmd, err)
	}
	return a.compute(cmd, store, o)
}

// unsynced is a file system for what no other process is going to need: nothing is made durable.
type unsynced struct{ vfs.FS }

func (u unsynced) Create(name string) (vfs.File, error) {
	f, err := u.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }
