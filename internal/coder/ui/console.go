package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/turnback/turnback/internal/coder/tool"
)

// Terminal is the person's.
type Terminal struct {
	In     *os.File // nil: there is none
	Out    io.Writer
	Colour bool
}

// Answer is what the person says to a question.
type Answer int

// The answers.
const (
	No Answer = iota
	Yes
	Always
)

// ErrLeft says that the person has left.
var ErrLeft = errors.New("the person has left")

const (
	ctrlC  = 3
	escape = 27
	// breakKey is Ctrl-C as the editor gets it: by its own it would end the line,
	// and what is in it would be lost.
	breakKey = 28
	// fullLine is how many characters the editor takes; further ones are lost.
	fullLine = 4096
)

// Console is a terminal in raw mode: a line editor between turns, and keys that
// abort, and answer questions, while one runs. Close gives the terminal back.
type Console struct {
	// Lines writes to the console.
	*Lines

	in     *os.File
	out    io.Writer
	before *term.State
	editor *term.Terminal
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	handler func(chunk []byte) // who gets the keys now; nil: the editor
	pastes  pastes
	pending []byte        // for the editor
	ready   chan struct{} // pending has grown, or the input has ended
	ended   bool
	leaving bool // Ctrl-C came on an empty line
}

// NewConsole takes a terminal over until Close.
func NewConsole(ctx context.Context, t Terminal) (*Console, error) {
	before, err := term.MakeRaw(int(t.In.Fd()))
	if err != nil {
		return nil, err
	}
	out := crlf{t.Out}
	c := &Console{
		Lines: &Lines{Text: out, About: out, Colour: t.Colour, Terminal: true},
		in:    t.In, out: out, before: before, ready: make(chan struct{}, 1),
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{editorKeys{c, ctx}, t.Out}, "> ")
	c.editor.AutoCompleteCallback = c.pressed
	c.editor.SetBracketedPasteMode(true)
	c.done.Go(func() { c.pump(ctx) })
	return c, nil
}

// Close gives the terminal back as it was.
func (c *Console) Close() error {
	c.stop()
	c.done.Wait()
	c.editor.SetBracketedPasteMode(false)
	return term.Restore(int(c.in.Fd()), c.before)
}

// pump hands keys to whoever gets them now.
func (c *Console) pump(ctx context.Context) {
	buf := make([]byte, 1024)
	for ctx.Err() == nil {
		readable, err := wait(c.in)
		if err == nil && !readable {
			continue
		}
		n, rerr := c.in.Read(buf)
		c.mu.Lock()
		if h := c.handler; h != nil && n > 0 {
			h(bytes.Clone(buf[:n]))
		} else {
			c.keep(buf[:n])
		}
		over := err != nil || rerr != nil
		c.ended = c.ended || over
		c.mu.Unlock()
		c.wake()
		if over {
			return
		}
	}
}

// keep leaves keys to the editor. c.mu is held.
func (c *Console) keep(keys []byte) { c.pending = append(c.pending, c.pastes.filter(keys)...) }

// pressed takes a key that the editor does not know: Ctrl-C empties the line, and
// leaves on an empty one.
func (c *Console) pressed(line string, _ int, key rune) (string, int, bool) {
	if key != breakKey {
		return "", 0, false
	}
	if line == "" {
		c.mu.Lock()
		c.leaving = true
		c.mu.Unlock()
	}
	return "", 0, true
}

func (c *Console) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// editorKeys reads what was kept for the editor.
type editorKeys struct {
	c   *Console
	ctx context.Context
}

func (e editorKeys) Read(p []byte) (int, error) {
	for {
		e.c.mu.Lock()
		ended, n := e.c.ended, 0
		if !e.c.leaving {
			n = copy(p, e.c.pending)
			e.c.pending = e.c.pending[n:]
		}
		ended = ended || e.c.leaving
		e.c.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case ended:
			return 0, io.EOF
		}
		select {
		case <-e.c.ready:
		case <-e.ctx.Done():
			return 0, io.EOF
		}
	}
}

// Line reads a line of the person; what is pasted may hold line feeds. At the end
// of the input, or after Ctrl-D or Ctrl-C on an empty line, it is ErrLeft.
func (c *Console) Line() (string, error) {
	for {
		c.endText()
		if width, height, err := term.GetSize(int(c.in.Fd())); err == nil && width > 0 {
			_ = c.editor.SetSize(width, height)
		}
		line, err := c.editor.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			_, _ = io.WriteString(c.out, "\n")
			return "", ErrLeft
		}
		if utf8.RuneCountInString(line) != fullLine {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.pastes.whole(line), nil
		}
		c.Note("The line is too long and may be cut, so it is not taken. Put the text into a file, or start with -p - and the text as standard input.")
	}
}

// During runs a turn: Esc or Ctrl-C ends its context, a second Ctrl-C makes left
// true. Other keys wait for the editor.
func (c *Console) During(ctx context.Context, turn func(context.Context) error) (left bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	interrupts := 0
	c.handle(func(chunk []byte) {
		switch {
		case bytes.IndexByte(chunk, ctrlC) >= 0:
			if interrupts++; interrupts > 1 {
				left = true
			}
			cancel()
		case len(chunk) == 1 && chunk[0] == escape:
			cancel()
		default:
			c.keep(chunk)
		}
	})
	err = turn(ctx)
	c.handle(nil)
	return left, err
}

// handle says who gets the keys.
func (c *Console) handle(h func([]byte)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handler = h
}

// Ask asks the person during a turn. A key that aborts the turn is a No.
func (c *Console) Ask(ctx context.Context, a tool.Ask) (Answer, error) {
	c.endText()
	_, _ = io.WriteString(c.out, question(a)+" ("+choices(a)+") ")
	answers := make(chan Answer, 1)
	c.mu.Lock()
	before := c.handler
	k := answerKeys{outside: a.Outside}
	c.handler = func(chunk []byte) {
		answer, known := k.take(chunk)
		if !known {
			c.keep(chunk)
			return
		}
		if chunk[0] == ctrlC || chunk[0] == escape {
			before(chunk)
		}
		select {
		case answers <- answer:
		default:
		}
	}
	c.mu.Unlock()
	defer c.handle(before)
	select {
	case answer := <-answers:
		_, _ = io.WriteString(c.out, map[Answer]string{No: "no", Yes: "yes", Always: "always"}[answer]+"\n")
		return answer, ctx.Err()
	case <-ctx.Done():
		_, _ = io.WriteString(c.out, "\n")
		return No, ctx.Err()
	}
}

// choices are the answers that there are, and what "always" allows: all that the
// tool does from then on, and not only what is asked about.
func choices(a tool.Ask) string {
	what := a.Tool
	if what == "bash" {
		what = "command"
	}
	if a.Outside {
		return "y / n"
	}
	return "y / n / a = every " + what + " of this session"
}

// question is what is asked. What one line cannot show stands below it, whole: a
// person cannot allow what is not shown.
func question(a tool.Ask) string {
	whole := a.Whole
	if a.Diff != nil {
		whole = a.Diff()
	}
	line := "? " + strings.ReplaceAll(visible(a.Line), "\n", `\n`)
	if whole == "" {
		return line
	}
	return line + "\n    " + strings.ReplaceAll(visible(whole), "\n", "\n    ") + "\n? that, as it stands above,"
}

// answerKeys finds the answer among keys.
type answerKeys struct {
	outside bool
	typing  bool // a line for later, in which no key is an answer
}

// take says whether keys are an answer: a single one, with Enter behind it or not.
func (k *answerKeys) take(chunk []byte) (Answer, bool) {
	switch {
	case chunk[0] == ctrlC, len(chunk) == 1 && chunk[0] == escape:
		return No, true
	case !k.typing && len(bytes.TrimRight(chunk[1:], "\r\n")) == 0:
		switch chunk[0] {
		case 'y', 'Y':
			return Yes, true
		case 'n', 'N':
			return No, true
		case 'a', 'A':
			if !k.outside {
				return Always, true
			}
		}
	}
	last := chunk[len(chunk)-1]
	k.typing = last != '\r' && last != '\n'
	return No, false
}

// crlf ends lines as a terminal in raw mode wants it.
type crlf struct{ io.Writer }

func (w crlf) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
