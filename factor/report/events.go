package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/crc"
)

// readEvents reads the events of a result, nil if it has none. A file that is not what result.json says is csr.ErrCorrupt.
func readEvents(ctx context.Context, r *factor.Result) (_ []factor.Event, err error) {
	path := filepath.Join(r.Dir(), layout.Events)
	f, err := r.FS().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var sum crc.Summer
	events, line, err := live.ReadEvents(ctx, io.TeeReader(f, &sum))
	for _, file := range r.Files {
		if err == nil && file.Name == layout.Events && (file.Size != sum.Size || file.CRC != sum.CRC) {
			err = fmt.Errorf("%w: %d bytes with the checksum %v, where %s says %d with %v", live.ErrEvents, sum.Size, sum.CRC, factor.ResultFile, file.Size, file.CRC)
		}
	}
	if errors.Is(err, live.ErrEvents) {
		err = fmt.Errorf("%w: %s: line %d: %w: the file is damaged; remove the result and compute it again", csr.ErrCorrupt, path, line, err)
	}
	return events, r.OrReplaced(err)
}
