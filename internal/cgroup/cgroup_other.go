//go:build !linux

package cgroup

import "os/exec"

// Group is a memory cgroup; this system has none.
type Group struct{}

func New(string, int64) (*Group, error) { return nil, ErrUnavailable }

func (*Group) Command(cmd *exec.Cmd) *exec.Cmd { return cmd }
func (*Group) Usage() (Usage, error)           { return Usage{}, ErrUnavailable }
func (*Group) Remove() error                   { return nil }

func Forget(...string) error { return ErrUnavailable }
