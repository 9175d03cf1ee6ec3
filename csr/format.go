package csr

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/internal/cpu"
)

// The constants of FORMAT.md.
const (
	// Version is the format version written and read.
	Version = 1
	// BlockNNZ and BlockRows are the largest numbers of entries and rows of a block
	// (a single longer row is alone in its block).
	BlockNNZ  = 1 << 17
	BlockRows = 1 << 16
	// DefaultShard is the size in bytes at which a shard ends unless CreateOptions.ShardSize is set.
	DefaultShard = 64 << 20
	// MaxCols is the largest number of columns.
	MaxCols int64 = 1<<32 - 1
	// MaxRows is the largest number of rows.
	MaxRows int64 = 1 << 62

	headerSize      = 64
	blockHeaderSize = 16
	footerRecord    = 32
	trailerSize     = 32
	idsHeaderSize   = 16
	idsTrailerSize  = 8

	shardMagic   = "GDSVDCSR"
	trailerMagic = "RSCDVSDG"
	idsMagic     = "GDSVDIDS"

	// maxExpansion is the largest number of entries per byte of a valid block.
	maxExpansion = 64
	// maxBlockSize is the largest size in bytes of an encoded block.
	maxBlockSize = math.MaxUint32
)

var le = binary.LittleEndian

func crcOf(b []byte) uint32 { return addCRC(0, b) }

func addCRC(sum uint32, b []byte) uint32 { return codec.CRC(cpu.Best(), sum, b) }

func shardName(i int) string { return fmt.Sprintf("shard-%06d.csr", i) }

// shardHeader is the header of a shard, FORMAT.md "Header".
func shardHeader(shard int, cols, firstRow int64, v Values) []byte {
	h := le.AppendUint32([]byte(shardMagic), Version)
	h = le.AppendUint32(h, uint32(shard))
	h = le.AppendUint64(h, uint64(cols))
	h = le.AppendUint64(h, uint64(firstRow))
	h = append(h, byte(v.Coding.number()), 0)
	h = le.AppendUint16(h, uint16(len(v.Table)))
	h = append(h, make([]byte, headerSize-36)...)
	for _, x := range v.Table {
		h = le.AppendUint64(h, math.Float64bits(x))
	}
	le.PutUint32(h[60:], headerCRC(h))
	return h
}

// headerCRC covers everything in the header but the crc itself.
func headerCRC(h []byte) uint32 {
	return addCRC(crcOf(h[:60]), h[headerSize:])
}

// blockMeta is a footer record, FORMAT.md "Footer".
type blockMeta struct {
	offset   int64
	firstRow int64
	rows     uint32
	nnz      uint32
	size     uint32
	crc      uint32
}

func (m *blockMeta) append(dst []byte) []byte {
	dst = le.AppendUint64(dst, uint64(m.offset))
	dst = le.AppendUint64(dst, uint64(m.firstRow))
	dst = le.AppendUint32(dst, m.rows)
	dst = le.AppendUint32(dst, m.nnz)
	dst = le.AppendUint32(dst, m.size)
	return le.AppendUint32(dst, m.crc)
}

// footerCRC covers the footer and, through the header's crc, the header.
func footerCRC(footer []byte, header uint32) uint32 {
	return addCRC(crcOf(footer), le.AppendUint32(nil, header))
}

func appendTrailer(dst []byte, footerOffset int64, blocks int, footer uint32) []byte {
	start := len(dst)
	dst = le.AppendUint64(dst, uint64(footerOffset))
	dst = le.AppendUint32(dst, uint32(blocks))
	dst = le.AppendUint32(dst, footer)
	dst = le.AppendUint32(dst, Version)
	dst = le.AppendUint32(dst, crcOf(dst[start:]))
	return append(dst, trailerMagic...)
}
