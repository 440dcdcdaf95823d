//go:build !unix

package xec

import (
	"os"
	"os/exec"
)

func hold(*exec.Cmd, []*os.File) {}

func shellStatus(state *os.ProcessState) int { return state.ExitCode() }

func find(name, _, _ string) (string, error) { return exec.LookPath(name) }
