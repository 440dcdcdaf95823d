package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// loseObject takes a loose object out of the store.
func (r *room) loseObject(id string) {
	r.t.Helper()
	if err := os.Remove(r.objectFile(id)); err != nil {
		r.t.Fatal(err)
	}
}

// objectFile is the file of an object, made loose if need be.
func (r *room) objectFile(id string) string {
	r.t.Helper()
	file := r.Path(".git/objects/" + id[:2] + "/" + id[2:])
	if _, err := os.Lstat(file); err == nil {
		return file
	}
	packs, err := filepath.Glob(r.Path(".git/objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		r.t.Fatalf("no object %s and no pack: %v", id, err)
	}
	dir := r.t.TempDir()
	for _, pack := range packs {
		for _, ext := range []string{".idx", ".keep", ".rev", ".bitmap"} {
			_ = os.Remove(strings.TrimSuffix(pack, ".pack") + ext)
		}
		moved := filepath.Join(dir, filepath.Base(pack))
		if err := os.Rename(pack, moved); err != nil {
			r.t.Fatal(err)
		}
		data, err := os.ReadFile(moved)
		if err != nil {
			r.t.Fatal(err)
		}
		r.GitInput(string(data), "unpack-objects", "-q")
	}
	return file
}

func (r *room) verify(q checkpoint.VerifyRequest) checkpoint.VerifyReport {
	r.t.Helper()
	report, err := r.store.Verify(r.t.Context(), q)
	if err != nil {
		r.t.Fatalf("verify: %v", err)
	}
	return report
}

// wantFindings fails unless the report has just these, each "severity: n: what"
// up to the length given.
func wantFindings(t *testing.T, report checkpoint.VerifyReport, want ...string) {
	t.Helper()
	got := []string{}
	for i, f := range report.Findings {
		s := fmt.Sprintf("%s: %d: %s", f.Severity, f.N, f.What)
		if i < len(want) && strings.HasPrefix(s, want[i]) {
			s = want[i]
		}
		got = append(got, s)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("findings (- want, + got):\n%s", diff)
	}
}

// threeSound is a room with checkpoints 1 to 3, each with a file of its own, one
// with something left out.
func threeSound(t *testing.T) *room {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("a", "2\n"); r.Write("d/one", "one\n") })
	r.Git("init", "--quiet", "nested")
	r.take("two", func() { r.Write("a", "3\n"); r.Write("d/two", "two\n") })
	r.take("three", func() { r.Write("a", "4\n"); r.Write("d/three", "three\n") })
	return r
}

func (r *room) id(rev string) string {
	r.t.Helper()
	return r.Git("rev-parse", strings.ReplaceAll(rev, "@", "refs/turnback/checkpoints/00d333ce/"))
}

func TestAllIsWell(t *testing.T) {
	r := threeSound(t)
	r.restore(2)
	r.begin()
	before := r.Fingerprint()
	for _, q := range []checkpoint.VerifyRequest{{}, {Full: true}, {Full: true, Mend: true}} {
		report := r.verify(q)
		wantFindings(t, report)
		if report.Checkpoints != 4 || report.Panes != 1 || report.Objects < 10 || !report.OK() {
			t.Errorf("%+v", report)
		}
	}
	if dropped, err := r.store.DropBroken(t.Context()); err != nil || len(dropped) > 0 {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	if diff := cmp.Diff(before, r.Fingerprint()); diff != "" {
		t.Errorf("verify changed:\n%s", diff)
	}
}

// TestB97ABrokenRefIsFoundAndDropped has commits gone behind refs, so that git
// fetch and gc fail.
func TestB97ABrokenRefIsFoundAndDropped(t *testing.T) {
	for name, mend := range map[string]func(r *room) []checkpoint.Finding{
		"verify": func(r *room) []checkpoint.Finding { return r.verify(checkpoint.VerifyRequest{Mend: true}).Findings },
		"idle": func(r *room) []checkpoint.Finding {
			dropped, err := r.store.DropBroken(r.t.Context())
			if err != nil {
				r.t.Fatal(err)
			}
			return dropped
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := threeSound(t)
			remote := t.TempDir()
			r.Git("init", "--quiet", "--bare", remote)
			r.Git("remote", "add", "origin", remote)
			r.Git("push", "--quiet", "origin", "main")
			lost := r.id("@2")
			r.loseObject(lost)
			if _, err := r.TryGit("gc"); err == nil {
				t.Fatal("gc is not broken: nothing is proven")
			}
			wantFindings(t, r.verify(checkpoint.VerifyRequest{}), "broken: 2: its commit "+lost+" is missing")
			found := mend(r)
			if len(found) != 1 || !found[0].Mended || found[0].N != 2 {
				t.Fatalf("%+v", found)
			}
			r.Git("gc", "--quiet")
			r.Git("fetch", "--quiet", "origin")
			r.Git("fsck", "--no-dangling")
			wantFindings(t, r.verify(checkpoint.VerifyRequest{Full: true}))
			if list := r.list(); len(list) != 2 {
				t.Errorf("%d checkpoints stay", len(list))
			}
			if !strings.Contains(r.Read(".git/turnback/dropped-refs"), lost) {
				t.Error("what was dropped is written down nowhere")
			}
			if c := r.take("four", func() { r.Write("a", "5\n") }); c.N != 4 {
				t.Errorf("the next one is %d", c.N)
			}
		})
	}
}

// TestB97ABrokenRefGoesWhenIdle has the same gone by the work that waits until
// there is nothing else to do.
func TestB97ABrokenRefGoesWhenIdle(t *testing.T) {
	r := threeSound(t)
	r.loseObject(r.id("@2"))
	if err := r.store.Tend(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFindings(t, r.verify(checkpoint.VerifyRequest{Full: true}))
	if list := r.list(); len(list) != 2 || list[0].N != 1 || list[1].N != 3 {
		t.Errorf("%+v", list)
	}
	r.Git("gc", "--quiet")
}

// TestB103AMissingOrCorruptObjectIsFound names the checkpoints that need it, and
// no others.
func TestB103AMissingOrCorruptObjectIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		broken []int
		full   bool // only a full look finds it
		spoil  func(r *room, file string)
	}{
		"a file of one":       {object: "@2:d/two", broken: []int{2, 3}},
		"a file of all":       {object: "@1:d/one", broken: []int{1, 2, 3}},
		"a folder":            {object: "@3:d", broken: []int{3}},
		"what is kept beside": {object: "@2^{/kept beside}:left-out", broken: []int{2, 3}},
		"another content": {object: "@3:a", broken: []int{3}, full: true, spoil: func(r *room, file string) {
			other, err := os.ReadFile(r.objectFile(r.id("@2:a")))
			if err == nil {
				err = os.Rename(file, file+".old")
			}
			if err == nil {
				err = os.WriteFile(file, other, 0o444)
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}},
		"no zlib stream": {object: "@3:a", broken: []int{3}, full: true, spoil: func(r *room, file string) {
			if err := os.Remove(file); err != nil {
				r.t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("garbage"), 0o444); err != nil {
				r.t.Fatal(err)
			}
		}},
		"a tree that is no zlib stream": {object: "@2:d", broken: []int{2}, spoil: func(r *room, file string) {
			if err := os.Remove(file); err != nil {
				r.t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("garbage"), 0o444); err != nil {
				r.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := threeSound(t)
			id := r.id(c.object)
			file := r.objectFile(id)
			if c.spoil == nil {
				r.loseObject(id)
			} else {
				c.spoil(r, file)
			}
			if c.full {
				wantFindings(t, r.verify(checkpoint.VerifyRequest{}))
			}
			report := r.verify(checkpoint.VerifyRequest{Full: c.full})
			var broken []int
			for _, f := range report.Findings {
				if f.Severity == checkpoint.SeverityBroken && f.N > 0 {
					broken = append(broken, f.N)
				}
			}
			slices.Sort(broken)
			broken = slices.Compact(broken)
			if diff := cmp.Diff(c.broken, broken); diff != "" {
				t.Errorf("broken (- want, + got):\n%s\n%+v", diff, report.Findings)
			}
			if report.OK() {
				t.Error("all is said to be well")
			}
			report = r.verify(checkpoint.VerifyRequest{Full: c.full, Mend: true})
			if !report.OK() {
				t.Errorf("not mended: %+v", report.Findings)
			}
			r.Git("gc", "--quiet", "--prune=now")
			wantFindings(t, r.verify(checkpoint.VerifyRequest{Full: true}))
		})
	}
}

func TestRefsThatGitCannotReadAreMovedAside(t *testing.T) {
	r := threeSound(t)
	dir := r.Path(".git/refs/turnback/checkpoints/00d333ce/")
	for name, content := range map[string]string{"5": "garbage\n", "6": "", "7": "ref: refs/heads/absent\n", "8": "ref: refs/turnback/checkpoints/00d333ce/8\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(outside, []byte("precious\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Symlink(outside, ".git/refs/turnback/checkpoints/00d333ce/9")
	if _, err := r.TryGit("fsck"); err == nil {
		t.Fatal("fsck finds nothing: nothing is proven")
	}
	unreadable := "git cannot read this ref"
	wantFindings(t, r.verify(checkpoint.VerifyRequest{}),
		"broken: 5: "+unreadable, "broken: 6: "+unreadable, "broken: 7: "+unreadable, "broken: 8: "+unreadable, "broken: 9: "+unreadable)
	if report := r.verify(checkpoint.VerifyRequest{Mend: true}); !report.OK() {
		t.Errorf("%+v", report)
	}
	wantFindings(t, r.verify(checkpoint.VerifyRequest{}))
	r.Git("fsck", "--no-dangling")
	if data, err := os.ReadFile(outside); err != nil || string(data) != "precious\n" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
	r.take("four", func() { r.Write("a", "5\n") })
}

func TestWhatKilledProcessesLeftIsFound(t *testing.T) {
	r := threeSound(t)
	old := time.Now().Add(-2 * time.Hour)
	left := []string{
		".git/refs/turnback/checkpoints/00d333ce/4.lock", ".git/turnback/trees/main/.newest.json.123", ".git/turnback/trees/main/rules-1/.gitignore",
	}
	for _, path := range left {
		r.Write(path, "")
	}
	wantFindings(t, r.verify(checkpoint.VerifyRequest{})) // they may belong to somebody
	for _, path := range append(left, ".git/turnback/trees/main/rules-1") {
		if err := os.Chtimes(r.Path(path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	r.Write(".git/turnback/trees/main/restore.json", "{")
	r.Write(".git/turnback/panes/ffffffff.json", "{")
	want := []string{
		"damaged: 0: the journal of a restore cannot be read", "leftover: 0: a killed git left this lock", "leftover: 0: a killed process left", "leftover: 0: a killed process left",
		"note: 0: the record of a window cannot be read",
	}
	wantFindings(t, r.verify(checkpoint.VerifyRequest{}), want...)
	wantFindings(t, r.verify(checkpoint.VerifyRequest{Mend: true}), want...)
	wantFindings(t, r.verify(checkpoint.VerifyRequest{}), want[0], want[4])
	for _, path := range left {
		if r.Exists(path) {
			t.Errorf("%s is still there", path)
		}
	}
}

// TestHostileTreesAreFound has trees that git would not have made.
func TestHostileTreesAreFound(t *testing.T) {
	r := threeSound(t)
	blob := r.id("@1:a")
	tree := r.GitInput("100644 blob "+blob+"\t.git\x00", "mktree", "-z")
	r.handOver(2, tree, nil)
	wantFindings(t, r.verify(checkpoint.VerifyRequest{}))
	wantFindings(t, r.verify(checkpoint.VerifyRequest{Full: true}), "damaged: 2: tree "+tree+" of it is one that git would not have made")
}

// TestB98ObjectsOfAnotherStoreAreMissed has the store that this one borrows from
// lose what a checkpoint needs.
func TestB98ObjectsOfAnotherStoreAreMissed(t *testing.T) {
	r := threeSound(t)
	other := t.TempDir()
	if err := os.Rename(r.Path(".git/objects"), filepath.Join(other, "objects")); err != nil {
		t.Fatal(err)
	}
	r.Mkdir(".git/objects/info")
	r.Write(".git/objects/info/alternates", filepath.Join(other, "objects")+"\n")
	wantFindings(t, r.verify(checkpoint.VerifyRequest{}), "note: 0: this repository borrows objects from")
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	before := r.Tree()
	report := r.verify(checkpoint.VerifyRequest{})
	if len(report.Findings) < 5 || report.Findings[0].Severity != checkpoint.SeverityBroken {
		t.Errorf("%+v", report.Findings)
	}
	_, err := r.store.Restore(t.Context(), r.request(1))
	if err == nil {
		t.Error("restored from nothing")
	}
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		t.Errorf("files changed:\n%s", diff)
	}
}
