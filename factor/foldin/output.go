package foldin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// ours are the files of a projection.
var ours = []string{ArrayFile, ProjectionFile, "rows.ids", "rows.titles", "cols.ids", "cols.titles"}

// newOutput begins the directory of a projection.
func newOutput(o Options) (*output, error) {
	if o.Dir == "" {
		return nil, errors.New("a projection needs a directory")
	}
	stage, err := vfs.Stage(o.FS, o.Dir, o.Replace,
		func(path string) error { return isProjection(o.FS, path) },
		func(stage string) (bool, error) { return false, onlyOurs(o.FS, stage) })
	return &output{o.FS, stage}, err
}

// isProjection tells whether a directory holds a projection: only such a one is ever replaced.
func isProjection(fsys vfs.FS, dir string) error {
	const most = 1 << 20
	text, err := vfs.ReadFile(fsys, filepath.Join(dir, ProjectionFile), most)
	var head struct {
		Format string `json:"format"`
	}
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	if err == nil && head.Format != format {
		err = fmt.Errorf("%s: format %q, want %q", ProjectionFile, head.Format, format)
	}
	if err != nil {
		return fmt.Errorf("it is not a projection and is left alone: %w", err)
	}
	return onlyOurs(fsys, dir)
}

// onlyOurs makes sure that a directory, if there is one, has no file but those of a projection.
func onlyOurs(fsys vfs.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return fmt.Errorf("%s holds %s, which is not of a projection: remove it, or write to another directory", dir, e.Name())
		}
	}
	return err
}

// commit publishes the directory.
func (o *output) commit(p *Projection) error {
	text, err := durable.Seal(p, &p.CRC)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(o.fsys, o.path(ProjectionFile), durable.Bytes(text)); err != nil {
		return err
	}
	return o.stage.Commit()
}
