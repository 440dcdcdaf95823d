//go:build unix

package settingsfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func file(t *testing.T) File {
	t.Helper()
	dir := t.TempDir()
	return File{Agent: "claude", Path: filepath.Join(dir, "home", ".claude", "settings.json"), Mode: 0o600, StateDir: filepath.Join(dir, "state")}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read1(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func open(t *testing.T, f File) Plan {
	t.Helper()
	p, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func apply(t *testing.T, p Plan) {
	t.Helper()
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
}

func TestANewFile(t *testing.T) {
	f := file(t)
	p := open(t, f)
	if p.Existed || p.Changed() {
		t.Fatalf("plan = %+v", p)
	}
	p.New = []byte("{}")
	apply(t, p)
	info, err := os.Stat(f.Path)
	if err != nil || info.Mode() != 0o600 || read1(t, f.Path) != "{}" {
		t.Errorf("the file: %v, %v", info, err)
	}
	if _, err := os.Stat(f.Backup()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a backup of nothing: %v", err)
	}
	onlyFiles(t, filepath.Dir(f.Path), "settings.json")
}

// onlyFiles says that nothing else was left behind.
func onlyFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("in %s: %q, %v; want %q", dir, names, err, want)
	}
}

func TestAFileThatExists(t *testing.T) {
	f := file(t)
	write(t, f.Path, "old", 0o640)
	p := open(t, f)
	p.New = []byte("new")
	if !p.Existed || !p.Changed() {
		t.Fatalf("plan = %+v", p)
	}
	apply(t, p)
	info, err := os.Stat(f.Path)
	if err != nil || info.Mode() != 0o640 || read1(t, f.Path) != "new" {
		t.Errorf("the file: %v, %v", info, err)
	}
	if read1(t, f.Backup()) != "old" {
		t.Error("the backup is not the old text")
	}
	if info, err := os.Stat(f.Backup()); err != nil || info.Mode() != 0o600 {
		t.Errorf("the backup: %v, %v; settings may hold secrets", info, err)
	}
	onlyFiles(t, filepath.Dir(f.Path), "settings.json")
}

func TestALinkStaysALink(t *testing.T) {
	f := file(t)
	target := filepath.Join(filepath.Dir(f.StateDir), "dotfiles", "settings.json")
	for name, prepare := range map[string]func(){
		"to a file":    func() { write(t, target, "old", 0o644) },
		"to nothing":   func() { _ = os.Remove(target) },
		"over another": func() { write(t, target, "old", 0o644) },
	} {
		prepare()
		_ = os.Remove(f.Path)
		_ = os.Remove(filepath.Join(filepath.Dir(f.Path), "other"))
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		link := target
		if name == "over another" {
			link = filepath.Join(filepath.Dir(f.Path), "other")
			if err := os.Symlink("../../dotfiles/settings.json", link); err != nil {
				t.Fatal(err)
			}
			link = "other"
		}
		if err := os.Symlink(link, f.Path); err != nil {
			t.Fatal(err)
		}
		p := open(t, f)
		p.New = []byte("new " + name)
		apply(t, p)
		if got, err := os.Readlink(f.Path); err != nil || got != link {
			t.Errorf("%s: the link is %q, %v", name, got, err)
		}
		if got := read1(t, target); got != "new "+name {
			t.Errorf("%s: the target holds %q", name, got)
		}
	}
}

func TestChangedInTheMeantime(t *testing.T) {
	f := file(t)
	for name, change := range map[string]func(){
		"another text": func() { write(t, f.Path, "other", 0o600) },
		"gone":         func() { _ = os.Remove(f.Path) },
	} {
		write(t, f.Path, "old", 0o600)
		p := open(t, f)
		p.New = []byte("new")
		change()
		if err := p.Apply(); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: error %v, want %v", name, err, ErrChanged)
		}
		if text, err := os.ReadFile(f.Path); err == nil && string(text) != "other" {
			t.Errorf("%s: the file holds %q", name, text)
		}
	}
	p := open(t, f)
	p.New = []byte("new")
	write(t, f.Path, "made by the agent", 0o600)
	if err := p.Apply(); !errors.Is(err, ErrChanged) || read1(t, f.Path) != "made by the agent" {
		t.Errorf("made in the meantime: error %v", err)
	}
}

// Of many who change the file at once, each sees what the one before it did.
func TestChangesAreOneAfterTheOther(t *testing.T) {
	f := file(t)
	write(t, f.Path, "", 0o600)
	const writers = 20
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for {
				p, err := f.Open()
				if err != nil {
					t.Error(err)
					return
				}
				p.New = append(p.Old, 'x')
				if err = p.Apply(); !errors.Is(err, ErrChanged) {
					if err != nil {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	wg.Wait()
	if got := read1(t, f.Path); got != strings.Repeat("x", writers) {
		t.Errorf("%d changes are left of %d", len(got), writers)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	f := file(t)
	if err := os.MkdirAll(f.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open(); err == nil {
		t.Error("a folder was opened")
	}
	fifo := f
	fifo.Path += ".fifo"
	if err := syscall.Mkfifo(fifo.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fifo.Open(); err == nil {
		t.Error("a FIFO was opened")
	}
	loop := f
	loop.Path += ".loop"
	if err := os.Symlink(loop.Path, loop.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := loop.Open(); err == nil {
		t.Error("a loop of links was opened")
	}
}

func TestOrigin(t *testing.T) {
	f := file(t)
	if _, ok := f.Origin(); ok {
		t.Fatal("an origin before there was one")
	}
	p := open(t, f)
	if err := p.NoteOrigin(); err != nil {
		t.Fatal(err)
	}
	o, ok := f.Origin()
	if !ok || o.Existed || o.HadDir || o.Text != nil {
		t.Errorf("origin = %+v, %v; want one without a file", o, ok)
	}
	p.New = []byte("{}")
	apply(t, p)
	p = open(t, f)
	p.New, p.Delete = nil, true
	apply(t, p)
	if err := f.ForgetOrigin(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(f.Path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was made for it is still there: %v", err)
	}
	if _, ok := f.Origin(); ok {
		t.Error("the origin is not forgotten")
	}
	write(t, f.Path, "old", 0o600)
	p = open(t, f)
	if err := p.NoteOrigin(); err != nil {
		t.Fatal(err)
	}
	if o, ok = f.Origin(); !ok || !o.Existed || !o.HadDir || string(o.Text) != "old" {
		t.Errorf("origin = %+v, %v", o, ok)
	}
	other := f
	other.Path += "x"
	if _, ok := other.Origin(); ok {
		t.Error("another file has this origin")
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	f := file(t)
	// A file in the place of the folder stops root too.
	write(t, filepath.Dir(f.Path), "", 0o600)
	p, err := f.Open()
	if err == nil {
		p.New = []byte("new")
		err = p.Apply()
	}
	if err == nil {
		t.Error("no error")
	}
}
