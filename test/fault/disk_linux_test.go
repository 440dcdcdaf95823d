package fault_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// smallDisk mounts a disk of that many bytes at dir for the time of the test.
func smallDisk(t testing.TB, dir string, bytes int) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", bytes)); err != nil {
		t.Skipf("no disk of its own can be mounted here (%v): a full disk is not tested", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// fill leaves that many bytes free on the disk of dir, and gives what frees the rest.
func fill(t testing.TB, dir string, left int) (free func()) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	size := int64(st.Bavail)*st.Bsize - int64(left)
	path := filepath.Join(dir, "filler")
	if size > 0 {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = os.Remove(path) }
}

// onDisk moves what is at path to a disk of its own, mounted there.
func (w *world) onDisk(path string, bytes int) {
	w.t.Helper()
	aside := filepath.Join(w.t.(*testing.T).TempDir(), "aside")
	w.copyTree(path, aside)
	smallDisk(w.t, path, bytes)
	w.refill(aside, path)
}

// refill makes the content of the folder to that of from.
func (w *world) refill(from, to string) {
	w.t.Helper()
	list, err := os.ReadDir(to)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range list {
		if err := os.RemoveAll(filepath.Join(to, e.Name())); err != nil {
			w.t.Fatal(err)
		}
	}
	list, err = os.ReadDir(from)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range list {
		w.copyTree(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
	}
}

// TestB20FullDisk has room run out at each write in turn: for the git directory
// alone, for the work tree alone, and for both.
func TestB20FullDisk(t *testing.T) {
	const size, page = 8 << 20, 4096
	for _, where := range []string{"git directory", "work tree", "both"} {
		for k, sc := range scenarios() {
			if where == "work tree" && !sc.changes || where == "both" && !*every && sc.name != "restore" {
				continue
			}
			t.Run(where+"/"+sc.name, func(t *testing.T) {
				w := newWorld(t, sc)
				disk := w.mountFor(where, size)
				failed := 0
				for pages := 0; pages < 120; pages++ {
					if !*every && pages > 1 && (pages+3*k)%25 != 0 {
						continue
					}
					t.Run(fmt.Sprintf("%d KiB free", pages*page/1024), func(t *testing.T) {
						w.t = t
						w.resetOn(where)
						before := w.state()
						free := fill(t, disk, pages*page)
						err := sc.act(t.Context(), w, w.open(nil))
						free()
						t.Logf("with %d KiB: %v", pages*page/1024, err)
						if err != nil {
							failed++
							wantDiskFull(t, err)
						}
						w.check(sc, before, err)
					})
				}
				if failed == 0 && !sc.spares {
					t.Error("room never ran out: this proves nothing")
				}
			})
		}
	}
}

func wantDiskFull(t testing.TB, err error) {
	t.Helper()
	if !checkpoint.HasCode(err, checkpoint.DiskFull) && !checkpoint.HasCode(err, checkpoint.Interrupted) {
		t.Errorf("the error does not say that the disk is full: %v", err)
	}
}

// mountFor puts a small disk where the name says and gives its place.
func (w *world) mountFor(where string, size int) string {
	w.t.Helper()
	gitDir := filepath.Join(w.Root, ".git")
	switch where {
	case "git directory":
		w.onDisk(gitDir, size)
		return gitDir
	case "work tree":
		// The git directory lies on the large disk: a link to it will not do for git,
		// so it is a mount back.
		away := filepath.Join(w.t.(*testing.T).TempDir(), "git")
		w.copyTree(gitDir, away)
		w.onDisk(w.Root, size)
		w.bind(away, gitDir)
		return w.Root
	}
	w.onDisk(w.Root, size)
	return w.Root
}

func (w *world) bind(from, at string) {
	w.t.Helper()
	if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
		w.t.(*testing.T).Skipf("nothing can be mounted here (%v)", err)
	}
	w.t.(*testing.T).Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

// resetOn is reset for a world whose folders are mounts.
func (w *world) resetOn(where string) {
	w.t.Helper()
	gitDir := filepath.Join(w.Root, ".git")
	if where == "both" {
		w.refill(w.template, w.Root)
		return
	}
	w.refill(filepath.Join(w.template, ".git"), gitDir)
	list, err := os.ReadDir(w.Root)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != ".git" {
			_ = os.RemoveAll(w.Path(e.Name()))
		}
	}
	list, err = os.ReadDir(w.template)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != ".git" {
			w.copyTree(filepath.Join(w.template, e.Name()), w.Path(e.Name()))
		}
	}
}

// TestReadOnlyGitDirectory has every act refuse with a reason, and reading work.
func TestReadOnlyGitDirectory(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			w := newWorld(t, sc)
			gitDir := filepath.Join(w.Root, ".git")
			w.bind(gitDir, gitDir)
			if err := unix.Mount("", gitDir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				t.Skipf("the git directory cannot be made read-only here: %v", err)
			}
			before := w.state()
			s := w.open(nil)
			err := sc.act(t.Context(), w, s)
			if !checkpoint.HasCode(err, checkpoint.Sandboxed) {
				t.Errorf("got error %v, want code %s", err, checkpoint.Sandboxed)
			}
			if _, listErr := s.List(t.Context(), w.pane.ID); listErr != nil {
				t.Errorf("list: %v", listErr)
			}
			if _, diffErr := s.Diff(t.Context(), checkpoint.DiffRequest{Pane: w.pane.ID}); diffErr != nil && !strings.Contains(diffErr.Error(), "no checkpoint") {
				t.Errorf("diff: %v", diffErr)
			}
			if diff := cmp.Diff(before.files, w.Tree()); diff != "" {
				t.Errorf("files have changed:\n%s", diff)
			}
			if err := unix.Mount("", gitDir, "", unix.MS_BIND|unix.MS_REMOUNT, ""); err != nil {
				t.Fatal(err)
			}
			w.check(sc, before, err)
		})
	}
}
