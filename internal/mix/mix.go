// Package mix scatters integers: neighbouring arguments give unrelated results.
package mix

// Golden is 2⁶⁴ divided by the golden ratio, the increment of SplitMix64.
const Golden = 0x9e3779b97f4a7c15

// Finalise applies the finaliser of SplitMix64, a bijection that maps 0 to 0 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014, there mix64variant13).
func Finalise(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Next returns the output of SplitMix64 in state x: Finalise(x + Golden).
func Next(x uint64) uint64 { return Finalise(x + Golden) }
