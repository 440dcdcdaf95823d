//go:build unix

package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/turnback/turnback/internal/launch"
)

// Only what a killed launch left behind is swept.
func TestSweepOfKilledLaunches(t *testing.T) {
	temporary, outside := t.TempDir(), t.TempDir()
	make := func(dir, name string, mode os.FileMode, lock bool) string {
		t.Helper()
		path := filepath.Join(dir, name)
		err := os.Mkdir(path, 0o700)
		if lock {
			err = errors.Join(err, os.WriteFile(filepath.Join(path, "lock"), nil, 0o600))
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(path, "settings.json"), nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	killed := make(temporary, "turnback-run-1", 0o700, true)
	far := filepath.Join(make(outside, "far", 0o700, false), "settings.json")
	if err := os.Symlink(filepath.Dir(far), filepath.Join(killed, "link")); err != nil {
		t.Fatal(err)
	}
	stay := map[string]string{
		"a folder that others may read": make(temporary, "turnback-run-2", 0o755, true),
		"a folder without a lock":       make(temporary, "turnback-run-3", 0o700, false),
		"a folder of another name":      make(temporary, "turnback-tour-4", 0o700, true),
		"what a link leads to":          make(outside, "linked", 0o700, true),
		"what a link in one leads to":   far,
	}
	if err := os.Symlink(stay["what a link leads to"], filepath.Join(temporary, "turnback-run-5")); err != nil {
		t.Fatal(err)
	}
	linked := make(temporary, "turnback-run-6", 0o700, false)
	if err := os.Symlink(far, filepath.Join(linked, "lock")); err != nil {
		t.Fatal(err)
	}
	stay["a folder whose lock is a link"] = linked
	used, err := launch.NewFolder(temporary)
	if err != nil {
		t.Fatal(err)
	}
	stay["a folder in use"] = used.Path
	if os.Geteuid() == 0 {
		stay["a folder of another user"] = make(temporary, "turnback-run-7", 0o700, true)
		if err := os.Chown(stay["a folder of another user"], 12345, 12345); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("folders of another user are not tried: only root can make one")
	}
	launch.Sweep(temporary)
	if _, err := os.Lstat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed launch left is still there: %v", err)
	}
	for what, path := range stay {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone: %v", what, err)
		}
	}
	if err := used.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(used.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a removed folder is there: %v", err)
	}
}

// What inherits the lock keeps the folder, also without its starter.
func TestAFolderIsInUseAsLongAsItsLockIsInherited(t *testing.T) {
	temporary := t.TempDir()
	f, err := launch.NewFolder(temporary)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(f.Lock().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Lock().Close(); err != nil { // as a kill does
		t.Fatal(err)
	}
	launch.Sweep(temporary)
	if _, err := os.Lstat(f.Path); err != nil {
		t.Errorf("it is gone while its agent lives: %v", err)
	}
	if err := syscall.Close(inherited); err != nil {
		t.Fatal(err)
	}
	launch.Sweep(temporary)
	if _, err := os.Lstat(f.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it outlives its agent: %v", err)
	}
}
