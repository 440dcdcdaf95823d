package checkpoint_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// TestB103MendKeepsWhatIsWhole loses one object after the other: what else the
// checkpoint has stays under its number.
func TestB103MendKeepsWhatIsWhole(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		lost   []string // of checkpoint 2
	}{
		"a file":                     {"@2:d/two", []string{"d/two"}},
		"a folder":                   {"@2:d", []string{"d"}},
		"raw bytes":                  {"@2^{/kept beside}:bytes/raw/mixed", []string{"mixed"}},
		"the modes":                  {"@2^{/kept beside}:modes", nil},
		"what was left out":          {"@2^{/kept beside}:left-out", nil},
		"what was staged":            {"@2^{/kept beside}:index-blobs", nil},
		"all that is beside":         {"@2^{/kept beside}", nil},
		"the base of the turn":       {"@2^{/base of a turn}^{tree}", nil},
		"the index of then":          {"@2^{/kept beside}:index", nil},
		"all of the raw bytes":       {"@2^{/kept beside}:bytes", nil},
		"the tree of what is beside": {"@2^{/kept beside}^{tree}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n", ".gitattributes": "mixed text\n"})
			r.take("one", func() { r.Write("a", "2\n") })
			r.Git("init", "--quiet", "nested")
			r.Write("a", "edited between\n")
			start, err := r.store.Begin(t.Context(), checkpoint.BeginRequest{Pane: r.pane, Turn: 2}) // its base is held by the turn alone
			if err != nil {
				t.Fatal(err)
			}
			r.turn, r.base = 2, start.Base
			r.Write("d/two", "two\n")
			r.Write("d/b", "b\n")
			r.Write("mixed", "1\r\n2\n")
			r.Write("a", "staged\n")
			r.Git("add", "a")
			r.Write("a", "3\n")
			r.Chmod("a", 0o600)
			r.end("two")
			r.take("three", func() {
				r.Remove("d/two")
				r.Remove("mixed")
				r.Write("d/b", "c\n")
				r.Chmod("a", 0o644)
				r.Write("a", "4\n")
				r.Git("reset", "-q")
			})
			r.loseObject(r.id(c.object))
			report := r.verify(checkpoint.VerifyRequest{Mend: true})
			if !report.OK() || len(report.Findings) == 0 {
				t.Fatalf("%+v", report.Findings)
			}
			r.Git("gc", "--quiet", "--prune=now")
			wantFindings(t, r.verify(checkpoint.VerifyRequest{Full: true}))
			list := r.list()
			if len(list) != 3 {
				t.Fatalf("%d checkpoints", len(list))
			}
			left, err := r.store.LeftOutAll(t.Context(), list[1])
			if err != nil {
				t.Fatal(err)
			}
			var lost []string
			nested := false
			for _, l := range left {
				nested = nested || strings.HasPrefix(l.Path, "nested")
				if l.Reason == "lost" {
					lost = append(lost, l.Path)
				}
			}
			if !cmp.Equal(c.lost, lost) || !nested {
				t.Errorf("left out: %+v, want lost %q, and the nested repository", left, c.lost)
			}
			before := r.Read("d/b")
			res := r.restore(2)
			for _, path := range []string{"a", "d/b"} {
				if want := map[string]string{"a": "3\n", "d/b": "b\n"}[path]; r.Read(path) != want && !slices.Contains(c.lost, "d") {
					t.Errorf("%s holds %q, want %q; %+v", path, r.Read(path), want, res)
				}
			}
			if slices.Contains(c.lost, "d") && r.Read("d/b") != before {
				t.Error("what is lost was taken for removed")
			}
			if name != "what was staged" && name != "the index of then" && !strings.Contains(name, "beside") {
				r.staged(2)
				if got := r.Git("show", ":a"); got != "staged" {
					t.Errorf("%q is staged again", got)
				}
			}
			for _, path := range c.lost {
				_, err := r.store.Restore(t.Context(), r.request(2, path))
				if e := wantCode(t, err, checkpoint.ContentMissing); !strings.Contains(e.Message, fmt.Sprintf("%q", path)) {
					t.Errorf("%s", e.Message)
				}
			}
		})
	}
}

// TestAPurgeKeepsWhatWasStaged has content that only the index had, beside a
// checkpoint that is written anew.
func TestAPurgeKeepsWhatWasStaged(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "secret": "1\n"})
	r.Write("a", "staged\n")
	r.Git("add", "a")
	r.Write("a", "3\n")
	r.Write("secret", "2\n")
	n := r.save()
	r.Git("reset", "-q")
	r.Write("secret", "1\n")
	if _, err := r.store.Purge(t.Context(), checkpoint.PurgeRequest{Path: "secret"}); err != nil {
		t.Fatal(err)
	}
	for _, keep := range r.packs("keep") {
		if err := os.Remove(keep); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("gc", "--quiet", "--prune=now")
	r.staged(n)
	if got := r.Git("show", ":a"); got != "staged" {
		t.Errorf("%q is staged again", got)
	}
}
