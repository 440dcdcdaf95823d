//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// agentHouse is a repository with a daemon of its own and a scripted model.
type agentHouse struct {
	t     *testing.T
	bin   string
	repo  *gittest.Repo
	model *fakemodel.Chat
	env   []string
}

func newAgentHouse(t *testing.T, bin string, replies ...fakemodel.ChatReply) *agentHouse {
	t.Helper()
	repo := gittest.NewCommitted(t, map[string]string{
		"sum.sh":  "sum() { echo $(($1 - $2)); }\n",
		"test.sh": ". ./sum.sh\n[ \"$(sum 2 3)\" = 5 ] && echo PASS || { echo FAIL; exit 1; }\n",
	})
	run, err := os.MkdirTemp("/tmp", "tb") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	model := fakemodel.StartChat(t, replies...)
	h := &agentHouse{t: t, bin: bin, repo: repo, model: model}
	h.env = append(repo.Env(), "TURNBACK_SOCKET="+filepath.Join(run, "s"), "OPENAI_BASE_URL="+model.URL, "TERM=xterm", "NO_COLOR=1",
		"XDG_STATE_HOME="+filepath.Join(run, "state"), "XDG_DATA_HOME="+filepath.Join(run, "data"), "XDG_CONFIG_HOME="+filepath.Join(run, "config"))
	t.Cleanup(func() {
		if err := errors.Join(endDaemon(filepath.Join(bin, "turnback"), h.env), os.RemoveAll(run)); err != nil {
			t.Error(err)
		}
	})
	return h
}

// command is a turnback command in the repository, in a session of its own, so
// that no terminal is shared.
func (h *agentHouse) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), filepath.Join(h.bin, "turnback"), args...)
	cmd.Dir, cmd.Env = h.repo.Root, h.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func (h *agentHouse) does(args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("turnback %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	if strings.Contains(stderr.String(), "not saved") {
		h.t.Errorf("turnback %s: %s", strings.Join(args, " "), stderr.String())
	}
	return stdout.String()
}

func (h *agentHouse) agent(args ...string) string {
	h.t.Helper()
	return h.does(append([]string{"agent", "--model", "openai/m", "--yes"}, args...)...)
}

type savedTurn struct {
	N            int    `json:"n"`
	Kind         string `json:"kind"`
	State        string `json:"state"`
	Label        string `json:"label"`
	Agent        string `json:"agent"`
	AgentSession string `json:"agent_session"`
}

func (h *agentHouse) saved() []savedTurn {
	h.t.Helper()
	var list struct {
		Checkpoints []savedTurn `json:"checkpoints"`
	}
	if err := json.Unmarshal([]byte(h.does("checkpoint", "list", "--all", "--json")), &list); err != nil {
		h.t.Fatal(err)
	}
	return list.Checkpoints
}

// find is the newest checkpoint of a kind.
func (h *agentHouse) find(kind string) savedTurn {
	h.t.Helper()
	var found savedTurn
	for _, c := range h.saved() {
		if c.Kind == kind {
			found = c
		}
	}
	if found.N == 0 {
		h.t.Fatalf("no checkpoint of kind %s: %+v", kind, h.saved())
	}
	return found
}

func toolCalls(text string, words ...string) fakemodel.ChatReply {
	r := fakemodel.ChatReply{Text: text}
	for len(words) >= 2 {
		call := fakemodel.ChatCall{Name: words[0], Args: map[string]any{}}
		for words = words[1:]; len(words) >= 2 && words[0] != ""; words = words[2:] {
			call.Args[words[0]] = words[1]
		}
		words = words[min(1, len(words)):]
		r.Calls = append(r.Calls, call)
	}
	return r
}

// TestAgent runs our own agent as a person does: its program, a daemon, real git.
func TestAgent(t *testing.T) {
	bin := build(t)
	for name, test := range map[string]func(*testing.T, string){
		"a task is done, tested and saved":             testAgentTask,
		"a rewind can restore the files":               testAgentRewindFiles,
		"B136 killed in a span, it goes on":            testAgentKilled,
		"an interrupt aborts the turn, which is saved": testAgentInterrupted,
		"a person talks to it":                         testAgentTalks,
		"a person closes its checkpoints":              testAgentPersonCloses,
		"a key is kept nowhere":                        testAgentKeepsNoKey,
		"a person looks at its conversations":          testAgentConversations,
		"B146 files and conversation go back":          testAgentBothBack,
		"a long prompt comes from standard input":      testAgentReadsItsPrompt,
		"an error is a line of JSON":                   testAgentErrorLines,
		"a run leaves no window":                       testAgentLeavesNoWindow,
		"what ends it ends its commands":               testAgentTakesItsCommandsAlong,
	} {
		t.Run(name, func(t *testing.T) { test(t, bin) })
	}
}

// testAgentReadsItsPrompt hands in more than the arguments of a program hold.
func testAgentReadsItsPrompt(t *testing.T, bin string) {
	h := newAgentHouse(t, bin, fakemodel.ChatReply{Text: "I have read it."})
	prompt := strings.Repeat("a long log\n", 40_000) + "the end of it"
	cmd := h.command("agent", "--model", "openai/m", "--yes", "-p", "-")
	cmd.Stdin = strings.NewReader(prompt)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "I have read it.\n" {
		t.Fatalf("%v: %s", err, out)
	}
	if m := h.model.Requests()[0].Messages; m[len(m)-1].Text() != prompt {
		t.Errorf("the model got %d bytes of %d", len(m[len(m)-1].Text()), len(prompt))
	}
	if e, _ := h.errorLine(2, "--json", "--model", "openai/m", "-p", "-"); !strings.Contains(e.Message, "no prompt on standard input") {
		t.Errorf("without a prompt: %+v", e)
	}
}

func testAgentTask(t *testing.T, bin string) {
	h := newAgentHouse(
		t, bin,
		toolCalls("", "read", "path", "sum.sh"),
		toolCalls("", "edit", "path", "sum.sh", "old", "$1 - $2", "new", "$1 + $2"),
		toolCalls("", "bash", "command", "sh test.sh"),
		fakemodel.ChatReply{Text: "It passes."},
	)
	before := h.repo.Fingerprint()
	if out := h.agent("-p", "make the test pass"); out != "It passes.\n" {
		t.Errorf("output %q", out)
	}
	for _, problem := range h.model.Problems() {
		t.Error(problem)
	}
	test := exec.Command("/bin/sh", "test.sh")
	test.Dir = h.repo.Root
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the test fails: %s", out)
	}
	turn := h.find("turn")
	if turn.State != "done" || turn.Label != "make the test pass" || turn.Agent != "turnback" || turn.AgentSession == "" {
		t.Errorf("the turn is saved as %+v", turn)
	}
	if now := h.repo.Fingerprint(); !sameUsers(before, now) {
		t.Errorf("something of the user's has changed: %v, was %v", now, before)
	}
}

// sameUsers compares what is the user's of a repository.
func sameUsers(a, b gittest.Fingerprint) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func testAgentRewindFiles(t *testing.T, bin string) {
	h := newAgentHouse(
		t, bin,
		toolCalls("", "write", "path", "kept.txt", "content", "before\n"),
		toolCalls("", "checkpoint", "goal", "try it"),
		toolCalls("", "write", "path", "tried.txt", "content", "inside\n", "", "write", "path", "kept.txt", "content", "changed\n"),
		toolCalls("", "rewind", "report", "it does not work"),
		fakemodel.ChatReply{Text: "end"},
	)
	h.agent("-p", "try", "--conversation", "--rewind-files")
	if h.repo.Exists("tried.txt") || h.repo.Read("kept.txt") != "before\n" {
		t.Errorf("the files are not as at the checkpoint: kept.txt holds %q", h.repo.Read("kept.txt"))
	}
	if c := h.find("conversation"); c.Label != "try it" {
		t.Errorf("the checkpoint is saved as %+v", c)
	}
	requests := h.model.Requests()
	last := string(requests[len(requests)-1].Body)
	if !strings.Contains(last, "it does not work") || strings.Contains(last, "tried.txt") {
		t.Errorf("the last request is %s", last)
	}
}

func testAgentKilled(t *testing.T, bin string) {
	h := newAgentHouse(
		t, bin,
		toolCalls("", "checkpoint", "goal", "look"),
		toolCalls("", "bash", "command", "echo secret inside"),
		fakemodel.ChatReply{Text: "still looking", Hang: true},
	)
	cmd := h.command("agent", "--model", "openai/m", "--yes", "--conversation", "-p", "go")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.waitForRequests(3)
	// The agent is the same process that was started.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the agent ended by itself")
	}
	h.model.Add(toolCalls("", "rewind", "report", "found"), fakemodel.ChatReply{Text: "end"})
	h.agent("--continue", "--conversation", "-p", "on")
	for _, problem := range h.model.Problems() {
		t.Error(problem)
	}
	requests := h.model.Requests()
	last := string(requests[len(requests)-1].Body)
	if !strings.Contains(last, "found") || strings.Contains(last, "secret inside") || !strings.Contains(last, `"on"`) {
		t.Errorf("the last request is %s", last)
	}
}

func (h *agentHouse) waitForRequests(n int) {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); len(h.model.Requests()) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("the model was asked %d times, not %d", len(h.model.Requests()), n)
		}
	}
}

func testAgentInterrupted(t *testing.T, bin string) {
	h := newAgentHouse(
		t, bin,
		toolCalls("", "write", "path", "new.txt", "content", "half\n"),
		fakemodel.ChatReply{Text: "still at it", Hang: true},
	)
	cmd := h.command("agent", "--model", "openai/m", "--yes", "-p", "go")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.waitForRequests(2)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	if !ok || exit.ExitCode() != 130 {
		t.Errorf("it ended with %v: %s", exit, out.String())
	}
	if turn := h.find("turn"); turn.State != "aborted" {
		t.Errorf("the turn is saved as %+v", turn)
	}
}

// typist is a person at a pseudo terminal.
type typist struct {
	t    *testing.T
	tty  *os.File
	mu   sync.Mutex
	seen bytes.Buffer
	from int
}

func (p *typist) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := p.tty.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// sees waits for a text behind what was seen last.
func (p *typist) sees(pattern string) {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		text := p.seen.String()
		at := re.FindStringIndex(text[p.from:])
		if at != nil {
			p.from += at[1]
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		if time.Now().After(end) {
			p.t.Fatalf("%q does not show up; the screen has:\n%q", pattern, text[p.from:])
		}
	}
}

func (p *typist) types(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.tty, text); err != nil {
		p.t.Fatal(err)
	}
}

func testAgentTalks(t *testing.T, bin string) {
	h := newAgentHouse(
		t, bin,
		toolCalls("I write it.", "write", "path", "a.txt", "content", "x\n"),
		fakemodel.ChatReply{Text: "Good.\x1b[2J"},
		toolCalls("", "write", "path", "b.txt", "content", "x\n", "", "write", "path", "c.txt", "content", "x\n"),
		fakemodel.ChatReply{Text: "Written."},
		fakemodel.ChatReply{Text: "thinking", Hang: true},
		toolCalls("", "checkpoint", "goal", "look"),
		fakemodel.ChatReply{Text: "open", Keep: true},
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "turnback"), "agent", "--model", "openai/m", "--conversation")
	cmd.Dir, cmd.Env = h.repo.Root, h.env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	p := &typist{t: t, tty: tty}
	go p.watch() // ends when the terminal is closed
	p.sees("> ")
	p.types("write a\r")
	p.sees(`I write it\.`)
	p.sees(`\? write a\.txt \(1 lines\)\r\n    \+ x\r\n\? that, as it stands above, \(y / n / a`)
	p.types("n")
	p.sees("no\r\n")
	p.sees(`Good\.`)
	p.sees("> ")
	if h.repo.Exists("a.txt") {
		t.Error("a.txt was written though the person said no")
	}
	p.types("write b and c\r")
	p.sees(`\? write b\.txt`)
	p.types("a")
	p.sees(`Written\.`)
	p.sees("> ")
	if !h.repo.Exists("b.txt") || !h.repo.Exists("c.txt") {
		t.Error("what was always allowed was not written")
	}
	p.types("think\r")
	p.sees("thinking")
	p.types("\x1b")
	p.sees("the turn was aborted")
	p.sees("> ")
	p.types("mark\r")
	p.sees("is still open")
	p.sees("> ")
	before := h.repo.Read("sum.sh")
	h.repo.Write("sum.sh", "changed\n")
	p.types("/rewind --files my own report\r")
	p.sees("rewound to the checkpoint: look")
	p.sees("> ")
	if now := h.repo.Read("sum.sh"); now != before {
		t.Errorf("/rewind --files leaves %q", now)
	}
	p.types("/model\r")
	p.sees("openai/m")
	p.types("half a thought")
	p.types("\x03\x1b[200~one\rtwo\r\x1b[201~three\r")
	p.sees("open\r\n")
	if m := h.model.Requests(); !strings.Contains(string(m[len(m)-1].Body), `"one\ntwo\nthree"`) {
		t.Errorf("what was pasted is sent as %s", m[len(m)-1].Body)
	}
	p.types("/quit\r")
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Contains(p.seen.String(), "\x1b[2J") {
		t.Error("the model's text reaches the terminal with its escape sequences")
	}
}
