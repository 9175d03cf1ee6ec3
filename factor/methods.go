package factor

import (
	"strconv"

	"github.com/gdsvd/gdsvd/solver/method"
)

// canonical is a method with what it takes for settings that it is not given, for a number of
// triplets: the same run, said or unsaid.
func canonical(m method.Method, rank int) method.Method {
	if m == nil {
		return nil
	}
	t := m.Traits(max(1, rank))
	values := make([]float64, len(t.Settings))
	for i, s := range t.Settings {
		values[i] = s.Value
	}
	return t.With(values)
}

// Flags are a method and its settings as the command line has them.
func Flags(m method.Method) []string {
	t := m.Traits(1)
	all := []string{"--method", t.Name}
	for _, s := range t.Settings {
		if s.Value != s.Default {
			all = append(all, "--"+s.Name, strconv.FormatFloat(s.Value, 'g', -1, 64))
		}
	}
	return all
}

// said are the settings of a method, without those it finds itself.
func said(m method.Method) map[string]float64 {
	all := map[string]float64{}
	for _, s := range m.Traits(1).Settings {
		if s.Value != 0 {
			all[s.Name] = s.Value
		}
	}
	return all
}
