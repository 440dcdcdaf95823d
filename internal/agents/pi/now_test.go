package pi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/turnback/turnback/internal/agents/pi"
)

func TestPlaceNow(t *testing.T) {
	t.Parallel()
	asked := []string{said("u1", "", "user", `"go"`), called("a1", "u1", "x1", "read", `{}`)}
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"nothing yet":         {nil, ""},
		"a call without more": {asked, "u1"},
		"its result":          {append(asked[:2:2], answered("r1", "a1", "x1", "text", false)), "r1"},
		"one of two results":  {append(asked[:1:1], said("a1", "u1", "assistant", `[{"type":"toolCall","id":"x1"},{"type":"toolCall","id":"x2"}]`), answered("r1", "a1", "x1", "text", false)), "u1"},
		"at rest":             {append(asked[:2:2], answered("r1", "a1", "x1", "text", false), said("a2", "r1", "assistant", `[{"type":"text","text":"done"}]`)), "a2"},
		"a torn last line":    {append(asked[:1:1], `{"type":"message","id":"a1","par`), "u1"},
		"interrupted, and on": {append(asked[:2:2], said("u2", "a1", "user", `"instead"`), said("a2", "u2", "assistant", `[{"type":"text","text":"done"}]`)), "a2"},
	} {
		path := file(t, c.lines...)
		if got, want := (pi.Adapter{}).PlaceNow(path, ""), pi.PlaceAt(path, c.want); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := (pi.Adapter{}).PlaceNow("/nowhere/x.jsonl", ""); got != "" {
		t.Errorf("of no file: %s", got)
	}
}

func TestFindTranscript(t *testing.T) {
	t.Parallel()
	path := file(t)
	env := map[string]string{"PI_CODING_AGENT_DIR": filepath.Dir(filepath.Dir(filepath.Dir(path)))}
	find := func(id string) (string, error) {
		return pi.Adapter{}.FindTranscript(func(name string) string { return env[name] }, id)
	}
	if got, err := find(session); got != path || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, id := range []string{"", "*", "019a", "../x", "other"} {
		if got, err := find(id); err == nil {
			t.Errorf("of %q: %s", id, got)
		}
	}
	other := filepath.Join(filepath.Dir(filepath.Dir(path)), "--b--", "x_"+session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := find(session); err == nil {
		t.Errorf("of two files: %s", got)
	}
}
