//go:build unix

package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/back"
	"github.com/turnback/turnback/internal/conversations/both"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// killIn names the environment variables by which the test program restores
// checkpoint 1 of a world with its conversation and kills itself at a place.
const (
	killIn = "TURNBACK_TEST_KILL_IN"
	killAt = "TURNBACK_TEST_KILL_AT"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(killIn); root != "" {
		w := &world{root: root, env: os.Environ()}
		_ = w.restore(context.Background(), func(place string) error {
			if place == os.Getenv(killAt) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		})
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// Places at which a restore can be killed, beside the steps of the files.
const (
	beforeJournal = "before the journal"
	beforeTalk    = "before the conversation"
	afterTalk     = "after the conversation"
)

// world is a work tree with two turns of an agent, saved as checkpoints 1 and 2.
// Its folders are below the work tree's parent.
type world struct {
	root      string
	env       []string
	agent, id string // and its session; empty in a process that is killed
}

const paneOfWorld = "aaaaaaaa"

func (w *world) dir(name string) string { return filepath.Join(filepath.Dir(w.root), name) }

func (w *world) sessions() session.Library {
	return session.Library{Dir: w.dir("sessions"), Now: time.Now}
}

// transcript is the file of the agent's session.
func (w *world) transcript() string {
	switch w.agent {
	case "":
		return ""
	case claude.Name:
		return filepath.Join(w.dir("projects"), w.id+".jsonl")
	}
	return filepath.Join(w.dir("sessions"), w.id+".jsonl")
}

// verbs answers as a process of its own would.
func (w *world) verbs(ctx context.Context, die func(place string) error) (*checkpoints, found, error) {
	store, err := checkpoint.Open(ctx, checkpoint.Options{Dir: w.root, Env: w.env, Now: time.Now})
	if err != nil {
		return nil, found{}, err
	}
	f := found{store: store, window: registry.Window{
		ID: paneOfWorld, Session: "api", Name: "agent", Worktree: store.Worktree(), CommonDir: store.CommonDir(),
		Agent: w.agent, AgentSession: w.id, Transcript: w.transcript(),
	}}
	return &checkpoints{Deps{
		Panes: oneWindow{f.window}, Open: func(context.Context, string) (*checkpoint.Store, error) { return store, nil },
		Back:   dyingTalks{back.Ways{Sessions: w.sessions(), Copiers: map[string]back.Copier{claude.Name: claude.New()}}, die},
		Halves: both.Shelf{Dir: w.dir("restores"), Now: time.Now},
		At: func(window registry.Window) string {
			if window.Agent == claude.Name {
				return claude.New().PlaceNow(window.Transcript, "")
			}
			leaf, _ := session.LeafOf(window.Transcript)
			return leaf
		},
	}}, f, nil
}

// restore restores checkpoint 1, both halves. die is called at each place; on an
// error of it the restore ends there, as by a kill.
func (w *world) restore(ctx context.Context, die func(place string) error) error {
	c, f, err := w.verbs(ctx, die)
	if err != nil {
		return err
	}
	y := way{action: "restore", n: 1, talk: true, take: func(s *checkpoint.Store, ctx context.Context, r checkpoint.RestoreRequest) (checkpoint.RestoreResult, error) {
		check := r.Check
		r.Check = func(ctx context.Context) error { return errors.Join(check(ctx), die(beforeJournal)) }
		return s.Restore(ctx, r)
	}}
	r := f.request(func(api.Progress) {})
	r.N, r.Step = 1, die
	_, err = c.withTalk(ctx, y, f, r)
	return err
}

// dyingTalks are ways that can be killed before they are taken and after.
type dyingTalks struct {
	back.Ways
	die func(place string) error
}

func (d dyingTalks) Prepare(p back.Place) (back.Way, error) {
	way, err := d.Ways.Prepare(p)
	if err != nil || d.die == nil {
		return way, err
	}
	return dyingWay{way, d.die}, nil
}

type dyingWay struct {
	back.Way
	die func(place string) error
}

func (d dyingWay) Take() (api.ConversationBack, error) {
	if err := d.die(beforeTalk); err != nil {
		return api.ConversationBack{}, err
	}
	told, err := d.Way.Take()
	return told, errors.Join(err, d.die(afterTalk))
}

// newWorld makes a world of our own agent, or of Claude Code.
func newWorld(t *testing.T, agent string) (*world, *gittest.Repo, string) {
	r := gittest.NewCommitted(t, map[string]string{"a": "0\n"})
	w := &world{root: r.Root, env: r.Env()}
	id, ends := w.talk(t, agent)
	w.agent, w.id = agent, id
	_, f, err := w.verbs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for turn := 1; turn <= 2; turn++ {
		r.Write("a", fmt.Sprintf("turn %d\n", turn))
		if turn == 1 {
			r.Write("b", "only at turn 1\n")
		} else {
			r.Remove("b")
		}
		_, err := f.store.Save(t.Context(), checkpoint.SaveRequest{
			Pane: f.pane(), Turn: turn, Kind: checkpoint.KindTurn, State: "done", Agent: agent, AgentSession: id, Transcript: ends[turn-1],
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w, r, id
}

// talk has a conversation of two turns and tells where they ended.
func (w *world) talk(t *testing.T, agent string) (id string, ends []string) {
	if agent == claude.Name {
		id = "2801aaaa-0000-4000-8000-000000000001"
		path := filepath.Join(w.dir("projects"), id+".jsonl")
		var lines strings.Builder
		for _, n := range []string{"1", "2"} {
			fmt.Fprintf(&lines, `{"type":"user","uuid":"u%s","sessionId":"%s","message":{"role":"user","content":"turn %s"}}`+"\n", n, id, n)
			fmt.Fprintf(&lines, `{"type":"assistant","uuid":"a%s","sessionId":"%s","message":{"id":"m%s","role":"assistant","content":[{"type":"text","text":"done %s"}]}}`+"\n", n, id, n, n)
			ends = append(ends, fmt.Sprintf(`{"path":%q,"uuid":"a%s","size":1}`, path, n))
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(lines.String()), 0o600)); err != nil {
			t.Fatal(err)
		}
		return id, ends
	}
	s, err := w.sessions().Create("/src/api")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"1", "2"} {
		said := session.Message{Role: session.RoleAssistant, Parts: []session.Part{session.Text("done " + n)}}
		for _, m := range []session.Message{session.UserMessage("turn " + n), said} {
			if _, err := s.Append(m); err != nil {
				t.Fatal(err)
			}
		}
		ends = append(ends, s.Leaf())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.ID(), ends
}

// talks are the texts of the conversations that the agent would go on with.
func (w *world) talks(t *testing.T, agent, id string) []string {
	t.Helper()
	if agent != claude.Name {
		s, err := w.sessions().Read(id)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range s.Context() {
			texts = append(texts, m.JoinedText())
		}
		return []string{strings.Join(texts, ", ")}
	}
	paths, err := filepath.Glob(filepath.Join(w.dir("projects"), "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, part := range []string{"turn 1", "done 1", "turn 2", "done 2"} {
			if strings.Contains(string(text), `"`+part+`"`) {
				said = append(said, part)
			}
		}
		all = append(all, strings.Join(said, ", "))
	}
	slices.Sort(all)
	return all
}

// bothTurns and firstTurn are what talks tells before a restore and after it.
func bothTurns() []string { return []string{"turn 1, done 1, turn 2, done 2"} }

func firstTurn(agent string) []string {
	if agent == claude.Name {
		return append([]string{"turn 1, done 1"}, bothTurns()...)
	}
	return []string{"turn 1, done 1"}
}

// places are all at which a restore of a world can be killed once its journal is
// there, in order.
func places(t *testing.T) []string {
	w, _, _ := newWorld(t, "turnback")
	var all []string
	err := w.restore(t.Context(), func(place string) error {
		all = append(all, place)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all); n < 6 || all[0] != beforeJournal || all[n-2] != beforeTalk || all[n-1] != afterTalk {
		t.Fatalf("a restore goes by %q", all)
	}
	return all[1:]
}

// TestBothHalvesAreFinished stops a restore of files and conversation at each step:
// the next command names it, and finishes both or takes both back.
func TestBothHalvesAreFinished(t *testing.T) {
	for _, agent := range []string{"turnback", claude.Name} {
		for i, place := range places(t) {
			for _, abort := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d %s abort %v", agent, i, place, abort), func(t *testing.T) {
					w, r, id := newWorld(t, agent)
					at := -1
					err := w.restore(t.Context(), func(p string) error {
						if p == beforeJournal {
							return nil
						}
						if at++; at == i {
							return checkpoint.ErrStopped
						}
						return nil
					})
					if !errors.Is(err, checkpoint.ErrStopped) {
						t.Fatalf("restore: %v", err)
					}
					w.finishes(t, r, agent, id, abort)
				})
			}
		}
	}
}

// TestB101BothHalvesAfterARealKill is the same with a process that is killed.
func TestB101BothHalvesAfterARealKill(t *testing.T) {
	all := places(t)
	for _, agent := range []string{"turnback", claude.Name} {
		for _, place := range []string{all[1], beforeTalk, afterTalk} {
			for _, abort := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s abort %v", agent, place, abort), func(t *testing.T) {
					w, r, id := newWorld(t, agent)
					w.killed(t, r, place)
					w.finishes(t, r, agent, id, abort)
				})
			}
		}
		t.Run(agent+" "+beforeJournal, func(t *testing.T) {
			w, r, id := newWorld(t, agent)
			before := r.Tree()
			w.killed(t, r, beforeJournal)
			if diff := cmp.Diff(before, r.Tree()) + cmp.Diff(bothTurns(), w.talks(t, agent, id)); diff != "" {
				t.Errorf("something has changed:\n%s", diff)
			}
			if err := w.restore(t.Context(), func(string) error { return nil }); err != nil {
				t.Errorf("the next restore: %v", err)
			}
			if diff := cmp.Diff(firstTurn(agent), w.talks(t, agent, id)); diff != "" {
				t.Errorf("the next restore:\n%s", diff)
			}
		})
	}
}

// killed has another process restore and die at a place.
func (w *world) killed(t *testing.T, r *gittest.Repo, place string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(r.Env(), killIn+"="+r.Root, killAt+"="+place)
	err := cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Fatalf("the process was not killed: %v", err)
	}
}

// finishes looks whether the restore that was killed is named, and finishes it.
func (w *world) finishes(t *testing.T, r *gittest.Repo, agent, id string, abort bool) {
	t.Helper()
	c, f, err := w.verbs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if note := interruptedNote(f.store); !strings.Contains(note, "a restore of checkpoint 1 and of its conversation was interrupted") {
		t.Errorf("the next command says %q", note)
	}
	quiet := func(api.Progress) {}
	_, err = c.restore(t.Context(), api.RestoreCheckpointParams{N: 2, Conversation: true}, quiet)
	if !checkpoint.HasCode(err, checkpoint.Interrupted) && api.AsError(err).Code != api.CodeInterrupted {
		t.Errorf("another restore meanwhile: %v", err)
	}
	out, err := c.finish(abort)(t.Context(), api.FinishRestoreParams{}, quiet)
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	want, said := map[string]string{"a": "turn 1\n", "b": "only at turn 1\n"}, firstTurn(agent)
	if abort {
		want, said = map[string]string{"a": "turn 2\n"}, bothTurns()
	}
	for name := range maps.Keys(map[string]bool{"a": true, "b": true}) {
		text := ""
		if r.Exists(name) {
			text = r.Read(name)
		}
		if text != want[name] {
			t.Errorf("%s holds %q, want %q", name, text, want[name])
		}
	}
	if diff := cmp.Diff(said, w.talks(t, agent, id)); diff != "" {
		t.Errorf("the conversation (- want, + got):\n%s", diff)
	}
	if !abort && (out.Conversation == nil || out.Conversation.Resume == "") {
		t.Errorf("it is not told how to go on: %+v", out.Conversation)
	}
	if note := interruptedNote(f.store); note != "" {
		t.Errorf("afterwards: %s", note)
	}
	if left, err := os.ReadDir(w.dir("restores")); err != nil || len(left) > 0 {
		t.Errorf("still remembered: %v, %v", left, err)
	}
	if err := w.restore(t.Context(), func(string) error { return nil }); err != nil {
		t.Errorf("a restore afterwards: %v", err)
	}
}

// TestAHalfWhoseSessionHasGone: the files can still be had as they were before.
func TestAHalfWhoseSessionHasGone(t *testing.T) {
	w, r, id := newWorld(t, "turnback")
	err := w.restore(t.Context(), func(p string) error {
		if p == beforeTalk {
			return checkpoint.ErrStopped
		}
		return nil
	})
	if !errors.Is(err, checkpoint.ErrStopped) {
		t.Fatalf("restore: %v", err)
	}
	if err := w.sessions().Remove(id); err != nil {
		t.Fatal(err)
	}
	c, _, err := w.verbs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(api.Progress) {}
	_, err = c.finish(false)(t.Context(), api.FinishRestoreParams{}, quiet)
	if e := api.AsError(err); e.Code != api.CodeContentMissing || e.Hint == nil || e.Hint.Command != "turnback checkpoint restore --abort" {
		t.Errorf("--continue: %+v", e)
	}
	out, err := c.finish(true)(t.Context(), api.FinishRestoreParams{}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Read("a"); got != "turn 2\n" {
		t.Errorf("a holds %q", got)
	}
	if !slices.Contains(out.Notes, "the conversation cannot be had any more") {
		t.Errorf("--abort says %q", out.Notes)
	}
}
