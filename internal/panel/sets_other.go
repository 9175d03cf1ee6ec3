//go:build !amd64 || noasm

package panel

// available returns the sets of vector kernels that the processor can run.
func available() []set { return nil }
