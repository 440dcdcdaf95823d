//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is the CLI in a pty, with a person at the keys.
type terminal struct {
	t      *testing.T
	file   *os.File
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended and its output is read

	answers bool // what a program asks of its terminal

	mu      sync.Mutex
	output  []byte
	changed chan struct{} // closed and replaced when output grows
}

// Keys that a person presses.
const (
	keyEnter  = "\r"
	keyEscape = "\x1b"
)

// start opens the CLI in a terminal of its own session.
func (w *world) start(args ...string) *terminal {
	w.t.Helper()
	return w.open(w.tools.claude, w.claudeArgs(append([]string{"--permission-mode", "manual"}, args...)...)...)
}

// open opens a program in a terminal of its own session.
func (w *world) open(program string, args ...string) *terminal {
	w.t.Helper()
	return w.openIn(false, program, args...)
}

// openIn is open in a terminal that answers what programs ask of it, or in one that
// does not.
func (w *world) openIn(answers bool, program string, args ...string) *terminal {
	w.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.repo.Root, w.env()
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		w.t.Fatalf("start the CLI in a terminal: %v", err)
	}
	term := &terminal{t: w.t, file: file, cmd: cmd, answers: answers, exited: make(chan struct{}), changed: make(chan struct{})}
	go term.read()
	w.t.Cleanup(term.close)
	return term
}

// read copies what the CLI prints until its end.
func (term *terminal) read() {
	defer close(term.exited)
	buffer := make([]byte, 64*1024)
	for {
		n, err := term.file.Read(buffer)
		term.mu.Lock()
		term.output = append(term.output, buffer[:n]...)
		close(term.changed)
		term.changed = make(chan struct{})
		term.mu.Unlock()
		term.answer(string(buffer[:n]))
		if err != nil {
			// The other end is closed. The status is not asked for: a test
			// that cares reads what the hooks said.
			_ = term.cmd.Wait()
			return
		}
	}
}

// answer is what a terminal answers to what a program asks of it: where the cursor
// is, what it can do, and its colors.
func (term *terminal) answer(output string) {
	if !term.answers {
		return
	}
	for _, c := range [][2]string{
		{"\x1b[c", "\x1b[?62;c"},
		{"\x1b[6n", "\x1b[1;1R"},
		{"\x1b]10;?", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"},
		{"\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
	} {
		if strings.Contains(output, c[0]) {
			_, _ = term.file.WriteString(c[1]) // a program that has ended needs no answer
		}
	}
}

// close ends the CLI if it still runs.
func (term *terminal) close() {
	select {
	case <-term.exited:
	default:
		term.kill()
	}
	_ = term.file.Close()
	if term.t.Failed() {
		term.t.Logf("terminal:\n%s", plain(term.text(0)))
	}
}

// kill ends the CLI without giving it a chance to say so.
func (term *terminal) kill() {
	term.t.Helper()
	if err := term.cmd.Process.Kill(); err != nil {
		term.t.Errorf("kill the CLI: %v", err)
	}
	<-term.exited
}

func (term *terminal) text(from int) string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return string(term.output[from:])
}

func (term *terminal) size() int {
	term.mu.Lock()
	defer term.mu.Unlock()
	return len(term.output)
}

// waitFor returns when a text was printed after the first from bytes. Blanks
// do not count: the CLI moves the cursor instead of printing them.
func (term *terminal) waitFor(from int, want string) {
	term.t.Helper()
	want = squeezed(want)
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		term.mu.Lock()
		text, changed := string(term.output[from:]), term.changed
		term.mu.Unlock()
		if strings.Contains(squeezed(plain(text)), want) {
			return
		}
		select {
		case <-changed:
		case <-term.exited:
			term.t.Fatalf("the CLI ended while a test waited for %q", want)
		case <-timeout.C:
			term.t.Fatalf("waited %v for %q", patience, want)
		}
	}
}

// submit types a line and presses Enter. The CLI takes keys that come in one
// piece for a paste, in which Enter is a line break; so Enter waits until the
// line was echoed.
func (term *terminal) submit(line string) {
	term.t.Helper()
	from := term.size()
	term.press(line)
	term.waitFor(from, line)
	term.press(keyEnter)
}

func (term *terminal) press(keys string) {
	term.t.Helper()
	if _, err := term.file.WriteString(keys); err != nil {
		term.t.Fatalf("press keys: %v", err)
	}
}

// waitExit returns when the CLI has ended.
func (term *terminal) waitExit() {
	term.t.Helper()
	select {
	case <-term.exited:
	case <-time.After(patience):
		term.t.Fatalf("the CLI did not end within %v", patience)
	}
}

// plain takes the control sequences out of terminal output.
func plain(text string) string {
	control := regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>78A-Z]|[\x00-\x08\x0b-\x1f]`)
	return control.ReplaceAllString(text, "")
}

func squeezed(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), "")
}
