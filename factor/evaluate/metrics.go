// Package evaluate compares factorisations of a matrix by the entries that were held out of it, with baselines beside them and
// intervals of confidence.
//
// # Metrics
//
// A user is a row. T is the number of columns of the test store that are relevant for the user, the list has the K best columns
// in which the user has no entry, and hits is the number of relevant columns in the list. An entry of the test store is relevant
// as Options.Relevant says; without it, every entry is. A value is the mean over the users who have entries in both stores.
//
//	recall@K     hits / min(K, T)
//	precision@K  hits / K
//	ndcg@K       Σ_{hit at place i} 1/log2(i+1)  /  Σ_{i=1}^{min(K, T)} 1/log2(i+1)
//	map@K        Σ_{hit at place i} (hits in the first i)/i  /  min(K, T)
//	coverage@K   columns in the lists of any user / columns; coverage is that of the longest K
//	rmse, mae    root of the mean square, and mean, of |value − prediction| over all entries of the test store
//
// recall@K and ndcg@K are those of Liang, Krishnan, Hoffman and Jebara, "Variational Autoencoders for Collaborative Filtering",
// WWW 2018: a list that is filled with relevant columns has the recall 1, whatever T is. Other authors divide the hits by T,
// which gives smaller values for users with T > K. ndcg is of Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR
// techniques", ACM TOIS 20 (2002). T includes relevant columns that no user has in the training store: no model can find them.
//
// # Baselines
//
// popularity recommends the columns with the most entries. mean predicts the mean μ of all entries, biases
//
//	μ + b_j + b_i,   b_j = Σ_i (a_ij − μ) / (n_j + D),   b_i = Σ_j (a_ij − μ − b_j) / (n_i + D)
//
// over the observed entries, with the damping D = 5 (Koren, "Factorization meets the neighborhood", KDD 2008, has the form).
// Models without a view predict ratings as elements of U·Σ·Vᵀ. Models whose view is one step bias add the biases of that step.
// Models of other views factorise matrices that are not ratings, and predict none.
//
// # Intervals
//
// Low and High enclose 95 % of the values of 400 Poisson bootstrap replicates over users: in each, a user counts as often as a
// Poisson variable of mean 1 says, which is a function of the seed, the replicate and the number of the user. (Hanley and
// MacGibbon, "Creating non-parametric bootstrap samples using Poisson frequencies", Computer Methods and Programs in
// Biomedicine 83, 2006.) The replicates of all models have the same users, so that differences are paired.
//
// # Other programs
//
// A List is judged for the users of the models; a user who is not in it has an empty list. A column in which the user has an
// entry is not a hit. Vectors score and predict by their inner products. Ids that the training store does not have are errors.
//
// # Strong generalisation
//
// With Options.Users a share of the users, chosen by a function of the seed and their number, is left out of the matrix that is
// factorised. These users are folded in by their entries of the training store, and only their lists and predictions are
// judged. Without a test store a fifth of their entries, chosen by a function of the seed and their place, are the targets, and
// the users are folded in by their other entries, as in Liang et al. 2018.
package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/mix"
)

// Kind is what a Metric measures.
type Kind uint8

const (
	Recall Kind = iota
	Precision
	NDCG
	MAP
	Coverage
	RMSE
	MAE
)

var kinds = []string{"recall", "precision", "ndcg", "map", "coverage", "rmse", "mae"}

// Metric is a kind and the length K of the lists that it looks at; K is 0 for metrics of ratings.
type Metric struct {
	Kind Kind
	K    int
}

// String returns the text that ParseMetrics reads.
func (m Metric) String() string {
	if m.K == 0 {
		return kinds[m.Kind]
	}
	return fmt.Sprintf("%s@%d", kinds[m.Kind], m.K)
}

// Rating reports whether a metric is of predictions; smaller values of such metrics are better.
func (m Metric) Rating() bool { return m.Kind >= RMSE }

// DefaultK is the default length of lists.
const DefaultK = 20

// ParseMetrics reads metrics such as "recall@20,ndcg@20,coverage,rmse".
func ParseMetrics(text string) (all []Metric, err error) {
	longest := 0
	for word := range strings.SplitSeq(text, ",") {
		name, k, has := strings.Cut(strings.TrimSpace(word), "@")
		kind := slices.Index(kinds, name)
		m := Metric{Kind: Kind(max(kind, 0))}
		if has {
			m.K, err = strconv.Atoi(k)
		}
		switch {
		case kind < 0:
			return nil, fmt.Errorf("metric %q: want some of %s, with @K behind those of lists", word, strings.Join(kinds, ", "))
		case has && (err != nil || m.K < 1 || m.K > math.MaxInt32):
			return nil, fmt.Errorf("metric %q: want a whole number above 0 behind @", word)
		case has && m.Rating():
			return nil, fmt.Errorf("metric %q: %s is of ratings, not of lists: leave out @%s", word, name, k)
		case !has && m.Kind < Coverage:
			return nil, fmt.Errorf("metric %q: how long a list? want %s@%d, for example", word, name, DefaultK)
		case slices.Contains(all, m):
			return nil, fmt.Errorf("metric %q is there twice", word)
		}
		longest = max(longest, m.K)
		all = append(all, m)
	}
	for i, m := range all {
		if m.Kind == Coverage && m.K == 0 {
			all[i].K = longest
			if longest == 0 {
				all[i].K = DefaultK
			}
			if slices.Contains(all[:i], all[i]) || slices.Contains(all[i+1:], all[i]) {
				return nil, fmt.Errorf("metric \"coverage\" is %v, which is there, too", all[i])
			}
		}
	}
	return all, nil
}

// listed computes the metrics of a list for a user. test holds the relevant columns, ascending and not empty. An item whose
// score is NaN is no hit.
func listed(to []float64, metrics []Metric, items []recommend.Item, test []uint32) {
	for m, metric := range metrics {
		hits, gain, precisions := 0, 0.0, 0.0
		for i, item := range items[:min(len(items), metric.K)] {
			if _, ok := slices.BinarySearch(test, item.Index); ok && !math.IsNaN(item.Score) {
				hits++
				gain += discount(i)
				precisions += float64(hits) / float64(i+1)
			}
		}
		most := min(metric.K, len(test))
		switch metric.Kind {
		case Recall:
			to[m] = float64(hits) / float64(most)
		case Precision:
			to[m] = float64(hits) / float64(metric.K)
		case NDCG:
			ideal := 0.0
			for i := range most {
				ideal += discount(i)
			}
			to[m] = gain / ideal
		case MAP:
			to[m] = precisions / float64(most)
		}
	}
}

func discount(i int) float64 { return 1 / math.Log2(float64(i)+2) }

const replicates = 400

// sample fills counts with how often a user is in each replicate.
func sample(counts *[replicates]uint8, seed uint64, user int64) {
	state := mix.Next(seed) ^ mix.Next(uint64(user)*mix.Golden)
	for r := 0; r < replicates; r += 4 {
		state = mix.Next(state)
		for i, word := 0, state; i < 4; i, word = i+1, word>>16 {
			n := uint8(0)
			for n < uint8(len(poisson)) && uint16(word) >= poisson[n] {
				n++
			}
			counts[r+i] = n
		}
	}
}

// poisson has the probabilities that a variable of mean 1 is at most 0, 1, …, times 2¹⁶.
var poisson = [...]uint16{24109, 48219, 60274, 64292, 65297, 65498, 65531, 65535}

// ratio is a metric as the quotient of two sums over users, for all users and in each replicate.
type ratio struct {
	sum, over float64
	sums      [replicates]float64
	overs     [replicates]float64
}

func (r *ratio) add(counts *[replicates]uint8, sum, over float64) {
	r.sum, r.over = r.sum+sum, r.over+over
	for i, n := range counts {
		r.sums[i] += float64(n) * sum
		r.overs[i] += float64(n) * over
	}
}

// values returns the metric, and its values in the replicates that have users.
func (r *ratio) values(root bool) (value float64, all []float64) {
	of := func(sum, over float64) float64 {
		if root {
			return math.Sqrt(sum / over)
		}
		return sum / over
	}
	for i := range r.sums {
		if r.overs[i] > 0 {
			all = append(all, of(r.sums[i], r.overs[i]))
		}
	}
	return of(r.sum, r.over), all
}

// interval returns the interval that encloses 95 % of some numbers. It sorts them.
func interval(x []float64) (low, high float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(x)
	at := func(q float64) float64 {
		p := q * float64(len(x)-1)
		i := int(p)
		if i+1 == len(x) {
			return x[i]
		}
		return x[i] + (p-float64(i))*(x[i+1]-x[i])
	}
	return at(0.025), at(0.975)
}
