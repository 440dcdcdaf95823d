package cli

import (
	"strings"
	"testing"
)

// TestAnEmptyNameIsNone: a variable of a script that is not set must not have
// another window's files put back, or another conversation gone on with.
func TestAnEmptyNameIsNone(t *testing.T) {
	for _, c := range []struct {
		says string
		line []string
	}{
		{"--window does not take \"\"", []string{"checkpoint", "restore", "1", "-w", ""}},
		{"--window does not take \"\"", []string{"undo", "--window="}},
		{"--session does not take \"\"", []string{"checkpoint", "list", "-s", ""}},
		{"--resume does not take \"\"", []string{"agent", "-p", "go", "--resume", ""}},
		{"\"\" names no conversation", []string{"conversation", "abandon", ""}},
		{"\"\" names no conversation", []string{"conversation", "show", ""}},
	} {
		b := newBench(nil)
		if status := b.run(c.line...); status != 2 || !strings.HasPrefix(b.err.String(), "turnback: "+c.says+"\nhint: ") || b.calls != nil {
			t.Errorf("%q: status %d, %s; calls %v", c.line, status, b.err.String(), b.calls)
		}
	}
}
