package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entriesOf makes the transcript of session 5f2c from entries: "u id text", "a id
// message text", "c id message call" (a call), "r id call" (its result), "p id prompt
// text" (a prompt with its id), "s id" (a system entry).
func entriesOf(t *testing.T, entries ...string) string {
	t.Helper()
	var out strings.Builder
	write := func(kind, id string, message map[string]any, more map[string]any) {
		e := map[string]any{"type": kind, "uuid": id, "sessionId": "5f2c", "message": message}
		for k, v := range more {
			e[k] = v
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	for _, entry := range entries {
		f := strings.Fields(entry)
		switch f[0] {
		case "u":
			write("user", f[1], map[string]any{"content": f[2]}, nil)
		case "p":
			write("user", f[1], map[string]any{"content": f[3]}, map[string]any{"promptId": f[2]})
		case "a":
			write("assistant", f[1], map[string]any{"id": f[2], "content": []any{map[string]any{"type": "text", "text": f[3]}}}, nil)
		case "c":
			write("assistant", f[1], map[string]any{"id": f[2], "content": []any{map[string]any{"type": "tool_use", "id": f[3], "name": "Bash"}}}, nil)
		case "r":
			write("user", f[1], map[string]any{"content": []any{map[string]any{"type": "tool_result", "tool_use_id": f[2], "content": "x"}}}, nil)
		case "i":
			write("user", f[1], map[string]any{"content": []any{map[string]any{"type": "text", "text": interruptMark}}}, nil)
		case "s":
			write("system", f[1], nil, nil)
		}
	}
	path := filepath.Join(t.TempDir(), "5f2c.jsonl")
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func uuidOf(t *testing.T, place string) string {
	t.Helper()
	if place == "" {
		return ""
	}
	var p Place
	if err := json.Unmarshal([]byte(place), &p); err != nil {
		t.Fatal(err)
	}
	return p.UUID
}

func TestPlaceNow(t *testing.T) {
	turn := []string{"p u1 p1 do", "a a1 m1 done", "s s1"}
	for name, c := range map[string]struct {
		more         []string
		before, want string
	}{
		"after a turn":                   {nil, "", "a1"},
		"a prompt that waits":            {[]string{"p u2 p2 more"}, "", "u2"},
		"before that prompt":             {[]string{"p u2 p2 more", "a a2 m2 yes"}, "p2", "a1"},
		"before a prompt not yet there":  {nil, "p2", "a1"},
		"before the first prompt":        {nil, "p1", ""},
		"in the middle of a call":        {[]string{"p u2 p2 more", "a a2 m2 look", "c a3 m2 t1"}, "", "a2"},
		"calls together":                 {[]string{"p u2 p2 more", "c a3 m2 t1", "c a4 m2 t2", "r u3 t1"}, "", "u2"},
		"calls together, all there":      {[]string{"p u2 p2 more", "c a3 m2 t1", "c a4 m2 t2", "r u3 t1", "r u4 t2"}, "", "u4"},
		"results that follow one by one": {[]string{"p u2 p2 more", "c a3 m2 t1", "r u3 t1", "c a4 m2 t2"}, "", "u3"},
		"an interrupt":                   {[]string{"p u2 p2 more", "a a2 m2 I", "i u3"}, "", "u3"},
		"an interrupted call":            {[]string{"p u2 p2 more", "c a2 m2 t1", "r u3 t1", "i u4", "s s2"}, "", "u4"},
		"a call that never came back":    {[]string{"p u2 p2 more", "c a2 m2 t1", "a a3 m3 on"}, "", "a3"},
	} {
		path := entriesOf(t, append(append([]string{}, turn...), c.more...)...)
		if got := uuidOf(t, New().PlaceNow(path, c.before)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, path := range []string{"", filepath.Join(t.TempDir(), "missing"), entriesOf(t)} {
		if got := New().PlaceNow(path, ""); got != "" {
			t.Errorf("%q: %q", path, got)
		}
	}
}

// TestACopyBehindACall cuts copies behind the calls that were made together with
// one; when the place was told, they were not in the transcript yet.
func TestACopyBehindACall(t *testing.T) {
	start := []string{"p u1 p1 do", "a a1 m1 I", "c a2 m1 t1"}
	for name, c := range map[string]struct {
		more []string
		last string // "": it is refused
	}{
		"one call":           {[]string{"r u2 t1", "a a3 m2 on", "c a4 m2 t9", "r u4 t9"}, "u2"},
		"calls together":     {[]string{"c a3 m1 t2", "r u2 t1", "r u3 t2", "s s1", "a a4 m2 on"}, "u3"},
		"one after another":  {[]string{"r u2 t1", "c a3 m1 t2", "r u3 t2", "a a4 m2 on"}, "u3"},
		"the newest":         {[]string{"r u2 t1"}, "u2"},
		"the person speaks":  {[]string{"r u2 t1", "p u3 p2 stop"}, "u2"},
		"no result":          {nil, ""},
		"one without result": {[]string{"c a3 m1 t2", "r u2 t1", "a a4 m2 on"}, ""},
	} {
		path := entriesOf(t, append(append([]string{}, start...), c.more...)...)
		copied, err := New().Copy("5f2c", New().PlaceOfCall(path, "t1"))
		if (err != nil) != (c.last == "") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if err := copied.Keep(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(copied.Path())
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Split(strings.TrimSpace(string(text)), "\n")
		if e, _ := parseEntry([]byte(all[len(all)-1])); e.UUID != c.last {
			t.Errorf("%s: it ends with %q, want %q", name, e.UUID, c.last)
		}
	}
	if _, err := New().Copy("5f2c", New().PlaceOfCall(entriesOf(t, start...), "t7")); err == nil {
		t.Error("a call that is not there is found")
	}
}
