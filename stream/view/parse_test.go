package view

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"bm25":                                "bm25=100,0.8",
		" bm25 = 1.20 , 0.75 ":                "bm25=1.2,0.75",
		"binary>=4":                           "binary>=4",
		"binary >= 4.0|sqrt":                  "binary>=4 · sqrt",
		"lsi":                                 "tfidf=smooth:yes,norm:l2",
		"tfidf=norm:none,sublinear,smooth:no": "tfidf=sublinear,smooth:no,norm:none",
		"tfidf=gensim":                        "tfidf=gensim",
		"pca-scaled":                          "center=columns · scale=columns,ddof:0",
		"single-cell":                         "normalize=rows,total:median · log1p · center=columns",
		"normalize=rows,total:1e4 · log1p · center=columns": "normalize=rows,total:10000 · log1p · center=columns",
		"recsys|multiply=-0":       "binary · normalize=rows,l2 · weight=columns,count:-0.3 · multiply=0",
		"bias=both,damping:5":      "bias=both,damping:5",
		"clip=-2,3":                "clip=-2,3",
		"ppmi":                     "ppmi=1",
		"laplacian=2 · multiply=3": "laplacian=2 · multiply=3",
		"spectral":                 "laplacian=0",
		"keep=columns,genes.txt":   "keep=columns,genes.txt",
		"keep=columns,hvg:2e3":     "keep=columns,hvg:2000,flavor:seurat",
		"drop = columns, count < 3 | keep=flavor:cell_ranger,hvg:5,columns · pca": "drop=columns,count<3 · keep=columns,hvg:5,flavor:cell_ranger · center=columns",
		"keep=columns,sha256:00112233445566778899aabbccddeeff":                    "keep=columns,sha256:00112233445566778899aabbccddeeff",
	} {
		p, err := Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%q is %q, %v, want %q", text, p, err, want)
		}
		if again, err := Parse(p.String()); err != nil || !slices.Equal(again, p) {
			t.Errorf("%q is read back as %q, %v", p, again, err)
		}
	}
	p, err := Parse("# cells\nnormalize=total:10000,rows\n\nlog1p # natural\ncenter=columns\n")
	if want := "normalize=rows,total:10000 · log1p · center=columns"; err != nil || p.String() != want {
		t.Errorf("lines: %q, %v", p, err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text       string
		line, byte int
		says       string
	}{
		{"", 1, 1, "there are no steps; steps: binary"},
		{"# nothing", 1, 1, "there are no steps"},
		{"bm52", 1, 1, `"bm52": there is no such step; steps: binary clip`},
		{"log1p | | sqrt", 1, 9, "a step is missing"},
		{"log1p · normalise=rows", 1, 10, "no such step"},
		{"log1p\nsqrt · power=0", 2, 15, "P is a number above 0"},
		{"pca=3", 1, 1, "preset pca takes nothing after it; it is center=columns"},
		{"normalize", 1, 1, "one of rows, columns is missing; want normalize="},
		{"normalize=rows,l3", 1, 16, `"l3": unknown parameter`},
		{"scale=columns,max:10", 1, 19, `"10": scale=columns | clip=-10,10 bounds what is scaled, before any centring`},
		{"normalize=rows,total:0", 1, 22, "T is a number above 0"},
		{"normalize=rows,,l2", 1, 1, "a parameter is missing"},
		{"clip=1,2", 1, 6, "LO is a number not above 0"},
		{"clip=-1", 1, 1, "HI is missing"},
		{"clip=0,inf", 1, 8, "HI is a number not below 0, since zeros stay zero, and finite; want"},
		{"clip=0,1e999", 1, 8, "and finite; want"},
		{"bm25=NaN,1", 1, 6, "K1 is a number"},
		{"bm25=1,Inf", 1, 8, "B is a number"},
		{"power=0x1p3", 1, 7, "P is a number"},
		{"binary>=0", 1, 9, "T is a number above 0"},
		{"log1p=2", 1, 7, "unknown parameter; want log1p"},
		{"weight=rows", 1, 1, "what to weight by is missing"},
		{"weight=rows,count:0.5,sum:2", 1, 23, "unknown parameter"},
		{"tfidf=norm:l9", 1, 12, "one of l1, l2, none is missing"},
		{"pca · log1p", 1, 1, "log1p cannot follow center=columns: it would have to be computed for every zero"},
		{"pca · clip=-1,1", 1, 1, "cannot follow"},
		{"pca · bm25", 1, 1, "sums over the entries"},
		{"pca · pca", 1, 1, "a view centres its columns once"},
		{"center=rows · center=both", 1, 1, "a view centres its rows once"},
		{"correspondence · scale=columns", 1, 1, "nothing but a multiple"},
		{"keep", 1, 1, "one of columns, rows is missing"},
		{"keep=columns", 1, 1, "which columns is missing; want keep=columns|rows,FILE or"},
		{"keep=columns,hvg:0", 1, 18, "a whole number above 0"},
		{"keep=columns,hvg:2.5", 1, 18, "a whole number above 0"},
		{"keep=columns,hvg:2,flavor:seurat_v3", 1, 27, "one of seurat, cell_ranger is missing"},
		{"keep=columns,a,b", 1, 16, "unknown parameter"},
		{"keep=columns,sha256:12", 1, 14, "a checksum has 32 digits"},
		{"drop=columns,count>3", 1, 1, "which columns is missing; want drop=columns|rows,count<N"},
		{"drop=columns,countries<3", 1, 1, "which columns is missing"},
		{"drop=columns,count<0", 1, 20, "N is a number above 0"},
		{"pca · keep=columns,hvg:5", 1, 1, "sums over the entries"},
		{"drop=columns,count<3 · center=both", 1, 1, "it would fill the columns that are not kept"},
		{"drop=rows,count<3 · pca", 1, 1, "it would fill the rows that are not kept"},
		{"keep=columns,genes.txt · laplacian=1", 1, 1, "it would fill the columns that are not kept"},
		{strings.Repeat("sqrt|", 64) + "sqrt", 1, 321, "64 steps at most"},
	} {
		p, err := Parse(c.text)
		var e *parseError
		if !errors.As(err, &e) || e.Line != c.line || e.Byte != c.byte || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %q, %v; want line %d, byte %d, %q", c.text, p, err, c.line, c.byte, c.says)
		}
	}
}

func FuzzParse(f *testing.F) {
	for name, p := range presets {
		f.Add(name)
		f.Add(p)
	}
	f.Add("binary>=4|clip=-1,2 · power=2\nweight=rows,sum:1 # c")
	f.Add("keep=columns,a b=c.txt|keep=columns,hvg:20,flavor:cell_ranger·drop=columns,count<1.5·keep=columns,sha256:00112233445566778899aabbccddeeff")
	f.Add("tfidf=norm:none,sublinear,smooth:no·laplacian=1e-300")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var e *parseError
			if !errors.As(err, &e) || e.Line < 1 || e.Byte < 1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := Parse(p.String()); err != nil || !slices.Equal(again, p) {
			t.Fatalf("%q is %q, read back as %q, %v", text, p, again, err)
		}
	})
}
