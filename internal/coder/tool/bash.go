package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/xec"
)

// Limits of a command.
const (
	bashTime  = 10 * time.Minute
	bashStart = 30_000 // bytes of its output that are kept from the start
	bashEnd   = 30_000 // and from the end
)

var errTime = errors.New("ended after ten minutes")

func (b *Bench) bash(ctx context.Context, call Call) (Result, error) {
	var args struct {
		Command string `json:"command"`
	}
	if err := decode(call.Arguments, &args); err != nil {
		return Result{}, err
	}
	if strings.TrimSpace(args.Command) == "" {
		return Result{}, errors.New("the command is empty")
	}
	ask := Ask{Tool: "bash", Line: "run " + oneLine(args.Command)}
	if oneLine(args.Command) != args.Command {
		ask.Whole = args.Command
	}
	if err := b.Permit(ctx, ask); err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, bashTime, errTime)
	defer cancel()
	var out window
	// The outer shell joins the two outputs in the order in which they come.
	err := xec.Run(limited, xec.Command{
		Path: b.Shell, Args: []string{"-c", `exec "$0" -c "$1" 2>&1`, b.Shell, args.Command},
		Dir: b.Dir, Env: b.Environ, Stdout: &out, Stall: bashTime, Tied: true,
	})
	text := strings.ToValidUTF8(out.String(), "\uFFFD")
	exit, ended := errors.AsType[*xec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return Said("%s[interrupted by the user]", withBreak(text)), nil
	case err == nil:
		if text == "" {
			text = "[no output]"
		}
		return Said("%s", text), nil
	case errors.Is(err, xec.ErrHeld):
		return Said("%s[what runs on in the background can write nothing more here: give it a file for its output]", withBreak(text)), nil
	case errors.Is(err, errTime), errors.Is(err, xec.ErrStalled):
		return Result{}, fmt.Errorf("%s[%w]", withBreak(text), errTime)
	case ended:
		return Result{}, fmt.Errorf("%s[exit status %d]", withBreak(text), exit.Code)
	default:
		return Result{}, fmt.Errorf("%s[%w]", withBreak(text), err)
	}
}

func withBreak(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// window keeps the start and the end of what is written to it.
type window struct {
	start, end bytes.Buffer
	missing    int
}

func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	if room := bashStart - w.start.Len(); room > 0 {
		part := p[:min(room, len(p))]
		w.start.Write(part)
		p = p[len(part):]
	}
	w.end.Write(p)
	if over := w.end.Len() - bashEnd; over > bashEnd {
		w.missing += over
		rest := bytes.Clone(w.end.Bytes()[over:])
		w.end.Reset()
		w.end.Write(rest)
	}
	return n, nil
}

func (w *window) String() string {
	end := w.end.Bytes()
	missing := w.missing
	if over := len(end) - bashEnd; over > 0 {
		missing, end = missing+over, end[over:]
	}
	if missing == 0 {
		return w.start.String() + string(end)
	}
	return fmt.Sprintf("%s\n[cut: %d bytes are left out here]\n%s", w.start.String(), missing, end)
}
