package git

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

func guarded(t *testing.T, r *gittest.Repo) *Repo {
	t.Helper()
	g, err := Find(t.Context(), FindOptions{Env: r.Env()})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := g.Open(t.Context(), r.Root)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// A command that could note in the person's index what it found out does not.
func TestNoCommandRefreshesTheIndex(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	repo, long := guarded(t, r), time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes(r.Path("a"), long, long), os.Chtimes(r.Path(".git/index"), long, long)); err != nil {
		t.Fatal(err)
	}
	before := r.Read(".git/index")
	if _, err := repo.output(t.Context(), call{dir: r.Root, args: []string{"status"}}); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(r.Path(".git/index"))
	if err != nil || r.Read(".git/index") != before || st.ModTime().Unix() != long.Unix() {
		t.Errorf("git status wrote the index, %v", err)
	}
}

// A command that could reach into submodules does not, whatever the person has set.
func TestNoCommandReachesIntoSubmodules(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "word\n"})
	inner := gittest.NewCommitted(t, map[string]string{"b": "word\n"})
	r.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.Root, "sub")
	r.Git("config", "submodule.recurse", "true")
	if plain := r.Git("grep", "-l", "word"); !strings.Contains(plain, "sub/b") {
		t.Fatalf("git by itself found %q", plain)
	}
	out, err := guarded(t, r).output(t.Context(), call{dir: r.Root, args: []string{"grep", "-l", "word"}})
	if err != nil || string(out) != "a\n" {
		t.Errorf("found %q, %v", out, err)
	}
}
