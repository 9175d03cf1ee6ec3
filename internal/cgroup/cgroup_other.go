//go:build !linux

package cgroup

import "os/exec"

// Group is a memory cgroup; there are none here.
type Group struct{}

// New fails.
func New(string, int64) (*Group, error) { return nil, ErrUnavailable }

// LimitReads fails.
func (*Group) LimitReads(string, int64) error { return ErrUnavailable }

// Command returns cmd.
func (*Group) Command(cmd *exec.Cmd) *exec.Cmd { return cmd }

// Usage is unknown.
func (*Group) Usage() (Usage, error) { return Usage{}, ErrUnavailable }

// Remove does nothing.
func (*Group) Remove() error { return nil }

// Forget fails: which pages are in the cache is not known here.
func Forget(...string) error { return ErrUnavailable }
