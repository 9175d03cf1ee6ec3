package paper

import (
	"fmt"
	"os"
	"testing"
)

func TestSmall(t *testing.T) {
	last := ""
	err := Run(t.Context(), Config{Scale: Small, Dir: "/tmp/paper-small2", Data: os.Getenv("GDSVD_DATA"), Progress: func(d, n int, w string) {
		if last != w {
			fmt.Println(d, n, w)
			last = w
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
}
