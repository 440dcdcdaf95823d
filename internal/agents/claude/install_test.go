//go:build unix

package claude

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/agents/settingsfile"
)

func setup(t *testing.T) Setup {
	t.Helper()
	dir := t.TempDir()
	return Setup{
		File: settingsfile.File{
			Agent: Name, Path: filepath.Join(dir, ".claude", "settings.json"), Mode: 0o600, StateDir: filepath.Join(dir, "state"),
		},
		Command: command,
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s Setup) install(t *testing.T) {
	t.Helper()
	p, err := s.PlanInstall()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyInstall(p); err != nil {
		t.Fatal(err)
	}
}

func (s Setup) remove(t *testing.T) {
	t.Helper()
	p, err := s.PlanRemove()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyRemove(p); err != nil {
		t.Fatal(err)
	}
}

// Texts in which Remove alone could not tell what was there before.
func TestSetupGivesTheSameBytesBack(t *testing.T) {
	for _, text := range []string{
		"{\n}\n", "{ }", "{\n  \"hooks\": {}\n}\n", "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n", "{\"hooks\":{ \"Stop\":[ ]},\n\n\"a\":1}", "{}\r\n",
	} {
		s := setup(t)
		put(t, s.File.Path, text)
		s.install(t)
		moved := s
		moved.Command = "/opt/new/turnback"
		moved.install(t)
		if strings.Contains(get(t, s.File.Path), command) {
			t.Fatal("the old program is still there")
		}
		moved.remove(t)
		if got := get(t, s.File.Path); got != text {
			t.Errorf("not the same bytes: %s", cmp.Diff(text, got))
		}
	}
}

func TestSetupOfAFileThatDidNotExist(t *testing.T) {
	s := setup(t)
	s.install(t)
	s.remove(t)
	if _, err := os.Stat(filepath.Dir(s.File.Path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file's folder is still there: %v", err)
	}
	// The agent wrote its own settings into the file in between.
	s.install(t)
	put(t, s.File.Path, strings.Replace(get(t, s.File.Path), "{\n", "{\n  \"model\": \"opus\",\n", 1))
	s.remove(t)
	if got := get(t, s.File.Path); got != "{\n  \"model\": \"opus\"\n}\n" {
		t.Errorf("the file holds %q", got)
	}
	// And took them out again, with the hooks written in another layout.
	s = setup(t)
	s.install(t)
	put(t, s.File.Path, strings.ReplaceAll(get(t, s.File.Path), "  ", "    "))
	s.remove(t)
	if _, err := os.Stat(s.File.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty file that was made by us is still there: %v", err)
	}
}

// A record of another time must not bring back what a person has changed since.
func TestSetupDoesNotBringBackAnOldText(t *testing.T) {
	s := setup(t)
	put(t, s.File.Path, "{\n  \"model\": \"opus\"\n}\n")
	s.install(t)
	put(t, s.File.Path, strings.Replace(get(t, s.File.Path), "opus", "sonnet", 1))
	s.remove(t)
	if got := get(t, s.File.Path); got != "{\n  \"model\": \"sonnet\"\n}\n" {
		t.Errorf("the file holds %q", got)
	}
}

func TestSetupChangesNothingTwice(t *testing.T) {
	s := setup(t)
	if p, err := s.PlanRemove(); err != nil || p.Changed() {
		t.Errorf("Remove without a file: %+v, %v", p, err)
	}
	s.install(t)
	if p, err := s.PlanInstall(); err != nil || p.Changed() {
		t.Errorf("the second Install: changed, %v", err)
	}
	put(t, s.File.Path, "{ \"a\":1 }")
	if p, err := s.PlanRemove(); err != nil || p.Changed() {
		t.Errorf("Remove without hooks: changed, %v", err)
	}
}

func TestSetupOfAFileThatDoesNotParse(t *testing.T) {
	for _, text := range []string{"", " \n", "{\"a\":1,}", "[]"} {
		s := setup(t)
		put(t, s.File.Path, text)
		for name, plan := range map[string]func() (settingsfile.Plan, error){"install": s.PlanInstall, "remove": s.PlanRemove} {
			_, err := plan()
			if !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), s.File.Path) {
				t.Errorf("%s of %q: error %v", name, text, err)
			}
		}
		if got := get(t, s.File.Path); got != text {
			t.Errorf("the file holds %q", got)
		}
	}
}

func TestPathsOfSettings(t *testing.T) {
	env := func(vars ...string) func(string) string {
		m := map[string]string{}
		for i := 0; i < len(vars); i += 2 {
			m[vars[i]] = vars[i+1]
		}
		return func(name string) string { return m[name] }
	}
	tests := map[string]func(string) string{
		"/home/dev/.claude/settings.json": env("HOME", "/home/dev"),
		"/conf/settings.json":             env("HOME", "/home/dev", "CLAUDE_CONFIG_DIR", "/conf"),
		"":                                env(),
	}
	for want, env := range tests {
		if got, err := UserSettings(env); got != want || (err != nil) != (want == "") {
			t.Errorf("UserSettings = %q, %v, want %q", got, err, want)
		}
	}
	if got, err := UserSettings(env("HOME", "/h", "CLAUDE_CONFIG_DIR", "conf")); err == nil {
		t.Errorf("a relative CLAUDE_CONFIG_DIR gives %q", got)
	}
}

func TestFindings(t *testing.T) {
	dir := t.TempDir()
	program, other := filepath.Join(dir, "bin", "turnback"), filepath.Join(dir, "other", "turnback")
	for _, p := range []string{program, other} {
		put(t, p, "#!/bin/sh\n")
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	user, project := filepath.Join(dir, "user.json"), filepath.Join(dir, "project.json")
	with := func(command string) string {
		out, err := Install(nil, command)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	tests := []struct {
		name          string
		user, project string // no file when empty
		seen          time.Duration
		want          []string // level and part of the text
	}{
		{name: "nothing", want: []string{"note: no hooks are installed"}},
		{name: "all well", user: with(program), seen: 90 * time.Minute, want: []string{"ok: installed in " + user, "ok: a hook was last seen 1h30m ago"}},
		{name: "just now", user: with(program), seen: time.Second, want: []string{"ok: installed", "ok: a hook was seen less than a minute ago"}},
		{name: "never ran", user: with(program), want: []string{"ok: installed", "warning: no hook was ever seen"}},
		{name: "in both, the same", user: with(program), project: with(program), seen: time.Hour, want: []string{"ok: installed", "ok: installed", "ok: "}},
		{
			name: "in both, not the same", user: with(program), project: with(other), seen: time.Hour,
			want: []string{"ok: installed", "warning: the hooks in " + project + " run " + other, "warning: every hook runs more than once", "ok: "},
		},
		{name: "the program is gone", user: with("/nowhere/turnback"), seen: time.Hour, want: []string{"problem: the hooks in " + user + " run /nowhere/turnback, but there is no such file", "ok: "}},
		{name: "no program", user: with(filepath.Join(dir, "bin")), seen: time.Hour, want: []string{"note: no hooks"}},
		{
			name: "all hooks off", user: strings.Replace(with(program), "{", "{\n  \"disableAllHooks\": true,", 1), seen: time.Hour,
			want: []string{"problem: " + user + " turns all hooks off", "ok: installed", "ok: "},
		},
		{name: "does not parse", user: "{", project: with(program), seen: time.Hour, want: []string{"problem: " + user + " cannot be used as settings", "ok: installed in " + project, "ok: "}},
		{
			name: "some are missing", user: strings.Replace(with(program), `"Stop"`, `"Stopp"`, 1), seen: time.Hour,
			want: []string{"warning: hooks are missing in " + user + ": Stop", "ok: "},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for path, text := range map[string]string{user: tt.user, project: tt.project} {
				_ = os.Remove(path)
				if text != "" {
					put(t, path, text)
				}
			}
			c := Check{Settings: []string{user, project}, Command: program, Now: now, Seen: tt.seen != 0, LastSeen: now.Add(-tt.seen)}
			found := c.Findings()
			if len(found) != len(tt.want) {
				t.Fatalf("findings: %+v, want %q", found, tt.want)
			}
			for i, f := range found {
				if got := f.Level + ": " + f.Text; !strings.HasPrefix(got, tt.want[i]) {
					t.Errorf("finding %d: %q, want %q", i, got, tt.want[i])
				}
			}
		})
	}
}
