//go:build !unix

package main

import (
	"os"
	"os/exec"
	"runtime"
)

func ownSession(*exec.Cmd) {}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return p.Release() == nil
}

func kernel() string { return runtime.GOOS }

func endAtOnce(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
