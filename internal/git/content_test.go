package git_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/blob"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

func TestBlobIDIsGits(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		r := gittest.New(t, "--object-format="+format)
		repo := open(t, r)
		for _, content := range []string{"", "a\n", strings.Repeat("x\r\n\x00", 70_000)} {
			want := strings.TrimSpace(r.GitInput(content, "hash-object", "--stdin", "--no-filters"))
			got, err := blob.ID(repo.IDLen, strings.NewReader(content), int64(len(content)))
			if err != nil || got != want {
				t.Errorf("%s: got %s (%v), git says %s", format, got, err, want)
			}
			if got, err := blob.ID(repo.IDLen, strings.NewReader(content+"!"), int64(len(content))); got != "" || err != nil {
				t.Errorf("%s: content that grew has id %q (%v)", format, got, err)
			}
		}
	}
}

// TestLineEndsThatComeBack says of which content the line ends can be told by a
// flag, and that they come back then.
func TestLineEndsThatComeBack(t *testing.T) {
	long := strings.Repeat("abc\r\n", 40_000)
	for name, c := range map[string]struct {
		disk string
		pure bool
	}{
		"empty": {"", true}, "one line": {"a\r\n", true}, "long": {long, true}, "blank lines": {"\r\n\r\n", true}, "no end": {"a\r\nb", true},
		"lone LF": {"a\r\nb\n", false}, "lone CR": {"a\rb\r\n", false}, "CR at the end": {"a\r\nb\r", false},
		"two CR": {"a\r\r\n", false}, "late LF": {long + "\n", false}, "binary": {"a\r\n\x00\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			lf := strings.ReplaceAll(c.disk, "\r\n", "\n")
			want := ""
			if c.pure {
				want, _ = blob.ID(20, strings.NewReader(lf), int64(len(lf)))
			}
			got, err := blob.LFID(20, strings.NewReader(c.disk))
			if err != nil || got != want {
				t.Errorf("got id %q (%v), want %q", got, err, want)
			}
			if !c.pure {
				return
			}
			var back bytes.Buffer
			buf := make([]byte, 7)
			for r := iotest.OneByteReader(strings.NewReader(lf)); ; {
				n, err := r.Read(buf)
				if err != nil {
					break
				}
				if _, err := (blob.CRLFWriter{W: &back}).Write(buf[:n]); err != nil {
					t.Fatal(err)
				}
			}
			if back.String() != c.disk {
				t.Errorf("%q came back as %q", c.disk, back.String())
			}
		})
	}
}

func TestWriteRawFilesConvertsNothing(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "core.autocrlf", "true")
	files := map[string]string{"a": "1\r\n", "-x": "2\n\r\n", "\"q\"": "3\r\n", "n\nl": "4\r\n", "cr\r": "5\r\n", "d/ü": "6\r\n"}
	r.WriteAll(files)
	var paths []string
	for p := range files {
		paths = append(paths, p)
	}
	repo := open(t, r)
	ids, err := repo.WriteRawFiles(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Flush(); err != nil {
		t.Fatal(err)
	}
	for i, p := range paths {
		if got := r.Git("cat-file", "blob", ids[i]); got != files[p] && got+"\n" != files[p] {
			t.Errorf("%q is stored as %q, was %q", p, got, files[p])
		}
	}
}

func TestLookUpFindsWhatTheTreeHas(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1", "d/e/f": "2", "d/g": "3"})
	repo := open(t, r)
	tree := strings.TrimSpace(r.Git("rev-parse", "HEAD^{tree}"))
	found, err := repo.LookUp(t.Context(), tree, []string{"a", "d/e/f", "d/e", "a/b", "d/x", "x/y", "d/g"})
	if err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{"a": true, "d/e/f": true, "d/e": true, "d/g": true, "a/b": false, "d/x": false, "x/y": false} {
		e, ok := found[path]
		if ok != there {
			t.Errorf("%q: found %t, want %t", path, ok, there)
		}
		if want := ""; there {
			want = strings.TrimSpace(r.Git("rev-parse", tree+":"+path))
			if e.ID != want {
				t.Errorf("%q has id %s, want %s", path, e.ID, want)
			}
		}
	}
}

func TestAttributesAndSizes(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{
		".gitattributes": "*.lfs filter=Big\n*.x filter=none\n*.u working-tree-encoding=UTF-16\n*.n -filter\n",
		"a.lfs":          "12345", "b.x": "", "c.u": "", "d.n": "", "e": "",
	})
	repo := open(t, r)
	got, err := repo.Attributes(t.Context(), []string{"filter", "working-tree-encoding"}, []string{"a.lfs", "b.x", "c.u", "d.n", "e"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a.lfs": "Big", "b.x": "none", "c.u": "", "d.n": "", "e": ""} {
		if value := git.AttributeValue(got[path]["filter"]); value != want {
			t.Errorf("%s has filter %q, want %q", path, value, want)
		}
	}
	if got["c.u"]["working-tree-encoding"] != "UTF-16" {
		t.Errorf("got %v", got)
	}
	missing := strings.Repeat("1", 40)
	sizes, err := repo.Sizes(t.Context(), []string{strings.TrimSpace(r.Git("rev-parse", ":a.lfs")), missing})
	if err != nil || len(sizes) != 2 || sizes[0] != 5 || sizes[1] != -1 {
		t.Errorf("sizes %v (%v), want 5 and -1", sizes, err)
	}
}
