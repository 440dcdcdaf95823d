//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// files is a work tree as the tests compare it.
type files = map[string]gittest.Entry

// list reads the checkpoints of the pane that turnback finds by itself.
func (w *world) list() api.ListCheckpointsResult {
	w.t.Helper()
	var result api.ListCheckpointsResult
	w.turnbackJSON(&result, "checkpoint", "list")
	return result
}

// describe says of a checkpoint what the tests compare.
func describe(c api.Checkpoint) string {
	base := ""
	if c.Base != nil {
		base, _, _ = strings.Cut(c.Base.Name, " ")
	}
	return fmt.Sprintf("%d turn %d %s %s base:%s %q", c.N, c.Turn, c.Kind, c.State, base, c.Label)
}

// wantCheckpoints compares the whole list.
func (w *world) wantCheckpoints(want ...string) {
	w.t.Helper()
	result := w.list()
	var got []string
	for _, c := range result.Checkpoints {
		got = append(got, describe(c))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Fatalf("checkpoints (-want +got):\n%s\nhooks: %v", diff, w.hooks())
	}
	if len(result.NotSaved) > 0 {
		w.t.Errorf("not saved: %+v", result.NotSaved)
	}
}

// waitState waits until the pane is in a state.
func (w *world) waitState(want string) {
	w.t.Helper()
	w.eventually("state "+want, func() bool {
		var result api.GetAgentStateResult
		stdout, _, code := w.command(w.tools.turnback, "get-agent-state", "--json")
		return code == 0 && json.Unmarshal([]byte(stdout), &result) == nil && result.State == want
	})
}

// wantFiles compares the work tree with one that was seen before.
func (w *world) wantFiles(want files, when string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.repo.Tree()); diff != "" {
		w.t.Fatalf("work tree %s (-want +got):\n%s", when, diff)
	}
}

// refused runs turnback, which has to refuse with the code.
func (w *world) refused(code string, args ...string) {
	w.t.Helper()
	stdout, stderr, status := w.command(w.tools.turnback, append(args, "--json")...)
	var reply struct {
		Error api.Error `json:"error"`
	}
	if err := json.Unmarshal([]byte(stdout), &reply); err != nil || status != 4 || string(reply.Error.Code) != code {
		w.t.Errorf("turnback %s: exit %d, want 4 and %s\n%s%s", strings.Join(args, " "), status, code, stdout, stderr)
	}
}

// The pieces that a scripted model speaks in.

func (w *world) write(path, content string) fakemodel.Block {
	return fakemodel.Tool("Write", map[string]any{"file_path": w.repo.Path(path), "content": content})
}

func (w *world) read(path string) fakemodel.Block {
	return fakemodel.Tool("Read", map[string]any{"file_path": w.repo.Path(path)})
}

func (w *world) edit(path, old, text string) fakemodel.Block {
	return fakemodel.Tool("Edit", map[string]any{"file_path": w.repo.Path(path), "old_string": old, "new_string": text})
}

func shell(command string) fakemodel.Block {
	return fakemodel.Tool("Bash", map[string]any{"command": command, "description": "a step of the test"})
}

func subagent(prompt string, background bool) fakemodel.Block {
	return fakemodel.Tool("Agent", map[string]any{
		"description": "a part of the work", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": background,
	})
}

// does is a reply that calls tools.
func does(calls ...fakemodel.Block) fakemodel.Entry {
	return fakemodel.Entry{Kind: fakemodel.Main, Content: calls}
}

// says is a reply that ends a turn.
func says(text string) fakemodel.Entry {
	return fakemodel.Entry{Kind: fakemodel.Main, Content: fakemodel.Say(text)}
}

// inSubagent is the same reply, for a subagent.
func inSubagent(e fakemodel.Entry) fakemodel.Entry {
	e.Kind = fakemodel.Sub
	return e
}
