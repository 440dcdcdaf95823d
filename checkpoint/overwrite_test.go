//go:build unix

package checkpoint_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// ignoredInTheWay has what git ignores stand where checkpoint 1 has files.
func ignoredInTheWay(t *testing.T) *room {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() {
		r.WriteAll(map[string]string{"env": "old\n", "exec": "old\n", "was-link": "old\n", "folder/now/file": "old\n", "file": "old\n"})
	})
	r.take("two", func() {
		for _, path := range []string{"env", "exec", "was-link", "folder", "file"} {
			r.Remove(path)
		}
		r.Write(".gitignore", "/env\n/exec\n/was-link\n/folder\n/file\n")
	})
	r.Write("env", "secret\x00\r\n")
	r.Chmod("env", 0o600)
	r.Write("exec", "#!\n")
	r.Chmod("exec", 0o711)
	r.Symlink("nowhere", "was-link")
	r.Write("folder", "a file\n")
	r.WriteAll(map[string]string{"file/is/a/folder": "x\n", "file/y": "y\n"})
	r.Mkdir("file/empty")
	r.Chmod("file/is", 0o700)
	return r
}

func TestB58OverwriteKeepsWhatGitIgnores(t *testing.T) {
	r := ignoredInTheWay(t)
	before, mine := r.Tree(), r.Fingerprint()
	_, err := r.store.Restore(t.Context(), r.request(1))
	wantCode(t, err, checkpoint.WouldOverwrite)
	r.sameTree(before)

	req := r.request(1)
	req.Overwrite = true
	dry := req
	dry.DryRun = true
	if _, err := r.store.Restore(t.Context(), dry); err != nil {
		t.Fatal(err)
	}
	r.sameTree(before)
	res, err := r.store.Restore(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"env", "exec", "file/is/a/folder", "file/y", "folder", "was-link"}
	if diff := cmp.Diff(want, res.Overwritten); diff != "" {
		t.Errorf("other files were written over (-want +got):\n%s", diff)
	}
	for _, path := range []string{"env", "exec", "was-link", "folder/now/file", "file"} {
		if got := r.Read(path); got != "old\n" {
			t.Errorf("%s holds %q", path, got)
		}
	}
	r.restore(res.Safety.N)
	r.sameTree(before)
	if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
		t.Errorf("the person's things changed:\n%s", diff)
	}
	if c := r.end("nothing"); c != nil && c.Tree != r.list()[len(r.list())-1].Tree {
		t.Errorf("what git ignores is in the tree")
	}
}

func TestB58TheSafetyCheckpointAsksBeforeItWritesOverNewOnes(t *testing.T) {
	r := ignoredInTheWay(t)
	req := r.request(1)
	req.Overwrite = true
	res, err := r.store.Restore(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	r.Write(".gitignore", "/env\n")
	r.Write("env", "another secret\n")
	before := r.Tree()
	_, err = r.store.Restore(t.Context(), r.request(res.Safety.N))
	wantCode(t, err, checkpoint.WouldOverwrite)
	r.sameTree(before)
	req.N = res.Safety.N
	again, err := r.store.Restore(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Read("env"); got != "secret\x00\r\n" {
		t.Errorf("env holds %q", got)
	}
	r.restoreOver(again.Safety.N)
	r.sameTree(before)
}

func (r *room) restoreOver(n int) {
	r.t.Helper()
	req := r.request(n)
	req.Overwrite = true
	if _, err := r.store.Restore(r.t.Context(), req); err != nil {
		r.t.Fatal(err)
	}
}

func TestOverwriteDoesNotGoPastWhatCannotBeKept(t *testing.T) {
	for name, stand := range map[string]func(r *room){
		"a repository of its own": func(r *room) {
			r.Mkdir("file")
			r.Git("init", "-q", r.Path("file"))
			r.Write("file/x", "x\n")
		},
		"no regular file": func(r *room) {
			if err := syscall.Mkfifo(r.Path("file"), 0o644); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		for _, rule := range []string{"/file\n", ""} {
			t.Run(name+", rules "+rule, func(t *testing.T) { testNotKept(t, stand, name, rule) })
		}
	}
}

func testNotKept(t *testing.T, stand func(r *room), name, rule string) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("file", "old\n") })
	r.Remove("file")
	stand(r)
	r.Write(".git/info/exclude", rule)
	list := r.list()
	req := r.request(1)
	req.Overwrite = true
	_, err := r.store.Restore(t.Context(), req)
	e := wantCode(t, err, checkpoint.WouldOverwrite)
	if !strings.Contains(e.Detail, name) {
		t.Errorf("the refusal does not say what stands there: %s", e.Detail)
	}
	if len(e.Flags) > 0 {
		t.Errorf("the refusal names a way past it: %v", e.Flags)
	}
	if len(r.list()) != len(list) {
		t.Errorf("a refusal saved a checkpoint")
	}
}

func TestB59WhatRulesOutsideTheTreeIgnoredThenStays(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Write(".git/info/exclude", "/private\n")
	r.Git("config", "core.excludesFile", r.Home+"/ex")
	if err := os.WriteFile(r.Home+"/ex", []byte("*.log\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Write("private", "known to nobody\n")
	r.Write("d/x.log", "nor this\n")
	r.Mkdir("private.d")
	r.take("one", func() { r.Write("b", "1\n") })
	r.take("two", func() {
		r.Write(".git/info/exclude", "")
		r.Git("config", "--unset", "core.excludesFile")
		r.Write("new", "of turn two\n")
	})
	res := r.restore(1)
	if diff := cmp.Diff([]string{"d/x.log", "private"}, res.Kept); diff != "" {
		t.Errorf("others were kept (-want +got):\n%s", diff)
	}
	if !r.Exists("private") || !r.Exists("d/x.log") || r.Exists("new") {
		t.Errorf("kept: %v, %v; gone: %v", r.Exists("private"), r.Exists("d/x.log"), !r.Exists("new"))
	}
}

func TestB59WhatAnIgnoreFileThatIsIgnoredItselfIgnoredThenStays(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Write("cache/.gitignore", "*\n")
	r.Write("cache/data", "known to nobody\n")
	r.Write("pkg/.gitignore", "/.gitignore\n*.log\n")
	r.Write("pkg/x.log", "nor this\n")
	r.take("one", func() { r.Write("pkg/b", "1\n") })
	r.take("two", func() {
		r.Remove("cache/.gitignore")
		r.Remove("pkg/.gitignore")
		r.Write("pkg/new", "of turn two\n")
	})
	res := r.restore(1)
	if diff := cmp.Diff([]string{"cache/data", "pkg/x.log"}, res.Kept); diff != "" {
		t.Errorf("others were kept (-want +got):\n%s", diff)
	}
	if !r.Exists("cache/data") || !r.Exists("pkg/x.log") || r.Exists("pkg/new") {
		t.Errorf("kept: %v, %v; gone: %v", r.Exists("cache/data"), r.Exists("pkg/x.log"), !r.Exists("pkg/new"))
	}
}
