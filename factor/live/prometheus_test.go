//go:build alltests

package live

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// parsed returns the samples of a text by name and labels, read by the parser of Prometheus.
func parsed(t testing.TB, text []byte) map[string]float64 {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	samples := map[string]float64{}
	for name, f := range families {
		if !strings.HasPrefix(name, "gdsvd_") || f.GetHelp() == "" {
			t.Errorf("%s, %q: a name begins with gdsvd_, and there is help", name, f.GetHelp())
		}
		for _, m := range f.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				key += "|" + l.GetName() + "=" + l.GetValue()
			}
			if m.GetGauge() == nil {
				t.Errorf("%s is no gauge", name)
			}
			if _, again := samples[key]; again {
				t.Errorf("%s is there twice", key)
			}
			samples[key] = m.GetGauge().GetValue()
		}
	}
	return samples
}
