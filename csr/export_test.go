package csr

import (
	"encoding/json"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/crc"
)

// Sizes for the tests of damage.
const (
	HeaderSize    = headerSize
	FooterRecord  = footerRecord
	TrailerSize   = trailerSize
	IDsHeaderSize = idsHeaderSize
	MaxIDLen      = maxIDLen
)

// CorruptError is corruptError.
type CorruptError = corruptError

// SetAvailable makes Check assume n bytes of available memory.
func SetAvailable(t *testing.T, n int64) {
	was := available
	t.Cleanup(func() { available = was })
	available = func() int64 { return n }
}

// ErrNorm is errNorm.
var ErrNorm = errNorm

// DecodeWith sets the instructions that decode blocks.
func (s *Store) DecodeWith(l cpu.Level) { s.dec.level = l }

// VerifyBlock checks only the crc of block i.
func (s *Store) VerifyBlock(i int) error {
	b := &s.blocks[i]
	data, err := s.shards[s.shardOf[i]].m.Bytes(b.offset, int64(b.size), true)
	if err == nil && crcOf(data) != b.crc {
		err = crc.ErrMismatch
	}
	return err
}

// RepairShard recomputes every crc of a shard. It returns that of the footer, and false if the
// bytes have no recognisable frame.
func RepairShard(b []byte) (footer crc.Sum, ok bool) {
	if len(b) < headerSize+trailerSize {
		return 0, false
	}
	table := int(le.Uint16(b[34:]))
	t := b[len(b)-trailerSize:]
	at, blocks := le.Uint64(t), uint64(le.Uint32(t[8:]))
	headerEnd := headerSize + 8*table
	end := uint64(len(b) - trailerSize)
	if headerEnd > int(end) || at < uint64(headerEnd) || at > end || end-at != footerRecord*blocks {
		return 0, false
	}
	le.PutUint32(b[60:], headerCRC(b[:headerEnd]))
	for r := b[at:end]; len(r) > 0; r = r[footerRecord:] {
		off, size := le.Uint64(r), uint64(le.Uint32(r[24:]))
		if off <= at && size <= at-off {
			le.PutUint32(r[28:], crcOf(b[off:off+size]))
		}
	}
	sum := footerCRC(b[at:end], le.Uint32(b[60:]))
	le.PutUint32(t[12:], sum)
	le.PutUint32(t[20:], crcOf(t[:20]))
	return crc.Sum(sum), true
}

// RepairManifest recomputes the crc at the end of a manifest.
func RepairManifest(b []byte) {
	at := len(b) - len("00000000\"\n}\n")
	if at < 0 {
		return
	}
	copy(b[at:], "00000000")
	copy(b[at:], crc.Sum(crcOf(b)).String())
}

// EditManifest decodes a manifest, changes it, and encodes it with a new crc.
func EditManifest(b []byte, edit func(*Manifest)) []byte {
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		panic(err)
	}
	edit(m)
	b, err := m.encode()
	if err != nil {
		panic(err)
	}
	return b
}

// Reseal makes a manifest agree with changed shards as far as possible: their crcs, sizes, and the
// fingerprint over the footers.
func Reseal(manifest []byte, shards ...[]byte) []byte {
	return EditManifest(manifest, func(m *Manifest) {
		var blocks []blockMeta
		for i, b := range shards {
			crc, ok := RepairShard(b)
			if !ok {
				continue
			}
			m.Shards[i].CRC, m.Shards[i].Size = crc, int64(len(b))
			at := le.Uint64(b[len(b)-trailerSize:])
			for r := b[at : len(b)-trailerSize]; len(r) > 0; r = r[footerRecord:] {
				blocks = append(blocks, blockMeta{
					firstRow: int64(le.Uint64(r[8:])), rows: le.Uint32(r[16:]), nnz: le.Uint32(r[20:]),
					size: le.Uint32(r[24:]), crc: le.Uint32(r[28:]),
				})
			}
		}
		m.Fingerprint = fingerprint(m, blocks)
	})
}

// DecodeManifest is decodeManifest.
var DecodeManifest = decodeManifest

// CRC returns the checksum of the format.
func CRC(b []byte) crc.Sum { return crc.Sum(crcOf(b)) }

// FollowShard makes the manifest of a store with one shard agree with the footer of that shard, so
// that fuzzing gets past the checksums.
func FollowShard(manifest, shard []byte) []byte {
	manifest = Reseal(manifest, shard)
	return EditManifest(manifest, func(m *Manifest) {
		if _, ok := RepairShard(shard); !ok {
			return
		}
		s := &m.Shards[0]
		s.Rows, s.NNZ, s.Blocks = 0, 0, 0
		m.MaxBlock = MaxBlock{}
		var blocks []blockMeta
		for r := shard[le.Uint64(shard[len(shard)-trailerSize:]) : len(shard)-trailerSize]; len(r) > 0; r = r[footerRecord:] {
			b := blockMeta{firstRow: int64(le.Uint64(r[8:])), rows: le.Uint32(r[16:]), nnz: le.Uint32(r[20:]), size: le.Uint32(r[24:]), crc: le.Uint32(r[28:])}
			blocks = append(blocks, b)
			s.Rows, s.NNZ, s.Blocks = s.Rows+int64(b.rows), s.NNZ+int64(b.nnz), s.Blocks+1
			m.MaxBlock.include(&b)
		}
		m.Rows, m.NNZ = s.Rows, s.NNZ
		m.Fingerprint = fingerprint(m, blocks)
	})
}

// Allocated is allocated.
var Allocated = allocated
