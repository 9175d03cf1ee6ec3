package ingest

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// naiveGraph returns the sorted entries of the matrix that a list of edges becomes.
func naiveGraph(edges []triple, o Options) []triple {
	type place struct{ row, col string }
	values := map[place][]float64{}
	for _, e := range edges {
		if e.Row == e.Col && o.SelfLoops == LoopsDropped {
			continue
		}
		values[place{e.Row, e.Col}] = append(values[place{e.Row, e.Col}], e.Val)
		if o.Graph == Undirected && e.Row != e.Col {
			values[place{e.Col, e.Row}] = append(values[place{e.Col, e.Row}], e.Val)
		}
	}
	var all []triple
	for p, v := range values {
		e := triple{p.row, p.col, v[0]}
		switch o.Duplicates {
		case Last:
			e.Val = v[len(v)-1]
		case Max:
			e.Val = slices.Max(v)
		case Sum:
			for _, w := range v[1:] {
				e.Val += w
			}
		}
		all = append(all, e)
	}
	slices.SortFunc(all, compareTriples)
	return all
}

// TestGraphs compares stores of directed and undirected graphs with naiveGraph, in memory and with temporary files.
func TestGraphs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for kind, node := range []func(int) string{func(i int) string { return fmt.Sprint(i * 3) }, either} {
		var edges []triple
		var b strings.Builder
		b.WriteString("# Nodes: 40 Edges: 300\n# FromNodeId\tToNodeId\n")
		for range 300 {
			e := triple{node(r.IntN(40)), node(r.IntN(40)), float64(r.IntN(16))}
			edges = append(edges, e)
			fmt.Fprintf(&b, "%s\t%s\t%g\n", e.Row, e.Col, e.Val)
		}
		in := write(t, "edges", b.String())
		for _, graph := range []Graph{Directed, Undirected} {
			for _, dup := range []Duplicates{Sum, First, Last, Max} {
				for _, loops := range []SelfLoops{LoopsKept, LoopsDropped} {
					if kind == 0 && dup != Last || loops == LoopsDropped && dup != Sum { // few combinations suffice
						continue
					}
					o := Options{Graph: graph, Duplicates: dup, SelfLoops: loops, FS: lazyFS{vfs.OS()}}
					want := naiveGraph(edges, o)
					nodes := map[string]bool{}
					for _, e := range want {
						nodes[e.Row], nodes[e.Col] = true, true
					}
					prints := map[string]bool{}
					for _, p := range []plan{mustPlan(t), crowded()} {
						out := target(t)
						rep := must.Get(ingest(t.Context(), []string{in}, out, o.withDefaults(), p))(t)
						if got := contents(t, out); !slices.Equal(got, want) {
							t.Fatalf("%v %v %v: other entries", graph, dup, loops)
						}
						stored := int64(len(want))
						if graph == Undirected {
							for _, e := range want {
								if e.Row == e.Col {
									stored++
								}
							}
							stored /= 2
						}
						given := int64(len(edges))
						if loops == LoopsDropped {
							given -= rep.SelfLoops
						}
						if rep.Rows != int64(len(nodes)) || rep.Cols != rep.Rows || rep.Transposed || rep.Duplicates != given-stored {
							t.Errorf("%v %v %v: %+v", graph, dup, loops, rep)
						}
						prints[rep.Fingerprint] = true
					}
					if len(prints) != 1 {
						t.Errorf("%v %v: by way of the disk another store", graph, dup)
					}
				}
			}
		}
	}
}

// TestGraphsResume: an ingest of a graph, whose rows and columns share one set of ids, can be resumed.
func TestGraphsResume(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	in := write(t, "in", lines(300, func(int) string { return fmt.Sprintf("%s %s", either(r.IntN(90)), either(r.IntN(90))) }))
	u := unlucky{"graph", []string{in}, Options{Graph: Undirected, Duplicates: First}, crowded()}
	if rep := u.resumes(t, nil); rep.IDLists == 0 {
		t.Errorf("%+v", rep)
	}
}

// TestGraphInputs: the symmetry that an input declares is used, and inputs that are no graphs are refused.
func TestGraphInputs(t *testing.T) {
	const sym = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 5\n2 1 2\n3 2 3\n"
	both := []triple{{"0", "0", 5}, {"0", "1", 2}, {"1", "0", 2}, {"1", "2", 3}, {"2", "1", 3}}
	named := []triple{{"a", "b", 3}, {"b", "a", 3}, {"b", "c", 2}, {"c", "b", 2}, {"c", "c", 5}}
	for _, c := range []struct {
		name, in string
		o        Options
		want     []triple
		says     string
	}{
		{"symmetric, directed", sym, Options{Graph: Directed}, both, ""},
		{"symmetric, undirected", sym, Options{Graph: Undirected}, both, ""},
		{"general, undirected", strings.Replace(sym, "symmetric", "general", 1), Options{Graph: Undirected}, both, ""},
		{"with ids", sym, Options{Graph: Undirected, RowIDs: "c\nb\na\n"}, named, ""},
		{"loops dropped", sym, Options{Graph: Undirected, SelfLoops: LoopsDropped}, both[1:], ""},
		{"loops refused", sym, Options{Graph: Directed, SelfLoops: LoopsError}, nil, `:3: node "1": an edge from a node to itself`},
		{"loops refused in text", "a b\nb c\nc c\n", Options{Header: format.HeaderNo, Graph: Directed, SelfLoops: LoopsError}, nil, `:3: node "c": an edge from a node to itself`},
		{"not square", mmReal + "2 3 1\n1 1 1\n", Options{Graph: Directed}, nil, "the matrix of a graph is square: 2 × 3"},
		{"skew", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n", Options{Graph: Undirected}, nil, "is no undirected graph"},
		{"both directions", "a b\nb c\nb a\n", Options{Header: format.HeaderNo, Graph: Undirected}, nil, ":3: row a, column b: more than one entry (the first is at "},
		{"twice in a symmetric file", sym[:len(sym)-6] + "2 1 2\n", Options{Graph: Undirected}, nil, ":5: row 1, column 2: more than one entry (the first is at "},
		{"both directions, directed", "a b\nb c\nb a\n", Options{Header: format.HeaderNo, Graph: Directed}, []triple{one("a", "b"), one("b", "a"), one("b", "c")}, ""},
		{"nothing but loops", "a a\n", Options{Header: format.HeaderNo, Graph: Undirected, SelfLoops: LoopsDropped}, nil, "no entries"},
		{"loops of no graph", "a a\n", Options{SelfLoops: LoopsDropped}, nil, "say which, directed or undirected"},
		{"ids of columns", sym, Options{Graph: Directed, ColIDs: "x"}, nil, "give ids and titles as those of rows"},
	} {
		if c.o.RowIDs != "" {
			c.o.RowIDs = write(t, "ids", c.o.RowIDs)
		}
		out := target(t)
		_, err := Ingest(t.Context(), []string{write(t, "in", c.in)}, out, c.o)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v, want %s", c.name, err, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := contents(t, out); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSlashdot: the graph read as directed, and as undirected with each of its 504230 edges in both directions.
func TestSlashdot(t *testing.T) {
	in := filepath.Join(dataDir(t), "snap", "soc-Slashdot0902.mtx.gz")
	for _, c := range []struct {
		o   Options
		nnz int64
	}{{Options{Graph: Directed}, 948464}, {Options{Graph: Undirected, Duplicates: First, SelfLoops: LoopsDropped}, 1008460}} {
		out, rep := ingested(t, []string{in}, c.o)
		if rep.Rows != 82168 || rep.Cols != 82168 || rep.NNZ != c.nnz {
			t.Errorf("%v: %d × %d, %d entries, want %d", c.o.Graph, rep.Rows, rep.Cols, rep.NNZ, c.nnz)
		}
		s := must.Get(csr.Open(out, csr.OpenOptions{}))(t)
		if norm := math.Ldexp(s.Norm()); norm != math.Sqrt(float64(c.nnz)) {
			t.Errorf("%v: norm %v", c.o.Graph, norm)
		}
		must.Do(t, s.Close())
	}
}

// TestGraphHint: Ingest and Sniff suggest --graph for pairs of ids of which at least half occur on both sides, but not
// for columns named user and item, pairs with values, or sides with different ids.
func TestGraphHint(t *testing.T) {
	edges := func(header, sep, end string, shift int) string {
		var b strings.Builder
		b.WriteString(header)
		for i := range 40 {
			fmt.Fprintf(&b, "%d%s%d%s\n", i, sep, (7*i+3)%40+shift, end)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text string
		o    Options
		want bool
	}{
		"pairs":                {edges("", " ", "", 0), Options{}, true},
		"from,to":              {edges("from,to\n", ",", "", 0), Options{}, true},
		"as a graph":           {edges("", " ", "", 0), Options{Graph: Directed}, false},
		"user,item":            {edges("user,item\n", ",", "", 0), Options{}, false},
		"with values":          {edges("from,to,weight\n", ",", ",3", 0), Options{}, false},
		"sides of their own":   {edges("", " ", "", 25), Options{}, false},
		"Matrix Market":        {mmReal + "9 9 1\n1 2 1\n", Options{}, false},
		"half of the columns":  {edges("", " ", "", 20), Options{}, true},
		"user,item, then none": {edges("user,item\n", ",", "", 0) + "----\n" + edges("", ",", "", 0), Options{Duplicates: Sum}, false},
		"none, then from,to":   {edges("", ",", "", 0) + "----\n" + edges("from,to\n", ",", "", 0), Options{Duplicates: Sum}, true},
	} {
		var in []string
		for i, text := range strings.Split(c.text, "----\n") {
			in = append(in, write(t, fmt.Sprint("in", i), text))
		}
		var said strings.Builder
		c.o.Log = slog.New(slog.NewTextHandler(&said, nil))
		if _, err := Ingest(t.Context(), in, target(t), c.o); err != nil || strings.Contains(said.String(), "--graph undirected") != c.want {
			t.Errorf("%s: ingest says %q, %v", name, &said, err)
		}
		d, err := Sniff(t.Context(), in, c.o)
		if err != nil || strings.Contains(strings.Join(d.Warnings, ""), "--graph undirected") != c.want {
			t.Errorf("%s: sniff says %q, %v", name, d.Warnings, err)
		}
	}
}
