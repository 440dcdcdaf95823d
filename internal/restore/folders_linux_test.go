package restore_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/turnback/turnback/internal/restore"
)

// store is content by id.
type store map[string]string

func (s store) Copy(id string, w io.Writer) (string, int64, error) {
	n, err := io.WriteString(w, s[id])
	return "blob", int64(n), err
}

func (s store) put(content string) restore.File {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	id := hex.EncodeToString(sum[:])
	s[id] = content
	return restore.File{Mode: 0o100644, ID: id}
}

func (s store) HashLikePath(context.Context, string, io.Reader) (string, error) { return "", nil }

func newRun(root string, s store, oneByOne bool) *restore.Run {
	return &restore.Run{Root: root, ID: "t", IDLen: 20, Objects: s, Hasher: s, FileMode: true, OneByOne: oneByOne}
}

// bothWays runs f with folders opened at once, and one by one.
func bothWays(t *testing.T, f func(t *testing.T, oneByOne bool)) {
	t.Run("at once", func(t *testing.T) { f(t, false) })
	t.Run("one by one", func(t *testing.T) { f(t, true) })
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isEmpty fails the test when something is in a folder.
func isEmpty(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) > 0 {
		t.Errorf("%s holds %v, %v", dir, list, err)
	}
}

func TestNoComponentOfAPathMayBeALink(t *testing.T) {
	bothWays(t, func(t *testing.T, oneByOne bool) {
		for _, link := range []string{"a", "a/b", "a/b/c"} {
			t.Run(link, func(t *testing.T) {
				root, outside, s := t.TempDir(), t.TempDir(), store{}
				mustDo(t, os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755))
				mustDo(t, os.Symlink(outside, filepath.Join(root, link)))
				ends := []string{"d", "c/d", "b/c/d"} // where a/b/c/d would lead
				for _, end := range ends {
					mustDo(t, os.MkdirAll(filepath.Join(outside, end), 0o755))
				}
				run := newRun(root, s, oneByOne)
				for _, path := range []string{"a/b/c/d/f", "a/b/c/d/new/f"} {
					_, err := run.Apply(t.Context(), []restore.Op{{Path: path, New: s.put("new\n")}}, nil)
					if !errors.Is(err, restore.ErrBlocked) {
						t.Errorf("%s: error %v", path, err)
					}
				}
				for _, end := range ends {
					isEmpty(t, filepath.Join(outside, end))
				}
				if holds, err := run.Holds(t.Context(), "a/b/c/d/f", restore.File{}); !holds || err != nil {
					t.Errorf("nothing stands there: %v, %v", holds, err)
				}
			})
		}
	})
}

func TestFoldersAreMadeAndKept(t *testing.T) {
	bothWays(t, func(t *testing.T, oneByOne bool) {
		root, s := t.TempDir(), store{}
		run := newRun(root, s, oneByOne)
		ops := []restore.Op{{Path: "a/b/c/f", New: s.put("1\n")}, {Path: "a/g", New: s.put("2\n")}, {Path: "h", New: s.put("3\n")}}
		_, err := run.Apply(t.Context(), ops, nil)
		mustDo(t, err)
		for _, op := range ops {
			if holds, err := run.Holds(t.Context(), op.Path, op.New); !holds || err != nil {
				t.Errorf("%s: %v, %v", op.Path, holds, err)
			}
		}
		_, err = run.Apply(t.Context(), restore.Reverse(ops), nil)
		mustDo(t, err)
		isEmpty(t, root)
	})
}

// TestAMountInsideTheTreeIsPartOfIt needs a user that may mount.
func TestAMountInsideTheTreeIsPartOfIt(t *testing.T) {
	bothWays(t, func(t *testing.T, oneByOne bool) {
		root, other, s := t.TempDir(), t.TempDir(), store{}
		at := filepath.Join(root, "m")
		mustDo(t, os.Mkdir(at, 0o755))
		if err := unix.Mount(other, at, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("a mount is not to be had here: %v", err)
		}
		defer func() { mustDo(t, unix.Unmount(at, 0)) }()
		_, err := newRun(root, s, oneByOne).Apply(t.Context(), []restore.Op{{Path: "m/d/f", New: s.put("1\n")}}, nil)
		mustDo(t, err)
		if data, err := os.ReadFile(filepath.Join(other, "d/f")); string(data) != "1\n" {
			t.Errorf("%q, %v", data, err)
		}
	})
}

// TestAFolderSwappedForALinkLeadsNowhere has somebody swap a folder for a link
// that leads out of the tree, again and again, while files are written there.
func TestAFolderSwappedForALinkLeadsNowhere(t *testing.T) {
	bothWays(t, func(t *testing.T, oneByOne bool) {
		root, outside, s := t.TempDir(), t.TempDir(), store{}
		mustDo(t, os.MkdirAll(filepath.Join(root, "d/e"), 0o755))
		mustDo(t, os.Mkdir(filepath.Join(outside, "e"), 0o755))
		mustDo(t, os.Symlink(outside, filepath.Join(root, "l")))
		stop := make(chan struct{})
		var swapping sync.WaitGroup
		swapping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Renameat2(unix.AT_FDCWD, root+"/d", unix.AT_FDCWD, root+"/l", unix.RENAME_EXCHANGE)
				}
			}
		})
		run := newRun(root, s, oneByOne)
		blocked := 0
		for i := range 2000 {
			_, err := run.Apply(t.Context(), []restore.Op{{Path: fmt.Sprintf("d/e/f%d", i), New: s.put("new\n")}}, nil)
			if err != nil {
				blocked++
			}
		}
		close(stop)
		swapping.Wait()
		isEmpty(t, filepath.Join(outside, "e"))
		if blocked == 0 || blocked == 2000 {
			t.Errorf("%d of 2000 were blocked: nothing was proven", blocked)
		}
	})
}

// without runs f on a thread for which the system call nr fails with errno.
func without(t *testing.T, nr uint32, errno unix.Errno, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never let go: the thread ends with the goroutine
		err := refuse(nr, errno)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skipf("system calls cannot be refused here: %v", err)
	}
}

// refuse makes the system call nr fail with errno on this thread, for good.
func refuse(nr uint32, errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

func TestAKernelWithoutOpenat2(t *testing.T) {
	apply := func(t *testing.T, errno unix.Errno) error {
		root, s := t.TempDir(), store{}
		mustDo(t, os.MkdirAll(filepath.Join(root, "a/b"), 0o755))
		run := newRun(root, s, false)
		var err error
		without(t, unix.SYS_OPENAT2, errno, func() {
			op := restore.Op{Path: "a/b/f", New: s.put("new\n")}
			if _, err = run.Apply(t.Context(), []restore.Op{op}, nil); err == nil {
				var holds bool
				if holds, err = run.Holds(t.Context(), op.Path, op.New); err == nil && !holds {
					err = errors.New("the file is not there")
				}
			}
		})
		return err
	}
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EPERM, unix.EAGAIN} {
		if err := apply(t, errno); err != nil {
			t.Errorf("with %v: %v", errno, err)
		}
	}
	if err := apply(t, unix.EIO); !errors.Is(err, unix.EIO) {
		t.Errorf("with EIO: %v: openat2 is not used at all", err)
	}
}
