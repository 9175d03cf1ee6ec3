package csr_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// victim is a store to be damaged: three shards (two blocks, two blocks, one), dict4, int ids for
// rows, string ids for columns.
type victim struct {
	t    *testing.T
	path string
}

const (
	victimRows = 330
	victimCols = 5000
	// shard files of the victim
	shard0, shard1, shard2 = "shard-000000.csr", "shard-000001.csr", "shard-000002.csr"
)

func victimMatrix(seed uint64) *matrix {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := &matrix{cols: victimCols}
	for range victimRows {
		var r row
		for c := range uint32(victimCols) {
			if rng.IntN(3) == 0 {
				r.cols, r.vals = append(r.cols, c), append(r.vals, float64(rng.IntN(10)))
			}
		}
		m.rows = append(m.rows, r)
	}
	return m
}

// made holds the files of stores that several tests start from, by name.
var made = map[string]map[string]string{}

// again makes a store at path with first at the first call with a name, and copies it at later calls.
func again(t *testing.T, name, path string, first func()) {
	t.Helper()
	if made[name] != nil {
		vfstest.Restore(t, path, made[name])
		return
	}
	first()
	made[name] = vfstest.Contents(t, path)
}

func writeVictim(t *testing.T, path string, seed uint64) {
	t.Helper()
	again(t, fmt.Sprint("victim ", seed), path, func() {
		m := victimMatrix(seed)
		w := must.Get(csr.Create(path, csr.CreateOptions{Cols: m.cols, Values: m.stats(), ShardSize: 150_000}))(t)
		defer w.Abort()
		for _, r := range m.rows {
			must.Do(t, w.AppendRow(r.cols, r.vals))
		}
		rows := must.Get(w.IDs(csr.RowAxis, csr.IntIDs))(t)
		for i := range victimRows {
			must.Do(t, rows.AppendInt(int64(3*i)))
		}
		cols := must.Get(w.IDs(csr.ColAxis, csr.StringIDs))(t)
		for i := range victimCols {
			must.Do(t, cols.AppendString(fmt.Sprintf("item-%05d", i)))
		}
		must.Do(t, errors.Join(rows.Close(), cols.Close(), w.Commit()))
	})
}

func (v victim) file(name string) string { return filepath.Join(v.path, name) }

func (v victim) read(name string) []byte {
	v.t.Helper()
	b, err := os.ReadFile(v.file(name))
	if err != nil {
		v.t.Fatal(err)
	}
	return b
}

func (v victim) edit(name string, change func(b []byte) []byte) {
	v.t.Helper()
	if err := os.WriteFile(v.file(name), change(v.read(name)), 0o666); err != nil {
		v.t.Fatal(err)
	}
}

// flip changes one bit; negative offsets count from the end.
func (v victim) flip(name string, at int) {
	v.edit(name, func(b []byte) []byte {
		b[(at+len(b))%len(b)] ^= 4
		return b
	})
}

func (v victim) truncate(name string, drop int) {
	v.edit(name, func(b []byte) []byte { return b[:len(b)-drop] })
}

// zero fills part of a file with zeros.
func (v victim) zero(name string, from, to int) {
	v.edit(name, func(b []byte) []byte {
		clear(b[(from+len(b))%len(b) : (to+len(b)-1)%len(b)+1])
		return b
	})
}

// manifest edits the manifest and repairs its crc.
func (v victim) manifest(change func(m *csr.Manifest)) {
	v.edit("MANIFEST.json", func(b []byte) []byte { return csr.EditManifest(b, change) })
}

// forge changes a shard and repairs every checksum in the whole store.
func (v victim) forge(name string, change func(b []byte)) {
	v.edit(name, func(b []byte) []byte { change(b); return b })
	v.edit("MANIFEST.json", func(m []byte) []byte {
		shards := [][]byte{v.read(shard0), v.read(shard1), v.read(shard2)}
		m = csr.Reseal(m, shards...)
		for i, b := range shards {
			if err := os.WriteFile(v.file(fmt.Sprintf("shard-%06d.csr", i)), b, 0o666); err != nil {
				v.t.Fatal(err)
			}
		}
		return m
	})
}

// forgeIDs changes a file of ids and repairs the manifest.
func (v victim) forgeIDs(name string, change func(b []byte) []byte) {
	v.edit(name, change)
	b := v.read(name)
	v.manifest(func(m *csr.Manifest) {
		f := m.IDs.Cols
		if name == "rows.ids" {
			f = m.IDs.Rows
		}
		f.CRC, f.Size = csr.CRC(b), int64(len(b))
	})
	shards := [][]byte{v.read(shard0), v.read(shard1), v.read(shard2)}
	v.edit("MANIFEST.json", func(m []byte) []byte { return csr.Reseal(m, shards...) })
}

// swapFiles exchanges two files.
func (v victim) swapFiles(a, b string) {
	x, y := v.read(a), v.read(b)
	v.edit(a, func([]byte) []byte { return y })
	v.edit(b, func([]byte) []byte { return x })
}

// blockRecord is the footer record of block i.
func blockRecord(b []byte, i int) []byte {
	footer := int(binary.LittleEndian.Uint64(b[len(b)-csr.TrailerSize:]))
	return b[footer+i*csr.FooterRecord:][:csr.FooterRecord]
}

// block is the bytes of block i of a shard.
func block(b []byte, i int) []byte {
	r := blockRecord(b, i)
	at, size := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint32(r[24:])
	return b[at : at+uint64(size)]
}

// when is the point at which a reader of the store must notice a damage.
type when int

const (
	atOpen when = iota
	atDecode
	atIDs
	onlyCheck // noticed by Check only
)

// damageCase is a row of the table of corruption. Offsets from…to bound the reported position;
// negative ones count from the end of the sound file; nowhere is the position of a missing file.
type damageCase struct {
	name     string
	do       func(v victim)
	when     when
	file     string
	section  string
	from, to int64
	version  bool // the error is ErrVersion, not ErrCorrupt
}

const (
	nowhere   = math.MinInt64
	headerEnd = csr.HeaderSize + 8*10 // a table of ten ratings
)

var damageCases = []damageCase{
	{"manifest: bit flip", func(v victim) { v.flip("MANIFEST.json", 120) }, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: truncation", func(v victim) { v.truncate("MANIFEST.json", 40) }, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: empty", func(v victim) { v.edit("MANIFEST.json", func([]byte) []byte { return nil }) }, atOpen, "MANIFEST.json", "manifest", 0, 0, false},
	{"manifest: zero fill", func(v victim) { v.zero("MANIFEST.json", 0, -1) }, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: missing", func(v victim) { os.Remove(v.file("MANIFEST.json")) }, atOpen, "MANIFEST.json", "file", nowhere, nowhere, false},
	{"manifest: edit", func(v victim) {
		v.edit("MANIFEST.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"transposed": false`), []byte(`"transposed": true `), 1)
		})
	}, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: edit with crc", func(v victim) { v.manifest(func(m *csr.Manifest) { m.Transposed = true }) }, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: unknown field with crc", func(v victim) {
		v.edit("MANIFEST.json", func(b []byte) []byte {
			b = bytes.Replace(b, []byte(`"rows":`), []byte(`"more": 1, "rows":`), 1)
			csr.RepairManifest(b)
			return b
		})
	}, atOpen, "MANIFEST.json", "manifest", 0, 1 << 40, false},
	{"manifest: cols with crc", func(v victim) { v.manifest(func(m *csr.Manifest) { m.Cols--; m.IDs.Cols = nil }) }, atOpen, shard0, "header", 16, 24, false},
	{"manifest: max_block with crc", func(v victim) { v.manifest(func(m *csr.Manifest) { m.MaxBlock.NNZ-- }) }, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: sum_squares with crc", func(v victim) { v.manifest(func(m *csr.Manifest) { m.SumSquares++ }) }, onlyCheck, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: rows and nnz beyond the shards", func(v victim) { v.manifest(func(m *csr.Manifest) { m.Rows, m.NNZ = 1<<62, 1<<60 }) }, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: shard with a path", func(v victim) { v.manifest(func(m *csr.Manifest) { m.Shards[1].Name = "../x" }) }, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: one shard less", func(v victim) {
		v.manifest(func(m *csr.Manifest) {
			m.Rows -= m.Shards[2].Rows
			m.NNZ -= m.Shards[2].NNZ
			m.Shards = m.Shards[:2]
			m.IDs = csr.IDFiles{}
		})
	}, atOpen, "MANIFEST.json", "manifest", 0, -1, false},
	{"manifest: version 2 with crc", func(v victim) { v.manifest(func(m *csr.Manifest) { m.Version = 2 }) }, atOpen, "MANIFEST.json", "", 0, 0, true},
	{"manifest: version 0", func(v victim) { v.manifest(func(m *csr.Manifest) { m.Version = 0 }) }, atOpen, "MANIFEST.json", "", 0, 0, true},

	{"shard: missing", func(v victim) { os.Remove(v.file(shard1)) }, atOpen, shard1, "file", nowhere, nowhere, false},
	{"shard: empty", func(v victim) { v.edit(shard1, func([]byte) []byte { return nil }) }, atOpen, shard1, "file", 0, 0, false},
	{"shard: one byte short", func(v victim) { v.truncate(shard2, 1) }, atOpen, shard2, "file", -2, -1, false},
	{"shard: half", func(v victim) { v.edit(shard0, func(b []byte) []byte { return b[:len(b)/2] }) }, atOpen, shard0, "file", 1000, -1000, false},
	{"shard: one byte long", func(v victim) { v.edit(shard0, func(b []byte) []byte { return append(b, 0) }) }, atOpen, shard0, "file", -2, 1 << 40, false},
	{"shard: zero fill", func(v victim) { v.zero(shard0, 0, -1) }, atOpen, shard0, "header", 0, 8, false},
	{"shards swapped", func(v victim) { v.swapFiles(shard0, shard1) }, atOpen, shard0, "file", 0, -1, false},
	{"shards swapped, sizes with them", func(v victim) {
		v.swapFiles(shard0, shard1)
		v.manifest(func(m *csr.Manifest) { m.Shards[0].Size, m.Shards[1].Size = m.Shards[1].Size, m.Shards[0].Size })
	}, atOpen, shard0, "header", 12, 13, false},
	{"shard of another store of the same shape", func(v victim) {
		other := victim{v.t, filepath.Join(v.t.TempDir(), "other.csr")}
		writeVictim(v.t, other.path, 2)
		b := other.read(shard1)
		v.edit(shard1, func([]byte) []byte { return b })
	}, atOpen, shard1, "", 0, 1 << 40, false},

	{"header: bit flip in magic", func(v victim) { v.flip(shard0, 3) }, atOpen, shard0, "header", 3, 3, false},
	{"header: bit flip in cols", func(v victim) { v.flip(shard1, 17) }, atOpen, shard1, "header", 17, 17, false},
	{"header: bit flip in table", func(v victim) { v.flip(shard1, csr.HeaderSize+9) }, atOpen, shard1, "header", csr.HeaderSize, headerEnd, false},
	{"header: bit flip in crc", func(v victim) { v.flip(shard2, 61) }, atOpen, shard2, "header", 60, 63, false},
	{"header: version 2 with crc", func(v victim) { v.forge(shard1, func(b []byte) { b[8] = 2 }) }, atOpen, shard1, "", 0, 0, true},
	{"header: reserved with crc", func(v victim) { v.forge(shard1, func(b []byte) { b[40] = 1 }) }, atOpen, shard1, "header", 40, 40, false},
	{"header: coding with crc", func(v victim) { v.forge(shard0, func(b []byte) { b[32] = 2 }) }, atOpen, shard0, "header", 32, 32, false},

	{"block: bit flip in its header", func(v victim) { v.flip(shard0, headerEnd+1) }, atDecode, shard0, "block 0", headerEnd, headerEnd, false},
	{"block: bit flip in the middle", func(v victim) { v.flip(shard1, 90_000) }, atDecode, shard1, "block 0", headerEnd, headerEnd, false},
	{"block: bit flip in its last byte", func(v victim) { v.flip(shard2, -csr.TrailerSize-csr.FooterRecord-1) }, atDecode, shard2, "block 0", headerEnd, headerEnd, false},
	{"block: zero fill", func(v victim) { v.zero(shard0, 20_000, 24_096) }, atDecode, shard0, "block 0", headerEnd, headerEnd, false},
	{"block: second of a shard", func(v victim) {
		v.edit(shard0, func(b []byte) []byte { block(b, 1)[100] ^= 1; return b })
	}, atDecode, shard0, "block 1", 50_000, -1000, false},
	{"blocks swapped with crcs", func(v victim) {
		v.forge(shard0, func(b []byte) {
			x, y := slices.Clone(block(b, 0)), slices.Clone(block(b, 1))
			at := copy(b[headerEnd:], y) + headerEnd
			copy(b[at:], x)
			r, s := blockRecord(b, 0), blockRecord(b, 1)
			sizes := [2]uint32{binary.LittleEndian.Uint32(r[24:]), binary.LittleEndian.Uint32(s[24:])}
			binary.LittleEndian.PutUint32(r[24:], sizes[1])
			binary.LittleEndian.PutUint32(s[24:], sizes[0])
			binary.LittleEndian.PutUint64(s, uint64(at))
		})
	}, atDecode, shard0, "block 0", headerEnd, headerEnd, false},
	{"block: rows with crc", func(v victim) { v.forge(shard0, func(b []byte) { block(b, 0)[0]++ }) }, atDecode, shard0, "block 0", headerEnd, headerEnd + 8, false},
	{"block: size of the lengths with crc", func(v victim) { v.forge(shard0, func(b []byte) { block(b, 0)[8]++ }) }, atDecode, shard0, "block 0", headerEnd, headerEnd + 16, false},
	{"block: huge size of the gaps with crc", func(v victim) {
		v.forge(shard0, func(b []byte) { binary.LittleEndian.PutUint32(block(b, 0)[12:], math.MaxUint32) })
	}, atDecode, shard0, "block 0", headerEnd, headerEnd + 16, false},
	{"block: width with crc", func(v victim) { v.forge(shard0, func(b []byte) { block(b, 0)[16] = 40 }) }, atDecode, shard0, "block 0", headerEnd + 16, headerEnd + 16, false},
	{"block: row length with crc", func(v victim) { v.forge(shard0, func(b []byte) { block(b, 0)[19] ^= 1 }) }, atDecode, shard0, "block 0", headerEnd + 16, headerEnd + 100, false},
	{"block: column beyond cols with crc", func(v victim) {
		v.forge(shard0, func(b []byte) {
			x := block(b, 0) // a gap grows by setting the high bits of some packed group
			lens := int(binary.LittleEndian.Uint32(x[8:]))
			for i := range 40 {
				x[16+lens+2+i] = 0xff
			}
		})
	}, atDecode, shard0, "block 0", headerEnd + 16, 70_000, false},
	{"block: table index with crc", func(v victim) {
		v.forge(shard0, func(b []byte) { x := block(b, 0); x[len(x)-5] = 0xa3 })
	}, atDecode, shard0, "block 0", headerEnd + 1000, -1, false},

	{"footer: bit flip", func(v victim) { v.flip(shard0, -csr.TrailerSize-10) }, atOpen, shard0, "footer", 100_000, -1, false},
	{"footer: zero fill", func(v victim) { v.zero(shard1, -csr.TrailerSize-2*csr.FooterRecord, -csr.TrailerSize) }, atOpen, shard1, "footer", 100_000, -1, false},
	{"footer: records swapped with crc", func(v victim) {
		v.forge(shard0, func(b []byte) {
			r, s := blockRecord(b, 0), blockRecord(b, 1)
			x := slices.Clone(r)
			copy(r, s)
			copy(s, x)
		})
	}, atOpen, shard0, "footer", 100_000, -1, false},
	{"footer: first_row with crc", func(v victim) { v.forge(shard0, func(b []byte) { blockRecord(b, 1)[8]++ }) }, atOpen, shard0, "footer", 100_000, -1, false},
	{"footer: huge nnz with crc", func(v victim) {
		v.forge(shard2, func(b []byte) { binary.LittleEndian.PutUint32(blockRecord(b, 0)[20:], math.MaxUint32) })
	}, atOpen, shard2, "footer", 10_000, -1, false},
	{"footer: block size with crc", func(v victim) { v.forge(shard0, func(b []byte) { blockRecord(b, 1)[24]++ }) }, atOpen, shard0, "footer", 100_000, -1, false},

	{"trailer: bit flip", func(v victim) { v.flip(shard0, -20) }, atOpen, shard0, "trailer", -32, -1, false},
	{"trailer: bit flip in magic", func(v victim) { v.flip(shard1, -1) }, atOpen, shard1, "trailer", -32, -1, false},
	{"trailer: zero fill", func(v victim) { v.zero(shard2, -32, -1) }, atOpen, shard2, "trailer", -32, -1, false},
	{"trailer: version 2 with crc", func(v victim) { v.forge(shard2, func(b []byte) { b[len(b)-16] = 2 }) }, atOpen, shard2, "", 0, 0, true},

	{"ids: missing", func(v victim) { os.Remove(v.file("rows.ids")) }, atOpen, "rows.ids", "file", nowhere, nowhere, false},
	{"ids: truncation", func(v victim) { v.truncate("cols.ids", 5) }, atOpen, "cols.ids", "ids", -8, -1, false},
	{"ids: bit flip in magic", func(v victim) { v.flip("rows.ids", 2) }, atIDs, "rows.ids", "ids", 0, 8, false},
	{"ids: bit flip in a number", func(v victim) { v.flip("rows.ids", csr.IDsHeaderSize+20) }, atIDs, "rows.ids", "ids", 0, -1, false},
	{"ids: bit flip in a text", func(v victim) { v.flip("cols.ids", csr.IDsHeaderSize+8) }, atIDs, "cols.ids", "ids", 0, -1, false},
	{"ids: bit flip in count", func(v victim) { v.flip("rows.ids", -8) }, atIDs, "rows.ids", "ids", -8, -1, false},
	{"ids: zero fill", func(v victim) { v.zero("cols.ids", 100, 4000) }, atIDs, "cols.ids", "ids", 90, 110, false},
	{"ids: swapped files", func(v victim) { v.swapFiles("rows.ids", "cols.ids") }, atOpen, "rows.ids", "ids", 0, 1 << 40, false},
	{"ids: version with crc", func(v victim) {
		v.forgeIDs("rows.ids", func(b []byte) []byte { b[8] = 2; return b })
	}, atIDs, "rows.ids", "", 0, 0, true},
	{"ids: kind with crc", func(v victim) {
		v.forgeIDs("rows.ids", func(b []byte) []byte { b[12] = 1; return b })
	}, atIDs, "rows.ids", "ids", 12, 12, false},
	{"ids: order with crc", func(v victim) {
		v.forgeIDs("cols.ids", func(b []byte) []byte {
			return bytes.Replace(b, []byte{9, 1, '7'}, []byte{9, 1, '4'}, 1)
		})
	}, atIDs, "cols.ids", "ids", 20, 60, false},
	{"ids: one too many with crc", func(v victim) {
		v.forgeIDs("rows.ids", func(b []byte) []byte { return slices.Insert(b, len(b)-8, 3) })
	}, atIDs, "rows.ids", "ids", -9, 1 << 40, false},
	{"ids: number of 70 bits with crc", func(v victim) {
		v.forgeIDs("rows.ids", func(b []byte) []byte {
			copy(b[csr.IDsHeaderSize+5:], bytes.Repeat([]byte{0xff}, 11))
			return b
		})
	}, atIDs, "rows.ids", "ids", csr.IDsHeaderSize, 40, false},
	{"ids: id beyond 64 bits with crc", func(v victim) {
		v.forgeIDs("rows.ids", func(b []byte) []byte {
			copy(b[csr.IDsHeaderSize+5:], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
			return b
		})
	}, atIDs, "rows.ids", "ids", csr.IDsHeaderSize, 40, false},
}

// TestCorruption damages a store in every way of the table: Check must report the damage at the
// right place, and a reader must get an error before it gets wrong data.
func TestCorruption(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "sound.csr")
	writeVictim(t, sound, 1)
	requireSound(t, sound)
	if m := open(t, sound).Manifest(); len(m.Shards) != 3 || m.Shards[0].Blocks != 2 || m.Shards[1].Blocks != 2 || m.Shards[2].Blocks != 1 {
		t.Fatalf("the store to damage has shards %+v", m.Shards)
	}
	for _, c := range damageCases {
		t.Run(c.name, func(t *testing.T) {
			v := victim{t, filepath.Join(t.TempDir(), "x.csr")}
			must.Do(t, os.CopyFS(v.path, os.DirFS(sound)))
			fi := must.Get(os.Stat(filepath.Join(sound, c.file)))(t)
			size := fi.Size()
			c.do(v)

			report, err := csr.Check(t.Context(), v.path, csr.CheckOptions{})
			if err != nil || len(report.Problems) == 0 {
				t.Fatalf("check reports %v, %v", report.Problems, err)
			}
			requireProblem(t, report.Problems, c, size)
			quick, err := csr.Check(t.Context(), v.path, csr.CheckOptions{Quick: true})
			if found := len(quick.Problems) > 0; err != nil || found != (c.when == atOpen || c.when == atIDs) {
				t.Errorf("check --quick reports %v, %v", quick.Problems, err)
			}
			at, err := readAll(v.path)
			if at != c.when {
				t.Fatalf("a reader is told %v at %d, want at %d", err, at, c.when)
			}
			if err != nil {
				requireProblem(t, []error{err}, c, size)
			}
		})
	}
}

// requireProblem checks that one of the errors is the problem of the case.
func requireProblem(t *testing.T, errs []error, c damageCase, size int64) {
	t.Helper()
	absolute := func(at int64) int64 {
		switch {
		case at == nowhere:
			return -1
		case at < 0:
			return at + size
		}
		return at
	}
	from, to := absolute(c.from), absolute(c.to)
	for _, err := range errs {
		var bad *csr.CorruptError
		switch {
		case errors.Is(err, csr.ErrVersion):
			if c.version && strings.Contains(err.Error(), ": "+c.file+": unsupported store version ") && strings.Contains(err.Error(), fmt.Sprintf(", this program reads version %d: ", csr.Version)) {
				return
			}
		case errors.As(err, &bad):
			if !c.version && errors.Is(err, csr.ErrCorrupt) && bad.File == c.file &&
				(c.section == "" || bad.Section == c.section) && from <= bad.Offset && bad.Offset <= to {
				return
			}
		}
	}
	t.Errorf("none of %v is in %s, %s, at %d to %d", errs, c.file, c.section, from, to)
}

// readAll reads a store as its users do, and returns the first error and when it occurred.
func readAll(path string) (when, error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return atOpen, err
	}
	defer s.Close()
	var b csr.Block
	for i := range s.NumBlocks() {
		if err := s.DecodeBlock(i, &b); err != nil {
			if len(b.RowPtr)+b.NNZ()+len(b.Code)+len(b.Val) > 0 {
				return atDecode, fmt.Errorf("a block is handed out with %w", err)
			}
			return atDecode, err
		}
	}
	for _, a := range []csr.Axis{csr.RowAxis, csr.ColAxis} {
		if _, err := readIDs(s, a); err != nil {
			return atIDs, err
		}
	}
	return onlyCheck, nil
}

// wholeFS reports for a shard the file information of the sound one, with its size.
type wholeFS struct {
	vfs.FS
	whole fs.FileInfo
}

func (f wholeFS) Stat(name string) (fs.FileInfo, error) {
	if filepath.Base(name) != f.whole.Name() {
		return f.FS.Stat(name)
	}
	return f.whole, nil
}

// TestTruncatedWhileOpen truncates a mapped shard: an error blames the store, or the disk if the shard still reports its size.
func TestTruncatedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on Windows")
	}
	for _, size := range []int64{1000, 0} {
		v, fsys := victim{t, filepath.Join(t.TempDir(), "x.csr")}, vfs.OS()
		writeVictim(t, v.path, 1)
		if size == 0 {
			fsys = wholeFS{fsys, must.Get(os.Stat(v.file(shard0)))(t)}
		}
		s := openWith(t, v.path, fsys)
		var b csr.Block
		must.Do(t, errors.Join(s.DecodeBlock(0, &b), os.Truncate(v.file(shard0), size)))
		err := s.DecodeBlock(1, &b)
		var bad *csr.CorruptError
		switch {
		case size > 0 && (!errors.As(err, &bad) || bad.File != shard0 || bad.Section != "block 1" || bad.Offset != size || b.NNZ() > 0):
			t.Errorf("got %v, with %d columns", err, b.NNZ())
		case size == 0 && (err == nil || errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), shard0+": block 1: the disk did not deliver") || !strings.Contains(err.Error(), "try again")):
			t.Errorf("got %v", err)
		}
		if err := s.DecodeBlock(2, &b); err != nil {
			t.Errorf("the next shard: %v", err)
		}
	}
}

// cuttingFS truncates a shard to its first page after mapping it.
type cuttingFS struct{ vfs.FS }

func (f cuttingFS) Map(name string) (vfs.Mapping, error) {
	m, err := f.FS.Map(name)
	return m, errors.Join(err, os.Truncate(name, int64(os.Getpagesize())))
}

// TestTruncatedWhileOpening checks that the frame of a store is read under guard, too.
func TestTruncatedWhileOpening(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on Windows")
	}
	path := filepath.Join(t.TempDir(), "x.csr")
	writeVictim(t, path, 1)
	_, err := csr.Open(path, csr.OpenOptions{FS: cuttingFS{vfs.OS()}})
	var bad *csr.CorruptError
	if !errors.As(err, &bad) || bad.File != shard0 || bad.Section != "file" || bad.Offset != int64(os.Getpagesize()) {
		t.Errorf("open: %v", err)
	}
	report, err := csr.Check(t.Context(), path, csr.CheckOptions{FS: cuttingFS{vfs.OS()}})
	if err != nil || len(report.Problems) != 3 || !errors.As(report.Problems[1], &bad) || bad.File != shard1 {
		t.Errorf("check: %v, %v", report.Problems, err)
	}
}

// TestCheckFindsAll checks that several damages at once are all reported, in file order, and that
// foreign files give warnings.
func TestCheckFindsAll(t *testing.T) {
	v := victim{t, filepath.Join(t.TempDir(), "x.csr")}
	writeVictim(t, v.path, 1)
	v.flip("cols.ids", 100)
	v.flip(shard2, 12)
	v.flip(shard2, 2000)
	v.edit(shard0, func(b []byte) []byte { block(b, 1)[7] ^= 1; block(b, 0)[7] ^= 1; return b })
	os.Remove(v.file(shard1))
	writeFile(t, v.file("notes.txt"), "x")
	writeFile(t, v.file("MANIFEST.json.tmp"), "x")
	last := int64(0)
	report, err := csr.Check(t.Context(), v.path, csr.CheckOptions{Progress: func(done, total int64) {
		if done < last || done > total {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}})
	must.Do(t, err)
	var got []string
	for _, p := range report.Problems {
		var bad *csr.CorruptError
		if !errors.As(p, &bad) {
			t.Fatal(p)
		}
		got = append(got, bad.File+" "+bad.Section)
	}
	want := []string{shard0 + " block 0", shard0 + " block 1", shard1 + " file", shard2 + " header", shard2 + " block 0", "cols.ids ids"}
	if !slices.Equal(got, want) {
		t.Errorf("problems in %q, want %q", got, want)
	}
	if len(report.Warnings) != 2 || !strings.Contains(report.Warnings[1], "notes.txt") {
		t.Errorf("warnings %q", report.Warnings)
	}
}

// TestMessages checks the texts of two errors.
func TestMessages(t *testing.T) {
	v := victim{t, "ml.csr"}
	t.Chdir(t.TempDir())
	writeVictim(t, v.path, 1)
	v.flip(shard1, 90_000)
	_, err := readAll(v.path)
	want := "store ml.csr: shard-000001.csr: block 0: checksum mismatch at byte 144: the store is damaged; ingest it again"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	v.manifest(func(m *csr.Manifest) { m.Version = 7 })
	_, err = readAll(v.path)
	want = "store ml.csr: MANIFEST.json: unsupported store version 7, this program reads version 1: it needs a newer gdsvd, or ingest it again with this one"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
