package csr

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/readahead"
)

// shard is one mapped shard file whose frame (header, footer, trailer) is valid.
type shard struct {
	name   string
	m      vfs.Mapping
	size   int64
	blocks []blockMeta
	pages  *readahead.File
}

func extent(first, last *blockMeta) (begin, end int64) {
	return first.offset, last.offset + int64(last.size)
}

// shardLoader opens shards and checks their frames against the manifest.
type shardLoader struct {
	fs       vfs.FS
	store    string
	manifest *Manifest
	// report receives each problem, ErrCorrupt or ErrVersion; if it returns an error, loading stops.
	report func(error) error
}

// load maps shard i and checks its frame. If report returns nil, load goes on: it returns the blocks of a shard whose
// footer is sound even if other parts are damaged, and a nil shard if no blocks can be located. An error comes from
// report, or is a failure of another kind.
func (l *shardLoader) load(i int) (_ *shard, err error) {
	info := &l.manifest.Shards[i]
	m, err := l.fs.Map(filepath.Join(l.store, info.Name))
	if err != nil {
		err = missing(err, l.store, info.Name)
		if errors.Is(err, ErrCorrupt) {
			err = l.report(err)
		}
		return nil, err
	}
	s := &shard{name: info.Name, m: m, size: m.Size()}
	usable := false
	defer func() {
		if err != nil || !usable {
			err = errors.Join(err, m.Close())
		}
	}()
	// Only a hint: the frame is a few pages, and the kernel would read megabytes around them.
	_ = m.Advise(vfs.Random, 0, s.size)
	err = fault.Guard(func() (err error) {
		usable, err = l.frame(s, i)
		return err
	})
	if fault := (*fault.Error)(nil); errors.As(err, &fault) {
		usable = false
		err = l.report(faultError(l.fs, l.store, s, "file", 0))
	}
	if err != nil || !usable {
		return nil, err
	}
	s.pages = readahead.NewFile(m, s.blocks[0].offset, s.size-trailerSize-footerRecord*info.Blocks)
	return s, nil
}

func (l *shardLoader) bad(info *ShardInfo, section string, at int64, format string, args ...any) error {
	return l.report(&corruptError{Store: l.store, File: info.Name, Section: section, Offset: at, Err: fmt.Errorf(format, args...)})
}

// faultError describes a memory fault in a mapped shard: damage if the file was cut, else a failure of the disk.
func faultError(fsys vfs.FS, store string, s *shard, section string, at int64) error {
	fi, err := fsys.Stat(filepath.Join(store, s.name))
	if err == nil && fi.Size() < s.size {
		return &corruptError{Store: store, File: s.name, Section: section, Offset: fi.Size(), Err: fmt.Errorf("file was cut from %d bytes while in use", s.size)}
	}
	return fmt.Errorf("store %s: %s: %s: the disk did not deliver the bytes from %d on: try again; if it fails again, the disk or its connection is at fault", store, s.name, section, at)
}

// frame checks header, trailer and footer, and fills s.blocks. It returns
// whether the blocks can be located.
func (l *shardLoader) frame(s *shard, i int) (bool, error) {
	info := &l.manifest.Shards[i]
	if s.size != info.Size {
		return false, l.bad(info, "file", min(s.size, info.Size), "%d bytes where the manifest says %d", s.size, info.Size)
	}
	// validate has made sure that the parts fit into the size.
	headerEnd := int64(headerSize + 8*len(l.manifest.Values.Table))
	footerAt := s.size - trailerSize - footerRecord*info.Blocks
	header, err := s.m.Bytes(0, headerEnd, false)
	end, bad := s.m.Bytes(footerAt, s.size-footerAt, false)
	if err = errors.Join(err, bad); err != nil {
		return false, err
	}
	footer, trailer := end[:len(end)-trailerSize], end[len(end)-trailerSize:]
	headerCRC, err := l.header(header, info, i)
	if err != nil {
		return false, err
	}
	if err := l.trailer(trailer, info, footerAt); err != nil {
		return false, err
	}
	if crc.Sum(footerCRC(footer, headerCRC)) != info.CRC {
		return false, l.bad(info, "footer", footerAt, "%w", crc.ErrMismatch)
	}
	return l.footer(s, footer, info, headerEnd, footerAt)
}

// header compares the header with the one that the manifest implies, and returns the crc of the latter.
func (l *shardLoader) header(h []byte, info *ShardInfo, i int) (uint32, error) {
	good := shardHeader(i, l.manifest.Cols, info.FirstRow, l.manifest.Values)
	sum := headerCRC(good)
	at := 0
	for at < len(h) && h[at] == good[at] {
		at++
	}
	// The manifest determines every byte; the cases tell what differs.
	switch {
	case at == len(h):
		return sum, nil
	case at < 8:
		return sum, l.bad(info, "header", int64(at), "not a shard of a store")
	case le.Uint32(h[60:]) != headerCRC(h):
		return sum, l.bad(info, "header", int64(at), "%w", crc.ErrMismatch)
	case le.Uint32(h[8:]) != Version:
		return sum, l.report(wrongVersion(l.store, info.Name, int64(le.Uint32(h[8:]))))
	}
	return sum, l.bad(info, "header", int64(at), "belongs to another place or another store")
}

func (l *shardLoader) trailer(t []byte, info *ShardInfo, footerAt int64) error {
	base := info.Size - trailerSize
	switch {
	case string(t[24:]) != trailerMagic:
		return l.bad(info, "trailer", base+24, "file does not end like a shard")
	case le.Uint32(t[20:]) != crcOf(t[:20]):
		return l.bad(info, "trailer", base, "%w", crc.ErrMismatch)
	case le.Uint32(t[16:]) != Version:
		return l.report(wrongVersion(l.store, info.Name, int64(le.Uint32(t[16:]))))
	case le.Uint64(t) != uint64(footerAt) || uint64(le.Uint32(t[8:])) != uint64(info.Blocks):
		return l.bad(info, "trailer", base, "%d blocks and a footer at %d where the manifest says %d and %d",
			le.Uint32(t[8:]), le.Uint64(t), info.Blocks, footerAt)
	case crc.Sum(le.Uint32(t[12:])) != info.CRC:
		return l.bad(info, "trailer", base+12, "crc of the footer is not the manifest's: shard of another store")
	}
	return nil
}

// footer parses the table of blocks and checks that they tile the shard.
func (l *shardLoader) footer(s *shard, footer []byte, info *ShardInfo, offset, end int64) (bool, error) {
	s.blocks = make([]blockMeta, 0, info.Blocks)
	row, nnz := info.FirstRow, int64(0)
	for at := 0; at < len(footer); at += footerRecord {
		r := footer[at : at+footerRecord]
		b := blockMeta{
			offset: int64(le.Uint64(r)), firstRow: int64(le.Uint64(r[8:])),
			rows: le.Uint32(r[16:]), nnz: le.Uint32(r[20:]), size: le.Uint32(r[24:]), crc: le.Uint32(r[28:]),
		}
		wrong := ""
		switch {
		case b.offset != offset || int64(b.size) > end-offset || b.size < blockHeaderSize:
			wrong = "blocks are not contiguous"
		case b.firstRow != row:
			wrong = "rows are not contiguous"
		case b.rows < 1 || b.rows > BlockRows || b.nnz > BlockNNZ && b.rows > 1:
			wrong = "block of impossible size"
		case uint64(b.nnz) > maxExpansion*uint64(b.size) || tooMany(int64(b.nnz), int64(b.rows), l.manifest.Cols):
			wrong = "block with an impossible number of entries"
		}
		if wrong != "" {
			return false, l.bad(info, "footer", end+int64(at), "%s", wrong)
		}
		offset += int64(b.size)
		row += int64(b.rows)
		nnz += int64(b.nnz)
		s.blocks = append(s.blocks, b)
	}
	if offset != end || row-info.FirstRow != info.Rows || nnz != info.NNZ {
		return false, l.bad(info, "footer", end, "blocks do not add up to the shard")
	}
	return true, nil
}
