//go:build !linux

package main

import (
	"errors"
	"os/exec"
)

type throttle struct{}

func newThrottle(string, options) (*throttle, error) {
	return nil, errors.New("a disk can be throttled on Linux only")
}

func (*throttle) command(cmd *exec.Cmd) *exec.Cmd { return cmd }
func (*throttle) remove()                         {}
