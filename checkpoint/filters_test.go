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
		"core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.editor", "core.pager", "core.askPass", "core.alternateRefsCommand", "core.hooksPath",
		"credential.helper", "diff.external", "gpg.program", "sequence.editor", "interactive.diffFilter", "uploadpack.packObjectsHook", "pager.diff",
	} {
		r.Git("config", key, script)
	}
	r.Git("config", "commit.gpgSign", "true")
	for _, hook := range []string{"reference-transaction", "post-index-change", "post-checkout", "pre-commit", "post-commit", "pre-auto-gc"} {
		path := r.Path(".git/hooks/" + hook)
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
