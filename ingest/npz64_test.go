package ingest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// zip64 rewrites archive with all sizes and offsets in 64 bits (section 4.5.3 of APPNOTE.TXT 6.3.10 of PKWARE), as numpy
// writes a large archive. It returns the bytes before and after a gap of the given size behind the first member.
func zip64(t *testing.T, archive []byte, gap uint64) (head, tail []byte) {
	t.Helper()
	le := binary.LittleEndian
	end := archive[len(archive)-22:]
	n, directory := uint64(le.Uint16(end[10:])), archive[le.Uint32(end[16:]):len(archive)-22]
	members := archive[:le.Uint32(end[16:])]
	second := len(members)
	var list []byte
	for range n {
		name, extra := int(le.Uint16(directory[28:])), int(le.Uint16(directory[30:]))
		entry, more := bytes.Clone(directory[:46+name]), directory[46+name:46+name+extra]
		compressed, size, at := uint64(le.Uint32(entry[20:])), uint64(le.Uint32(entry[24:])), uint64(le.Uint32(entry[42:]))
		if at > 0 {
			second = min(second, int(at))
			at += gap
		}
		le.PutUint16(entry[6:], 45) // version needed to read it
		le.PutUint16(entry[30:], uint16(28+len(more)))
		for _, place := range []int{20, 24, 42} {
			le.PutUint32(entry[place:], math.MaxUint32)
		}
		list = append(list, entry...)
		list = le.AppendUint16(list, 1)
		list = le.AppendUint16(list, 24)
		for _, v := range []uint64{size, compressed, at} {
			list = le.AppendUint64(list, v)
		}
		list = append(list, more...)
		directory = directory[46+name+extra:]
	}
	if len(directory) != 0 || second == len(members) {
		t.Fatal("no archive of several members")
	}
	begin := uint64(len(members)) + gap // offset of the list of members
	tail = slices.Concat(members[second:], list)
	tail = append(tail, "PK\x06\x06"...)
	tail = le.AppendUint64(tail, 44)
	tail = le.AppendUint64(tail, 45|45<<16) // versions, and the number of the disk
	tail = le.AppendUint32(tail, 0)
	for _, v := range []uint64{n, n, uint64(len(list)), begin} {
		tail = le.AppendUint64(tail, v)
	}
	tail = append(tail, "PK\x06\x07\x00\x00\x00\x00"...)
	tail = le.AppendUint64(tail, begin+uint64(len(list)))
	tail = le.AppendUint32(tail, 1)
	tail = append(tail, "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff"...)
	tail = le.AppendUint64(tail, math.MaxUint64)
	return members[:second], append(tail, 0, 0)
}

// TestNPZ64: an archive with offsets beyond 4 GiB, most of it a hole in the file, is read.
func TestNPZ64(t *testing.T) {
	f, want := randomNPZ(300, 60)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		for _, gap := range []uint64{0, 5 << 30} {
			if gap > 0 && runtime.GOOS == "windows" {
				continue // Windows would write the hole
			}
			head, tail := zip64(t, f.bytes(t, method), gap)
			path := filepath.Join(t.TempDir(), "in.npz")
			file := must.Get(os.Create(path))(t)
			must.Get(file.Write(head))(t)
			must.Get(file.WriteAt(tail, int64(len(head))+int64(gap)))(t)
			must.Do(t, file.Close())
			out, rep := ingested(t, []string{path}, Options{Orient: OrientRows})
			if got := contents(t, out); rep.Format != "npz" || !slices.Equal(got, want) {
				t.Errorf("method %d, gap %d: %+v, %d entries, want %d", method, gap, rep, len(got), len(want))
			}
		}
	}
}
