//go:build !alltests

package live

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	sampleLine = regexp.MustCompile(`^(gdsvd_\w+)\{((?:\w+="(?:[^"\\]|\\["\\n])*",?)+)\} (\S+)$`)
	labelPair  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	unescape   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// parsed returns the samples of a text by name and labels, read as the documentation of the format says. Builds with
// -tags alltests use the parser of Prometheus instead.
func parsed(t testing.TB, text []byte) map[string]float64 {
	t.Helper()
	samples, helped, gauges := map[string]float64{}, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if f := strings.SplitN(line, " ", 4); len(f) == 4 && f[0] == "#" {
			helped[f[2]] = helped[f[2]] || f[1] == "HELP" && f[3] != ""
			gauges[f[2]] = gauges[f[2]] || f[1] == "TYPE" && f[3] == "gauge"
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || !helped[m[1]] || !gauges[m[1]] {
			t.Fatalf("%q is no sample of a gauge with help in:\n%s", line, text)
		}
		key := m[1]
		for _, l := range labelPair.FindAllStringSubmatch(m[2], -1) {
			key += "|" + l[1] + "=" + unescape.Replace(l[2])
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if _, again := samples[key]; err != nil || again {
			t.Errorf("%q: %v, or it is there twice", line, err)
		}
		samples[key] = v
	}
	return samples
}
