//go:build !amd64 || noasm

package cpu

func best() Level { return Portable }
