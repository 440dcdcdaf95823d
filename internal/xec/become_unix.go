//go:build unix

package xec

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// Streams are those of a process.
type Streams struct{ In, Out, Err *os.File }

// Become makes this process another program, which keeps its id, its terminal
// and its streams. It returns only when that cannot be.
func Become(_ context.Context, path string, args, env []string, _ Streams) error {
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, append([]string{path}, args...), env))
}
