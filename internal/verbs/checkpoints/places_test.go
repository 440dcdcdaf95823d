//go:build unix

package checkpoints

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/api"
)

func quietly(api.Progress) {}

// TestFilesAndConversationInEveryOrder goes to two turns, the files, the
// conversation or both: each step after each other one.
func TestFilesAndConversationInEveryOrder(t *testing.T) {
	type step struct {
		n           int
		files, talk bool
	}
	steps := []step{{1, true, false}, {1, false, true}, {1, true, true}, {2, true, false}, {2, false, true}, {2, true, true}}
	var walk []step // has each pair of steps
	for i, a := range steps {
		walk = append(walk, a)
		for _, b := range steps[i+1:] {
			walk = append(walk, a, b)
		}
	}
	walk = append(walk, steps[0])
	for _, agent := range []string{"turnback", claude.Name} {
		t.Run(agent, func(t *testing.T) {
			w, r, id := newWorld(t, agent)
			c, _, err := w.verbs(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			at := step{n: 2} // of the conversation
			files, copies := 2, 0
			for i, s := range walk {
				out, err := c.restore(t.Context(), api.RestoreCheckpointParams{N: s.n, Conversation: s.files && s.talk, ConversationOnly: !s.files}, quietly)
				if err != nil {
					t.Fatalf("step %d, %+v: %v", i, s, err)
				}
				if s.files {
					files = s.n
				}
				if s.talk {
					at = s
					copies++
				}
				if got, want := r.Read("a"), fmt.Sprintf("turn %d\n", files); got != want || r.Exists("b") != (files == 1) {
					t.Errorf("step %d, %+v: a holds %q, want %q; b is there: %v", i, s, got, want, r.Exists("b"))
				}
				if (out.Conversation != nil) != s.talk {
					t.Errorf("step %d, %+v: told %+v", i, s, out.Conversation)
				}
				w.saysUpTo(t, agent, id, at.n, copies)
				if s.talk && agent == claude.Name {
					text, err := os.ReadFile(filepath.Join(w.dir("projects"), out.Conversation.Session+".jsonl"))
					if err != nil || strings.Contains(string(text), "done 2") != (s.n == 2) || !strings.Contains(string(text), "done 1") {
						t.Errorf("step %d, %+v: the copy is %q, %v", i, s, text, err)
					}
				}
			}
		})
	}
}

// saysUpTo looks whether the conversation that is to be gone on with ends with
// turn n. Of Claude Code that is the newest copy.
func (w *world) saysUpTo(t *testing.T, agent, id string, n, copies int) {
	t.Helper()
	full := bothTurns()[0]
	want := full
	if n == 1 {
		want = "turn 1, done 1"
	}
	all := w.talks(t, agent, id)
	if agent == claude.Name {
		if len(all) != copies+1 || !slices.Contains(all, want) || !slices.Contains(all, full) {
			t.Errorf("the transcripts are %q, want %d, and one with %q", all, copies+1, want)
		}
		return
	}
	if !slices.Equal(all, []string{want}) {
		t.Errorf("the session is %q, want %q", all, want)
	}
}

// TestEveryKindHasAPlaceInTheConversation saves by hand and restores, and goes back
// to the conversation of those checkpoints.
func TestEveryKindHasAPlaceInTheConversation(t *testing.T) {
	for _, agent := range []string{"turnback", claude.Name} {
		t.Run(agent, func(t *testing.T) {
			w, r, id := newWorld(t, agent)
			c, f, err := w.verbs(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Write("a", "by hand\n")
			manual, err := c.save(t.Context(), api.SaveCheckpointParams{}, quietly)
			if err != nil {
				t.Fatal(err)
			}
			back, err := c.restore(t.Context(), api.RestoreCheckpointParams{N: 1}, quietly)
			if err != nil {
				t.Fatal(err)
			}
			w.goesOn(t)
			for kind, n := range map[checkpoint.Kind]int{checkpoint.KindManual: manual.Checkpoint.N, checkpoint.KindSafety: back.Safety} {
				cp, err := f.store.Get(t.Context(), paneOfWorld, n)
				if err != nil || cp.Kind != kind || cp.AgentSession != id || cp.Transcript == "" {
					t.Errorf("checkpoint %d is %s of session %q, place %q; %v", n, cp.Kind, cp.AgentSession, cp.Transcript, err)
				}
				if _, err := c.restore(t.Context(), api.RestoreCheckpointParams{N: n, Conversation: true}, quietly); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
				if got := r.Read("a"); got != "by hand\n" {
					t.Errorf("%s: a holds %q", kind, got)
				}
				if !slices.Contains(w.talks(t, agent, id), bothTurns()[0]) {
					t.Errorf("%s: the conversation is %q", kind, w.talks(t, agent, id))
				}
			}
		})
	}
}

// goesOn has the agent say more.
func (w *world) goesOn(t *testing.T) {
	t.Helper()
	if w.agent == claude.Name {
		f, err := os.OpenFile(w.transcript(), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		more := map[string]any{"type": "user", "uuid": "u3", "sessionId": w.id, "message": map[string]any{"content": "turn 3"}}
		if err := json.NewEncoder(f).Encode(more); err != nil {
			t.Fatal(err)
		}
		return
	}
	s, err := w.sessions().Open(w.id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MoveLeaf(""); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestARefusalNamesCheckpointsThatHaveAPlace asks for the conversation of a
// checkpoint that knows of none.
func TestARefusalNamesCheckpointsThatHaveAPlace(t *testing.T) {
	w, _, id := newWorld(t, claude.Name)
	c, f, err := w.verbs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []checkpoint.SaveRequest{{}, {Agent: claude.Name, AgentSession: id}} {
		r.Pane, r.Kind, r.Always = f.pane(), checkpoint.KindManual, true
		if _, err := f.store.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		_, err := c.restore(t.Context(), api.RestoreCheckpointParams{N: 3 + i, Conversation: true}, quietly)
		e := api.AsError(err)
		if e.Code != api.CodeContentMissing || e.Hint == nil {
			t.Fatalf("checkpoint %d: %v", 3+i, err)
		}
		if diff := cmp.Diff([]string{"1", "2"}, e.Hint.Available); diff != "" {
			t.Errorf("checkpoint %d: the hint names other numbers (- want, + got):\n%s", 3+i, diff)
		}
	}
}
