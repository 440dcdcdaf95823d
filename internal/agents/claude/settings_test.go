package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const command = "/usr/local/bin/turnback"

func install(t testing.TB, text string) string {
	t.Helper()
	out, err := Install([]byte(text), command)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func remove(t testing.TB, text string) string {
	t.Helper()
	out, err := Remove([]byte(text), command)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestInstallInAnEmptyFile(t *testing.T) {
	got := install(t, "")
	start := `{
  "hooks": {
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/usr/local/bin/turnback",
            "args": [
              "hook",
              "claude",
              "SessionStart"
            ],
            "timeout": 10
          }
        ]
      }
    ],
    "SessionEnd": [
`
	if !strings.HasPrefix(got, start) || !strings.HasSuffix(got, "\n    ]\n  }\n}\n") {
		t.Errorf("Install:\n%s", got)
	}
	// The agent writes JSON.stringify(settings, null, 2): it must find nothing to change.
	var plain bytes.Buffer
	if err := json.Indent(&plain, []byte(strings.TrimSuffix(got, "\n")), "", "  "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain.String()+"\n", got); diff != "" {
		t.Errorf("not in the agent's own form:\n%s", diff)
	}
	hooks, err := Hooks([]byte(got), command)
	if err != nil || len(hooks) != len(events()) {
		t.Fatalf("Hooks: %d, %v", len(hooks), err)
	}
	for i, h := range hooks {
		if want := (OwnHook{Event: events()[i], Command: command, Exec: true}); h != want {
			t.Errorf("hook %d = %+v, want %+v", i, h, want)
		}
	}
}

// texts that Install must leave as they are but for its own hooks, and that
// Remove must give back.
var texts = map[string]string{
	"an empty object": "{}\n",
	"no line end":     `{}`,
	"other keys":      "{\n  \"model\": \"opus\",\n  \"env\": {\n    \"A\": \"<&>é\"\n  }\n}\n",
	"other hooks": `{
  "hooks": {
    "Stop": [
      {
        "matcher": "",
        "hooks": [
          {
            "type": "command",
            "command": "say done"
          }
        ]
      }
    ],
    "WorktreeCreate": []
  },
  "zeta": 1
}
`,
	"four blanks":          "{\n    \"a\": {\n        \"b\": [\n            1\n        ]\n    }\n}",
	"tabs":                 "{\n\t\"a\": 1\n}\n",
	"line ends of Windows": "{\r\n  \"a\": 1\r\n}\r\n",
	"a byte order mark":    "\xEF\xBB\xBF{\n  \"a\": 1\n}\n",
	"on one line":          `{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
	"on one line, wide":    `{"a": 1, "b": [1, 2]}` + "\n",
	"odd layout":           "{ \"a\" :1 ,\n\"hooks\"  :{\n \"Stop\":[{ \"hooks\":[{\"type\":\"command\", \"command\":\"x\"} ] }] } }\n",
	"odd numbers and keys": "{\n  \"n\": 1e400,\n  \"\\u0061\\\"b\": -0.10,\n  \"\": null\n}\n",
}

func TestInstallKeepsTheRest(t *testing.T) {
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			installed := install(t, text)
			if hooks, err := Hooks([]byte(installed), command); err != nil || len(hooks) != len(events()) {
				t.Fatalf("%d hooks, %v, in:\n%s", len(hooks), err, installed)
			}
			if again := install(t, installed); again != installed {
				t.Errorf("the second Install changed something:\n%s", cmp.Diff(installed, again))
			}
			if back := remove(t, installed); back != text {
				t.Errorf("Remove did not give the same bytes back:\n%s", cmp.Diff(text, back))
			}
			if strings.Contains(text, "\r\n") && strings.Count(installed, "\n") != strings.Count(installed, "\r\n") {
				t.Errorf("mixed line ends:\n%q", installed)
			}
			if !strings.Contains(strings.TrimSpace(text), "\n") && len(text) > 4 && strings.Contains(strings.TrimSpace(installed), "\n") {
				t.Errorf("a text on one line became more:\n%s", installed)
			}
		})
	}
}

func TestRemoveWithoutHooksChangesNothing(t *testing.T) {
	for name, text := range texts {
		if got := remove(t, text); got != text {
			t.Errorf("%s:\n%s", name, cmp.Diff(text, got))
		}
	}
}

// What the agent or a person changed since stays.
func TestRemoveAfterOtherChanges(t *testing.T) {
	installed := install(t, "{\n  \"model\": \"opus\"\n}\n")
	changed := strings.Replace(installed, "\"model\": \"opus\"", "\"model\": \"sonnet\",\n  \"theme\": \"dark\"", 1)
	changed = strings.Replace(changed, "    \"Stop\": [\n", "    \"Stop\": [\n      {\n        \"hooks\": []\n      },\n", 1)
	want := "{\n  \"model\": \"sonnet\",\n  \"theme\": \"dark\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": []\n      }\n    ]\n  }\n}\n"
	if got := remove(t, changed); got != want {
		t.Errorf("Remove:\n%s", cmp.Diff(want, got))
	}
}

func TestInstallAfterTheProgramMoved(t *testing.T) {
	old := strings.ReplaceAll(install(t, "{\n  \"a\": 1\n}\n"), command, "/opt/old/turnback")
	// What a person set on the entry stays.
	old = strings.Replace(old, `"timeout": 10`, `"timeout": 5`, 1)
	want := strings.ReplaceAll(old, "/opt/old/turnback", command)
	if got := install(t, old); got != want {
		t.Errorf("Install:\n%s", cmp.Diff(want, got))
	}
	if got := remove(t, old); got != "{\n  \"a\": 1\n}\n" {
		t.Errorf("Remove of the old entries:\n%s", got)
	}
}

func TestInstallOverHandWrittenHooks(t *testing.T) {
	text := `{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/x/turnback' hook claude Stop"
          },
          {
            "type": "command",
            "command": "/opt/y/turnback",
            "args": ["hook", "claude", "Stop"]
          },
          {
            "type": "command",
            "command": "echo turnback hook claude Stop"
          },
          {
            "type": "command",
            "command": "/opt/z/other",
            "args": ["hook", "claude", "Stop"]
          }
        ]
      }
    ]
  }
}
`
	got := install(t, text)
	hooks, err := Hooks([]byte(got), command)
	if err != nil || len(hooks) != len(events()) {
		t.Fatalf("%d hooks, %v, in:\n%s", len(hooks), err, got)
	}
	for _, kept := range []string{`"echo turnback hook claude Stop"`, `"/opt/z/other"`} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is gone from:\n%s", kept, got)
		}
	}
	if strings.Contains(got, "/opt/x") || strings.Contains(got, "/opt/y") {
		t.Errorf("an entry runs twice:\n%s", got)
	}
}

func TestTextsThatAreNoSettings(t *testing.T) {
	for _, text := range []string{
		" ", "{", "[]", "null", `"x"`, "{} {}", "// comment\n{}", `{"a":1,}`, `{"hooks":[]}`, `{"hooks":null}`, `{"hooks":{"Stop":"bad"}}`,
		`{"hooks":{},"hooks":{}}`, `{"hooks":{"Stop":[],"Stop":[]}}`, "{\"a\":\"\xff\n\"}",
	} {
		if out, err := Install([]byte(text), command); !errors.Is(err, ErrSettings) {
			t.Errorf("Install(%q) = %q, %v; want an error", text, out, err)
		}
		if out, err := Remove([]byte(text), command); !errors.Is(err, ErrSettings) {
			t.Errorf("Remove(%q) = %q, %v; want an error", text, out, err)
		}
	}
	_, err := Install([]byte("{\n  \"a\": 1,\n}\n"), command)
	if err == nil || !strings.Contains(err.Error(), "line 3, column 1") {
		t.Errorf("the error does not say where: %v", err)
	}
}

// Groups and entries of a shape that is not known are none of ours.
func TestStrangeGroups(t *testing.T) {
	for _, text := range []string{
		`{"hooks":{"Stop":[3,"x",null,[],{"hooks":3},{"hooks":[null,3,{"command":3},{"command":"/turnback","args":"x"},{"command":"/turnback","args":[1,2,3]}]}]}}`,
	} {
		installed := install(t, text)
		if got := remove(t, installed); got != text {
			t.Errorf("Remove:\n%s", cmp.Diff(text, got))
		}
	}
}

func TestHooksOff(t *testing.T) {
	for text, want := range map[string]bool{
		`{"disableAllHooks":true}`: true, `{"disableAllHooks":false}`: false, `{"disableAllHooks":"true"}`: false, `{}`: false, `[`: false,
	} {
		if got := HooksOff([]byte(text)); got != want {
			t.Errorf("HooksOff(%s) = %v", text, got)
		}
	}
}

// drawSettings draws settings in a random layout, with other people's hooks.
func drawSettings(t *rapid.T) string {
	leaf := rapid.OneOf(rapid.Just(any(nil)), rapid.Map(rapid.Int(), func(n int) any { return n }), rapid.Map(rapid.String(), func(s string) any { return s }))
	value := rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(leaf, 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.String(), leaf, 0, 3), func(m map[string]any) any { return m }))
	top := rapid.MapOfN(rapid.StringN(0, 6, -1), value, 0, 4).Draw(t, "top")
	delete(top, "hooks")
	if rapid.Bool().Draw(t, "hooks") {
		hooks := map[string]any{}
		for _, event := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Stop", "PreToolUse", "Odd", "Setup"}), 1, 3, rapid.ID).Draw(t, "events") {
			hooks[event] = rapid.SliceOfN(value, 1, 3).Draw(t, "groups")
		}
		top["hooks"] = hooks
	}
	layout := rapid.SampledFrom([]string{"", "  ", "    ", "\t"}).Draw(t, "layout")
	var text []byte
	var err error
	if layout == "" {
		text, err = json.Marshal(top)
	} else {
		text, err = json.MarshalIndent(top, "", layout)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + rapid.SampledFrom([]string{"", "\n", "\r\n", " \n\n"}).Draw(t, "end")
}

func TestRemoveUndoesInstall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawSettings(t)
		installed, err := Install([]byte(text), command)
		if err != nil {
			t.Fatal(err)
		}
		hooks, err := Hooks(installed, command)
		if err != nil || len(hooks) != len(events()) {
			t.Fatalf("%d hooks, %v", len(hooks), err)
		}
		back, err := Remove(installed, command)
		if err != nil || string(back) != text {
			t.Fatalf("%v\n%s", err, cmp.Diff(text, string(back)))
		}
	})
}

func FuzzSettings(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		installed, err := Install(text, command)
		if err != nil {
			return
		}
		if again, err := Install(installed, command); err != nil || !bytes.Equal(again, installed) {
			t.Errorf("the second Install: %v\n%s", err, cmp.Diff(string(installed), string(again)))
		}
		back, err := Remove(installed, command)
		if err != nil {
			t.Fatalf("Remove: %v", err)
		}
		if hooks, err := Hooks(back, command); err != nil || len(hooks) != 0 {
			t.Errorf("%d hooks are left, %v", len(hooks), err)
		}
	})
}
