package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// describeMachine says what the numbers were measured on.
func describeMachine(ctx context.Context, p tools, dir string) string {
	gitVersion, err := p.gitIn("").out(ctx, "--version")
	if err != nil {
		gitVersion = "git: " + err.Error()
	}
	return fmt.Sprintf("%s, %s, %s; %d cores, load %s; %s, %s on %s", time.Now().Format(time.DateOnly),
		gitVersion, runtime.Version(), runtime.NumCPU(), loadAverage(), kernel(), runtime.GOARCH, fileSystem(dir))
}

// loadAverage is the load of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// fileSystem names the file system of dir, or of what it will be made in.
func fileSystem(dir string) string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "an unknown file system"
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		kind := ""
		for line := range strings.Lines(string(mounts)) {
			if f := strings.Fields(line); len(f) > 2 && f[1] == at {
				kind = f[2] // the last mount hides the others
			}
		}
		if kind != "" {
			return kind
		}
		if at == filepath.Dir(at) {
			return "an unknown file system"
		}
	}
}
