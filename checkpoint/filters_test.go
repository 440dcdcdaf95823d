package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
	"github.com/turnback/turnback/internal/trust"
)

const rot13 = "tr a-zA-Z n-za-mN-ZA-M"

// newFiltered is a room whose *.sec files go through the filter "sec" of the
// user's configuration.
func newFiltered(t testing.TB, clean, smudge string) *room {
	t.Helper()
	r := gittest.New(t)
	r.Git("config", "--global", "filter.sec.clean", clean)
	r.Git("config", "--global", "filter.sec.smudge", smudge)
	r.WriteAll(map[string]string{".gitattributes": "*.sec filter=sec\n", "a.sec": "secret\n", "b": "plain\n"})
	r.Commit("first")
	book := trust.Open(filepath.Join(t.TempDir(), "trust"))
	store := open(t, r, func(o *checkpoint.Options) { o.Trust = book })
	return &room{Repo: r, t: t, store: store, pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}}
}

// TestB85NoProgramOfTheRepositoryRuns has every setting by which a repository can
// name a program, and goes through all that a store does.
func TestB85NoProgramOfTheRepositoryRuns(t *testing.T) {
	r := newRoom(t, map[string]string{".gitattributes": "* filter=x diff=x merge=x\n", "a": "1\n", "b": "1\n"})
	canary := filepath.Join(t.TempDir(), "ran")
	program := "touch '" + canary + "'; cat"
	script := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch '"+canary+"'\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command", "merge.x.driver"} {
		r.Git("config", key, program)
	}
	for _, key := range []string{
		"core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.editor", "core.pager", "core.askPass", "core.alternateRefsCommand",
		"credential.helper", "diff.external", "gpg.program", "sequence.editor", "interactive.diffFilter", "uploadpack.packObjectsHook", "pager.diff",
	} {
		r.Git("config", key, script)
	}
	r.Git("config", "commit.gpgSign", "true")
	hooks := t.TempDir()
	r.Git("config", "core.hooksPath", hooks)
	for _, hook := range []string{"reference-transaction", "post-index-change", "post-checkout", "pre-commit", "post-commit", "pre-auto-gc"} {
		path := filepath.Join(hooks, hook)
		if err := os.WriteFile(path, []byte("#!/bin/sh\ntouch '"+canary+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.begin()
	r.Write("a", "2\n")
	if c := r.end("edit"); c != nil {
		t.Errorf("a file behind a filter that may not run was saved: %s", c.Commit)
	}
	r.Git("config", "core.attributesFile", "/dev/null")
	r.Remove(".gitattributes") // no filter, so there is something to save
	one := r.take("one", func() { r.Write("b", "2\n") })
	two := r.take("two", func() { r.Write("b", "3\n"); r.Write("c", "new\n") })
	if _, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: two.N}); err != nil {
		t.Errorf("diff: %v", err)
	}
	r.restore(one.N)
	if _, err := os.Lstat(canary); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
}

// TestTrustIsForWhatWasShown grants, uses and takes back trust.
func TestTrustIsForWhatWasShown(t *testing.T) {
	r := newFiltered(t, rot13, rot13)
	r.Git("config", "filter.own.clean", "cat")
	filters, err := r.store.Filters(t.Context())
	if err != nil || len(filters) != 2 || filters[0].Allowed || filters[0].Scope != "local" || !filters[1].Allowed || filters[1].Scope != "global" {
		t.Fatalf("filters are %+v, %v", filters, err)
	}
	shown := []checkpoint.Driver{filters[0].Driver}
	r.Git("config", "filter.own.clean", "sh -c evil")
	wantCode(t, r.store.TrustFilters(t.Context(), shown), checkpoint.ChangedMeanwhile)
	r.Git("config", "filter.own.clean", "cat")
	if err := r.store.TrustFilters(t.Context(), shown); err != nil {
		t.Fatal(err)
	}
	filters, err = r.store.Filters(t.Context())
	if err != nil || !filters[0].Allowed || !filters[0].Trusted {
		t.Errorf("after trust: %+v, %v", filters, err)
	}
	had, err := r.store.Distrust()
	if err != nil || !had {
		t.Errorf("take trust back: %t, %v", had, err)
	}
	filters, err = r.store.Filters(t.Context())
	if diff := cmp.Diff(false, filters[0].Allowed); diff != "" || err != nil {
		t.Errorf("after trust was taken back: %+v, %v", filters, err)
	}
}

// TestFilteredContentComesBack goes there and back through a filter.
func TestFilteredContentComesBack(t *testing.T) {
	r := newFiltered(t, rot13, rot13)
	one := r.take("one", func() { r.Write("a.sec", "one\n"); r.Write("d/new.sec", "new\n"); r.Write("b", "one\n") })
	then := r.Tree()
	r.take("two", func() { r.Write("a.sec", "two\n"); r.Remove("d/new.sec"); r.Write("other.sec", "other\n") })
	now := r.Tree()
	res := r.restore(one.N)
	if diff := cmp.Diff(then, r.Tree()); diff != "" {
		t.Errorf("restored (- then, + now):\n%s", diff)
	}
	if len(res.Notes) > 0 {
		t.Errorf("the restore says %q", res.Notes)
	}
	r.restore(res.Safety.N)
	if diff := cmp.Diff(now, r.Tree()); diff != "" {
		t.Errorf("and back (- before, + now):\n%s", diff)
	}
}

// TestFilterThatNeverGivesTheSame encrypts with salt: the stored form differs
// each time.
func TestFilterThatNeverGivesTheSame(t *testing.T) {
	salt := "head -c 8 /dev/urandom | od -An -tx1 | tr -d ' '; " + rot13
	r := newFiltered(t, salt, "tail -n +2 | "+rot13)
	one := r.take("one", func() { r.Write("a.sec", "one\n") })
	r.take("two", func() { r.Write("a.sec", "two\n") })
	res := r.restore(one.N)
	if got := r.Read("a.sec"); got != "one\n" {
		t.Fatalf("restored is %q", got)
	}
	r.restore(res.Safety.N)
	if got := r.Read("a.sec"); got != "two\n" {
		t.Errorf("and back is %q", got)
	}
}

// TestContentMissingRefusesFirst takes away what gives the content.
func TestContentMissingRefusesFirst(t *testing.T) {
	for name, breakIt := range map[string]func(r *room){
		"the smudge fails":         func(r *room) { r.Git("config", "--global", "filter.sec.smudge", "false") },
		"the driver is gone":       func(r *room) { r.Git("config", "--global", "--remove-section", "filter.sec") },
		"the driver may not run":   func(r *room) { r.Git("config", "filter.sec.smudge", "cat") },
		"the attribute has gone":   func(r *room) { r.Write(".gitattributes", "# nothing\n") },
		"the smudge fails in the ": func(r *room) { r.Git("config", "--global", "filter.sec.smudge", "cat; exit 1") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newFiltered(t, rot13, rot13)
			one := r.take("one", func() { r.Write("a.sec", "one\n"); r.Write("b", "one\n") })
			r.take("two", func() { r.Remove("a.sec"); r.Write("b", "two\n") })
			breakIt(r)
			before, files := r.Fingerprint(), r.Tree()
			request := r.request(one.N, "a.sec", "b")
			_, err := r.store.Restore(t.Context(), request)
			if e := wantCode(t, err, checkpoint.ContentMissing); !cmp.Equal(e.Paths, []string{"a.sec"}) || e.Detail == "" {
				t.Errorf("named are %q, and %q", e.Paths, e.Detail)
			}
			if diff := cmp.Diff(files, r.Tree()); diff != "" {
				t.Errorf("a refusal changed files:\n%s", diff)
			}
			if diff := cmp.Diff(before, r.Fingerprint()); diff != "" {
				t.Errorf("a refusal changed the repository:\n%s", diff)
			}
		})
	}
}

// TestFilterIsThatOfTheCheckpoint restores a checkpoint in which another filter
// stood before a file.
func TestFilterIsThatOfTheCheckpoint(t *testing.T) {
	r := newFiltered(t, rot13, rot13)
	r.Git("config", "--global", "filter.up.clean", "tr a-z A-Z")
	r.Git("config", "--global", "filter.up.smudge", "tr A-Z a-z")
	one := r.take("one", func() { r.Write("a.sec", "one\n") })
	then := r.Tree()
	r.take("two", func() { r.Write(".gitattributes", "*.sec filter=up\n"); r.Write("a.sec", "two\n") })
	now := r.Tree()
	res := r.restore(one.N)
	if diff := cmp.Diff(then, r.Tree()); diff != "" {
		t.Errorf("restored (- then, + now):\n%s", diff)
	}
	r.restore(res.Safety.N)
	if diff := cmp.Diff(now, r.Tree()); diff != "" {
		t.Errorf("and back (- before, + now):\n%s", diff)
	}
}

// TestB56CipherTextOnDiskComesBack has the stored form on disk, where the key to
// it is not there; also in a linked work tree.
func TestB56CipherTextOnDiskComesBack(t *testing.T) {
	r := newFiltered(t, rot13, rot13)
	r.Git("config", "--global", "filter.sec.required", "true")
	r.Git("config", "--global", "filter.sec.clean", "exit 1")
	r.Git("config", "--global", "filter.sec.smudge", "exit 1")
	cipher := r.Git("cat-file", "blob", "HEAD:a.sec") + "\n"
	r.Write("a.sec", cipher)
	one := r.take("one", func() { r.Write("b", "one\n") })
	r.Write("a.sec", "clear text\n")
	r.begin()
	if c := r.end("clear text"); c != nil {
		if got := r.Git("cat-file", "blob", c.Tree+":a.sec"); got+"\n" != cipher {
			t.Errorf("the clear text is stored: %q", got)
		}
	}
	r.Remove("a.sec")
	r.restore(one.N)
	if got := r.Read("a.sec"); got != cipher {
		t.Errorf("the cipher text came back as %q", got)
	}
	linked := gittest.At(t, r.Home, filepath.Join(filepath.Dir(r.Root), "linked"))
	r.Git("worktree", "add", "--quiet", "--no-checkout", "-b", "linked", linked.Root)
	linked.Git("read-tree", "HEAD")
	request := r.request(one.N)
	request.Here = true
	if _, err := open(t, linked, nil).Restore(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if got := linked.Read("a.sec"); got != cipher {
		t.Errorf("in a linked work tree the cipher text came back as %q", got)
	}
}

// TestKilledRestoreThroughAFilter finishes both ways what was stopped at each step.
func TestKilledRestoreThroughAFilter(t *testing.T) {
	for step := 1; step < 9; step += 2 {
		for _, abort := range []bool{false, true} {
			r := newFiltered(t, rot13, rot13)
			one := r.take("one", func() { r.Write("a.sec", "one\n"); r.Write("new.sec", "new\n") })
			then := r.Tree()
			r.take("two", func() {
				r.Write("a.sec", "two\n")
				r.Remove("new.sec")
				r.Write(".gitattributes", "*.sec filter=sec # more\n")
			})
			now := r.Tree()
			request := r.request(one.N)
			n := 0
			request.Step = func(string) error {
				if n++; n == step {
					return checkpoint.ErrStopped
				}
				return nil
			}
			if _, err := r.store.Restore(t.Context(), request); err == nil {
				t.Fatalf("step %d: the restore was not stopped", step)
			}
			if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: abort}); err != nil {
				t.Fatalf("step %d, abort %t: %v", step, abort, err)
			}
			want := then
			if abort {
				want = now
			}
			if diff := cmp.Diff(want, r.Tree()); diff != "" {
				t.Errorf("step %d, abort %t (- want, + got):\n%s", step, abort, diff)
			}
		}
	}
}
