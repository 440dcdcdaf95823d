//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// servers is what the agent keeps in its file of MCP servers.
const serversText = `{
  "numStartups": 7,
  "mcpServers": {
    "other": {
      "type": "stdio",
      "command": "/opt/other",
      "args": []
    }
  },
  "projects": {}
}
`

func TestSetupConversation(t *testing.T) {
	for name, texts := range map[string][2]string{
		"no files":         {"", ""},
		"plain files":      {userText, serversText},
		"own permissions":  {"{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\"\n    ],\n    \"deny\": []\n  }\n}\n", "{}\n"},
		"on a single line": {`{"permissions":{"allow":["Bash(ls)"]}}`, `{"mcpServers":{"other":{"command":"/opt/other"}}}`},
		"no line end":      {"{\n\t\"a\": 1\n}", "{\n\t\"mcpServers\": {}\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSetupBench(t)
			paths := []string{b.settings, filepath.Join(b.home, ".claude.json")}
			for i, path := range paths {
				if texts[i] != "" {
					b.put(t, path, texts[i], 0o640)
				}
			}
			b.must(t, "claude", "--conversation", "--yes")
			b.isSetUp(t, paths)
			before := []string{b.get(t, paths[0]), b.get(t, paths[1])}
			b.must(t, "claude", "--conversation", "--yes")
			if after := []string{b.get(t, paths[0]), b.get(t, paths[1])}; !slices.Equal(before, after) {
				t.Errorf("the second time changed something:\n%s", cmp.Diff(before, after))
			}
			b.must(t, "claude", "--conversation", "--remove", "--yes")
			for i, path := range paths {
				text, err := os.ReadFile(path)
				if texts[i] == "" && err == nil {
					t.Errorf("%s was not there before: %q", path, text)
				}
				if string(text) != texts[i] {
					t.Errorf("after --remove, %s holds %q, before %q", path, text, texts[i])
				}
			}
		})
	}
}

// isSetUp looks at what the agent will read.
func (b *setupBench) isSetUp(t *testing.T, paths []string) {
	t.Helper()
	var settings struct {
		Hooks       map[string][]any
		Permissions struct{ Allow []string }
	}
	if err := json.Unmarshal([]byte(b.get(t, paths[0])), &settings); err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"PreToolUse", "Stop", "SessionStart", "UserPromptSubmit"} {
		if len(settings.Hooks[event]) != 1 {
			t.Errorf("hooks of %s: %v", event, settings.Hooks[event])
		}
	}
	allowed := slices.DeleteFunc(settings.Permissions.Allow, func(p string) bool { return p == "Bash(ls)" })
	if diff := cmp.Diff([]string{"mcp__turnback__checkpoint", "mcp__turnback__rewind"}, allowed); diff != "" {
		t.Errorf("exactly the two tools are allowed:\n%s", diff)
	}
	var servers struct {
		MCPServers map[string]struct {
			Type, Command string
			Args          []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(b.get(t, paths[1])), &servers); err != nil {
		t.Fatal(err)
	}
	if s := servers.MCPServers["turnback"]; s.Type != "stdio" || s.Command != b.program || !slices.Equal(s.Args, []string{"mcp", "--conversation"}) {
		t.Errorf("the server is %+v", s)
	}
}

func TestSetupRemoveTakesTheConversationOutToo(t *testing.T) {
	b := newSetupBench(t)
	servers := filepath.Join(b.home, ".claude.json")
	b.put(t, b.settings, userText, 0o600)
	b.put(t, servers, serversText, 0o600)
	b.must(t, "claude")
	b.must(t, "claude", "--conversation")
	// The agent writes its file anew all the time.
	b.put(t, servers, strings.Replace(b.get(t, servers), `"numStartups": 7`, `"numStartups": 8`, 1), 0o600)
	b.must(t, "claude", "--remove")
	if got := b.get(t, b.settings); got != userText {
		t.Errorf("settings: %q", got)
	}
	if got, want := b.get(t, servers), strings.Replace(serversText, ": 7", ": 8", 1); got != want {
		t.Errorf("servers: %s", cmp.Diff(want, got))
	}
}

// What --conversation installs are the hooks too, so --remove takes the same out
// with it and without it.
func TestSetupRemoveIsTheSameWithConversation(t *testing.T) {
	for _, install := range [][]string{{"claude"}, {"claude", "--conversation"}} {
		var left [2]string
		for i, remove := range [][]string{{"claude", "--remove"}, {"claude", "--conversation", "--remove"}} {
			b := newSetupBench(t)
			servers := filepath.Join(b.home, ".claude.json")
			b.put(t, b.settings, userText, 0o600)
			b.put(t, servers, serversText, 0o600)
			b.must(t, install...)
			b.must(t, remove...)
			left[i] = b.get(t, b.settings) + b.get(t, servers)
			if left[i] != userText+serversText {
				t.Errorf("%q, then %q: left is %s", install, remove, cmp.Diff(userText+serversText, left[i]))
			}
		}
	}
}

func TestSetupConversationRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":               "{",
		"no object":             "[]",
		"servers that are none": `{"mcpServers":[]}`,
		"a server of that name": `{"mcpServers":{"turnback":{"command":"/opt/other","args":["mcp"]}}}`,
	} {
		b := newSetupBench(t)
		servers := filepath.Join(b.home, ".claude.json")
		b.put(t, servers, text, 0o600)
		if status := b.run("claude", "--conversation", "--yes"); status != 1 {
			t.Errorf("%s: status %d, %s", name, status, &b.err)
		}
		if got := b.get(t, servers); got != text {
			t.Errorf("%s: the file holds %q now", name, got)
		}
		if _, err := os.Stat(b.settings); err == nil {
			t.Errorf("%s: the hooks were installed all the same", name)
		}
	}
	if status := newSetupBench(t).run("claude", "--conversation", "--project"); status != 2 {
		t.Errorf("with --project: status %d", status)
	}
}
