package screen

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/xec"
)

// Page shows in through a pager command, which a shell reads, as git does:
// with LESS=FRX and LV=-c unless the environment says otherwise. It returns when
// the reader has left the pager; an interrupt from the keyboard is the pager's.
// The error says that the pager could not be run, and showed nothing.
func Page(ctx context.Context, pager string, in io.Reader, s Streams, environ []string) error {
	cmd := xec.Command{
		Path:   "/bin/sh",
		Args:   []string{"-c", pager},
		Env:    pagerEnv(environ),
		Stdin:  in,
		Stdout: s.Out,
	}
	err := xec.Foreground(context.WithoutCancel(ctx), cmd, s.Err)
	if exit, ok := errors.AsType[*xec.ExitError](err); ok && exit.Code != 126 && exit.Code != 127 {
		return nil // it ran; how a reader leaves a pager is no failure
	}
	return err
}

func pagerEnv(environ []string) []string {
	env := slices.Clone(environ)
	for _, preset := range []string{"LESS=FRX", "LV=-c"} {
		name, _, _ := strings.Cut(preset, "=")
		if !slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, preset)
		}
	}
	return env
}
