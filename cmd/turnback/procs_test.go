//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// daemonsBelow lists the processes whose environment puts the socket below dir.
func daemonsBelow(t *testing.T, dir string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		env, err := os.ReadFile(f)
		if err != nil {
			continue // ended, or of another user
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err == nil && bytes.Contains(env, []byte("TURNBACK_SOCKET="+dir)) && bytes.Contains(line, []byte("\x00daemon\x00run")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
