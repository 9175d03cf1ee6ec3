package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// rewrite replaces the content of a file by change of it.
func rewrite(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, change(bytes.Clone(b)), 0o666)
	}
	must.Do(t, err)
}

// TestCheckMissesResultJSON: check reports a result without result.json.
func TestCheckMissesResultJSON(t *testing.T) {
	dir, _ := factorised(t, ingested(t, tall), "-k", "2")
	must.Do(t, os.Remove(filepath.Join(dir, factor.ResultFile)))
	if o := gdsvd(t, "check", "-q", dir); o.code != ui.ExitCorrupt || !strings.Contains(o.stdout, "result.json: it is missing beside events.jsonl") {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestResumeWithoutEvents: a resumed run warns if the record of earlier events is missing.
func TestResumeWithoutEvents(t *testing.T) {
	store := ingested(t, tall)
	dir := stopped(t, store, "-k", "2", "--method", "power", "--max-passes", "3")
	must.Do(t, os.Remove(filepath.Join(dir, "checkpoint.jsonl")))
	o := gdsvd(t, "svd", store, "-o", dir, "-k", "2", "--method", "power", "--resume")
	if o.code != ui.ExitOK || !strings.Contains(o.stderr, "events.jsonl will lack passes before this") {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
}

// TestCheckFindsEveryDamage: check names the file if a byte of a result or checkpoint is changed,
// or the file is cut short.
func TestCheckFindsEveryDamage(t *testing.T) {
	t.Parallel()
	store := ingested(t, tall)
	whole, _ := factorised(t, store, "-k", "2")
	unfinished := stopped(t, store, "-k", "2", "--method", "power", "--max-passes", "3")
	short := !longtest.On() || raceDetector
	for _, dir := range []string{whole, unfinished} {
		sound := func() {
			o := gdsvd(t, "check", dir)
			if want := map[string]int{whole: ui.ExitOK, unfinished: ui.ExitNotConverged}[dir]; o.code != want || !strings.Contains(o.stdout, "is sound") {
				t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
		}
		sound()
		for _, file := range names(t, dir) {
			name := filepath.Join(dir, file)
			good := must.Get(os.ReadFile(name))(t)
			silent, tried := 0, 0
			// The command runs for one damage in sixteen, check.Result for the others.
			try := func(what string, b []byte) {
				must.Do(t, os.WriteFile(name, b, 0o666))
				o := ran{code: ui.ExitCorrupt}
				if tried++; short || tried%16 == 0 {
					o = gdsvd(t, "check", "-q", dir)
				} else if r, err := check.Result(t.Context(), dir, check.Options{Memory: 1 << 30}); err != nil || !errors.Is(r.Err(), csr.ErrCorrupt) {
					o.stdout = fmt.Sprint(err)
				} else {
					o.stdout = messages(r.Problems)[0]
				}
				if lines := strings.Split(o.stdout, "\n"); o.code != ui.ExitCorrupt || !strings.HasPrefix(lines[0], name+": ") && !strings.HasPrefix(lines[0], name+" is damaged: ") && !strings.HasPrefix(lines[0], "read "+name+": ") {
					if silent++; silent < 4 {
						t.Errorf("%s: %s: exit %d\n%s%s", file, what, o.code, o.stdout, o.stderr)
					}
				}
			}
			for i := range good {
				// A third of the bytes of headers, ends and result.json, fewer of the others.
				if structure := i < 128 || i >= len(good)-32 || file == factor.ResultFile; i%3 != 0 || !structure && i%41 != 0 || short && i%211 != 0 {
					continue
				}
				b := bytes.Clone(good)
				b[i] ^= 1 << (i % 8)
				try(fmt.Sprintf("bit %d of byte %d", i%8, i), b)
				if i%96 == 0 {
					try(fmt.Sprintf("cut at %d", i), good[:i])
				}
			}
			try("longer", append(bytes.Clone(good), '\n'))
			if silent > 0 {
				t.Errorf("%s: %d silent", file, silent)
			}
			must.Do(t, os.Remove(name))
			if o := gdsvd(t, "check", "-q", dir); o.code != ui.ExitCorrupt && !strings.HasPrefix(file, checkpointFile) && file != factor.ResultFile {
				t.Errorf("%s missing: exit %d\n%s%s", file, o.code, o.stdout, o.stderr)
			}
			must.Do(t, os.WriteFile(name, good, 0o666))
		}
		sound()
	}
}

// TestResultIsSealed computes the checksums of RESULT.md from the bytes alone.
func TestResultIsSealed(t *testing.T) {
	for _, flags := range [][]string{{}, {"--vectors", "none"}, {"--vectors", "left"}} {
		dir, r := factorised(t, ingested(t, wide), append(flags, "-k", "3")...)
		table := crc32.MakeTable(crc32.Castagnoli) // the standard library, not package crc
		var listed []string
		for _, part := range r.Files {
			b, err := os.ReadFile(filepath.Join(dir, part.Name))
			if err != nil || int64(len(b)) != part.Size || crc32.Checksum(b, table) != uint32(part.CRC) {
				t.Errorf("%s: %d bytes, %08x, %v; listed as %+v", part.Name, len(b), crc32.Checksum(b, table), err, part)
			}
			listed = append(listed, part.Name)
		}
		if all := slices.Sorted(slices.Values(append(listed, factor.ResultFile))); !slices.Equal(all, names(t, dir)) {
			t.Errorf("listed are %v, there are %v", listed, names(t, dir))
		}
		text := must.Get(os.ReadFile(filepath.Join(dir, factor.ResultFile)))(t)
		tail := regexp.MustCompile(`"crc": "([0-9a-f]{8})"\n}\n$`).FindSubmatchIndex(text)
		if tail == nil {
			t.Fatalf("result.json ends with\n%s", text[len(text)-40:])
		}
		said := string(text[tail[2]:tail[3]])
		copy(text[tail[2]:], "00000000")
		if got := fmt.Sprintf("%08x", crc32.Checksum(text, table)); got != said {
			t.Errorf("result.json has the checksum %s and says %s", got, said)
		}
	}
}

// TestCheckWithoutDescription: check refuses files without the description beside them, and a result that says that it
// has not converged.
func TestCheckWithoutDescription(t *testing.T) {
	store := ingested(t, tall)
	dir, _ := factorised(t, store, "-k", "2")
	projection := filepath.Join(t.TempDir(), "p")
	succeeds(t, "project", "-q", dir, store, "-o", projection)
	unfinished := stopped(t, store, "-k", "2", "--method", "power", "--max-passes", "3")
	fails(t, ui.ExitNotConverged, `has not converged: its status is "pass-limit"`, "check", "-q", unfinished)
	for file, in := range map[string]string{factor.ResultFile: dir, "projection.json": projection, csr.ManifestName: store} {
		must.Do(t, os.Remove(filepath.Join(in, file)))
		if o := gdsvd(t, "check", "-q", in); o.code != ui.ExitCorrupt || !strings.Contains(o.stdout+o.stderr, file) || strings.Contains(o.stdout, "sound") {
			t.Errorf("%s is gone: exit %d\n%s%s", file, o.code, o.stdout, o.stderr)
		}
	}
}

// TestCheckStatements: check finds statements of result.json that contradict each other, under a right checksum.
func TestCheckStatements(t *testing.T) {
	store := ingested(t, tall)
	for _, c := range []struct{ old, new, want string }{
		{`"k": 3`, `"k": 4`, `result.json: sigma, residual: 3 and 3 numbers, k is 4`},
		{`"rows": 90`, `"rows": 91`, `U.npy: shape 90×3: its vectors have 90 entries, the matrix has 91 rows`},
		{`"cols": 40`, `"cols": 39`, `V.npy: shape 40×3: its vectors have 40 entries, the matrix has 39 columns`},
		{`"floor": [`, `"floor": [1e-15,`, `result.json: floor: 4 numbers, k is 3`},
		{`"converged": 3`, `"converged": 9`, `result.json: converged, rank: 9 and 3, k is 3`},
		{`"vectors": "both"`, `"vectors": "left"`, `result.json: files: V.npy is listed, settings.vectors is "left"`},
		{`"sigma": [`, `"sigma": [1e9,2,3],"x":[`, `result.json: sigma: value 0 is 1e\+09, [0-9.]+ in sigma.npy`},
	} {
		dir, _ := factorised(t, store, "-k", "3")
		reseal(t, dir, func(b []byte) []byte {
			if !bytes.Contains(b, []byte(c.old)) {
				t.Fatalf("no %s in\n%s", c.old, b)
			}
			return bytes.Replace(b, []byte(c.old), []byte(c.new), 1)
		})
		o := gdsvd(t, "check", dir)
		if o.code != ui.ExitCorrupt || !regexp.MustCompile(c.want).MatchString(o.stdout) {
			t.Errorf("%s: exit %d\n%s%s", c.new, o.code, o.stdout, o.stderr)
		}
	}
}

// reseal changes result.json and corrects its checksum.
func reseal(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	rewrite(t, filepath.Join(dir, factor.ResultFile), func(b []byte) []byte {
		b = change(b)
		at := len(b) - len("00000000\"\n}\n")
		copy(b[at:], "00000000")
		copy(b[at:], fmt.Sprintf("%08x", crc.Of(b)))
		return b
	})
}

// TestMeasure compares residuals and orthogonality that check measures with dense matrices, in the user's
// orientation, for both stored orientations and any vectors kept.
func TestMeasure(t *testing.T) {
	for name, g := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		file := ratings(t, g)
		a := denseRatings(t, file)
		store := stored(t, file)
		for _, vectors := range []string{"both", "left", "right"} {
			dir, r := factorised(t, store, "-k", "4", "--vectors", vectors)
			rep := measuredOf(t, ui.ExitOK, dir, "--store", store)
			m := rep.Measured
			if !rep.OK || !rep.Sealed || m.K != 4 || len(m.Misses) != 0 {
				t.Errorf("%s, %s: %+v, %+v", name, vectors, rep, m)
			}
			if want := map[string]int{"tall left": 2, "wide right": 2}[name+" "+vectors]; m.Passes != max(1, want) {
				t.Errorf("%s, %s: %d reads", name, vectors, m.Passes)
			}
			if vectors != "both" {
				continue
			}
			// Changed vectors: the measured residuals are those of a dense computation.
			u, v := loadNPY(t, filepath.Join(dir, leftFile)), loadNPY(t, filepath.Join(dir, rightFile))
			u.Set(3, 1, u.At(3, 1)+1e-4)
			v.Set(5, 2, v.At(5, 2)-1e-3)
			foreign := foreignResult(t, map[string][]byte{"U.npy": npyBytes(u, "<f8", false), "V.npy": npyBytes(v, "<f8", false), "sigma.npy": npyVector(sigmas(r))})
			m = measuredOf(t, ui.ExitOK, foreign, "--store", store).Measured
			left, right, orthU, orthV := residualsOf(a, u, v, sigmas(r))
			for i := range 4 {
				if math.Abs(float64(m.Left[i])-left[i]) > 1e-13 || math.Abs(float64(m.Right[i])-right[i]) > 1e-13 || m.Residual[i] != max(m.Left[i], m.Right[i]) {
					t.Errorf("%s, triplet %d: %v, %v, want %v, %v", name, i, m.Left[i], m.Right[i], left[i], right[i])
				}
			}
			if math.Abs(float64(m.Orthogonality.U)-orthU) > 1e-13 || math.Abs(float64(m.Orthogonality.V)-orthV) > 1e-13 {
				t.Errorf("%s: orthogonality %+v, want %v, %v", name, m.Orthogonality, orthU, orthV)
			}
			fails(t, ui.ExitError, `3 of 4 triplets miss --tol 1e-06|[24] of 4 triplets miss --tol 1e-06, triplet 2 first: its residual is`, "check", foreign, "--store", store, "--tol", "1e-6")
			succeeds(t, "check", "-q", foreign, "--store", store, "--tol", "0.01")
		}
	}
}

func measuredOf(t *testing.T, code int, args ...string) (r resultReport) {
	t.Helper()
	o := gdsvd(t, append([]string{"check", "-q", "--json"}, args...)...)
	if o.code != code {
		t.Fatalf("%v: exit %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
	}
	decode(t, o.stdout, &r)
	if r.Measured == nil {
		t.Fatalf("%v: nothing is measured:\n%s", args, o.stdout)
	}
	return r
}

func sigmas(r factor.Result) (s []float64) {
	for _, x := range r.Sigma {
		s = append(s, float64(x))
	}
	return s
}

// residualsOf computes residuals and orthogonality with dense matrices.
func residualsOf(a, u, v *mat.Dense, sigma []float64) (left, right []float64, orthU, orthV float64) {
	var av, atu mat.Dense
	av.Mul(a, v)
	atu.Mul(a.T(), u)
	for i, s := range sigma {
		var d, e mat.VecDense
		d.AddScaledVec(av.ColView(i), -s, u.ColView(i))
		e.AddScaledVec(atu.ColView(i), -s, v.ColView(i))
		left, right = append(left, mat.Norm(&d, 2)/sigma[0]), append(right, mat.Norm(&e, 2)/sigma[0])
	}
	orth := func(x *mat.Dense) (worst float64) {
		var g mat.Dense
		g.Mul(x.T(), x)
		for i := range sigma {
			for j := range sigma {
				want := 0.0
				if i == j {
					want = 1
				}
				worst = max(worst, math.Abs(g.At(i, j)-want))
			}
		}
		return worst
	}
	return left, right, orth(u), orth(v)
}

// foreignResult writes files into a new directory and returns it.
func foreignResult(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "scipy.svd")
	must.Do(t, os.Mkdir(dir, 0o777))
	for name, b := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	return dir
}

// npyBytes returns m as numpy.save writes it, by the description of the format.
func npyBytes(m mat.Matrix, kind string, fortran bool) []byte {
	r, c := m.Dims()
	return npyShaped(m, fmt.Sprintf("(%d, %d)", r, c), kind, fortran)
}

func npyVector(x []float64) []byte {
	return npyShaped(mat.NewDense(len(x), 1, x), fmt.Sprintf("(%d,)", len(x)), "<f8", false)
}

func npyShaped(m mat.Matrix, shape, kind string, fortran bool) []byte {
	r, c := m.Dims()
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", kind, map[bool]string{true: "True", false: "False"}[fortran], shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	b = append(b, text...)
	for i := range r * c {
		v := m.At(i/c, i%c)
		if fortran {
			v = m.At(i%r, i/r)
		}
		if kind == "<f4" {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

// TestMeasureForeign reads each layout of numpy.save, both sets of names, and values in both orders.
func TestMeasureForeign(t *testing.T) {
	for name, g := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		store := ingested(t, g)
		dir, r := factorised(t, store, "-k", "4")
		u, v := loadNPY(t, filepath.Join(dir, leftFile)), loadNPY(t, filepath.Join(dir, rightFile))
		for _, kind := range []string{"<f8", "<f4"} {
			for _, fortran := range []bool{false, true} {
				for _, ascending := range []bool{false, true} {
					if !longtest.On() && ascending != fortran {
						continue
					}
					s, x, y := sigmas(r), mat.DenseCopyOf(u), mat.DenseCopyOf(v)
					if ascending {
						slices.Reverse(s)
						for j := range 4 {
							x.SetCol(j, mat.Col(nil, 3-j, u))
							y.SetCol(j, mat.Col(nil, 3-j, v))
						}
					}
					for _, files := range []map[string][]byte{
						{"u.npy": npyBytes(x, kind, fortran), "s.npy": npyVector(s), "vt.npy": npyBytes(y.T(), kind, fortran)},
						{"U.npy": npyBytes(x, kind, !fortran), "S.npy": npyShaped(mat.NewDense(4, 1, s), "(4, 1)", "<f8", fortran), "Vh.npy": npyBytes(y.T(), kind, fortran)},
						{"U.npy": npyBytes(x, kind, fortran), "sigma.npy": npyVector(s)},
						{"Vt.npy": npyBytes(y.T(), kind, fortran), "sigma.npy": npyShaped(mat.NewDense(1, 4, s), "(1, 4)", "<f8", fortran)},
					} {
						foreign := foreignResult(t, files)
						if text := succeeds(t, "check", foreign); !strings.Contains(text, "whole and finite") {
							t.Errorf("check says\n%s", text)
						}
						m := measuredOf(t, ui.ExitOK, foreign, "--store", store).Measured
						bound := map[string]float64{"<f8": 2e-8, "<f4": 3e-6}[kind]
						for i, res := range m.Residual {
							if !(float64(res) <= bound) || m.Sigma[i] != r.Sigma[i] {
								t.Errorf("%s, %s, fortran %v, ascending %v, %v: σ %v, residual %v", name, kind, fortran, ascending, len(files), m.Sigma[i], res)
							}
						}
						if m.Stated != nil || m.Tol != nil {
							t.Errorf("somebody states %+v, %v", m.Stated, m.Tol)
						}
					}
				}
			}
		}
	}
}

// TestMeasureRefusals: each error is one line that names the file, the place and a remedy.
func TestMeasureRefusals(t *testing.T) {
	store, other := ingested(t, tall), ingested(t, wide)
	dir, r := factorised(t, store, "-k", "2")
	u, v := loadNPY(t, filepath.Join(dir, leftFile)), loadNPY(t, filepath.Join(dir, rightFile))
	s := npyVector(sigmas(r))
	fails(t, ui.ExitError, `out is a result of another store: its fingerprint is [0-9a-f]{64} \(.*m.csr\), that of .*m.csr is [0-9a-f]{64}\n$`, "check", dir, "--store", other)
	fails(t, ui.ExitUsage, `--tol, --memory and --workers are for a result that is measured: give its --store`, "check", dir, "--tol", "1e-8")
	fails(t, ui.ExitUsage, `--quick is for a store`, "check", dir, "--quick")
	fails(t, ui.ExitUsage, `--tol 7: want a tolerance`, "check", dir, "--store", store, "--tol", "7")
	none, _ := factorised(t, store, "-k", "2", "--vectors", "none")
	succeeds(t, "check", "-q", none)
	fails(t, ui.ExitError, `out holds no singular vectors that could be measured: want U.npy, V.npy or Vt.npy`, "check", none, "--store", store)
	unfinished := stopped(t, store, "-k", "2", "--method", "power", "--max-passes", "3")
	for _, file := range names(t, unfinished) {
		if !strings.HasPrefix(file, checkpointFile) {
			must.Do(t, os.Remove(filepath.Join(unfinished, file)))
		}
	}
	fails(t, ui.ExitError, `out holds the checkpoint of an unfinished run, whose vectors are not measured before --resume has brought it to its end`, "check", unfinished, "--store", store)
	fails(t, ui.ExitError, `thing: no such file`, "check", filepath.Join(t.TempDir(), "thing"), "--store", store)

	nan := mat.DenseCopyOf(u)
	nan.Set(2, 1, math.NaN())
	good := npyBytes(u, "<f8", false)
	for _, c := range []struct {
		files map[string][]byte
		code  int
		want  string
	}{
		{map[string][]byte{"U.npy": npyBytes(nan, "<f8", false), "s.npy": s}, ui.ExitCorrupt, `U.npy: entry \(2, 1\) at byte 168 is NaN\n`},
		{map[string][]byte{"U.npy": npyBytes(nan, "<f8", true), "s.npy": s}, ui.ExitCorrupt, `U.npy: entry \(2, 1\) at byte 864 is NaN\n`},
		{map[string][]byte{"U.npy": good[:len(good)-3], "s.npy": s}, ui.ExitCorrupt, `U.npy: 1565 bytes for an array of 90×2\n`},
		{map[string][]byte{"U.npy": bytes.Replace(good, []byte("<f8"), []byte(">f8"), 1), "s.npy": s}, ui.ExitCorrupt, `U.npy: its entries are '>f8'; save them as`},
		{map[string][]byte{"U.npy": good, "s.npy": npyVector([]float64{3, 2, 1})}, ui.ExitCorrupt, `U.npy: shape 90×2: want 3 vectors, as there are singular values`},
		{map[string][]byte{"U.npy": good, "s.npy": npyVector([]float64{3, -2})}, ui.ExitCorrupt, `s.npy: value 1 is -2: singular values are not negative`},
		{map[string][]byte{"U.npy": good, "s.npy": npyBytes(u, "<f8", false)}, ui.ExitCorrupt, `s.npy: shape 90×2: want a list of singular values`},
		{map[string][]byte{"U.npy": good}, ui.ExitCorrupt, `sigma.npy: there are no singular values: want sigma.npy or s.npy`},
	} {
		foreign := foreignResult(t, c.files)
		o := gdsvd(t, "check", foreign, "--store", store)
		if o.code != c.code || !regexp.MustCompile(c.want).MatchString(o.stdout) || strings.Count(o.stdout, "\n") != 1 || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("want %d, %s; exit %d\n%s%s", c.code, c.want, o.code, o.stdout, o.stderr)
		}
	}
	swapped := foreignResult(t, map[string][]byte{"U.npy": npyBytes(v, "<f8", false), "V.npy": good, "s.npy": s})
	fails(t, ui.ExitError, `U.npy: shape 40×2: its vectors have 40 entries, the matrix has 90 rows: it is not a result of .*m.csr\n$`, "check", swapped, "--store", store)
	twice := foreignResult(t, map[string][]byte{"V.npy": npyBytes(v, "<f8", false), "Vt.npy": npyBytes(v.T(), "<f8", false), "s.npy": s})
	fails(t, ui.ExitError, `scipy.svd holds V.npy and Vt.npy: remove all but one`, "check", twice)
	text, empty := filepath.Join(t.TempDir(), "empty.mtx"), filepath.Join(t.TempDir(), "empty.csr")
	must.Do(t, os.WriteFile(text, []byte("%%MatrixMarket matrix coordinate real general\n0 40 0\n"), 0o666))
	succeeds(t, "ingest", "-q", text, "-o", empty)
	oneSide := foreignResult(t, map[string][]byte{"V.npy": npyBytes(v, "<f8", false), "s.npy": s})
	fails(t, ui.ExitError, `empty.csr: a 0 × 40 matrix has no singular vectors that could be measured\n$`, "check", oneSide, "--store", empty)
}

// TestMeasureAgainstStatements: a result with intact files whose vectors miss its stated residuals is an error;
// a result that says that it has not converged is not.
func TestMeasureAgainstStatements(t *testing.T) {
	store := ingested(t, tall)
	dir, r := factorised(t, store, "-k", "3")
	// forge changes U by spoil and seals the result again.
	forge := func(spoil float64) {
		u := loadNPY(t, filepath.Join(dir, leftFile))
		u.Set(7, 2, u.At(7, 2)+spoil)
		b := npyBytes(u, "<f8", false)
		must.Do(t, os.WriteFile(filepath.Join(dir, leftFile), b, 0o666))
		reseal(t, dir, func(text []byte) []byte {
			at := regexp.MustCompile(`"name": "U.npy",\s*"size": \d+,\s*"crc": "([0-9a-f]{8})",\s*"pieces": "([0-9a-f]{8})"`).FindSubmatchIndex(text)
			copy(text[at[2]:at[3]], fmt.Sprintf("%08x", crc.Of(b)))
			copy(text[at[4]:at[5]], text[at[2]:at[3]]) // the file has one piece
			return text
		})
	}
	forge(1e-5)
	succeeds(t, "check", dir)
	o := gdsvd(t, "check", dir, "--store", store)
	if o.code != ui.ExitError || !regexp.MustCompile(`^gdsvd: .*out: 1 of 3 triplets miss what result.json states, triplet 3 first: its residual is \S+\n$`).MatchString(o.stderr) {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if rep := measuredOf(t, ui.ExitError, dir, "--store", store); rep.OK || !slices.Equal(rep.Measured.Misses, []int{2}) || *rep.Measured.Tol != r.Settings.Tol {
		t.Errorf("%+v, %+v", rep, rep.Measured)
	}
	forge(-1e-5)
	succeeds(t, "check", dir, "--store", store)

	for _, flags := range [][]string{{"power"}, {"krylov"}, {"power", "--vectors", "left"}, {"krylov", "--vectors", "left"}} {
		early := stopped(t, store, append([]string{"-k", "6", "--max-passes", "3", "--method"}, flags...)...)
		fails(t, ui.ExitNotConverged, `out: \d of 6 triplets are within 1e-08; the result says so itself`, "check", early, "--store", store)
		fails(t, ui.ExitError, `miss --tol 1e-08`, "check", early, "--store", store, "--tol", "1e-8")
	}
}

// TestMeasureWithinMemory: with memory for some triplets only, the store is read several times and the
// measured residuals are the same.
func TestMeasureWithinMemory(t *testing.T) {
	store := filepath.Join(t.TempDir(), "m.csr")
	succeeds(t, "generate", "spectrum", "-q", "--rows", "70000", "--cols", "60000", "--rank", "24", "--layers", "1", "-o", store)
	dir, _ := factorised(t, store, "-k", "24", "--tol", "1e-6")
	all := measuredOf(t, ui.ExitOK, dir, "--store", store).Measured
	some := measuredOf(t, ui.ExitOK, dir, "--store", store, "--memory", "64MiB").Measured
	if all.Passes != 1 || some.Passes < 2 {
		t.Errorf("%d reads, with little memory %d", all.Passes, some.Passes)
	}
	for i := range all.Residual {
		if math.Abs(float64(all.Residual[i]-some.Residual[i])) > 1e-14 {
			t.Errorf("triplet %d: %v, with little memory %v", i, all.Residual[i], some.Residual[i])
		}
	}
	fails(t, ui.ExitError, `memory budget of 16.0 MiB is too small: at least`, "check", dir, "--store", store, "--memory", "16MiB")
}

// TestMeasureSciPy measures vectors of scipy.sparse.linalg.svds, written by numpy.save.
func TestMeasureSciPy(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import scipy.sparse.linalg").Run() != nil {
		t.Skip("there is no python3 with SciPy")
	}
	for name, g := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		file := ratings(t, g)
		store := stored(t, file)
		dir := foreignResult(t, nil)
		const script = `
import sys, numpy as np, scipy.sparse as sp, scipy.sparse.linalg as la
r = np.array([line.strip().split("::")[:3] for line in open(sys.argv[1])], dtype=float)
rows, i = np.unique(r[:, 0], return_inverse=True)
cols, j = np.unique(r[:, 1], return_inverse=True)
u, s, vt = la.svds(sp.csr_matrix((r[:, 2], (i, j))), k=5)
for name, x in ("u", u), ("s", s), ("vt", vt): np.save(sys.argv[2] + "/" + name, x)
`
		if out, err := exec.Command(python, "-c", script, file, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		m := measuredOf(t, ui.ExitOK, dir, "--store", store, "--tol", "1e-12").Measured
		if m.Passes != 1 || m.K != 5 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestMeasureAllowsTheFloor: a residual may exceed the stated tolerance by the stated floor, but not by
// more.
func TestMeasureAllowsTheFloor(t *testing.T) {
	store := ingested(t, tall)
	dir, r := factorised(t, store, "-k", "2", "--method", "power", "--tol", "1e-4")
	worst := float64(slices.Max(measuredOf(t, ui.ExitOK, dir, "--store", store).Measured.Residual))
	if worst < 1e-10 {
		t.Fatalf("the residuals are at most %g: too small for this test", worst)
	}
	for _, c := range []struct {
		tol, floor float64 // in units of the largest residual
		code       int
		misses     int
	}{
		{0.6, 0.5, ui.ExitOK, 0},
		{0.6, 0.1, ui.ExitError, 1},
		{0.1, 0.95, ui.ExitNotConverged, 0}, // within the floor, but not within the tolerance
	} {
		r.Settings.Tol = c.tol * worst
		for i := range r.Residual {
			r.Residual[i], r.Floor[i] = 0, factor.Number(c.floor*worst)
		}
		text, err := durable.Seal(&r, &r.CRC)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, factor.ResultFile), text, 0o666)
		}
		must.Do(t, err)
		m := measuredOf(t, c.code, dir, "--store", store).Measured
		if len(m.Misses) < c.misses || c.misses == 0 && len(m.Misses) > 0 || m.Stated.Floor[1] != r.Floor[1] {
			t.Errorf("%+v: misses %v, stated %+v", c, m.Misses, m.Stated)
		}
		// The stated floor does not extend a tolerance given by --tol.
		measuredOf(t, ui.ExitError, dir, "--store", store, "--tol", fmt.Sprint(worst/2))
	}
}

// TestMeasureImpliedOfSmallValues: vectors that are missing and σ near 0 are no miss, but a wrong vector is.
func TestMeasureImpliedOfSmallValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var f mat.SVD
	var u, v, a mat.Dense
	d := mat.NewDense(20, 12, nil)
	for i := range d.RawMatrix().Data {
		d.RawMatrix().Data[i] = rng.NormFloat64()
	}
	f.Factorize(d, mat.SVDThin)
	f.UTo(&u)
	f.VTo(&v)
	a.Mul(&u, mat.NewDiagDense(12, []float64{1, 1e-3, 1e-6, 1e-10, 1e-12, 0, 0, 0, 0, 0, 0, 0}))
	a.Mul(&a, v.T())
	file := filepath.Join(t.TempDir(), "a.npy")
	must.Do(t, os.WriteFile(file, npyBytes(&a, "<f8", false), 0o666))
	store := stored(t, file)
	for vectors, name := range map[string]string{"left": leftFile, "right": rightFile} {
		dir, r := factorised(t, store, "-k", "8", "--vectors", vectors)
		if m := measuredOf(t, ui.ExitOK, dir, "--store", store).Measured; len(m.Misses) > 0 {
			t.Errorf("%s: misses %v, residuals %v", vectors, m.Misses, m.Residual)
		}
		x := loadNPY(t, filepath.Join(dir, name))
		for i := range x.RawMatrix().Rows { // the last vector becomes the first, whose σ is not 0
			x.Set(i, 7, x.At(i, 0))
		}
		foreign := foreignResult(t, map[string][]byte{name: npyBytes(x, "<f8", false), "sigma.npy": npyVector(sigmas(r))})
		fails(t, ui.ExitError, `1 of 8 triplets miss --tol 1e-06, triplet 8 first: its residual is 1`, "check", foreign, "--store", store, "--tol", "1e-6")
	}
}
