// Package screen is what a person sees: streams that know whether they are
// terminals, names quoted as git quotes them, text made safe for a terminal,
// tables, colours, the pager and the progress line. It knows nothing of
// checkpoints.
package screen

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are the three streams of a process and what is known about them.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTerminal  bool
	OutTerminal bool
	ErrTerminal bool
}

// FromFiles looks at three open files.
func FromFiles(in, out, err *os.File) Streams {
	return Streams{
		In: in, Out: out, Err: err,
		InTerminal:  isTerminal(in),
		OutTerminal: isTerminal(out),
		ErrTerminal: isTerminal(err),
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
