//go:build unix

package config_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/turnback/turnback/internal/config"
)

// To open a FIFO that nobody writes to would wait for ever.
func TestLoadOpensNoFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "config.toml")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(fifo)
	if err == nil || err.Error() != fifo+": is no regular file" {
		t.Errorf("error %v", err)
	}
}
