//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
)

// setupBench is a home directory with a turnback in it.
type setupBench struct {
	SetupDeps
	out, err bytes.Buffer
	env      map[string]string
	home     string
	dir      string // the working directory
	program  string
	settings string
}

func newSetupBench(t *testing.T) *setupBench {
	t.Helper()
	home := t.TempDir()
	b := &setupBench{home: home, dir: filepath.Join(home, "src", "api", "deep"), env: map[string]string{"HOME": home}}
	b.program = filepath.Join(home, "opt", "turnback")
	b.settings = filepath.Join(home, ".claude", "settings.json")
	for _, dir := range []string{b.dir, filepath.Join(home, "src", "api", ".git"), filepath.Dir(b.program)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.put(t, b.program, "#!/bin/sh\n", 0o755)
	b.SetupDeps = SetupDeps{
		Streams:    screen.Streams{In: strings.NewReader(""), Out: &b.out, Err: &b.err},
		Getenv:     func(name string) string { return b.env[name] },
		Dir:        func() (string, error) { return b.dir, nil },
		Executable: func() (string, error) { return b.program, nil },
		Now:        time.Now,
		StateDir:   filepath.Join(home, "state"),
	}
	return b
}

func (b *setupBench) put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func (b *setupBench) get(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run runs setup as the program does and returns its exit status.
func (b *setupBench) run(args ...string) int {
	b.out.Reset()
	b.err.Reset()
	base := newBench(nil)
	base.Deps.Streams = b.Streams
	base.Commands = []*cobra.Command{NewSetupCommand(b.SetupDeps)}
	return Execute(context.Background(), base.Deps, append([]string{"setup"}, args...))
}

func (b *setupBench) must(t *testing.T, args ...string) {
	t.Helper()
	if status := b.run(args...); status != 0 {
		t.Fatalf("setup %v: status %d, %s", args, status, &b.err)
	}
}

const userText = "{\n  \"model\": \"opus\"\n}\n"

func TestSetupInstallsAndRemoves(t *testing.T) {
	b := newSetupBench(t)
	b.put(t, b.settings, userText, 0o644)
	b.must(t, "claude")
	text := b.get(t, b.settings)
	if !strings.Contains(text, `"command": "`+b.program+`"`) || !strings.HasPrefix(text, "{\n  \"model\": \"opus\",\n  \"hooks\": {\n") {
		t.Errorf("settings:\n%s", text)
	}
	if want := "Installed the hooks in " + b.settings + "."; !strings.HasPrefix(b.out.String(), want) || !strings.Contains(b.out.String(), "turnback doctor") {
		t.Errorf("stdout = %q", &b.out)
	}
	b.must(t, "claude")
	if b.get(t, b.settings) != text || b.out.String() != "The hooks are in "+b.settings+" already.\n" {
		t.Errorf("the second time: %q", &b.out)
	}
	b.must(t, "claude", "--remove")
	if got := b.get(t, b.settings); got != userText {
		t.Errorf("after --remove: %q", got)
	}
	if want := "Removed the hooks from " + b.settings + ".\nThe text from before is in " + b.home; !strings.HasPrefix(b.out.String(), want) {
		t.Errorf("stdout = %q", &b.out)
	}
	b.must(t, "claude", "--remove")
	if b.out.String() != b.settings+" has no hooks of turnback.\n" {
		t.Errorf("stdout = %q", &b.out)
	}
}

func TestSetupWithoutAFileLeavesNoneBehind(t *testing.T) {
	b := newSetupBench(t)
	b.must(t, "claude", "--remove")
	b.must(t, "claude")
	if info, err := os.Stat(b.settings); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new file: %v, %v", info, err)
	}
	b.must(t, "claude", "--remove")
	if _, err := os.Stat(filepath.Dir(b.settings)); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestSetupPlaces(t *testing.T) {
	b := newSetupBench(t)
	b.must(t, "claude", "--project")
	root := filepath.Join(b.home, "src", "api", ".claude", "settings.json")
	if !strings.Contains(b.get(t, root), b.program) {
		t.Error("no hooks at the root of the work tree")
	}
	if _, err := os.Stat(b.settings); !os.IsNotExist(err) {
		t.Errorf("--project wrote the person's own settings: %v", err)
	}
	b.env["CLAUDE_CONFIG_DIR"] = filepath.Join(b.home, "conf")
	b.must(t, "claude")
	if !strings.Contains(b.get(t, filepath.Join(b.home, "conf", "settings.json")), b.program) {
		t.Error("CLAUDE_CONFIG_DIR is not honoured")
	}
}

func TestSetupForAProjectNeedsAWorkTree(t *testing.T) {
	b := newSetupBench(t)
	b.dir = filepath.Join(b.home, "opt")
	for _, args := range [][]string{{"claude", "--project"}, {"claude", "--project", "--remove"}, {"claude", "--project", "--dry-run"}} {
		want := "turnback: " + b.dir + " is not in a git work tree\nhint: go to the work tree, or leave --project out to use your own settings\n"
		if status := b.run(args...); status != 1 || b.err.String() != want {
			t.Errorf("setup %v: status %d, stderr %q, want %q", args, status, &b.err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, ".claude")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

// Where the agent looks for a relative one depends on where it is started.
func TestSetupRefusesARelativeConfigDir(t *testing.T) {
	b := newSetupBench(t)
	b.env["CLAUDE_CONFIG_DIR"] = "conf"
	want := "turnback: CLAUDE_CONFIG_DIR is \"conf\", which is not an absolute path\n"
	if status := b.run("claude"); status != 1 || !strings.HasPrefix(b.err.String(), want) {
		t.Errorf("status %d, stderr %q, want %q", status, &b.err, want)
	}
	for _, path := range []string{b.settings, filepath.Join(b.dir, "conf")} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s was written: %v", path, err)
		}
	}
	b.must(t, "claude", "--project")
	found := b.ClaudeFindings()
	if len(found) == 0 || found[0].Level != command.LevelWarning || !strings.HasPrefix(found[0].Text, "CLAUDE_CONFIG_DIR is \"conf\"") {
		t.Errorf("doctor finds %+v", found)
	}
}

func TestSetupNamesThePlaceInPATH(t *testing.T) {
	b := newSetupBench(t)
	bin := filepath.Join(b.home, "bin")
	b.put(t, filepath.Join(b.home, "wrong", "turnback"), "other", 0o755)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.program, filepath.Join(bin, "turnback")); err != nil {
		t.Fatal(err)
	}
	b.env["PATH"] = ".:" + filepath.Join(b.home, "wrong") + ":" + bin
	b.must(t, "claude")
	if text := b.get(t, b.settings); !strings.Contains(text, `"command": "`+filepath.Join(bin, "turnback")+`"`) {
		t.Errorf("settings:\n%s", text)
	}
}

func TestSetupOfATemporaryBuildIsRefused(t *testing.T) {
	b := newSetupBench(t)
	b.program = filepath.Join(b.home, "go-build123", "b001", "exe", "turnback")
	b.put(t, b.program, "", 0o755)
	if status := b.run("claude"); status != 1 || !strings.Contains(b.err.String(), "go install") {
		t.Errorf("status %d, stderr %q", status, &b.err)
	}
	if _, err := os.Stat(b.settings); !os.IsNotExist(err) {
		t.Errorf("settings were written: %v", err)
	}
	b.must(t, "claude", "--dry-run")
}

func TestSetupDryRun(t *testing.T) {
	b := newSetupBench(t)
	b.put(t, b.settings, userText, 0o644)
	b.must(t, "claude", "--dry-run")
	out := b.out.String()
	if !strings.HasPrefix(out, "--- "+b.settings+"\n+++ "+b.settings+"\n@@ ") || !strings.Contains(out, "\n-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n+  \"hooks\": {\n") ||
		!strings.HasSuffix(out, "Nothing was changed: this was a dry run.\n") {
		t.Errorf("stdout:\n%s", out)
	}
	if b.get(t, b.settings) != userText {
		t.Error("the file was changed")
	}
	if _, err := os.Stat(b.StateDir); !os.IsNotExist(err) {
		t.Errorf("state was written: %v", err)
	}
}

func TestSetupAsksInATerminal(t *testing.T) {
	for answer, installs := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "n\n": false, "": false, "yes": true} {
		b := newSetupBench(t)
		b.put(t, b.settings, userText, 0o644)
		b.Streams.In, b.Streams.InTerminal, b.Streams.OutTerminal = strings.NewReader(answer), true, true
		b.must(t, "claude")
		if !strings.Contains(b.out.String(), "+  \"hooks\": {\n") || !strings.Contains(b.out.String(), "Change "+b.settings+"? [y/N] ") {
			t.Errorf("%q: nothing was shown or asked:\n%s", answer, &b.out)
		}
		if got := b.get(t, b.settings) != userText; got != installs {
			t.Errorf("%q: installed %v, want %v", answer, got, installs)
		}
		if declined := strings.HasSuffix(b.out.String(), "Nothing was changed.\n"); declined == installs {
			t.Errorf("%q: stdout %q", answer, &b.out)
		}
	}
	b := newSetupBench(t)
	b.Streams.InTerminal, b.Streams.OutTerminal = true, true
	b.must(t, "claude", "--yes")
	if strings.Contains(b.out.String(), "?") {
		t.Errorf("--yes asks: %q", &b.out)
	}
}

func TestSetupJSON(t *testing.T) {
	b := newSetupBench(t)
	b.put(t, b.settings, userText, 0o644)
	b.must(t, "claude", "--json")
	var r setupResult
	if err := json.Unmarshal(b.out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %q", err, &b.out)
	}
	if r.Agent != "claude" || r.Action != "install" || r.Path != b.settings || !r.Changed || r.DryRun || r.Command != b.program || !strings.HasPrefix(r.Diff, "--- ") {
		t.Errorf("result = %+v", r)
	}
	if b.get(t, r.Backup) != userText {
		t.Errorf("the backup %s is not the old text", r.Backup)
	}
	b.put(t, b.settings, "{", 0o644)
	if status := b.run("claude", "--json"); status != 1 || !strings.HasPrefix(b.out.String(), "{\n  \"error\": {\n") || b.err.Len() > 0 {
		t.Errorf("status %d, stdout %q, stderr %q", status, &b.out, &b.err)
	}
}

func TestSetupOfSettingsThatDoNotParse(t *testing.T) {
	for _, text := range []string{"", "{\n  \"a\": 1,\n}\n", "[]", `{"hooks":{"Stop":"bad"}}`} {
		b := newSetupBench(t)
		b.put(t, b.settings, text, 0o644)
		for _, args := range [][]string{{"claude"}, {"claude", "--remove"}, {"claude", "--dry-run"}} {
			if status := b.run(args...); status != 1 || !strings.Contains(b.err.String(), b.settings) || !strings.Contains(b.err.String(), "hint: ") {
				t.Errorf("%q, %v: status %d, stderr %q", text, args, status, &b.err)
			}
			if got := b.get(t, b.settings); got != text || b.out.Len() > 0 {
				t.Errorf("%q, %v: the file holds %q, stdout %q", text, args, got, &b.out)
			}
		}
	}
}

func TestSetupUsage(t *testing.T) {
	b := newSetupBench(t)
	for _, args := range [][]string{{}, {"nobody"}, {"claude", "more"}, {"claude", "--nothing"}} {
		if status := b.run(args...); status != 2 || b.err.Len() == 0 {
			t.Errorf("setup %v: status %d, stderr %q", args, status, &b.err)
		}
	}
	b.env["HOME"] = ""
	if status := b.run("claude"); status != 1 || !strings.Contains(b.err.String(), "HOME") {
		t.Errorf("without HOME: status %d, stderr %q", status, &b.err)
	}
	b.StateDir = ""
	if status := b.run("claude"); status != 1 || !strings.Contains(b.err.String(), "XDG_STATE_HOME") {
		t.Errorf("without a place for state: status %d, stderr %q", status, &b.err)
	}
}

func TestClaudeFindings(t *testing.T) {
	b := newSetupBench(t)
	find := func() string {
		var list []string
		for _, f := range b.ClaudeFindings() {
			if f.What != "claude" {
				t.Errorf("a finding about %q", f.What)
			}
			list = append(list, f.Level+": "+f.Text)
		}
		return strings.Join(list, "\n")
	}
	if got := find(); got != "note: no hooks are installed" {
		t.Errorf("before setup: %q", got)
	}
	b.must(t, "claude")
	if got, want := find(), "ok: installed in "+b.settings+"\nwarning: no hook was ever seen to run"; got != want {
		t.Errorf("after setup: %q, want %q", got, want)
	}
	h := newHookBench(t, strings.NewReader("{}"))
	h.StateDir = b.StateDir
	h.run(t, "claude", "Stop")
	if got, want := find(), "ok: installed in "+b.settings+"\nok: a hook was seen less than a minute ago"; got != want {
		t.Errorf("after a hook: %q, want %q", got, want)
	}
}
