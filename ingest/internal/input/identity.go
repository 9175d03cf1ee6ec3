package input

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// An ID tells whether an input is still what it was, by its size, the time
// of its last change, and a sum of its content.
//
// The sum of a file up to sumWhole bytes covers all of it. That of a larger one
// covers sumSamples pieces of sumPiece bytes, evenly spread, its beginning and
// its end included: what is rewritten, shifted or compressed anew has another
// one; a change of some bytes between the pieces does not show in it, and goes
// unnoticed if size and time are those of before as well.
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
// from a place within, as standard input.
func Identify(fsys vfs.FS, names []string) ([]ID, error) {
	var ids []ID
	for _, name := range names {
		if name == "-" {
			return nil, nil
		}
		fi, err := fsys.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
		id := ID{Name: name, Size: fi.Size(), Modified: fi.ModTime().UTC()}
		if id.Sum, err = contentSum(fsys, name, id.Size); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// contentSum is the CRC-32C of the pieces of a file of size bytes.
func contentSum(fsys vfs.FS, name string, size int64) (_ string, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", fmt.Errorf("read input: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := crc.New()
	if size <= sumWhole {
		_, err = io.Copy(sum, io.NewSectionReader(f, 0, size))
	}
	for i := int64(0); i < sumSamples && size > sumWhole && err == nil; i++ {
		_, err = io.Copy(sum, io.NewSectionReader(f, i*((size-sumPiece)/(sumSamples-1)), sumPiece))
	}
	if size > sumWhole && err == nil { // the division leaves some bytes behind the last piece
		_, err = io.Copy(sum, io.NewSectionReader(f, size-sumSamples, sumSamples))
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return fmt.Sprintf("%08x", sum.Sum32()), nil
}

// Changed tells whether an input is another one than before.
func (id ID) Changed(before ID) bool {
	return id.Size != before.Size || !id.Modified.Equal(before.Modified) || before.Sum != "" && id.Sum != before.Sum
}
