package simd

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

// refuse is the reason why a group is not read.
type refuse int

const (
	sound refuse = iota
	bad          // damaged, or too rare for the fast path
	short        // sound, but too close to the end
)

// readGroup decodes one group by FORMAT.md, bit by bit: the oracle.
func readGroup(src []byte) (vals [GroupLen]uint32, used int, _ refuse) {
	if len(src) < 2 {
		return vals, 0, bad
	}
	width, exceptions := int(src[0]), int(src[1])
	if width > maxWidth || exceptions >= GroupLen || len(src) < 2+16*width+2*exceptions {
		return vals, 0, bad
	}
	for i := range width * GroupLen {
		vals[i/width] |= uint32(src[2+i/8]>>(i%8)&1) << (i % width)
	}
	at := 2 + 16*width
	highs, last := at+exceptions, -1
	for _, p := range src[at:highs] {
		high, n := binary.Uvarint(src[highs:])
		if n < 1 || n > 2 || high == 0 || src[highs+n-1] == 0 || high<<width>>32 != 0 || int(p) <= last || p >= GroupLen {
			return vals, 0, bad
		}
		vals[p] |= uint32(high) << width
		last, highs = int(p), highs+n
	}
	if len(src) < at+3*exceptions+16 {
		return vals, highs, short
	}
	return vals, highs, sound
}

// requireGroups compares Groups with the oracle.
func requireGroups(t *testing.T, src []byte, groups int) (read int) {
	t.Helper()
	src = slices.Clip(src)
	dst := slices.Repeat([]uint32{guard}, (groups+1)*GroupLen)
	n, used := Groups(cpu.Best(), dst[:groups*GroupLen], src)
	at := 0
	for g := range groups {
		vals, size, why := readGroup(src[at:])
		if got := g < n/GroupLen; got != (why == sound) {
			t.Fatalf("group %d of %d: read is %v, but the oracle says %d", g, groups, got, why)
		}
		if why != sound {
			break
		}
		if got := dst[g*GroupLen:][:GroupLen]; !slices.Equal(got, vals[:]) {
			t.Fatalf("group %d of width %d with %d exceptions: got %v, want %v", g, src[at], src[at+1], got, vals)
		}
		at += size
	}
	if used != at {
		t.Fatalf("%d bytes used, not %d", used, at)
	}
	for i, x := range dst[groups*GroupLen:] {
		if x != guard {
			t.Fatalf("word %d behind the numbers is %#x", i, x)
		}
	}
	return n / GroupLen
}

// someGroup returns a random sound group.
func someGroup(rng *rand.Rand, width, exceptions int) []byte {
	g := []byte{byte(width), byte(exceptions)}
	for range 16 * width {
		g = append(g, byte(rng.Uint32()))
	}
	at := rng.Perm(GroupLen)[:exceptions]
	slices.Sort(at)
	for _, p := range at {
		g = append(g, byte(p))
	}
	for range exceptions {
		g = binary.AppendUvarint(g, 1+rng.Uint64N(1<<min(14, 32-width)-1)>>rng.IntN(14))
	}
	return g
}

// TestGroups decodes groups of every width with any number of exceptions, then with a bit flipped, and cut.
func TestGroups(t *testing.T) {
	needVectors(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for width := range maxWidth + 1 {
		for exceptions := range GroupLen {
			src := someGroup(rng, width, exceptions)
			first := len(src)
			src = append(src, someGroup(rng, rng.IntN(26), rng.IntN(GroupLen))...)
			src = append(src, make([]byte, 3*GroupLen)...)
			if requireGroups(t, src, 2) != 2 {
				t.Fatalf("width %d, %d exceptions: a sound group is not read", width, exceptions)
			}
			src[rng.IntN(first)] ^= 1 << rng.IntN(8)
			requireGroups(t, src, 2)
			requireGroups(t, src[:rng.IntN(len(src)+1)], 2)
		}
	}
}

// FuzzGroups compares with the oracle for any bytes.
func FuzzGroups(f *testing.F) {
	needVectors(f)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(append(someGroup(rng, rng.IntN(26), rng.IntN(GroupLen)), make([]byte, 400)...), uint8(3))
	}
	f.Fuzz(func(t *testing.T, src []byte, groups uint8) { requireGroups(t, src, int(groups)) })
}
