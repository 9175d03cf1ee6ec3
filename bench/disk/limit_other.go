//go:build !linux

package main

import "errors"

// memoryLimit: there are no cgroups here.
type memoryLimit struct{}

var errLinux = errors.New("only Linux has memory cgroups and says how to empty the cache")

func newLimit(int64) (*memoryLimit, error)       { return nil, errLinux }
func (*memoryLimit) name() string                { return "" }
func (*memoryLimit) wrap(args []string) []string { return args }
func (*memoryLimit) remove()                     {}
func forget([]string) error                      { return errLinux }
func remember([]string) error                    { return errLinux }
