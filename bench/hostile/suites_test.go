package hostile

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// suite is a test of another package whose checks this package does not repeat.
type suite struct {
	kind, folder, test string
	counts             *regexp.Regexp // matches the number of trials in its log; nil: its tests are counted
}

var operations = regexp.MustCompile(`(\d+) of \d+ operations`)

var allSuites = []suite{
	{"io", "cmd/gdsvd", "TestIOErrorSweep", operations},
	{"io of a disk", "cmd/gdsvd", "TestFailingDisk", operations},
	{"io of a result", "cmd/gdsvd", "TestResultErrorSweep|TestResultDeathSweep", regexp.MustCompile(`(\d+) operations`)},
	{"pairs of processes", "cmd/gdsvd", "TestTwoWriters", nil},
	{"views", "stream/view", "TestStepsOfSteps", regexp.MustCompile(`(\d+) of \d+\n`)},
	{"leading", "solver", "TestNothingIsMissing|TestNoMatrixIsMadeForASeed", regexp.MustCompile(`(\d+) of \d+ results`)},
}

var suites = Attack{
	Name: "suites",
	About: "the long forms of tests that are suites themselves: commands whose every operation on files fails in turn, two writers of one target in all pairs, " +
		"random pipelines of views against a dense reading of their page, and values that may be missing",
	Short: 0, Long: len(allSuites),
	Run: func(t *Trial) {
		s := allSuites[t.Number%len(allSuites)]
		t.Kind = "suite: " + s.kind
		cmd := exec.CommandContext(t.ctx, "go", "test", "-tags=alltests", "-v", "-count=1", "-timeout=0", "-run", "^("+s.test+")$", ".")
		cmd.Dir = filepath.Join("..", "..", filepath.FromSlash(s.folder))
		cmd.Env = append(os.Environ(), "GDSVD_TEST_LONG=1", "GDSVD_TRIALS=20000")
		t.commands = append(t.commands, strings.Join(cmd.Args, " "))
		said, err := cmd.CombinedOutput()
		text := string(said)
		switch {
		case err != nil && t.ctx.Err() != nil:
			check(t.ctx.Err())
		case err != nil:
			check(wrongf("%s: %v: %s", s.test, err, head(text[max(0, strings.Index(text, "--- FAIL")):])))
		}
		t.Trials = strings.Count(text, "--- PASS")
		if s.counts != nil {
			t.Trials = 0
			for _, m := range s.counts.FindAllStringSubmatch(text, -1) {
				t.Trials += need(strconv.Atoi(m[1]))
			}
		}
		if t.Trials == 0 {
			check(skipf("%s: %s", s.test, head(text)))
		}
	},
}
