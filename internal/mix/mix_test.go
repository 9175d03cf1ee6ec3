package mix

import "testing"

// TestSequence compares with the first numbers of SplitMix64 with seed 1234567, as published with
// the reference implementation (Vigna, prng.di.unimi.it/splitmix64.c).
func TestSequence(t *testing.T) {
	state := uint64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := Next(state); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
		state += Golden
	}
}
