package git_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

func TestChangedPathsOfManyPairs(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n", "d/b": "1\n"})
	tree := func() string { r.Git("add", "-A"); return r.Git("write-tree") }
	one := tree()
	r.WriteAll(map[string]string{"a": "2\n", ":odd\nname": "1\n"})
	two := tree()
	r.Remove("d/b")
	three := tree()
	repo := open(t, r)
	got, err := repo.ChangedPaths(t.Context(), [][2]string{{one, two}, {two, two}, {two, three}, {one, two}, {three, one}})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{":odd\nname", "a"}, nil, {"d/b"}, {":odd\nname", "a"}, {":odd\nname", "a", "d/b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
	gone := strings.Repeat("1", len(one))
	for _, pairs := range [][][2]string{{{one, two}, {gone, two}, {two, three}}, {{one, two}, {two, gone}}} {
		if got, err := repo.ChangedPaths(t.Context(), pairs); err == nil {
			t.Errorf("a tree that is missing gives %q", got)
		}
	}
}
