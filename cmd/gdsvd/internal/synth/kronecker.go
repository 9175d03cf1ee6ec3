package synth

import (
	"bufio"
	"cmp"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

// Kronecker is the ratings matrix P ⊗ R of a pattern P of zeros and ones and a
// small table R of ratings: every one of P stands for a copy of R. Its singular
// values are the products of P's and R's (Horn and Johnson, Topics in Matrix
// Analysis, theorem 4.2.15), so two small dense decompositions give the truth
// for the large sparse matrix.
type Kronecker struct {
	Pattern *mat.Dense // zeros and ones, no row or column empty
	Ratings *mat.Dense // half stars from 0.5 to 5, 0 where there is none; no row or column empty
}

// communities of users and items in the pattern: their sizes differ, so that
// the leading singular values do.
const communities = 4

// NewKronecker makes a users×items pattern with communities of different size
// and density, and a table of 12×8 ratings. users and items must be at least 40.
func NewKronecker(users, items int, seed uint64) *Kronecker {
	if users < 40 || items < 40 {
		panic("synth: a pattern needs at least 40 users and 40 items")
	}
	r := rand.New(rand.NewPCG(seed, 0x4b726f6e))
	return &Kronecker{Pattern: pattern(r, users, items), Ratings: table(r, 12, 8)}
}

// pattern draws a one with a probability that depends on the communities of the row and the column.
func pattern(r *rand.Rand, users, items int) *mat.Dense {
	p := mat.NewDense(users, items, nil)
	for i := range users {
		for j := range items {
			density := 0.01
			if g := community(i, users); g == community(j, items) {
				density = 0.95 - 0.05*float64(g)
			}
			if r.Float64() < density {
				p.Set(i, j, 1)
			}
		}
		p.Set(i, i%items, 1) // no empty row
	}
	for j := range items {
		p.Set(j%users, j, 1) // no empty column
	}
	return p
}

// community of index i of n: four of shrinking size, 40, 30, 20 and 10 per cent.
func community(i, n int) int {
	switch x := 10 * i / n; {
	case x < 4:
		return 0
	case x < 7:
		return 1
	case x < 9:
		return 2
	default:
		return communities - 1
	}
}

// table draws ratings around a taste of the row for the column, and leaves a fifth out.
func table(r *rand.Rand, rows, cols int) *mat.Dense {
	t := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			if r.Float64() < 0.2 && i%cols != j { // i ≡ j keeps rows and columns from being empty
				continue
			}
			liked := 1.5
			if (i+j)%3 != 0 {
				liked = 4
			}
			t.Set(i, j, halfStars(liked+0.8*r.NormFloat64()))
		}
	}
	return t
}

// Dims is the shape of the ratings matrix.
func (k *Kronecker) Dims() (users, items int) {
	pr, pc := k.Pattern.Dims()
	rr, rc := k.Ratings.Dims()
	return pr * rr, pc * rc
}

// NNZ is the number of ratings.
func (k *Kronecker) NNZ() int { return nonzeros(k.Pattern) * nonzeros(k.Ratings) }

func nonzeros(m *mat.Dense) int {
	n := 0
	for _, v := range m.RawMatrix().Data {
		if v != 0 {
			n++
		}
	}
	return n
}

// Singular returns the n largest singular values, descending, or all if there are fewer.
func (k *Kronecker) Singular(n int) []float64 {
	var all []float64
	ratings := dense(k.Ratings)
	for _, p := range dense(k.Pattern) {
		for _, r := range ratings {
			all = append(all, p*r)
		}
	}
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
	return all[:min(n, len(all))]
}

func dense(m *mat.Dense) []float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		panic("synth: the dense decomposition of a factor failed")
	}
	return svd.Values(nil)
}

// WriteRatings writes the matrix as a MovieLens file, user::item::rating::timestamp.
// As in the real files the ids have holes, their order says nothing about the
// structure, and a user's ratings stand together.
func (k *Kronecker) WriteRatings(w io.Writer, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0x69647321))
	users, items := k.Dims()
	userID, itemID := shuffledIDs(r, users), shuffledIDs(r, items)
	rr, rc := k.Ratings.Dims()

	byID := make([]int, users) // rows in the order of their ids
	for i := range byID {
		byID[i] = i
	}
	slices.SortFunc(byID, func(a, b int) int { return userID[a] - userID[b] })

	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for _, i := range byID {
		for j := range items {
			v := k.Pattern.At(i/rr, j/rc) * k.Ratings.At(i%rr, j%rc)
			if v == 0 {
				continue
			}
			line = appendRating(line[:0], userID[i], itemID[j], v, 978300000+60*int64(r.IntN(1e6)))
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// shuffledIDs returns n distinct ids with holes between them, in random order.
func shuffledIDs(r *rand.Rand, n int) []int {
	ids := make([]int, n)
	id := 0
	for i := range ids {
		id += 1 + r.IntN(4)
		ids[i] = id
	}
	r.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// halfStars rounds to a valid rating.
func halfStars(x float64) float64 { return min(5, max(1, float64(int(2*x+0.5)))/2) }

// appendRating adds one line of a MovieLens 10M file.
func appendRating(b []byte, user, item int, rating float64, timestamp int64) []byte {
	b = strconv.AppendInt(b, int64(user), 10)
	b = append(b, "::"...)
	b = strconv.AppendInt(b, int64(item), 10)
	b = append(b, "::"...)
	twice := int(2 * rating)
	b = append(b, byte('0'+twice/2))
	if twice%2 == 1 {
		b = append(b, ".5"...)
	}
	b = append(b, "::"...)
	b = strconv.AppendInt(b, timestamp, 10)
	return append(b, '\n')
}
