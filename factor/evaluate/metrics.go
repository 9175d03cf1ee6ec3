package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/factor/recommend"
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

// Metric is a kind and the length of the lists that it looks at; 0 for those of ratings.
type Metric struct {
	Kind Kind
	K    int
}

// String is what ParseMetrics reads.
func (m Metric) String() string {
	if m.K == 0 {
		return kinds[m.Kind]
	}
	return fmt.Sprintf("%s@%d", kinds[m.Kind], m.K)
}

// Rating tells whether a metric is of predictions, of which the smaller ones are better.
func (m Metric) Rating() bool { return m.Kind >= RMSE }

// DefaultK is the length of lists where nothing says another.
const DefaultK = 20

// ParseMetrics reads metrics such as "recall@20,ndcg@20,coverage,rmse".
func ParseMetrics(text string) (all []Metric, err error) {
	longest := 0
	for _, word := range strings.Split(text, ",") {
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

// listed are the metrics of a list for a user with the relevant columns test, which ascend and are not empty.
func listed(to []float64, metrics []Metric, items []recommend.Item, test []uint32) {
	for m, metric := range metrics {
		hits, gain, precisions := 0, 0.0, 0.0
		for i, item := range items[:min(len(items), metric.K)] {
			if _, ok := slices.BinarySearch(test, item.Index); ok {
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
