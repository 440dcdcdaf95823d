//go:build unix

package checkpoint_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// wantModes fails unless the files and folders have these permission bits.
func (r *room) wantModes(want map[string]os.FileMode) {
	r.t.Helper()
	got := map[string]os.FileMode{}
	for path := range want {
		st, err := os.Lstat(r.Path(path))
		if err != nil {
			r.t.Fatal(err)
		}
		got[path] = st.Mode().Perm()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("other modes (-want +got):\n%s", diff)
	}
}

// withUmask runs f with another umask. Nothing else may run meanwhile.
func withUmask(mask int, f func()) {
	old := syscall.Umask(mask)
	defer syscall.Umask(old)
	f()
}

func TestB34ModesComeBackWhateverTheUmask(t *testing.T) {
	r := newRoom(t, map[string]string{"s.sh": "s\n", "t.sh": "t\n", "secret": "x\n", "gone": "g\n", "d/e/f": "f\n", "same": "same\n"})
	r.Chmod("s.sh", 0o755)
	r.Chmod("secret", 0o600)
	r.Chmod("gone", 0o640)
	r.Chmod("d", 0o700)
	r.Chmod("d/e", 0o751)
	first := r.take("one", func() { r.Write("a", "1\n") })
	one := r.Tree()
	r.take("two", func() {
		r.Chmod("s.sh", 0o644)
		r.Chmod("t.sh", 0o755)
		r.Chmod("secret", 0o644)
		r.Write("secret", "y\n")
		r.Chmod("same", 0o4600)
		r.Remove("gone")
		r.Remove("d")
	})
	two, mine := r.Tree(), r.Fingerprint()
	var safety int
	withUmask(0o077, func() { safety = r.restore(first.N).Safety.N })
	r.wantModes(map[string]os.FileMode{
		"s.sh": 0o755, "t.sh": 0o644, "secret": 0o600, "gone": 0o640, "d": 0o700, "d/e": 0o751, "d/e/f": 0o644, "same": 0o644, "a": 0o644,
	})
	one["same"] = r.Tree()["same"] // setuid stays as it is, on or off
	r.sameTree(one)
	withUmask(0, func() { r.restore(safety) })
	r.sameTree(two)
	if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
		t.Errorf("the person's things changed:\n%s", diff)
	}
}

func TestB34WithoutFileModeTheBitsOnDiskStay(t *testing.T) {
	r := newRoom(t, map[string]string{"s.sh": "1\n", "x": "1\n"})
	r.Git("config", "core.fileMode", "false")
	r.take("one", func() { r.Write("s.sh", "2\n") })
	r.take("two", func() { r.Write("s.sh", "3\n"); r.Chmod("s.sh", 0o750); r.Chmod("x", 0o600) })
	r.restore(1)
	r.wantModes(map[string]os.FileMode{"s.sh": 0o750, "x": 0o600})
	if got := r.Read("s.sh"); got != "2\n" {
		t.Errorf("s.sh holds %q", got)
	}
}

func TestB34ModesAloneAreRestoredInPlace(t *testing.T) {
	r := newRoom(t, map[string]string{"f": "1\n", "two-names": "2\n"})
	r.take("one", func() { r.Write("a", "1\n") })
	outside := r.Home + "/outside"
	if err := os.Link(r.Path("two-names"), outside); err != nil {
		t.Fatal(err)
	}
	r.Chmod("f", 0o600)
	r.Chmod("two-names", 0o600)
	before, _ := os.Lstat(r.Path("f"))
	tree := r.Tree()
	res := r.restore(1)
	r.wantModes(map[string]os.FileMode{"f": 0o644, "two-names": 0o644})
	after, _ := os.Lstat(r.Path("f"))
	if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("f is another file, or has another time")
	}
	if st, err := os.Lstat(outside); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("a further name outside of the work tree has another mode: %v, %v", st.Mode(), err)
	}
	r.restore(res.Safety.N)
	r.sameTree(tree)
}

func TestB35FoldersThatAreThereKeepTheirMode(t *testing.T) {
	r := newRoom(t, map[string]string{"conf/x": "1\n"})
	r.take("one", func() { r.Write("conf/x", "2\n") })
	r.Chmod("conf", 0o700)
	r.Write("conf/x", "3\n")
	before := r.Tree()
	res := r.restore(1)
	r.wantModes(map[string]os.FileMode{"conf": 0o700, "conf/x": 0o644})
	r.restore(res.Safety.N)
	r.sameTree(before)
}

func TestEmptyFoldersComeBack(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", ".gitignore": "*.log\n/out/\n"})
	r.take("one", func() {
		r.Write("d/f", "1\n")
		r.Mkdir("empty/in/in")
		r.Chmod("empty/in", 0o750)
		r.Mkdir("soon-a-file")
		r.Write("logs/x.log", "ignored\n")
	})
	one := r.Tree()
	r.take("two", func() {
		r.Remove("d")
		r.Remove("empty")
		r.Remove("soon-a-file")
		r.Write("soon-a-file", "f\n")
		r.Remove("logs/x.log")
		r.Mkdir("d/f/now/empty")
		r.Mkdir("new/empty")
		r.Chmod("new", 0o711)
		r.Mkdir("out/x")
	})
	two := r.Tree()
	res := r.restore(1)
	delete(one, "logs/x.log") // ignored: nobody's to bring back
	one["out"], one["out/x"] = two["out"], two["out/x"]
	r.sameTree(one)
	r.restore(res.Safety.N)
	r.sameTree(two)
	r.restore(1)
	r.sameTree(one)
}

func TestUndoGivesBackModesAndFolders(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "d/f": "1\n"})
	r.take("one", func() { r.Write("b", "1\n") })
	r.Chmod("a", 0o600) // no change that git sees: the base is still checkpoint 1's tree
	r.Mkdir("empty")
	before := r.Tree()
	r.take("two", func() {
		r.Chmod("a", 0o644)
		r.Write("a", "2\n")
		r.Remove("d")
		r.Remove("empty")
		r.Mkdir("other")
	})
	after := r.Tree()
	if _, err := r.store.Undo(t.Context(), r.request(0)); err != nil {
		t.Fatal(err)
	}
	r.sameTree(before)
	if _, err := r.store.Redo(t.Context(), r.request(0)); err != nil {
		t.Fatal(err)
	}
	r.sameTree(after)
}

// A folder out of which all goes while something else comes in is the same folder all
// the time: it has the bits that it had.
func TestFolderThatIsEmptyInTheMiddleOfARestoreKeepsItsBits(t *testing.T) {
	for name, in := range map[string]struct{ then, now string }{
		"a file in the place of a folder": {then: "d/a", now: "d/a/x"},
		"ignore rules, written last":      {then: "d/.gitignore", now: "d/x"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			r.take("one", func() { r.Write(in.then, "1\n") })
			r.Chmod("d", 0o700)
			after := r.Tree()
			r.Remove(in.then)
			r.Write(in.now, "2\n")
			before := r.Tree()
			forth := r.restore(1)
			if diff := cmp.Diff(after, r.Tree()); diff != "" {
				t.Errorf("restored (- want, + got):\n%s", diff)
			}
			r.backAndForth(forth.Safety.N, before, after)
		})
	}
}

// TestAbortGivesFoldersTheirBitsBack stops a restore that takes a private folder away:
// made again for its file, it must not be open to others.
func TestAbortGivesFoldersTheirBitsBack(t *testing.T) {
	for _, step := range []string{"after d/e/f", "after g"} {
		for name, stop := range map[string]error{"killed": checkpoint.ErrStopped, "failed": errors.New("no more")} {
			t.Run(name+" "+step, func(t *testing.T) {
				r := newRoom(t, map[string]string{"a": "1\n"})
				r.take("one", func() { r.Write("b", "1\n") })
				r.WriteAll(map[string]string{"d/e/f": "1\n", "g": "1\n"})
				r.Chmod("d/e", 0o700)
				r.Chmod("d", 0o750)
				before := r.Tree()
				req := r.request(1)
				req.Step = func(now string) error {
					if now == step {
						return stop
					}
					return nil
				}
				if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, stop) {
					t.Fatal(err)
				}
				if name == "killed" {
					if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: true}); err != nil {
						t.Fatal(err)
					}
				}
				r.sameTree(before)
			})
		}
	}
}
