package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

func TestDiffNamesFilesOfWhichOnlyTheBytesOnDiskChanged(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "d/b": "1\n", ".gitattributes": "* text\n"})
	r.take("one", func() { r.Write("new", "x\n") })
	c := r.take("two", func() { r.WriteAll(map[string]string{"a": "1\r\n", "d/b": "1\r\n2\n"}) })
	want := []checkpoint.FileDiff{{Status: 'M', Path: "a", BytesOnly: true}, {Status: 'M', Path: "d/b", Added: 1}}
	for name, req := range map[string]checkpoint.DiffRequest{
		"turn": {N: c.N}, "two": {From: c.N - 1, To: c.N}, "work tree": {N: c.N - 1, Worktree: true},
	} {
		req.Pane, req.Stat = r.pane.ID, true
		d, err := r.store.Diff(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, d.Files); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
	}
}
