package flags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
)

// Triplets is the flag -k: a number of triplets, or the share of the energy that they are to
// capture.
type Triplets struct{ Of *factor.Options }

func (t Triplets) String() string {
	if t.Of.Energy > 0 {
		return strconv.FormatFloat(t.Of.Energy, 'g', -1, 64)
	}
	return strconv.Itoa(t.Of.Rank)
}

func (Triplets) Type() string { return "K" }

func (t Triplets) Set(text string) error {
	if n, err := strconv.ParseInt(text, 0, 0); err == nil || errors.Is(err, strconv.ErrRange) {
		t.Of.Rank, t.Of.Energy = int(n), 0
		return err // which ui.FlagError says in its words
	}
	number, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	all := 1.0
	if percent {
		all = 100
	}
	switch share := x / all; {
	case err != nil:
		return errors.New("want a whole number of triplets, or the share of the energy that they are to capture, such as 0.9 or 90%")
	case share > 0 && share < 1:
		t.Of.Rank, t.Of.Energy = 0, share
		return nil
	case x == 1:
		return errors.New("it may be one triplet, which is -k 1, or all of the energy, which takes every triplet whose value is not 0: give their number, or a share below 1, such as 0.9999")
	case share == 1:
		return errors.New("all of the energy takes every triplet whose value is not 0: give their number, or a share below 100%, such as 99.99%")
	}
	return fmt.Errorf("it is no whole number of triplets, and no share of the energy, which is between 0 and %v", all)
}

// CheckTriplets finds what is wrong with -k and --max-k, which is most.
func CheckTriplets(cmd *cobra.Command, o *factor.Options, most int) error {
	bounded := cmd.Flags().Changed("max-k")
	switch {
	case !cmd.Flags().Changed("rank"):
		return ui.Usagef(cmd, "how many triplets? give their number with -k, or the share of the energy that they are to capture, such as -k 0.9")
	case o.Energy == 0 && o.Rank < 1:
		return ui.Usagef(cmd, "-k %d: at least 1 triplet is wanted", o.Rank)
	case bounded && most < 1:
		return ui.Usagef(cmd, "--max-k %d: at least 1 triplet is wanted", most)
	case bounded && o.Energy == 0:
		return ui.Usagef(cmd, "--max-k %d is for a share of the energy, such as -k 0.9; -k %d is the number of triplets", most, o.Rank)
	case o.Energy > 0:
		o.Rank = most
	}
	return nil
}
