package npz

import (
	"fmt"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// pointers reads the array indptr: the entries of line i have the numbers indptr[i] to indptr[i+1]−1.
type pointers struct {
	*member
	n      int64 // entries
	line   int64 // line whose entries come next; −1 before the first
	lines  int64
	left   int64 // entries of the line still to come
	before int64 // pointer to the end of the line
	buf    []byte
	block  []int64
	some   []int64 // pointers of block not yet used
	used   int64   // number of pointers used
}

const pointerBlock = 1 << 12

func (a *archive) openPointers(lines, n int64) (*pointers, error) {
	m, err := a.vector("indptr", true)
	if err != nil {
		return nil, err
	}
	if m.len() != lines+1 {
		return nil, m.fail(m.name, 0, fmt.Errorf("%w: %d pointers for %d lines; one more is wanted", format.ErrCount, m.len(), lines))
	}
	p := &pointers{member: m, n: n, line: -1, lines: lines, buf: make([]byte, pointerBlock*m.kind.Size), block: make([]int64, pointerBlock)}
	first, err := p.next()
	if err == nil && first != 0 {
		err = p.bad("the first pointer is %d, not 0", first)
	}
	return p, err
}

func (p *pointers) bad(what string, args ...any) error {
	at := p.head.Size + (p.used-1)*int64(p.kind.Size)
	return p.fail(p.name, at, fmt.Errorf("%w: "+what, append([]any{format.ErrCount}, args...)...))
}

func (p *pointers) next() (int64, error) {
	if len(p.some) == 0 {
		n := min(pointerBlock, p.lines+1-p.used)
		b := p.buf[:n*int64(p.kind.Size)]
		if err := p.read(b); err != nil {
			return 0, err
		}
		p.some = p.block[:n]
		p.kind.Ints(p.some, b)
	}
	v := p.some[0]
	p.some = p.some[1:]
	p.used++
	return v, nil
}

func (p *pointers) step() error {
	end, err := p.next()
	switch {
	case err != nil:
		return err
	case end < p.before:
		return p.bad("pointer %d after %d: they may not descend", end, p.before)
	case end > p.n:
		return p.bad("pointer %d behind the last of %d entries", end, p.n)
	}
	p.line++
	p.left, p.before = end-p.before, end
	return nil
}

func (p *pointers) take(n int64, run func(line, entries int64)) error {
	for n > 0 {
		for p.left == 0 {
			if p.line == p.lines-1 {
				return p.bad("the last pointer is %d, there are %d entries; x.prune() makes them agree", p.before, p.n)
			}
			if err := p.step(); err != nil {
				return err
			}
		}
		k := min(n, p.left)
		run(p.line, k)
		n, p.left = n-k, p.left-k
	}
	return nil
}

// end reads the pointers of the empty lines after the last entry.
func (p *pointers) end() error {
	for p.line < p.lines-1 {
		if err := p.step(); err != nil {
			return err
		}
	}
	return p.member.end()
}
