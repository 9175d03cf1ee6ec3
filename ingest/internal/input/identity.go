package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/remote"
)

// An ID tells whether an input is still what it was, by its size, the time
// of its last change, and a sum of its content.
//
// The sum of a file up to sumWhole bytes covers all of it. That of a larger one
// covers sumSamples pieces of sumPiece bytes, evenly spread, its beginning and
// its end included: what is rewritten, shifted or compressed anew has another
// one; a change of some bytes between the pieces does not show in it, and goes
// unnoticed if size and time are those of before as well. That of an object named by a URL is its ETag, if it has one.
type ID struct {
	Name     string
	Size     int64
	Modified time.Time
	Sum      string `json:",omitempty"` // absent in journals of before there were sums
}

const (
	sumSamples = 64
	sumPiece   = 16 << 10
	sumWhole   = sumSamples * sumPiece
)

// Identify looks at the inputs. It gives nil if one of them cannot be read again
// from a place within, as standard input, or a URL whose size is not known.
func (f Files) Identify(ctx context.Context, names []string) ([]ID, error) {
	var ids []ID
	for _, name := range names {
		if name == "-" {
			return nil, nil
		}
		id, err := f.identify(ctx, name)
		if id == nil || err != nil {
			return nil, err
		}
		ids = append(ids, *id)
	}
	return ids, nil
}

func (f Files) identify(ctx context.Context, name string) (_ *ID, err error) {
	id := &ID{Name: DisplayName(name)}
	if remote.Is(name) {
		info, err := f.Net.Stat(ctx, name)
		if err != nil || info.Size < 0 || !info.Ranges && !info.Identified() {
			return nil, err
		}
		id.Size, id.Modified = info.Size, info.Modified
		if info.ETag != "" {
			id.Sum = "ETag " + info.ETag
			return id, nil
		}
		if !info.Ranges {
			return id, nil
		}
	} else {
		fi, err := f.FS.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
		id.Size, id.Modified = fi.Size(), fi.ModTime().UTC()
	}
	if id.Sum, err = f.contentSum(ctx, name, id.Size); err != nil {
		return nil, err
	}
	return id, nil
}

func (in Files) contentSum(ctx context.Context, name string, size int64) (_ string, err error) {
	f, err := in.open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := crc.New()
	add := func(at, n int64) {
		if err == nil {
			_, err = io.CopyN(sum, io.NewSectionReader(f, at, n), n)
		}
	}
	if size <= sumWhole {
		add(0, size)
	} else {
		for i := range int64(sumSamples) {
			add(i*((size-sumPiece)/(sumSamples-1)), sumPiece)
		}
		add(size-sumSamples, sumSamples) // the division leaves some bytes behind the last piece
	}
	if err == io.EOF {
		return "", fmt.Errorf("read %s: it ends before its %d bytes: it has changed while it was read, or the disk did not deliver it; try again", DisplayName(name), size)
	}
	if err != nil {
		return "", (&File{Name: DisplayName(name)}).failed(err)
	}
	return fmt.Sprintf("%08x", sum.Sum32()), nil
}

func (id ID) Changed(before ID) bool {
	return id.Size != before.Size || !id.Modified.Equal(before.Modified) || before.Sum != "" && id.Sum != before.Sum
}
