//go:build !unix

package xec

import (
	"context"
	"os"
)

// Streams are those of a process.
type Streams struct{ In, Out, Err *os.File }

// Become runs another program in the place of this one, with its streams.
func Become(ctx context.Context, path string, args, env []string, s Streams) error {
	return Foreground(ctx, Command{Path: path, Args: args, Env: env, Stdin: s.In, Stdout: s.Out}, s.Err)
}
