package hostile

import (
	"fmt"
	"runtime"
	"strings"
)

var descriptors = Attack{
	Name: "descriptors",
	About: "ingest of many files, svd of a store of many shards, generate and check with 10 to 64 file descriptors: done, or one line and exit 1, " +
		"and with more of them --resume ends with the same bytes",
	Short: 16, Long: 500,
	Run: func(t *Trial) {
		w, out := t.draw("descriptors")
		if runtime.GOOS == "windows" {
			check(skipf("there is no limit of descriptors on windows"))
		}
		few := t.between(10, 32) // with fewer the Go runtime itself may not start
		if t.IntN(4) == 0 {
			few = t.between(10, 64)
		}
		j := w.command(out, w.saves...)
		j.shell = fmt.Sprintf("ulimit -n %d", few)
		_, err := t.expect(j, 1)
		tooFew(err)
		switch {
		case err != nil:
			// The run may leave files that it could not remove for lack of descriptors: the next
			// run has to remove them.
			t.finish(w, out)
			check(err)
		case w.args[0] == "svd", w.args[0] == "generate" && w.args[1] == "ratings": // these commands write a file or a result, not a store
			w.same(out)
		default:
			w.same(out)
			checked := gdsvd("check", "-q", out)
			checked.shell = j.shell
			_, err = t.expect(checked, 1)
			tooFew(err)
			check(err)
		}
	},
}

// tooFew checks that a refusal names the lack of descriptors.
func tooFew(err error) {
	if err != nil && !strings.Contains(err.Error(), "too many open files") && !strings.Contains(err.Error(), "open at a time") {
		check(wrongf("few descriptors: %s", head(err.Error())))
	}
}
